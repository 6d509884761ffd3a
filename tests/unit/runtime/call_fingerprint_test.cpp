// SPDX-License-Identifier: BSD-3-Clause
// By what the calls of ranks are told apart, and what is not seen.

#include "catch.hpp"
#include "team_outcomes.hpp"

#include <papcoll/allreduce.hpp>
#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace team_outcomes;

TEST_CASE("blocks beyond 2^32 elements count, too", "[team]") {
  const auto split = [](std::size_t a, std::size_t b) {
    return papcoll::detail::hash_of_counts(std::vector{a, b});
  };
  const std::size_t huge = std::size_t{1} << 32U;
  CHECK(split(huge, 0) != split(0, huge));
  CHECK(split(huge, 1) != split(0, huge + 1));
}

TEST_CASE("two different lambdas look alike", "[team]") {
  papcoll::ThreadTeam team{2, patient};
  const auto all = outcomes(team, [](Rank& c) {
    const auto plus = [](int x, int y) { return x + y; };
    const auto times = [](int x, int y) { return x * y; };
    int x = 3;
    if (c.rank() == 0) x = papcoll::allreduce(c, x, plus);
    if (c.rank() == 1) x = papcoll::allreduce(c, x, times);
  });
  for (const Outcome& o : all) CHECK(o.is_fine());
}

namespace {

template <class T, class... Ops>
void add_types_of(std::vector<std::uint64_t>& all, const Ops&... ops) {
  const auto add = [&]<class Op>(const Op& op) {
    all.push_back(papcoll::detail::types_of_reduction<T, Op>(papcoll::reducer<T>(op)));
  };
  (add(ops), ...);
}

template <class... Ts> std::vector<std::uint64_t> types_of_built_ins() {
  std::vector<std::uint64_t> all;
  (add_types_of<Ts>(all, papcoll::sum, papcoll::prod, papcoll::min, papcoll::max,
                    papcoll::logical_and, papcoll::logical_or, papcoll::logical_xor),
   ...);
  add_types_of<int>(all, papcoll::bit_and, papcoll::bit_or, papcoll::bit_xor);
  return all;
}

}  // namespace

TEST_CASE("no two built-in operators or types look alike, but integers of one size and sign",
          "[team]") {
  auto all = types_of_built_ins<signed char, unsigned char, short, unsigned short, int, unsigned,
                                long, unsigned long, float, double, long double, bool>();
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(types_of_built_ins<char>() ==
        (std::is_signed_v<char> ? types_of_built_ins<signed char>()
                                : types_of_built_ins<unsigned char>()));
  if (sizeof(long) == sizeof(long long)) {
    CHECK(types_of_built_ins<long, unsigned long>() ==
          types_of_built_ins<long long, unsigned long long>());
  }
}
