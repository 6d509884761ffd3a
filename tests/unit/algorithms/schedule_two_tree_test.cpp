// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/algorithms/static/then_bcast.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/algorithms/static/two_tree_sanders.hpp>
#include <papcoll/verify/sweep.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan_matrix.hpp"

// Two trees: their shapes, their colours, how they cut, and that they do what they say. One file,
// since all cases share what the plans of a tree look like.

using namespace papcoll;
using papcoll::detail::ColouredTrees;
using enum Collective;
using plan_simulation::failure_serving;

namespace {

/// Two trees, whoever says so: by tree and position.
struct Shapes {
  explicit Shapes(int size) {
    for (auto& p : parent) p.assign(static_cast<std::size_t>(size), -1);
    for (auto& c : children) c.resize(static_cast<std::size_t>(size));
  }
  std::array<std::vector<int>, 2> parent;
  std::array<std::vector<std::vector<int>>, 2> children;
};

Shapes shapes_of(const detail::HeapTrees& trees, int size) {
  Shapes s{size};
  for (std::size_t t = 0; t < 2; ++t) {
    for (int p = 0; p < size; ++p) {
      const auto at = static_cast<std::size_t>(p);
      s.parent[t][at] = trees[t].parent(p);
      trees[t].for_children_down(p, [&](int child) { s.children[t][at].push_back(child); });
      std::vector<int> up;
      trees[t].for_children_up(p, [&](int child) { up.push_back(child); });
      std::reverse(up.begin(), up.end());
      if (up != s.children[t][at]) s.children[t][at].push_back(-1);
    }
  }
  return s;
}

Shapes shapes_of(const ColouredTrees& trees, int size) {
  Shapes s{size};
  for (int t = 0; t < 2; ++t) {
    const auto tree = static_cast<std::size_t>(t);
    for (int p = 0; p < size; ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (p != 0) s.parent[tree][at] = trees.parent(t, p);
      trees.for_children(t, p, [&](int child) { s.children[tree][at].push_back(child); });
    }
  }
  return s;
}

int depth_of(const std::vector<int>& parent, int p) {
  int depth = 0;
  while (p > 0 && depth <= static_cast<int>(parent.size())) {
    p = parent[static_cast<std::size_t>(p)];
    ++depth;
  }
  return p == 0 ? depth : -1;
}

/// What is wrong with two trees over 1…size−1 under position 0; "" if nothing.
std::string fault_of(const Shapes& s, int size) {
  for (std::size_t t = 0; t < 2; ++t) {
    std::size_t edges = 0;
    for (std::size_t p = 0; p < s.parent[t].size(); ++p) {
      const std::string where = "tree " + std::to_string(t) + ", position " + std::to_string(p);
      const std::vector<int>& children = s.children[t][p];
      if (children.size() > (p == 0 ? 1U : 2U)) return where + ": too many children";
      for (const int child : children) {
        if (child <= 0 || child >= size) return where + ": has a child that is none";
        if (s.parent[t][static_cast<std::size_t>(child)] != static_cast<int>(p)) {
          return where + ": its child has another parent";
        }
      }
      edges += children.size();
      const int depth = depth_of(s.parent[t], static_cast<int>(p));
      if (depth < 0 || depth > doubling_rounds(size)) return where + ": too deep";
      if (p != 0 && !children.empty() && !s.children[1 - t][p].empty()) {
        return where + ": is inner in both trees";
      }
    }
    if (edges + 1 != static_cast<std::size_t>(size)) return "a tree leaves somebody out";
  }
  return {};
}

/// Do two edges of one colour meet at a position that sends, or receives, on both?
std::string fault_of(const ColouredTrees& trees, int size) {
  for (int p = 0; p < size; ++p) {
    const std::string where = "position " + std::to_string(p);
    if (p != 0 && trees.colour(0, p) == trees.colour(1, p)) return where + ": receives twice";
    std::vector<int> sends;
    for (int t = 0; t < 2; ++t) {
      trees.for_children(t, p, [&](int child) { sends.push_back(trees.colour(t, child)); });
      if (p != 0) {
        const int colour = trees.colour(t, p);
        if (colour != 0 && colour != 1) return where + ": has an edge without colour";
        const int first = trees.first_round(t, p);
        const int above = trees.parent(t, p);
        if (first % 2 != colour) return where + ": begins in a round of the other colour";
        if (above != 0 && first <= trees.first_round(t, above)) return where + ": is too early";
        if (first > 2 * doubling_rounds(size)) return where + ": is too late";
      }
    }
    if (sends.size() > 2) return where + ": has too many children";
    if (sends.size() == 2 && sends[0] == sends[1]) return where + ": sends twice in a round";
  }
  return {};
}

/// Does step `later` of the plan wait for step `earlier`, however indirectly?
bool waits_for(const Plan& plan, std::size_t later, std::size_t earlier) {
  std::vector<bool> after(plan.size(), false);
  after[earlier] = true;
  for (std::size_t i = earlier; i < later; ++i) {
    if (!after[i]) continue;
    for (const std::uint32_t next : plan.successors(i)) after[next] = true;
  }
  return after[later];
}

std::vector<std::size_t> steps_of(const Plan& plan, OpKind kind, int peer = -1) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].kind == kind && (peer < 0 || plan[i].peer == peer)) found.push_back(i);
  }
  return found;
}

Plan plan_of(const AnySchedule& schedule, Collective collective, int size, int rank,
             std::size_t count) {
  Shape shape;
  shape.collective = collective;
  shape.size = size;
  shape.rank = rank;
  shape.count = count;
  return make_plan(schedule, shape, static_order(shape)).full;
}

}  // namespace

TEST_CASE("heap trees span the positions, and who is inner in one is a leaf of the other",
          "[schedule]") {
  for (int size = 1; size <= 200; ++size) {
    CAPTURE(size);
    REQUIRE(fault_of(shapes_of(TwoTreeComplete::trees(size), size), size) == "");
    REQUIRE(fault_of(shapes_of(ReorderedTwoTree::trees(size), size), size) == "");
  }
  // The second tree's numbers are those of the first one counted from the other end.
  const detail::HeapTrees eight = TwoTreeComplete::trees(8);
  CHECK(eight[0].parent(5) == 2);
  CHECK(eight[1].parent(8 - 5) == 8 - 2);
  // From the middle, as in the header's picture.
  CHECK(ReorderedTwoTree::trees(7)[0].parent(1) == 5);
  CHECK(ReorderedTwoTree::trees(7)[1].parent(4) == 1);
}

TEST_CASE("coloured trees span the positions, and no two messages meet in a round", "[schedule]") {
  for (int size = 2; size <= 200; ++size) {
    CAPTURE(size);
    const ColouredTrees trees{size};
    REQUIRE(fault_of(shapes_of(trees, size), size) == "");
    REQUIRE(fault_of(trees, size) == "");
  }
  const ColouredTrees seven{7};  // of the header's picture
  CHECK(seven.parent(0, 5) == 6);
  CHECK(seven.parent(1, 6) == 5);
}

TEST_CASE("chunks make up the vector, short ones first and last", "[schedule]") {
  for (const std::size_t bytes : {0U, 1U, 7U, 4096U}) {
    for (const std::size_t n : {0U, 1U, 2U, 5U, 63U, 1000U, 1U << 20U}) {
      const Range whole{10, 10 + n};
      const TwoTreeChunks::Cut cut = TwoTreeChunks{bytes}.cut(whole, 8, 16);
      if (bytes != 0 && cut.count > 10000) continue;
      CAPTURE(bytes, n);
      std::size_t at = whole.lo;
      std::size_t largest = 0;
      for (int i = 0; i < cut.count; ++i) {
        REQUIRE(cut[i].lo == at);
        at = cut[i].hi;
        REQUIRE(cut[i].size() <= cut.longest + 1);
        largest = std::max(largest, cut[i].size());
      }
      REQUIRE(at == whole.hi);
      if (cut.count > 2 * cut.ramp) CHECK(cut[0].size() <= largest / 2 + 1);
    }
  }
  // Fewer than a transport has numbers for, whatever the length.
  for (std::size_t bytes = 1; bytes <= TwoTreeChunks{}.segment(1); bytes = bytes * 5 / 3 + 1) {
    for (const int size : {2, 16, 1000}) {
      REQUIRE(TwoTreeChunks{}.cut({0, bytes}, 1, size).count <= 256);
    }
  }
}

TEST_CASE("TwoTreeComplete", "[schedule]") {
  CHECK(failure_serving(TwoTreeComplete{~std::size_t{0}}, {allreduce, reduce, bcast}) == "");
  CHECK(failure_serving(TwoTreeComplete{8}, {allreduce, reduce, bcast}) == "");
}

TEST_CASE("ReorderedTwoTree", "[schedule]") {
  CHECK(failure_serving(ReorderedTwoTree{8}, {bcast}) == "");
}

TEST_CASE("TwoTreeSanders", "[schedule]") {
  CHECK(failure_serving(TwoTreeSanders{24}, {allreduce, reduce, bcast}) == "");
  CHECK(failure_serving(TwoTreeSanders{24, true}, {allreduce, reduce, bcast}) == "");
}

TEST_CASE("reduces and bcasts along two trees go together", "[schedule]") {
  CHECK(failure_serving(AnyReduceThenBcast{TwoTreeComplete{24}, TwoTreeComplete{24}},
                        {allreduce}) == "");
  CHECK(failure_serving(AnyReduceThenBcast{TwoTreeComplete{24}, ReorderedTwoTree{24}},
                        {allreduce}) == "");
  CHECK(failure_serving(AnyReduceThenBcast{TwoTreeSanders{24}, TwoTreeComplete{40}}, {allreduce}) ==
        "");
}

TEST_CASE("two trees are proven for an odd and an even number of chunks, in blocks too",
          "[schedule]") {
  for (const AnySchedule& s :
       {AnySchedule(TwoTreeComplete{1}), AnySchedule(ReorderedTwoTree{1}),
        AnySchedule(TwoTreeSanders{1}), AnySchedule(TwoTreeSanders{1, true}),
        AnySchedule(AnyReduceThenBcast{TwoTreeComplete{1}, ReorderedTwoTree{1}}),
        AnySchedule(AnyReduceThenBcast{TwoTreeSanders{1}, TwoTreeComplete{1}})}) {
    for (const Collective c : {allreduce, reduce, bcast}) {
      if (!s.serves(c)) continue;
      const Proof proof = verify_up_to(s, c, 10);
      INFO(s.name() << ", " << describe(proof.shape) << ": " << proof.verdict.sentence);
      CHECK(proof);
    }
  }
}

TEST_CASE("no more messages of a pair are in flight than a flow allows", "[schedule]") {
  constexpr std::size_t limit = 8;
  const Plan inner = plan_of(TwoTreeComplete{1}, bcast, 8, 1, 100);
  const auto to_second = steps_of(inner, OpKind::send, 2);
  const auto from_root = steps_of(inner, OpKind::receive, 0);
  REQUIRE(to_second.size() > 2 * limit);
  for (const auto& steps : {to_second, from_root}) {
    for (std::size_t i = 0; i + limit < steps.size(); ++i) {
      REQUIRE(waits_for(inner, steps[i + limit], steps[i]));
    }
    CHECK(!waits_for(inner, steps[1], steps[0]));
    CHECK(!waits_for(inner, steps[limit - 1], steps[0]));
  }
}

TEST_CASE("the bcast of a chunk begins before later ones are reduced", "[schedule]") {
  for (const AnySchedule& s :
       {AnySchedule(TwoTreeComplete{1}), AnySchedule(TwoTreeSanders{1}),
        AnySchedule(AnyReduceThenBcast{TwoTreeComplete{1}, ReorderedTwoTree{1}}),
        AnySchedule(AnyReduceThenBcast{TwoTreeSanders{1}, TwoTreeComplete{1}})}) {
    CAPTURE(s.name());
    for (int rank = 0; rank < 7; ++rank) {
      CAPTURE(rank);
      const Plan plan = plan_of(s, allreduce, 7, rank, 60);
      const auto combined = steps_of(plan, OpKind::reduce);
      if (combined.empty()) continue;
      // The first step of the bcast is the first message after the last combination that the text
      // has; a tenth of the way in.
      std::size_t first = combined.back();
      const OpKind kind = rank == 0 ? OpKind::send : OpKind::receive;
      while (plan[first].kind != kind) ++first;
      CHECK(!waits_for(plan, first, combined[combined.size() / 2]));
    }
  }
}

TEST_CASE("with rounds, a position sends one message at a time and receives one", "[schedule]") {
  for (const Collective c : {reduce, bcast}) {
    for (int rank = 0; rank < 9; ++rank) {
      const Plan plan = plan_of(TwoTreeSanders{1, true}, c, 9, rank, 30);
      for (const OpKind kind : {OpKind::send, OpKind::receive}) {
        const auto steps = steps_of(plan, kind);
        for (std::size_t i = 1; i < steps.size(); ++i) {
          CAPTURE(rank, i);
          REQUIRE(waits_for(plan, steps[i], steps[i - 1]));
        }
      }
    }
  }
}

TEST_CASE("parameters of two trees are read as they are written", "[schedule]") {
  CHECK(AnySchedule(TwoTreeComplete{}).name() == "TwoTreeComplete");
  CHECK(AnySchedule(TwoTreeSanders{4096, true}).name() == "TwoTreeSanders:4096,rounds");
  CHECK(AnySchedule(TwoTreeSanders{0, true}).name() == "TwoTreeSanders:0,rounds");
  CHECK(TwoTreeComplete::parse("0") == TwoTreeComplete{});
  CHECK(TwoTreeSanders::parse("4096,rounds") == TwoTreeSanders{4096, true});
  CHECK(TwoTreeSanders::parse("4096,free") == TwoTreeSanders{4096});
  CHECK(TwoTreeSanders::parse("4096") == TwoTreeSanders{4096});
  CHECK(AnySchedule(AnyReduceThenBcast{TwoTreeSanders{0, true}, TwoTreeComplete{}}).name() ==
        "ReduceThenBcast:(TwoTreeSanders:0,rounds),TwoTreeComplete");
  CHECK_THROWS_WITH(TwoTreeSanders::parse("4096,synchronised"),
                    "papcoll: TwoTreeSanders needs a number of bytes and perhaps 'rounds' or "
                    "'free', but was given '4096,synchronised': write TwoTreeSanders:4096,rounds");
  for (const auto* bad : {"", "rounds", "1,rounds,2", "-1", "1,"}) {
    CHECK_THROWS_AS(TwoTreeSanders::parse(bad), argument_error);
  }
}
