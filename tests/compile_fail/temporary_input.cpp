// SPDX-License-Identifier: BSD-3-Clause
// Temporaries that cannot be moved, as inputs of calls that read them after they have returned.
#include <papcoll/core.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

// EXPECT: Mistake::this_input_is_a_temporary_that_is_gone_when_the_call_returns
// ERRORS: 28

using papcoll::counts;
using papcoll::root;

// Of a type of its own for each call, so that each says it.
#ifdef PAPCOLL_TEST_CONTROL
std::array<int, 64> elements{};
template <std::size_t n> std::span<int, n> input() { return std::span{elements}.first<n>(); }
#else
template <std::size_t n> int (&&input())[n];
#endif

void calls(papcoll::ThreadTeam::Rank& c, std::vector<int>& out, const std::vector<int>& n) {
  std::vector<papcoll::Request> requests;
  requests.push_back(papcoll::iallgather(c, input<1>(), out));
  requests.push_back(papcoll::iallgatherv(c, input<2>(), out, counts{n}));
  requests.push_back(papcoll::iallreduce(c, input<3>(), out));
  requests.push_back(papcoll::ialltoall(c, input<4>(), out));
  requests.push_back(papcoll::ialltoallv(c, input<5>(), counts{n}, out, counts{n}));
  requests.push_back(papcoll::iexscan(c, input<6>(), out));
  requests.push_back(papcoll::igather(c, input<7>(), out, root{0}));
  requests.push_back(papcoll::igatherv(c, input<8>(), out, counts{n}, root{0}));
  requests.push_back(papcoll::ireduce(c, input<9>(), out, root{0}));
  requests.push_back(papcoll::ireduce_scatter(c, input<10>(), out));
  requests.push_back(papcoll::ireduce_scatter(c, input<11>(), out, counts{n}));
  requests.push_back(papcoll::iscan(c, input<12>(), out));
  requests.push_back(papcoll::iscatter(c, input<13>(), out, root{0}));
  requests.push_back(papcoll::iscatterv(c, input<14>(), out, counts{n}, root{0}));
  std::vector<papcoll::Persistent> prepared;
  prepared.push_back(papcoll::allgather_init(c, input<21>(), out));
  prepared.push_back(papcoll::allgatherv_init(c, input<22>(), out, counts{n}));
  prepared.push_back(papcoll::allreduce_init(c, input<23>(), out));
  prepared.push_back(papcoll::alltoall_init(c, input<24>(), out));
  prepared.push_back(papcoll::alltoallv_init(c, input<25>(), counts{n}, out, counts{n}));
  prepared.push_back(papcoll::exscan_init(c, input<26>(), out));
  prepared.push_back(papcoll::gather_init(c, input<27>(), out, root{0}));
  prepared.push_back(papcoll::gatherv_init(c, input<28>(), out, counts{n}, root{0}));
  prepared.push_back(papcoll::reduce_init(c, input<29>(), out, root{0}));
  prepared.push_back(papcoll::reduce_scatter_init(c, input<30>(), out));
  prepared.push_back(papcoll::reduce_scatter_init(c, input<31>(), out, counts{n}));
  prepared.push_back(papcoll::scan_init(c, input<32>(), out));
  prepared.push_back(papcoll::scatter_init(c, input<33>(), out, root{0}));
  prepared.push_back(papcoll::scatterv_init(c, input<34>(), out, counts{n}, root{0}));
}
