// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/papcoll.hpp>

int sum_in_second_unit(papcoll::Communicator& comm, int value) {
  return papcoll::allreduce(comm, value);
}
