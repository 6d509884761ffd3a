// SPDX-License-Identifier: BSD-3-Clause
// Ranks that share no memory tell each other what calls cost, and learn alike from it.

#include "catch.hpp"

#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/learner.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <vector>

using namespace papcoll;

namespace {

constexpr std::uint32_t period = 16;

std::vector<int> one_each(int ranks) {
  std::vector<int> nodes(static_cast<std::size_t>(ranks));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// Calls of ranks on nodes of their own, each with a learner of its own, whose candidates cost what
/// is said.
class Calls {
 public:
  explicit Calls(int ranks) {
    inputs_.size = inputs_.nodes = ranks;
    inputs_.between_nodes = true;
    inputs_.thresholds = &thresholds_;
    for (int r = 0; r < ranks; ++r) {
      watches_.emplace_back(r, one_each(ranks), period);
      learners_.emplace_back();
    }
  }

  /// `ns(rank, candidate)`. Returns the candidate.
  template <class Cost> std::uint8_t call(Call& call, Cost&& ns) {
    const CallTrial trial = picked(call, learners_[0]);
    const bool times = trial.is_timed(inputs_.epoch, false);
    timed_ += times ? 1 : 0;
    bool ends = false;
    for (std::size_t r = 0; r < learners_.size(); ++r) {
      if (picked(call, learners_[r]) != trial) differs_ = true;
      const std::chrono::nanoseconds took{ns(static_cast<int>(r), trial.candidate)};
      if (times) watches_[r].note(call, trial, false, took);
      ends = watches_[r].count();
    }
    if (ends) exchange();
    ++inputs_.epoch;
    return trial.candidate;
  }

  bool is_settled(Call& call) { return learners_[0].is_settled(picked(call, learners_[0]).kind); }
  const CallLearner& learner() const { return learners_[0]; }
  bool differs() const { return differs_; }
  int exchanges() const { return exchanges_; }
  int timed() const { return timed_; }

 private:
  CallTrial picked(Call call, const CallLearner& learner) {
    inputs_.learner = &learner;
    AlgorithmSpec s;
    TransportTable messages{transport_names[0].name, transport_names[0].offers, false, nullptr,
                            nullptr};
    s.transport = &messages;
    choose(s, call, inputs_, detail::chooser_of(call.collective));
    return call.trial;
  }

  /// What was told at the end of the last period is heard at the end of this one.
  void exchange() {
    for (std::size_t r = 0; r < learners_.size(); ++r) {
      if (!told_.empty()) watches_[r].learn_from_all(told_, &learners_[r]);
      learners_[r].evaluate();
    }
    told_.clear();
    if (!watches_[0].has_noted()) return;
    ++exchanges_;
    for (RemoteArrivalMonitor& w : watches_) {
      const auto mine = w.take_notes();
      told_.insert(told_.end(), mine.begin(), mine.end());
    }
  }

  Thresholds thresholds_;
  SelectionInputs inputs_;
  std::deque<RemoteArrivalMonitor> watches_;
  std::deque<CallLearner> learners_;
  std::vector<std::int64_t> told_;
  bool differs_ = false;
  int exchanges_ = 0;
  int timed_ = 0;
};

Call call_of(Collective c, std::size_t bytes) {
  Call call;
  call.collective = c;
  call.count = bytes;
  return call;
}

}  // namespace

TEST_CASE("across nodes the quickest candidate is found, whichever is expected", "[learner]") {
  for (const Collective c : {Collective::allreduce, Collective::bcast, Collective::allgather,
                             Collective::gather, Collective::scan}) {
    for (const std::uint8_t best : {std::uint8_t{0}, std::uint8_t{1}}) {
      Calls calls{8};
      Call call = call_of(c, 8192);
      std::uint64_t took = 0;
      std::uint8_t last = 0;
      for (int i = 0; i < 1000; ++i) {
        last = calls.call(call, [&](int, std::uint8_t k) { return k == best ? 10'000 : 15'000; });
        took += last == best ? 10'000 : 15'000;
      }
      CAPTURE(name_of(c), static_cast<int>(best));
      CHECK(last == best);
      CHECK(calls.is_settled(call));
      CHECK(took <= 1000 * 10'500);
      CHECK_FALSE(calls.differs());
    }
  }
}

TEST_CASE("what a call costs is what it costs the rank that is in it longest", "[learner]") {
  Calls calls{4};
  Call call = call_of(Collective::allreduce, 64);
  // RecursiveDoubling is slow on rank 2 only, and the others leave early.
  const auto cost = [](int rank, std::uint8_t k) {
    if (k != 0) return 9000;
    return rank == 2 ? 20'000 : 3000;
  };
  CHECK(calls.call(call, cost) == 0);
  for (int i = 0; i < 300; ++i) calls.call(call, cost);
  CHECK(calls.call(call, cost) != 0);
  CHECK_FALSE(calls.differs());
}

TEST_CASE("ranks that share no memory and measure differently choose alike", "[learner]") {
  for (const int ranks : {2, 3, 8}) {
    Calls calls{ranks};
    std::minstd_rand random{static_cast<unsigned>(ranks)};
    std::vector<Call> kinds{call_of(Collective::allreduce, 64), call_of(Collective::bcast, 1 << 18),
                            call_of(Collective::alltoall, 4096), call_of(Collective::barrier, 0)};
    for (int i = 0; i < 3000; ++i) {
      calls.call(kinds[random() % kinds.size()], [&](int rank, std::uint8_t k) {
        return static_cast<int>(random() % (1000U << static_cast<unsigned>(rank + k) % 4U));
      });
    }
    CHECK_FALSE(calls.differs());
  }
}

TEST_CASE("once choices are made, few calls are timed, and few exchanges are made", "[learner]") {
  Calls calls{4};
  Call call = call_of(Collective::allreduce, 1 << 20);
  const auto cost = [](int, std::uint8_t k) { return 1000 * (1 + k); };
  // Until those that were near are tried again.
  for (int i = 0; i < 1024; ++i) calls.call(call, cost);
  CHECK(calls.is_settled(call));
  const int exchanges = calls.exchanges();
  const int timed = calls.timed();
  for (int i = 0; i < 2560; ++i) calls.call(call, cost);
  CHECK(calls.timed() - timed == 10);
  CHECK(calls.exchanges() - exchanges <= 10);
}

TEST_CASE("of more calls than are told of, any may be", "[learner]") {
  // Sixteen kinds in turns: each is told of now and then.
  Calls calls{2};
  std::vector<Call> kinds;
  for (std::size_t i = 0; i < period; ++i) {
    kinds.push_back(call_of(Collective::allreduce, std::size_t{1} << i));
  }
  for (int i = 0; i < 40'000; ++i) {
    calls.call(kinds[static_cast<std::size_t>(i) % kinds.size()],
               [](int, std::uint8_t k) { return k == 0 ? 20'000 : 10'000; });
  }
  for (Call& call : kinds) CHECK(calls.is_settled(call));
}

TEST_CASE("ranks that end their requests in different orders choose alike", "[learner]") {
  constexpr int ranks = 3;
  constexpr std::uint16_t kind = 0x8000U | CallKind::by_messages_bit | CallKind::non_blocking_bit;
  int others = 0;
  Shortlist list;
  for (std::uint8_t i = 0; i < 3; ++i) list.add(i);
  std::deque<RemoteArrivalMonitor> costs;
  std::deque<CallLearner> learners(ranks);
  for (int r = 0; r < ranks; ++r)
    costs.emplace_back(r, std::vector<int>(ranks), RemoteArrivalMonitor::period_of_requests, 16);
  struct Open {
    std::uint32_t timed;
    std::int64_t took;
  };
  std::vector<std::vector<Open>> open(ranks);
  std::vector<std::int64_t> told;
  std::minstd_rand random{5};
  bool differs = false;
  bool is_settled = false;
  std::uint8_t last = 0;
  for (std::uint32_t n = 1; n < 40'000; ++n) {
    const CallTrial trial = learners[0].pick(kind, list, n);
    last = trial.candidate;
    if (n <= 1000 && last != 0) ++others;
    bool ends = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (learners[r].pick(kind, list, n) != trial) differs = true;
      ends = costs[r].count();
    }
    if (ends) {
      for (std::size_t r = 0; !told.empty() && r < ranks; ++r) {
        costs[r].learn_from_all(told, &learners[r]);
        learners[r].evaluate();
      }
      told.clear();
      for (RemoteArrivalMonitor& c : costs) {
        if (!c.has_noted()) continue;
        const auto mine = c.take_notes();
        told.insert(told.end(), mine.begin(), mine.end());
      }
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      if (trial.is_timed(n, false)) {
        const int slow = trial.candidate == 2 ? 5000 : r == 1 ? 20'000 : 1000;
        open[r].push_back({costs[r].begin(trial), slow});
      }
      // Each rank ends its requests when, and in the order that, it likes.
      while (!open[r].empty() && random() % 3 != 0) {
        const std::size_t i = random() % open[r].size();
        costs[r].end(open[r][i].timed, std::chrono::nanoseconds{open[r][i].took});
        open[r].erase(open[r].begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    is_settled = learners[0].is_settled(kind);
    if (n == 16 * RemoteArrivalMonitor::period_of_requests) CHECK(is_settled);
  }
  CHECK(others <= 1000 / 12);
  CHECK_FALSE(differs);
  CHECK(is_settled);
  CHECK(last == 2);
}
