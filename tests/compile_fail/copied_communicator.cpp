// SPDX-License-Identifier: BSD-3-Clause
// A communicator that is copied.
#include <papcoll/communicator.hpp>
#include <papcoll/core.hpp>

#include <utility>

// EXPECT: papcoll: a Communicator is moved, or referred to
// ERRORS: 1

void keep(papcoll::Communicator comm);

void call(papcoll::Communicator& comm) {
#ifdef PAPCOLL_TEST_CONTROL
  keep(std::move(comm));
#else
  keep(comm);
#endif
}
