// SPDX-License-Identifier: BSD-3-Clause
// What is registered is moved, and outlives the registration.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: a registration moves the memory of its data
// ERRORS: 2

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data, const std::vector<int>& fixed) {
  const papcoll::Registration right{comm, data};
#ifndef PAPCOLL_TEST_CONTROL
  const papcoll::Registration constant{comm, fixed};
  const papcoll::Registration temporary{comm, std::vector<int>(10)};
#endif
  static_cast<void>(fixed);
}
