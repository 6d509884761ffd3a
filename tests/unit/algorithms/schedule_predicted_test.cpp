// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/by_forecast.hpp>
#include <papcoll/algorithms/static/sorted_linear_tree.hpp>
#include <papcoll/algorithms/static/straggl_ar.hpp>
#include <papcoll/verify/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan_matrix.hpp"

using namespace papcoll;

namespace {

using Merge = ClairvoyantTree::Merge;

std::vector<Merge> merges(const std::vector<std::uint64_t>& late, std::uint64_t step) {
  return ClairvoyantTree::merges(static_cast<int>(late.size()), step,
                                 [&](int p) { return late[static_cast<std::size_t>(p)]; });
}

/// When the root has the result.
std::uint64_t end_of(std::vector<std::uint64_t> ready, std::uint64_t step) {
  for (const Merge& m : merges(ready, step)) {
    auto& to = ready[static_cast<std::size_t>(m.to)];
    to = std::max(to, ready[static_cast<std::size_t>(m.from)]) + step;
  }
  return ready[0];
}

/// `early` ranks at 0, the rest `late` nanoseconds later.
PreReducedRing::Shape ring_for(int ranks, std::size_t bytes, int early, std::uint64_t late) {
  return PreReducedRing{}.choose(ranks, bytes, [=](int i) { return i < early ? 0 : late; });
}

}  // namespace

TEST_CASE("a clairvoyant tree merges who is ready first", "[schedule]") {
  // Positions 0…4, the latest first: the picture in the header, with r4 at position 0.
  CHECK(merges({3, 0, 0, 0, 0}, 1) == std::vector<Merge>{{4, 3}, {2, 1}, {3, 1}, {1, 0}});
  // An early root keeps what it has.
  CHECK(merges({0, 9, 5}, 1) == std::vector<Merge>{{2, 0}, {1, 0}});
  CHECK(merges({0}, 1).empty());
}

TEST_CASE("a clairvoyant tree is as short as can be", "[schedule]") {
  CHECK(end_of(std::vector<std::uint64_t>(8, 0), 10) == 30);
  CHECK(end_of(std::vector<std::uint64_t>(9, 0), 10) == 40);
  CHECK(end_of({1000, 0, 0, 0, 0, 0, 0, 0}, 10) == 1010);  // one step after the last arrival
  CHECK(end_of({40, 30, 20, 10, 0}, 10) == 50);            // a chain
}

TEST_CASE("a pre-reduced ring weighs waiting against going ahead", "[schedule]") {
  using Shape = PreReducedRing::Shape;
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  CHECK(ring_for(8, megabyte, 8, 0) == Shape{8, 1});       // balanced: a ring
  CHECK(ring_for(8, megabyte, 7, 10'000'000).early == 7);  // one is 10 ms late
  CHECK(ring_for(8, megabyte, 5, 10'000'000).early == 5);  // three are
  CHECK(ring_for(8, megabyte, 7, 100) == Shape{8, 1});     // not worth it
  CHECK(ring_for(8, 64 * megabyte, 7, 100'000'000).pieces > 1);
  CHECK(ring_for(8, 8, 7, 10'000'000).pieces == 1);
  CHECK(ring_for(1, 8, 1, 0) == Shape{1, 1});
  CHECK(ring_for(2, megabyte, 1, 10'000'000) == Shape{2, 1});
}

TEST_CASE("schedules that use predictions serve what they say", "[schedule]") {
  using plan_simulation::failure_serving;
  CHECK(failure_serving(SortedLinearTree{},
                        {Collective::allreduce, Collective::reduce, Collective::bcast}) == "");
  CHECK(failure_serving(SortedLinearTree{40},
                        {Collective::allreduce, Collective::reduce, Collective::bcast}) == "");
  CHECK(failure_serving(PreReducedRing{}, {Collective::allreduce}) == "");
  CHECK(failure_serving(StragglAR{}, {Collective::allreduce}) == "");
  CHECK(failure_serving(StragglAR{2}, {Collective::allreduce}) == "");
  CHECK(failure_serving(StragglAR{2, 3}, {Collective::allreduce}) == "");
  CHECK(failure_serving(ClairvoyantTree{}, {Collective::allreduce, Collective::reduce}) == "");
}

TEST_CASE("they are right with any prediction", "[schedule]") {
  for (const AnySchedule& s :
       {AnySchedule{SortedLinearTree{2}}, AnySchedule{PreReducedRing{}},
        AnySchedule{PreReducedRing{{0, 1024000}}}, AnySchedule{ClairvoyantTree{}},
        AnySchedule{StragglAR{}}, AnySchedule{StragglAR{3}}, AnySchedule{StragglAR{40}},
        AnySchedule{StragglAR{0, 2}}}) {
    for (const Collective c : {Collective::allreduce, Collective::reduce, Collective::bcast}) {
      if (!s.serves(c)) continue;
      const Proof proof = verify_up_to(s, c, 12);
      INFO(s.name() << " " << name_of(c) << " " << describe(proof.shape));
      CHECK(proof.verdict.sentence == "");
    }
  }
}

TEST_CASE("predictions change the plans of schedules that use them", "[schedule]") {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = 6;
  shape.count = 600;
  shape.element_size = 1024;
  auto steps = [&](const AnySchedule& s, const Order& order) {
    std::size_t n = 0;
    for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
      n += make_plan(s, shape, order).full.size();
    }
    return n;
  };
  const Order balanced = Order::identity(6);
  const Order late = Order::permutation({0, 1, 2, 3, 4, 5}, {9'000'000, 0, 0, 0, 0, 0});
  CHECK(steps(PreReducedRing{}, balanced) != steps(PreReducedRing{}, late));
  CHECK(merges({0, 0, 0, 0, 0, 0}, 10) != merges({90, 0, 0, 0, 0, 0}, 10));
}
