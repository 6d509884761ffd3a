// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous elements, of another type than the input's.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: Mistake::input_and_output_have_elements_of_the_same_type
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data, std::vector<long>& numbers) {
  papcoll::scan(comm, numbers);
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::scan(comm, data, papcoll::strided(data.data(), {2, 2}, {4, 1}));
#else
  papcoll::scan(comm, data, papcoll::strided(numbers.data(), {2, 2}, {4, 1}));
#endif
}
