// SPDX-License-Identifier: BSD-3-Clause
// The tickets of ranks without common memory, on a memory whose operations happen some time between
// the moment when they are started and the moment when they are seen to be complete. One file,
// since all cases share that memory.

#include <papcoll/arrival/remote_tickets.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using papcoll::AllOrNone;
using papcoll::RemoteAtomics;
using papcoll::RemoteTicketCounter;

namespace {

/// The words of all ranks, and each rank's operation under way.
struct Memory {
  struct Operation {
    bool is_due = false;
    std::int64_t* word = nullptr;
    RemoteAtomics::Change change = RemoteAtomics::Change::none;
    std::int64_t operand = 0;
    std::int64_t before = 0;
  };
  explicit Memory(int ranks, std::size_t n)
      : words(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(n)),
        under_way(static_cast<std::size_t>(ranks)) {}

  void perform(std::size_t rank) {
    Operation& o = under_way[rank];
    if (!o.is_due) return;
    o.is_due = false;
    o.before = *o.word;
    if (o.change == RemoteAtomics::Change::add) *o.word += o.operand;
    if (o.change == RemoteAtomics::Change::replace) *o.word = o.operand;
  }

  std::vector<std::vector<std::int64_t>> words;
  std::vector<Operation> under_way;  ///< of each rank
};

class Words final : public RemoteAtomics {
 public:
  Words(Memory& memory, std::size_t rank) : memory_(memory), rank_(rank) {}
  void start(int rank, std::size_t word, Change change, std::int64_t operand) override {
    mine() = {true, &memory_.words.at(static_cast<std::size_t>(rank)).at(word), change, operand, 0};
  }
  bool progress() override { return !mine().is_due; }
  std::int64_t before() const noexcept override { return memory_.under_way[rank_].before; }
  std::int64_t own(std::size_t word) const override { return memory_.words.at(rank_).at(word); }
  bool part(std::chrono::nanoseconds) noexcept override { return false; }
  void free() noexcept override {}

 private:
  Memory::Operation& mine() { return memory_.under_way.at(rank_); }

  Memory& memory_;
  std::size_t rank_;
};

/// Ranks that make one call after the other, each at its own pace.
class World {
 public:
  World(int ranks, int calls, std::uint32_t first_epoch, std::uint32_t seed)
      : memory_(ranks, RemoteTicketCounter::words(ranks)), random_(seed) {
    std::minstd_rand kinds{seed};
    for (int i = 0; i < calls; ++i) {
      const int kind = static_cast<int>(kinds() % 6);
      calls_.push_back({kind == 0 ? -1 : static_cast<int>(kinds() % static_cast<unsigned>(ranks)),
                        std::vector<int>(static_cast<std::size_t>(ranks), -1)});
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
      const int rank = static_cast<int>(r);
      ranks_.push_back({std::make_unique<RemoteTicketCounter>(std::make_unique<Words>(memory_, r),
                                                              rank, ranks, first_epoch)});
    }
  }

  /// What went wrong, or "".
  std::string run() {
    for (int step = 0; step < 2'000'000 && problem_.empty(); ++step) {
      // For a while one rank is far slower than the others.
      const std::size_t slow = static_cast<std::size_t>(step / 2000) % ranks_.size();
      const std::size_t r = random_() % ranks_.size();
      if (r == slow && random_() % 50 != 0) continue;
      if (random_() % 2 == 0) {
        memory_.perform(r);
      } else {
        move(static_cast<int>(r));
      }
      bool all_done = true;
      for (const Rank& rank : ranks_) all_done = all_done && rank.call == calls_.size();
      if (all_done) return problem_;
    }
    return problem_.empty() ? "the ranks do not come to an end" : problem_;
  }

  /// By how many calls a rank was ahead of another, at most.
  std::size_t lead() const { return lead_; }

 private:
  struct Call {
    int root;                  ///< or −1
    std::vector<int> holders;  ///< ticket by ticket, as ranks learn them
    std::size_t tickets = 0;
  };
  struct Rank {
    std::unique_ptr<RemoteTicketCounter> counter;
    std::size_t call = 0;
    bool in_call = false;
    bool has_ticket = false;
  };

  void move(int r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    if (rank.call == calls_.size()) return;
    Call& call = calls_[rank.call];
    RemoteTicketCounter& counter = *rank.counter;
    if (!rank.in_call) {
      counter.begin(call.root);
      rank.in_call = true;
      return;
    }
    counter.step();
    if (counter.ticket() >= 0 && !rank.has_ticket) {
      rank.has_ticket = true;
      if (counter.ticket() >= static_cast<int>(ranks_.size())) return fail(r, "no such ticket");
      int& holder = call.holders[static_cast<std::size_t>(counter.ticket())];
      if (holder >= 0) return fail(r, "a ticket twice");
      holder = r;
      ++call.tickets;
    }
    const bool all_came = call.tickets == ranks_.size();
    const bool must_see_all = call.root < 0 || call.root == r;
    if (!counter.done() || (must_see_all && !all_came)) return;
    check(r, call);
    const bool sees_all = must_see_all || counter.ticket() + 1 == static_cast<int>(ranks_.size());
    counter.end(sees_all);
    rank.in_call = rank.has_ticket = false;
    ++rank.call;
    for (const Rank& other : ranks_) {
      if (rank.call > other.call) lead_ = std::max(lead_, rank.call - other.call);
    }
  }

  void check(int r, const Call& call) {
    const RemoteTicketCounter& counter = *ranks_[static_cast<std::size_t>(r)].counter;
    const auto holds = [&](int ticket, int rank) {
      return call.holders[static_cast<std::size_t>(ticket)] == rank;
    };
    const int end = static_cast<int>(ranks_.size()) - 1;
    const int t = counter.ticket();
    if (t > 0 && !holds(t - 1, counter.before())) fail(r, "wrong predecessor");
    if (t < end && !holds(t + 1, counter.after())) fail(r, "wrong successor");
    if (t == 0 && counter.before() != -1) fail(r, "a predecessor of the first");
    if (t == end && counter.after() != -1) fail(r, "a successor of the last");
    if (call.root == r && !holds(end, counter.last())) fail(r, "the root has another last");
  }

  void fail(int r, const std::string& what) {
    problem_ += what + " on rank " + std::to_string(r) + "\n";
  }

  Memory memory_;
  std::minstd_rand random_;
  std::vector<Call> calls_;
  std::vector<Rank> ranks_;
  std::string problem_;
  std::size_t lead_ = 0;
};

}  // namespace

TEST_CASE("tickets in the order of arrival, with ranks that run ahead", "[tickets]") {
  for (const int ranks : {2, 3, 5, 8, 12}) {
    std::size_t lead = 0;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
      const std::uint32_t first = seed % 2 == 0 ? 1 : 0xfffffff8U;
      World world{ranks, 60, first, seed};
      INFO(ranks << " ranks, seed " << seed);
      CHECK(world.run() == "");
      lead = std::max(lead, world.lead());
    }
    // Each call that goes on without a rank keeps one that waits for it.
    if (ranks >= 8) CHECK(lead > RemoteTicketCounter::epoch_slots);
  }
}

TEST_CASE("a rank that waits for others operates on nobody's words", "[tickets]") {
  Memory memory{2, RemoteTicketCounter::words(2)};
  RemoteTicketCounter first{std::make_unique<Words>(memory, 0), 0, 2, 1};
  const auto step = [&] {
    const bool operates = memory.under_way[0].is_due;
    memory.perform(0);
    first.step();
    return operates;
  };
  first.begin(0);
  for (int i = 0; i < 100; ++i) step();
  CHECK(first.ticket() == 0);
  CHECK_FALSE(first.done());
  CHECK_FALSE(step());

  RemoteTicketCounter second{std::make_unique<Words>(memory, 1), 1, 2, 1};
  second.begin(0);
  for (int i = 0; i < 100; ++i) {
    memory.perform(1);
    second.step();
    step();
  }
  CHECK(second.done());
  CHECK(first.done());
  CHECK(first.after() == 1);
}

TEST_CASE("a rank that is too far ahead seldom operates on home's words", "[tickets]") {
  constexpr std::size_t ranks = 8;
  constexpr std::size_t calls = 2 * RemoteTicketCounter::epoch_slots;
  Memory memory{ranks, RemoteTicketCounter::words(ranks)};
  struct Rank {
    std::unique_ptr<RemoteTicketCounter> counter;
    std::size_t calls = 0;
  };
  std::vector<Rank> all;
  for (std::size_t r = 0; r < ranks; ++r) {
    auto words = std::make_unique<Words>(memory, r);
    all.push_back(
        {std::make_unique<RemoteTicketCounter>(std::move(words), static_cast<int>(r), ranks, 1)});
  }
  constexpr int steps = 2000;
  // Reduces to the last rank. What the ranks do of `steps` steps each is counted.
  const auto operations = [&](std::size_t present) {
    int count = 0;
    for (int i = 0; i < steps; ++i) {
      for (std::size_t r = 0; r < present; ++r) {
        Rank& rank = all[r];
        if (rank.counter->done() && rank.calls < calls) {
          ++rank.calls;
          rank.counter->begin(ranks - 1);
        }
        if (memory.under_way[r].is_due) ++count;
        memory.perform(r);
        rank.counter->step();
      }
    }
    return count;
  };
  operations(ranks - 1);
  std::size_t ahead = 0;
  for (const Rank& rank : all) ahead += rank.calls > RemoteTicketCounter::epoch_slots ? 1 : 0;
  REQUIRE(ahead > 0);
  const int while_waiting = operations(ranks - 1);
  CHECK(while_waiting < static_cast<int>(ahead) * steps / 50);
  operations(ranks);
  for (const Rank& rank : all) {
    CHECK(rank.counter->done());
    CHECK(rank.calls == calls);
  }
}

TEST_CASE("ranks that part do so together or not at all", "[tickets]") {
  int together = 0;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    std::minstd_rand random{seed};
    random.discard(3);
    const int ranks = 1 + static_cast<int>(random() % 5);
    const bool one_stays_away = random() % 4 == 0;
    const unsigned hurry = 1 + static_cast<unsigned>(random() % 300);
    Memory memory{ranks, 1};
    std::vector<std::unique_ptr<Words>> words;
    std::vector<AllOrNone> partings;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
      words.push_back(std::make_unique<Words>(memory, r));
      partings.emplace_back(*words.back(), 0, static_cast<int>(r), ranks);
    }
    std::vector<AllOrNone::Outcome> outcomes(partings.size());
    const std::size_t coming = partings.size() - (one_stays_away ? 1 : 0);
    for (int step = 0; step < 20'000; ++step) {
      const std::size_t r = random() % partings.size();
      if (r >= coming) continue;
      memory.perform(r);
      outcomes[r] = partings[r].step(random() % hurry == 0);
    }
    INFO("seed " << seed << ", " << ranks << " ranks, " << coming << " come");
    for (std::size_t r = 0; r < coming; ++r) {
      CHECK(outcomes[r] != AllOrNone::Outcome::open);
      CHECK(outcomes[r] == outcomes[0]);
      if (one_stays_away) CHECK(outcomes[r] == AllOrNone::Outcome::not_at_all);
    }
    if (coming != 0 && outcomes[0] == AllOrNone::Outcome::together) ++together;
  }
  CHECK(together > 500);
  CHECK(together < 2500);
}

TEST_CASE("nobody is left behind where rank 0 answers only while it parts", "[tickets]") {
  int together = 0;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    std::minstd_rand random{seed};
    random.discard(3);
    const int ranks = 2 + static_cast<int>(random() % 4);
    const unsigned hurry = 1 + static_cast<unsigned>(random() % 1000);
    const int home_comes = static_cast<int>(random() % 2000);
    Memory memory{ranks, 1};
    std::vector<std::unique_ptr<Words>> words;
    std::vector<AllOrNone> partings;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
      words.push_back(std::make_unique<Words>(memory, r));
      partings.emplace_back(*words.back(), 0, static_cast<int>(r), ranks);
    }
    std::vector<AllOrNone::Outcome> outcomes(partings.size());
    std::vector<bool> impatient(partings.size());
    for (int step = 0; step < 40'000; ++step) {
      const std::size_t r = random() % partings.size();
      const bool home_is_there =
          step >= home_comes && outcomes[0] != AllOrNone::Outcome::not_at_all;
      if (home_is_there) memory.perform(r);  // also for those who have gone
      if (r == 0 && step < home_comes) continue;
      impatient[r] = impatient[r] || random() % hurry == 0;
      outcomes[r] = partings[r].step(impatient[r]);
    }
    INFO("seed " << seed << ", " << ranks << " ranks, rank 0 comes at " << home_comes);
    CHECK(outcomes[0] != AllOrNone::Outcome::open);
    for (const AllOrNone::Outcome outcome : outcomes) {
      // Who waits for an answer that does not come any more has patience, too.
      const bool waits = outcome == AllOrNone::Outcome::open;
      CHECK((outcome == outcomes[0] || (waits && outcomes[0] == AllOrNone::Outcome::not_at_all)));
    }
    if (outcomes[0] == AllOrNone::Outcome::together) ++together;
  }
  CHECK(together > 500);
  CHECK(together < 2500);
}
