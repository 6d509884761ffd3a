// SPDX-License-Identifier: BSD-3-Clause
// What is learnt from arrivals: the figures, how soon a change is followed, and what is not
// followed.

#include "catch.hpp"

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/pattern/imbalance_factors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

using namespace papcoll;

namespace {

constexpr ArrivalClass small_calls = ArrivalClass::of(Collective::allreduce, 8);
constexpr ArrivalClass large_calls = ArrivalClass::of(Collective::allreduce, 1 << 20);
constexpr ArrivalClass outward_calls = ArrivalClass::of(Collective::bcast, 8);

/// The ranks of a node, one call after the other.
class Ranks {
 public:
  /// When rank r arrives in call e, in nanoseconds.
  using Pattern = std::function<std::uint64_t(int r, std::uint32_t e)>;

  explicit Ranks(int ranks, std::uint32_t first = 1)
      : lines_(NodeControlBlock::bytes(ranks, cache_line) / sizeof(Line) + 1), next_(first) {
    const NodeControlBlock control{lines_.data()->bytes, ranks, cache_line};
    NodeControlBlock{control}.initialise(first);
    for (int r = 0; r < ranks; ++r) watches_.emplace_back(control, r);
  }

  std::uint32_t next() const noexcept { return next_; }

  void call(ArrivalClass kind, const Pattern& pattern, bool in_arena = false, bool notes = true) {
    const std::uint32_t e = next_++;
    notes = notes && watches_.front().watches(e) && ArrivalMonitor::notes(e, kind);
    for (std::size_t r = 0; r < watches_.size() && notes; ++r) {
      watches_[r].note(e, pattern(static_cast<int>(r), e), kind, in_arena);
    }
    if (!watches_.front().evaluates_at(e)) return;
    for (auto& w : watches_) w.evaluate(e);
  }
  void calls(int n, ArrivalClass kind, const Pattern& pattern, bool in_arena = false) {
    for (int i = 0; i < n; ++i) call(kind, pattern, in_arena);
  }

  std::uint32_t evaluations() const { return watches_.front().evaluations(); }
  std::uint32_t generation() const { return watches_.front().generation(); }

  /// The view of all ranks, which is one.
  Imbalance view(ArrivalClass kind) const {
    for (const auto& w : watches_) REQUIRE(w.of(kind) == watches_.front().of(kind));
    return watches_.front().of(kind);
  }

 private:
  struct alignas(cache_line) Line {
    std::byte bytes[cache_line];
  };
  std::vector<Line> lines_;
  std::vector<ArrivalMonitor> watches_;
  std::uint32_t next_;
};

constexpr std::uint64_t hour = 3'600'000'000'000;

std::uint64_t together(int, std::uint32_t e) { return hour + e * 1000; }
std::uint64_t last_is_late(int r, std::uint32_t e) {
  return hour + e * 1'000'000 + (r == 3 ? 800'000 : 0);
}
std::uint64_t first_is_early(int r, std::uint32_t e) {
  return hour + e * 1'000'000 + (r == 0 ? 0 : 800'000);
}

}  // namespace

TEST_CASE("the last node, and by how much it was later than the others") {
  const std::vector<std::int64_t> at{5, 90, 100, 30, 40, 60};
  const auto late = [&](const std::vector<int>& node_of) {
    Imbalance call;
    std::vector<std::int64_t> nodes(
        static_cast<std::size_t>(*std::max_element(node_of.begin(), node_of.end())) + 1);
    detail::find_late_node(call, node_of, nodes,
                           [&](int r) { return at[static_cast<std::size_t>(r)]; });
    return call;
  };
  CHECK(late({0, 1, 1, 2, 2, 2}).late_node == 1);  // its own other rank does not count
  CHECK(late({0, 1, 1, 2, 2, 2}).lead == 67);      // (95 + 40) / 2
  CHECK(late({2, 0, 0, 1, 1, 1}).late_node == 0);
  CHECK(late({0, 0, 1, 1, 2, 2}).lead == 25);  // (10 + 40) / 2, and the one before it is late, too
  CHECK(late({0, 0, 1, 1, 2, 2}).late_node == -1);
  CHECK(late({0, 0, 0, 1, 1, 1}).late_node == 0);
  CHECK(late({0, 0, 0, 1, 1, 1}).lead == 40);
  CHECK(late({0, 0, 0, 0, 0, 0}).late_node == -1);
  CHECK(late({0, 0, 0, 0, 0, 0}).lead == 0);
}

TEST_CASE("one node is expected to be late while it was so in the last three calls") {
  detail::RecentCalls recent;
  const auto call = [](int node) {
    Imbalance i;
    i.late_node = node;
    i.lead = 1000;
    return i;
  };
  for (int n = 0; n < 3; ++n) recent.add(call(2));
  recent.update();
  CHECK(recent.agreed().late_node == 2);
  CHECK(recent.agreed().lead == 1000);
  recent.add(call(1));
  recent.update();
  CHECK(recent.agreed().late_node == -1);
  CHECK(recent.agreed().lead == 1000);
}

TEST_CASE("the figures are those of the arrivals", "[imbalance]") {
  const std::vector<std::uint64_t> at{700'000, 100'000, 900'000, 300'000};
  Ranks ranks{4};
  ranks.calls(64, small_calls, [&](int r, std::uint32_t e) {
    return hour + e * 1'000'000 + at[static_cast<std::size_t>(r)];
  });
  const Imbalance i = ranks.view(small_calls);
  const std::vector<double> seconds{7e-4, 1e-4, 9e-4, 3e-4};
  CHECK(static_cast<double>(i.worst) == Approx(1e9 * pattern::worst_case_imbalance(seconds)));
  CHECK(static_cast<double>(i.average) == Approx(1e9 * pattern::average_case_imbalance(seconds)));
  CHECK(i.waiting == 400'000);
  CHECK_FALSE(i.in_arena);
  CHECK(i.seen >= 6);
  CHECK(ranks.view(large_calls) == Imbalance{});
  CHECK(ranks.view(outward_calls) == Imbalance{});
}

TEST_CASE("one late rank is waited for, one early rank hardly waits alone", "[imbalance]") {
  Ranks late{4};
  late.calls(64, large_calls, last_is_late, true);
  CHECK(late.view(large_calls).worst == 800'000);
  CHECK(late.view(large_calls).waiting == 600'000);
  CHECK(late.view(large_calls).in_arena);
  Ranks early{4};
  early.calls(64, large_calls, first_is_early);
  CHECK(early.view(large_calls).worst == 800'000);
  CHECK(early.view(large_calls).waiting == 200'000);
}

TEST_CASE("a change is followed within 50 calls, wherever it comes", "[imbalance]") {
  for (const std::uint32_t first : {1U, 0xffffff80U}) {
    for (int before = 48; before < 48 + 16; ++before) {
      Ranks ranks{4, first};
      ranks.calls(before, small_calls, together);
      REQUIRE(ranks.view(small_calls).worst == 0);
      ranks.calls(49, small_calls, last_is_late);
      CHECK(ranks.view(small_calls).worst == 800'000);
      ranks.calls(before, small_calls, last_is_late);
      ranks.calls(49, small_calls, together);
      CHECK(ranks.view(small_calls).worst == 0);
    }
  }
}

TEST_CASE("a large call now and then is watched for itself", "[imbalance]") {
  Ranks ranks{4};
  for (int i = 0; i < 4; ++i) {
    ranks.calls(15, small_calls, together);
    ranks.call(large_calls, last_is_late);
  }
  CHECK(ranks.view(small_calls).worst == 0);
  CHECK(ranks.view(large_calls).worst == 800'000);
}

TEST_CASE("one disturbed call is nothing, and neither is jitter", "[imbalance]") {
  Ranks ranks{4};
  ranks.calls(64, large_calls, together);
  ranks.call(large_calls, last_is_late);
  ranks.calls(64, large_calls, together);
  CHECK(ranks.view(large_calls).worst == 0);

  Imbalance before;
  for (int i = 0; i < 20; ++i) {
    ranks.calls(16, large_calls, [&](int r, std::uint32_t e) {
      return hour + e * 1'000'000 +
             (r == 3 ? 800'000 + static_cast<std::uint64_t>(i) % 2 * 300'000 : 0);
    });
    if (i > 4) CHECK(ranks.view(large_calls).worst == before.worst);
    before = ranks.view(large_calls);
  }
}

TEST_CASE("calls that some ranks have not noted alike are left out", "[imbalance]") {
  Ranks ranks{4};
  ranks.calls(64, small_calls, last_is_late);
  const std::uint32_t seen = ranks.view(small_calls).seen;
  for (int i = 0; i < 64; ++i) ranks.call(small_calls, together, false, false);
  CHECK(ranks.view(small_calls).seen <= seen + 1);
  CHECK(ranks.view(small_calls).worst == 800'000);
}

TEST_CASE("the clock's low bits may wrap", "[imbalance]") {
  constexpr std::uint64_t wrap = std::uint64_t{1} << 43U;
  Ranks ranks{4};
  ranks.calls(64, large_calls, [&](int r, std::uint32_t) {
    return wrap - 100'000 + static_cast<std::uint64_t>(r) * 100'000;
  });
  CHECK(ranks.view(large_calls).worst == 300'000);
}

TEST_CASE("one call in eight is noted, in no rhythm", "[imbalance]") {
  int noted = 0;
  std::vector<int> of_eight(8);
  for (std::uint32_t e = 0; e < 8000; ++e) {
    if (!ArrivalMonitor::notes(e, small_calls)) continue;
    ++noted;
    ++of_eight[e % 8];
  }
  CHECK(noted == 1000);
  for (const int n : of_eight) CHECK(n > 60);
}

TEST_CASE("once nothing changes, one look in four is made, until something does", "[imbalance]") {
  Ranks ranks{4};
  ranks.calls(80 * 16, small_calls, together);
  const std::uint32_t before = ranks.evaluations();
  CHECK(before < 80);
  ranks.calls(64 * 16, small_calls, together);
  CHECK(ranks.evaluations() == before + 16);
  const auto late = [](int r, std::uint32_t e) {
    return together(r, e) + static_cast<std::uint64_t>(r) * 100'000;
  };
  ranks.calls(4 * 64, small_calls, late);
  CHECK(ranks.view(small_calls).worst == 300'000);
  const std::uint32_t changed = ranks.evaluations();
  ranks.calls(16 * 16, small_calls, late);
  CHECK(ranks.evaluations() == changed + 16);
}

TEST_CASE("ranks that come a signal's time apart come together", "[imbalance]") {
  Ranks ranks{2};
  ranks.calls(64, small_calls, together);
  const std::uint32_t before = ranks.generation();
  ranks.calls(640, small_calls, [](int r, std::uint32_t e) {
    return together(r, e) + static_cast<std::uint64_t>(r) * (e * 37 % 128);
  });
  CHECK(ranks.generation() == before);
  CHECK(ranks.view(small_calls).waiting == 0);
}

TEST_CASE("ranks look alike although one has come to more than the others", "[imbalance]") {
  struct Told final : CostListener {
    void add(const CallCost&) noexcept override {}
    void evaluate(std::uint32_t) noexcept override {}
    void tell() noexcept { ++changes_; }
  };
  std::vector<std::uint64_t> memory(NodeControlBlock::bytes(2, cache_line) / 8 + cache_line);
  auto* const at = reinterpret_cast<std::byte*>(memory.data());
  const auto off = cache_line - reinterpret_cast<std::uintptr_t>(at) % cache_line;
  const NodeControlBlock control{at + off, 2, cache_line};
  NodeControlBlock{control}.initialise(1);
  ArrivalMonitor one{control, 0};
  ArrivalMonitor other{control, 1};
  Told told_one;
  Told told_other;
  for (std::uint32_t e = 1; e < 4000; ++e) {
    if (e % 100 == 0) told_one.tell();
    REQUIRE(one.evaluates_at(e) == other.evaluates_at(e));
    if (!one.evaluates_at(e)) continue;
    one.evaluate(e, &told_one);
    other.evaluate(e, &told_other);
  }
  CHECK(one.evaluations() < 4000 / 16);
}
