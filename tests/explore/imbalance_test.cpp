// SPDX-License-Identifier: BSD-3-Clause
// The agreement on arrivals: ranks that leave calls early, run ahead and look at different moments
// must come to the same view, which is that of all that was noted.

#include "explorer.hpp"
#include "verdict.hpp"
#include "world.hpp"

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/node/control_block.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

using namespace explore;
using papcoll::ArrivalClass;
using papcoll::Imbalance;

namespace {

/// As small as it may be.
using SmallControlBlock = papcoll::BasicControlBlock<Access, 2, 2, 8>;
using Context = ContextOver<SmallControlBlock>;
using Watch = papcoll::BasicArrivalMonitor<SmallControlBlock, 2>;

constexpr ArrivalClass kind = ArrivalClass::of(papcoll::Collective::reduce, 8);

/// Any times, but others in each call and on each rank.
std::uint64_t arrival(std::uint32_t epoch, int rank) {
  return 1000 + epoch * 0x9e3779b9ULL % 50021 * static_cast<std::uint64_t>(rank);
}

struct Sane {
  static constexpr int notes_ahead = 0;
  static constexpr int evaluates_ahead = 0;
  static constexpr bool notes_when_gone = false;
  static constexpr bool costs_when_gone = false;
};

/// What ranks were told that calls cost.
struct Costs final : papcoll::CostListener {
  std::uint64_t sum = 0;
  void add(const papcoll::CallCost& cost) noexcept override {
    sum = sum * 31 + cost.in_call + cost.after_last;
  }
  void evaluate(std::uint32_t) noexcept override { sum = sum * 31 + 1; }
};

/// What a rank knows after a look.
struct View {
  Imbalance imbalance;
  std::uint64_t costs = 0;
  friend bool operator==(const View&, const View&) = default;
};

/// Ranks that leave as soon as they have announced themselves, and rank 0, which waits for all.
template <class Fault> class Calls {
 public:
  Calls(int ranks, std::uint32_t first, int calls) : ranks_(ranks), first_(first), calls_(calls) {
    memory_.resize(SmallControlBlock::bytes(ranks, chunk_bytes) / sizeof(Line) + 1);
  }

  int ranks() const noexcept { return ranks_; }

  void reset() {
    shared_model().map(this, begin(), memory_.size() * sizeof(Line));
    shared_model().name(begin(), memory_.size() * sizeof(Line), "control block");
    memory_.assign(memory_.size(), Line{});
    const SmallControlBlock control{begin(), ranks_, chunk_bytes};
    SmallControlBlock{control}.initialise(first_);
    contexts_.clear();
    watches_.clear();
    seen_.assign(static_cast<std::size_t>(ranks_), {});
    for (int r = 0; r < ranks_; ++r) {
      contexts_.emplace_back(control, PlainBells{}, r, first_);
      watches_.emplace_back(control, r);
    }
    shared_model().reset();
  }

  void body(int rank) {
    for (int i = 0; i < calls_; ++i) call(rank);
    shared_model().publish_stores();
  }

  /// All have come to the same, which is what one who knows all comes to.
  std::string finish() {
    const std::vector<View> right = expected();
    for (int r = 0; r < ranks_; ++r) {
      const auto& seen = seen_[static_cast<std::size_t>(r)];
      if (seen != right) return "rank " + std::to_string(r) + " has another view";
    }
    return {};
  }

 private:
  struct alignas(papcoll::cache_line) Line {
    std::byte bytes[papcoll::cache_line];
  };
  static constexpr std::size_t chunk_bytes = 64;

  std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(memory_.data()); }

  static void note(Watch& watch, std::uint32_t epoch, int rank) {
    watch.note(epoch, arrival(epoch, rank), kind, true);
  }

  static void note_cost(Watch& watch, std::uint32_t epoch, int rank) {
    watch.note_cost(epoch, {0x8001, 1, 2}, arrival(epoch, rank) % 1009);
  }

  void call(int rank) {
    Context& context = contexts_[static_cast<std::size_t>(rank)];
    Watch& watch = watches_[static_cast<std::size_t>(rank)];
    const papcoll::Reducer none;
    context.begin({}, none);
    const auto wait = [&](auto&& ready) { PlainBells::wait(rank, ready); };
    wait([&] { return context.enter(); });
    const std::uint32_t epoch = context.epoch();
    if (!Fault::notes_when_gone) note(watch, epoch + Fault::notes_ahead, rank);
    if (watch.evaluates_at(epoch)) {
      Costs costs;
      watch.evaluate(epoch + Fault::evaluates_ahead, &costs);
      seen_[static_cast<std::size_t>(rank)].push_back({watch.of(kind), costs.sum});
    }
    context.announce(nullptr, 0, 0);
    if (rank == 0) {
      wait([&] {
        for (int r = 0; r < ranks_; ++r) {
          if (!context.arrived(r, 0)) return false;
        }
        return true;
      });
    }
    if (!Fault::costs_when_gone) note_cost(watch, epoch, rank);
    context.leave();
    if (Fault::costs_when_gone) note_cost(watch, epoch, rank);
    if (Fault::notes_when_gone) note(watch, epoch, rank);
    context.bells().ring_all();
  }

  /// One rank after the other, which none would be without the fault.
  std::vector<View> expected() {
    memory_.assign(memory_.size(), Line{});
    const SmallControlBlock control{begin(), ranks_, chunk_bytes};
    Watch watch{control, 0};
    std::vector<View> seen;
    for (std::uint32_t e = first_; e != first_ + static_cast<std::uint32_t>(calls_); ++e) {
      for (int r = 0; r < ranks_; ++r) {
        Watch another{control, r};
        Watch& of_rank = r == 0 ? watch : another;
        note(of_rank, e + Fault::notes_ahead, r);
        note_cost(of_rank, e, r);
      }
      if (!watch.evaluates_at(e)) continue;
      Costs costs;
      watch.evaluate(e, &costs);
      seen.push_back({watch.of(kind), costs.sum});
    }
    return seen;
  }

  int ranks_;
  std::uint32_t first_;
  int calls_;
  std::vector<Line> memory_;
  std::deque<Context> contexts_;
  std::deque<Watch> watches_;
  std::vector<std::vector<View>> seen_;
};

/// Words of calls that not all ranks have left.
struct LooksTooSoon : Sane {
  static constexpr int evaluates_ahead = 2;
};
/// As if the control block remembered fewer calls than it has to.
struct ForgetsTooSoon : Sane {
  static constexpr int notes_ahead = 4;
};
/// After others may have looked.
struct NotesWhenGone : Sane {
  static constexpr bool notes_when_gone = true;
};
struct CostsWhenGone : Sane {
  static constexpr bool costs_when_gone = true;
};

template <class Fault> bool found(int ranks) {
  Calls<Fault> world{ranks, 1, 12};
  const Report by_depth = depth_first(world, 1, 100'000);
  const Report by_chance = random_walks(world, 5, 20'000);
  CAPTURE(by_depth.failure, by_chance.failure);
  CHECK(by_depth.fine() == by_chance.fine());
  return !by_depth.fine();
}

}  // namespace

TEST_CASE("All ranks come to the same view of arrivals and costs", "[explore][imbalance]") {
  for (const std::uint32_t first : {1U, 0xfffffffaU}) {
    INFO("first epoch " << first);
    Calls<Sane> two{2, first, 12};
    require_fine(depth_first(two, 2, 200'000));
    for (const int ranks : {2, 3, 4}) {
      Calls<Sane> world{ranks, first, 14};
      require_fine(random_walks(world, 3, 3000));
      const LazyStores lazy;
      require_fine(random_walks(world, 4, 3000));
    }
  }
}

TEST_CASE("What would make views differ is found", "[explore][imbalance]") {
  CHECK(found<LooksTooSoon>(2));
  CHECK(found<ForgetsTooSoon>(2));
  CHECK(found<NotesWhenGone>(2));
  CHECK(found<CostsWhenGone>(2));
}
