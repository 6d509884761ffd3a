// SPDX-License-Identifier: BSD-3-Clause
// Which candidate is the quickest: ranks find out by trying, at little cost, and alike.

#include "catch.hpp"

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/node/control_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

using namespace papcoll;

namespace {

constexpr std::uint16_t balanced = 0x8000U | 5U << 5U;
constexpr std::uint16_t imbalanced = balanced | CallKind::imbalanced_bit;

Shortlist list_of(std::size_t n) {
  Shortlist list;
  for (std::size_t i = 0; i < n; ++i) list.add(static_cast<std::uint8_t>(i));
  return list;
}

/// Calls of one kind in a control block with several ranks, each with a learner of its own, whose
/// candidates cost what is said.
class Calls {
 public:
  explicit Calls(int ranks, std::uint32_t first_epoch = 1)
      : ranks_(ranks),
        epoch_(first_epoch - 1),
        memory_(NodeControlBlock::bytes(ranks, 64) / 8 + 8) {
    auto* const at = reinterpret_cast<std::byte*>(memory_.data());
    const auto off = (0 - reinterpret_cast<std::uintptr_t>(at)) % cache_line;
    for (int r = 0; r < ranks; ++r) {
      monitors_.emplace_back(NodeControlBlock{at + off, ranks, 64}, r);
      learners_.emplace_back();
    }
  }

  void begin(const CallLearner::Settled& s) {
    for (std::size_t r = 0; r < learners_.size(); ++r) begin(s, r);
  }
  void begin(const CallLearner::Settled& s, std::size_t rank) { learners_[rank].begin_settled(s); }
  /// What each rank knows of the length of blocks.
  void knows(std::vector<std::uint8_t> block_bits) { block_bits_ = std::move(block_bits); }
  const CallLearner& learner(std::size_t rank = 0) const { return learners_[rank]; }

  /// The cost of a candidate on a rank, in nanoseconds.
  template <class Cost>
  std::uint8_t call(const Shortlist& list, Cost&& cost, std::uint16_t kind = balanced) {
    ++epoch_;
    const CallTrial trial = learners_[0].pick(kind, list, epoch_);
    for (int r = 0; r < ranks_; ++r) {
      const auto i = static_cast<std::size_t>(r);
      if (learners_[i].pick(kind, list, epoch_) != trial) differs_ = true;
      const std::uint64_t ns = cost(r, trial.candidate);
      if (!monitors_[i].watches(epoch_)) continue;
      if (trial.is_timed(epoch_, false, monitors_[i].timed_one_in())) {
        monitors_[i].note(epoch_, 1'000'000'000ULL * epoch_ + static_cast<unsigned>(r), {}, false);
        monitors_[i].note_cost(epoch_, trial, ns, block_bits_.empty() ? 0 : block_bits_[i]);
      }
    }
    for (std::size_t i = 0; i < learners_.size(); ++i) {
      if (monitors_[i].evaluates_at(epoch_)) monitors_[i].evaluate(epoch_, &learners_[i]);
    }
    return trial.candidate;
  }

  bool is_settled(std::uint16_t kind = balanced) const { return learners_[0].is_settled(kind); }
  bool differs() const noexcept { return differs_; }

 private:
  int ranks_;
  std::uint32_t epoch_;
  std::vector<std::uint64_t> memory_;
  std::deque<ArrivalMonitor> monitors_;
  std::deque<CallLearner> learners_;
  std::vector<std::uint8_t> block_bits_;
  bool differs_ = false;
};

}  // namespace

TEST_CASE("the quickest candidate is found, and little is lost to trying", "[select][learner]") {
  std::minstd_rand random{7};
  const std::vector<std::vector<std::uint64_t>> all{{1000, 1100},
                                                    {1100, 1000},
                                                    {1000, 3000, 3000, 3000},
                                                    {3000, 1000, 2000, 1500},
                                                    {1000, 1020, 1040},
                                                    {2000, 1000, 1050},
                                                    {1000, 4000},
                                                    {1500, 1000, 1400, 1300}};
  for (const std::vector<std::uint64_t>& costs : all) {
    Calls calls{2};
    const Shortlist list = list_of(costs.size());
    const std::uint64_t least = *std::min_element(costs.begin(), costs.end());
    std::uint8_t last = 0;
    std::uint64_t took = 0;
    for (int i = 0; i < 1000; ++i) {
      // One call in some 50 is held up.
      const std::uint64_t noise = random() % 50 == 0 ? 20'000 : random() % 50;
      last = calls.call(list, [&](int, std::uint8_t c) { return costs[c] + noise; });
      took += costs[last];
      if (i == 200) CHECK(calls.is_settled());
    }
    CAPTURE(costs, static_cast<int>(last), took);
    CHECK(costs[last] * 100 <= least * 105);
    // The first one runs until the second look.
    const std::uint64_t begins = 32 * (std::min<std::uint64_t>(costs[0], 2 * least) - least);
    CHECK(took <= 1000 * least * 105 / 100 + begins);
    CHECK_FALSE(calls.differs());
  }
}

TEST_CASE("ranks that measure differently choose alike", "[select][learner]") {
  for (const int ranks : {2, 3, 8}) {
    for (const std::uint32_t first : {1U, 0xffffff00U}) {
      Calls calls{ranks, first};
      std::minstd_rand random{static_cast<unsigned>(ranks)};
      const Shortlist list = list_of(4);
      for (int i = 0; i < 3000; ++i) {
        calls.call(
            list, [&](int rank, std::uint8_t c) { return random() % (1000U << (rank + c) % 4); },
            i % 3 == 0 ? imbalanced : balanced);
      }
      CHECK_FALSE(calls.differs());
    }
  }
}

TEST_CASE("a candidate whose cost has changed is noticed", "[select][learner]") {
  Calls calls{2};
  const Shortlist list = list_of(3);
  const auto before = [](int, std::uint8_t c) { return c == 1 ? 1000U : 2000U; };
  const auto after = [](int, std::uint8_t c) { return c == 1 ? 3000U : 2000U + c; };
  for (int i = 0; i < 20'000; ++i) calls.call(list, before);
  CHECK(calls.call(list, before) == 1);
  for (int i = 0; i < 5000; ++i) calls.call(list, after);
  CHECK(calls.is_settled());
  CHECK(calls.call(list, after) != 1);
}

TEST_CASE("a candidate that was very slow is not tried again soon", "[select][learner]") {
  Calls calls{2};
  const Shortlist list = list_of(3);
  int slow = 0;
  const auto cost = [&](std::uint32_t of_best) {
    return [&, of_best](int rank, std::uint8_t c) {
      if (rank == 0 && c == 2) ++slow;
      return c == 2 ? 50'000U : of_best + 10U * c;
    };
  };
  for (int i = 0; i < 10'000; ++i) calls.call(list, cost(1000));
  CHECK(slow > 1);
  const int before = slow;
  for (int i = 0; i < 10'000; ++i) calls.call(list, cost(4000));
  CHECK(slow == before);
}

TEST_CASE("a kind begins with the choice that was made before", "[select][learner]") {
  Calls calls{2};
  const std::uint32_t changes = calls.learner().changes();
  constexpr CallLearner::Settled said{balanced, 1, 1000, 1U << 2U};
  calls.begin(said);
  CHECK(calls.learner().changes() != changes);
  calls.begin({balanced, 0, 5, 0});  // it stands
  std::vector<CallLearner::Settled> all;
  calls.learner().each_settled([&](const CallLearner::Settled& s) { all.push_back(s); });
  REQUIRE(all.size() == 1);
  CHECK((all[0].kind == said.kind && all[0].best == 1 && all[0].ns == 1000));
  CHECK(all[0].very_slow == said.very_slow);
  CHECK(calls.learner().was_given(balanced));
  const Shortlist list = list_of(3);
  const auto before = [](int, std::uint8_t c) { return c == 1 ? 1000U : 1U; };
  for (int i = 0; i < 3'000; ++i) CHECK(calls.call(list, before) == 1);
  CHECK(calls.learner().was_given(balanced));
  bool tries_slow = false;
  const auto after = [&](int, std::uint8_t c) {
    tries_slow = tries_slow || c == 2;
    return c == 1 ? 4000U : 900U;
  };
  for (int i = 0; i < 10'000; ++i) calls.call(list, after);
  CHECK(calls.call(list, after) == 0);
  CHECK(calls.is_settled());
  CHECK_FALSE(calls.learner().was_given(balanced));
  CHECK_FALSE(tries_slow);
}

TEST_CASE("a rank that begins later with the choice that was made before chooses as the others",
          "[select][learner]") {
  Calls calls{2};
  constexpr CallLearner::Settled said{balanced, 1, 1000, 0};
  calls.begin(said, 0);
  const auto other = [](int, std::uint8_t) { return 100U; };
  for (int i = 0; i < 5000; ++i) calls.call(list_of(2), other, imbalanced);
  calls.begin(said, 1);
  const auto changed = [](int, std::uint8_t c) { return c == 1 ? 4000U : 900U; };
  for (int i = 0; i < 10'000; ++i) calls.call(list_of(2), changed);
  CHECK(calls.call(list_of(2), changed) == 0);
  CHECK_FALSE(calls.differs());
}

TEST_CASE("one candidate is taken, and none that is not listed", "[select][learner]") {
  CallLearner learner;
  Shortlist only;
  only.add(3);
  CHECK(learner.pick(balanced, only, 17) == CallTrial{0, 3, 0});
  Calls calls{2};
  for (int i = 0; i < 500; ++i) {
    calls.call(list_of(3), [](int, std::uint8_t c) { return c == 2 ? 100U : 900U; });
  }
  CHECK(calls.call(list_of(3), [](int, std::uint8_t) { return 100U; }) == 2);
  for (int i = 0; i < 500; ++i) {
    CHECK(calls.call(list_of(2), [](int, std::uint8_t) { return 900U; }) < 2);
  }
}

TEST_CASE("a candidate whose first calls were slow gets another chance", "[select][learner]") {
  Calls calls{2};
  const Shortlist list = list_of(2);
  bool is_warm = false;
  const auto cost = [&](int, std::uint8_t c) { return c == 1 ? 1000U : is_warm ? 600U : 1200U; };
  for (int i = 0; i < 150; ++i) calls.call(list, cost);
  CHECK(calls.is_settled());
  CHECK(calls.call(list, cost) == 1);
  is_warm = true;
  for (int i = 0; i < 1000; ++i) calls.call(list, cost);
  CHECK(calls.call(list, cost) == 0);
}

TEST_CASE("a pool counts as it is when it has been used all over", "[select][learner]") {
  const std::uint16_t kind = CallKind::key_of(Collective::alltoall, 32768, 0);
  Calls calls{2};
  const Shortlist list = list_of(2);
  int of_pool = 0;
  const auto cost = [&](int rank, std::uint8_t c) {
    if (rank == 0 && c == 0) ++of_pool;
    return c == 1 ? 3900U : of_pool < 64 ? 4500U : 1500U;
  };
  for (int i = 0; i < 200; ++i) calls.call(list, cost, kind);
  CHECK(calls.is_settled(kind));
  CHECK(calls.call(list, cost, kind) == 0);
}

TEST_CASE("a candidate of which little was expected is tried in the end", "[select][learner]") {
  Calls calls{2};
  Shortlist list = list_of(2);
  list.allowed |= 1U << 5U | 1U << 6U;
  int slow = 0;
  const auto cost = [&](int rank, std::uint8_t c) {
    if (rank == 0 && c == 6) ++slow;
    return c == 5 ? 500U : c == 6 ? 50'000U : 1000U + 100U * c;
  };
  for (int i = 0; i < 3'000; ++i) CHECK(calls.call(list, cost) < 2);
  for (int i = 0; i < 20'000; ++i) calls.call(list, cost);
  CHECK(calls.is_settled());
  CHECK(calls.call(list, cost) == 5);
  CHECK(slow <= 16);  // what two looks see, at most
  for (int i = 0; i < 20'000; ++i) CHECK(calls.call(list, cost) == 5);
  CHECK_FALSE(calls.differs());
}

TEST_CASE("blocks of clearly another size make another kind", "[select][learner]") {
  CallLearner learner;
  const auto kind = [&] {
    Call call;
    call.collective = Collective::alltoall;
    call.local_counts = true;
    call.count = 1;
    call.reducer.size = 8;
    return CallKind{.block_bytes = learner.block_bytes(call.collective)}.key(call);
  };
  const auto cost = [&](std::uint8_t bits) {
    learner.add({{kind(), 0, 2}, 100, 100, bits});
    learner.evaluate();
    return kind();
  };
  const std::uint16_t unknown = kind();
  std::uint32_t changes = learner.changes();
  const std::uint16_t small = cost(4);
  CHECK(small != unknown);
  CHECK(learner.changes() != changes);
  CHECK(learner.block_bytes(Collective::alltoall) == 8);
  CHECK(learner.block_bytes(Collective::gather) == 0);
  cost(4);  // the first of that kind
  changes = learner.changes();
  CHECK(cost(5) == small);  // nearly the same
  CHECK(learner.changes() == changes);
  CHECK(cost(20) != small);
  CHECK(learner.changes() != changes);
}

TEST_CASE("ranks that know other lengths of blocks agree on the most", "[select][learner]") {
  Calls calls{3};
  const auto call = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const auto bytes = calls.learner().block_bytes(Collective::alltoall);
      const auto kind = CallKind::key_of(Collective::alltoall, bytes, CallKind::irregular_bit);
      calls.call(
          list_of(2), [](int, std::uint8_t c) { return 1000U + 500U * c; }, kind);
    }
    for (std::size_t r = 1; r < 3; ++r) {
      CHECK(calls.learner(r).block_bytes(Collective::alltoall) ==
            calls.learner().block_bytes(Collective::alltoall));
    }
    return calls.learner().block_bytes(Collective::alltoall);
  };
  calls.knows({1, 12, 4});
  CHECK(call(300) == 2048);
  calls.knows({20, 1, 1});
  CHECK(call(2000) == 1U << 19U);
  CHECK_FALSE(calls.differs());
}

TEST_CASE("kinds tell calls apart by all that a choice depends on", "[select][learner]") {
  Call call;
  call.collective = Collective::reduce;
  call.count = 4;
  call.reducer.size = 8;
  const std::uint16_t key = CallKind{}.key(call);
  CHECK(key != 0);
  CHECK(CallKind{.imbalanced = true}.key(call) != key);
  CHECK(CallKind{.in_arena = true}.key(call) != key);
  const auto is_another = [&](auto&& change) {
    Call other = call;
    change(other);
    return CallKind{}.key(other) != key;
  };
  CHECK_FALSE(is_another([](Call& c) { c.count = 7; }));  // to a factor of two
  CHECK(is_another([](Call& c) { c.count = 8; }));
  CHECK(is_another([](Call& c) { c.count = std::size_t{1} << 36U; }));
  CHECK(is_another([](Call& c) { c.collective = Collective::bcast; }));
  CHECK(is_another([](Call& c) { c.rank_order = true; }));
  CHECK(is_another([](Call& c) { c.contract = NumericalContract::reproducible; }));
}
