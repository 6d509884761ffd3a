// SPDX-License-Identifier: BSD-3-Clause
// Control blocks and call contexts with a fault each. The explorer must find every one, for
// otherwise its silence about the real ones would say nothing. One file, since it is a list.

#include "explorer.hpp"
#include "scripts.hpp"
#include "verdict.hpp"
#include "world.hpp"

#include <papcoll/node/control_block.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

using namespace explore;

namespace {

constexpr Algorithm dynamic_leader = explored<papcoll::DynamicLeader, papcoll::LeaderFan>;
constexpr Algorithm static_leader = explored<papcoll::StaticLeader, papcoll::LeaderFan>;
constexpr Algorithm exchange = explored<papcoll::StaticOrder, papcoll::Exchange>;
constexpr Algorithm accumulator = explored<papcoll::ArrivalOrder, papcoll::Accumulator>;
constexpr Algorithm multi_leader = explored<papcoll::StaticOrder, papcoll::MultiLeader>;
constexpr Algorithm peer_slices = explored<papcoll::StaticOrder, papcoll::PeerSlices>;
constexpr Algorithm combining_tree = explored<papcoll::ArrivalOrder, papcoll::CombiningTree>;
constexpr Algorithm split_tail = explored<papcoll::ArrivalOrder, papcoll::SplitTail>;
constexpr Algorithm last_combines = explored<papcoll::ArrivalOrder, LastCombines>;

constexpr auto allreduce = Collective::allreduce;
constexpr auto reduce = Collective::reduce;
constexpr auto bcast = Collective::bcast;
constexpr auto allgather = Collective::allgather;
constexpr auto barrier = Collective::barrier;

/// Returns true if the script fails under the mutant, and does not without it.
template <class Mutant> bool found_in(const Script& script) {
  using ControlBlock = std::remove_cvref_t<decltype(std::declval<Mutant>().control_block())>;
  using Bells = std::remove_cvref_t<decltype(std::declval<Mutant>().bells())>;
  constexpr bool plain = std::is_same_v<Bells, PlainBells>;
  World<ControlBlock, std::conditional_t<plain, PlainBells, RealBells>> sane{script};
  require_fine(random_walks(sane, 5, 200));
  World<ControlBlock, Bells, Mutant> world{script};
  const Report by_depth = depth_first(world, 2, 20'000);
  const Report by_chance = random_walks(world, 5, 20'000);
  CAPTURE(by_depth.failure, by_chance.failure);
  CHECK(by_depth.fine() == by_chance.fine());
  if (!by_depth.fine()) CHECK(replay(world, by_depth.failed).failure == by_depth.failure);
  return !by_depth.fine();
}

/// The same of three calls in a row.
template <class Mutant>
bool found(const CallSpec& call, int ranks = 2, std::uint32_t unused_for = 0) {
  return found_in<Mutant>(
      {.ranks = ranks, .calls = {call, call, call}, .deviations = {}, .unused_for = unused_for});
}

/// The same on four ranks in two groups of two.
template <class Mutant> bool found_in_groups(const CallSpec& call) {
  return found_in<Mutant>(
      {.ranks = 4, .calls = {call, call, call}, .colours = {0, 0, 1, 1}, .chunk = 256});
}

template <class ControlBlock, class Bells = PlainBells>
struct Base : ContextOver<ControlBlock, Bells> {
  using ContextOver<ControlBlock, Bells>::ContextOver;
};

/// Twice as many chunks in flight as there are chunk buffers for.
struct TooManyInFlight : Base<WideControlBlock> {
  using Base::Base;
  std::uint32_t buffers() const noexcept { return 2 * Base::buffers(); }
};

/// One chunk more.
struct OneMoreInFlight : Base<WideControlBlock> {
  using Base::Base;
  std::uint32_t buffers() const noexcept { return Base::buffers() + 1; }
};

/// One more chunk of an algorithm that takes two buffers to each.
struct TwoMoreInFlight : Base<WideControlBlock> {
  using Base::Base;
  std::uint32_t buffers() const noexcept { return Base::buffers() + 2; }
};

/// Combines across groups what its partners have not combined within theirs.
struct MissesPartialResults : Base<WideControlBlock> {
  using Base::Base;
  bool stage_reached(int r, std::uint32_t n) const noexcept {
    return n % 2 != 0 || Base::stage_reached(r, n);
  }
};

/// Takes results that are not yet combined across groups.
struct MissesResults : Base<WideControlBlock> {
  using Base::Base;
  bool stage_reached(int r, std::uint32_t n) const noexcept {
    return Base::stage_reached(r, n % 2 != 0 ? n : 1);
  }
};

struct OneResultBuffer : Base<WideControlBlock> {
  using Base::Base;
  std::byte* result_buffer(std::uint32_t) noexcept { return Base::result_buffer(0); }
};

/// Somebody else may claim between the two halves.
struct ClaimInHalves : Base<WideControlBlock> {
  using Base::Base;
  bool claim() noexcept {
    auto& leader = control_block().claim(epoch()).leader;
    if (papcoll::reached(leader.load(std::memory_order_acquire), epoch(), 1)) return false;
    leader.store(papcoll::make_tagged(epoch(), static_cast<std::uint32_t>(rank()) + 1),
                 std::memory_order_release);
    return true;
  }
};

/// Enters an epoch slot although others are still in the call that used it before.
struct EntersEarly : Base<TightControlBlock> {
  using Base::Base;
  static bool enter() noexcept { return true; }
};

/// Looks at one rank too few.
struct ForgetsTheLast : Base<TightControlBlock> {
  using Base::Base;
  bool enter() noexcept {
    const std::uint32_t wanted = epoch() - TightControlBlock::epoch_slots;
    for (int r = 0; r + 1 < size(); ++r) {
      const std::uint32_t left = control_block().left(r).epoch.load(std::memory_order_acquire);
      if (!papcoll::epoch_reached(left, wanted)) return false;
    }
    return true;
  }
};

/// Says that it left as soon as it is there.
struct LeavesEarly : Base<TightControlBlock> {
  using Base::Base;
  void announce(const std::byte* payload, std::size_t n, std::uint32_t chunks) noexcept {
    Base::announce(payload, n, chunks);
    leave();
  }
};

/// Nobody is told about chunks after the first.
struct NeverRings : Base<WideControlBlock> {
  using Base::Base;
  void publish(std::uint32_t chunks, int) noexcept { Base::publish(chunks, papcoll::nobody); }
};

/// Raises its flag before the data are there.
struct FlagFirst : Base<WideControlBlock> {
  using Base::Base;
  void write(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    control_block()
        .header(epoch(), rank())
        .count.store(papcoll::make_tagged(epoch(), ++written_), std::memory_order_seq_cst);
    Base::write(to, from, n);
  }
  void begin(const papcoll::CallFingerprint& fingerprint,
             const papcoll::Reducer& reducer) noexcept {
    Base::begin(fingerprint, reducer);
    written_ = 0;
  }
  std::uint32_t written_ = 0;
};

/// Looks at flags without an acquire.
struct RelaxedFlags : Base<WideControlBlock> {
  using Base::Base;
  bool arrived(int r, std::uint32_t chunks) const noexcept {
    return papcoll::reached(
        control_block().header(epoch(), r).count.load(std::memory_order_relaxed), epoch(), chunks);
  }
};

/// Leaves without a release.
struct RelaxedLeave : Base<TightControlBlock> {
  using Base::Base;
  void leave() noexcept {
    control_block().left(rank()).epoch.store(epoch(), std::memory_order_relaxed);
  }
};

/// Takes epochs in the order of their difference: old words come out ahead after 2^31 calls.
struct OrderedCounts : Base<WideControlBlock> {
  using Base::Base;
  bool released(std::uint32_t chunks) const noexcept {
    const papcoll::TaggedCount now =
        control_block().release(epoch()).count.load(std::memory_order_acquire);
    return static_cast<std::int64_t>(now - papcoll::make_tagged(epoch(), chunks)) >= 0;
  }
};

/// Combines in the wrong order.
struct HighLow : Base<WideControlBlock> {
  using Base::Base;
  void reduce(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n) noexcept {
    Base::reduce(out, high, low, n);
  }
};

/// Writes one byte too many.
struct OneByteMore : Base<WideControlBlock> {
  using Base::Base;
  static void read(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    Base::read(to, from, n);
    if (n != 0) to[n] = std::byte{0};
  }
};

/// Does not hear that the message of a root that has left is in its pool.
struct MissesThePool : Base<TightControlBlock> {
  using Base::Base;
  static bool stage_reached(int, std::uint32_t) noexcept { return false; }
};

/// Only looks, once it has told of it, which pieces are busy, and closes none.
struct ClosesNothing : Base<TightControlBlock, RealBells> {
  using Base::Base;
  bool try_claim(std::uint32_t w, std::uint32_t seen, std::uint32_t state) noexcept {
    constexpr std::uint32_t closed = 3;
    return (state & 0xffU) != closed && Base::try_claim(w, seen, state);
  }
};

/// Looks whether the call has failed before others can see that it reads.
struct ReadsUnseen : Base<TightControlBlock, RealBells> {
  using Base::Base;
  bool begin_reading() noexcept {
    auto& reading = control_block().reading(rank()).now;
    reading.store(1, std::memory_order_release);
    if (!is_failing()) return true;
    reading.store(0, std::memory_order_release);
    return false;
  }
};

/// Does not look at all.
struct NeverLooksBeforeItReads : Base<TightControlBlock, RealBells> {
  using Base::Base;
  bool begin_reading() noexcept {
    control_block().reading(rank()).now.store(1, std::memory_order_seq_cst);
    return true;
  }
};

/// Writes to its pool while late ranks may still read what was there.
struct NeverWaitsForThePool : Base<WideControlBlock> {
  using Base::Base;
  static bool use_pool() noexcept { return true; }
};

/// Somebody else may take up the same between the two halves.
struct ClaimsWorkInHalves : Base<TightControlBlock> {
  using Base::Base;
  bool try_claim(std::uint32_t w, std::uint32_t seen, std::uint32_t state) noexcept {
    if (work(w) != seen) return false;
    Base::unclaim(w, state);
    return true;
  }
};

/// Looks who else is at work before others can see that it is done.
struct CompletesUnseen : Base<TightControlBlock, RealBells> {
  using Base::Base;
  void complete(std::uint32_t w, std::uint32_t state) noexcept {
    control_block()
        .work(epoch(), w)
        .store(papcoll::make_tagged(epoch(), state), std::memory_order_release);
    bells().ring_all();
  }
};

/// Goes to sleep without waiting for stores that are under way.
class ImpatientSleeper : public RealBells {
 public:
  using RealBells::RealBells;
  template <class Ready> void wait(int me, Ready&& ready) {
    while (!nap(me, under_way, ready)) {
    }
  }
};

/// Goes to sleep without looking once more.
class HastySleeper : public RealBells {
 public:
  using RealBells::RealBells;
  template <class Ready> void wait(int me, Ready&& ready) {
    while (!ready()) nap(me, std::chrono::hours(1), [] { return false; });
  }
};

/// Wakes four and leaves the others to nobody.
class ForgetfulWaker : public RealBells {
 public:
  using RealBells::RealBells;
  void ring_all() noexcept { ring(0); }
};

}  // namespace

TEST_CASE("Chunks overwritten before they were read", "[explore]") {
  const std::size_t count = count_of(Size::chunks, false, 8);
  CHECK(found<TooManyInFlight>({exchange, allreduce, count}));
  CHECK(found<TooManyInFlight>({exchange, allgather, count}));
  CHECK(found<TooManyInFlight>({dynamic_leader, allgather, count}));
  CHECK(found<OneMoreInFlight>({exchange, reduce, count}));
  CHECK(found<OneMoreInFlight>({exchange, bcast, count}));
  CHECK(found<OneMoreInFlight>({dynamic_leader, reduce, count}));
  CHECK(found<OneMoreInFlight>({static_leader, allreduce, count}));
  CHECK(found<TwoMoreInFlight>({multi_leader, allreduce, count}));
  CHECK(found<OneResultBuffer>({dynamic_leader, allreduce, count}));
  CHECK(found<OneMoreInFlight>({accumulator, allreduce, count_of(Size::chunks, false, 10)}));
  CHECK(found<OneResultBuffer>({accumulator, allreduce, count}));
  CHECK(found<TooManyInFlight>({last_combines, allreduce, count}));
  CHECK(found<OneResultBuffer>({last_combines, allreduce, count}));
}

TEST_CASE("Groups that do not wait for each other", "[explore]") {
  const std::size_t chunks = count_of(Size::chunks, false, 4 * 5);
  CHECK(found_in_groups<TwoMoreInFlight>({multi_leader, allreduce, chunks}));
  CHECK(found_in_groups<MissesPartialResults>({multi_leader, allreduce, chunks}));
  CHECK(found_in_groups<MissesPartialResults>({peer_slices, allreduce, chunks}));
  CHECK(found_in_groups<MissesResults>({multi_leader, allreduce, chunks}));
  CHECK(found_in_groups<MissesResults>({peer_slices, allreduce, chunks, 0, true}));
}

TEST_CASE("Two leaders", "[explore]") {
  CHECK(found<ClaimInHalves>({dynamic_leader, allreduce, 3}));
  CHECK(found<ClaimInHalves>({dynamic_leader, allreduce, 16}, 3));
}

TEST_CASE("Epoch slots entered or left too early", "[explore]") {
  CHECK(found<EntersEarly>({exchange, bcast, 3}));
  CHECK(found<EntersEarly>({static_leader, reduce, 3}));
  CHECK(found<ForgetsTheLast>({exchange, bcast, 3}, 3));
  CHECK(found<LeavesEarly>({exchange, bcast, 3}));
  CHECK(found<RelaxedLeave>({exchange, bcast, 16}));
}

TEST_CASE("Flags and data in the wrong order", "[explore]") {
  CHECK(found<FlagFirst>({multi_leader, allreduce, 80}));
  CHECK(found<RelaxedFlags>({dynamic_leader, allreduce, 16}));
  CHECK(found<RelaxedFlags>({exchange, allgather, 3}));
  CHECK(found<RelaxedFlags>({last_combines, allreduce, 16}));
}

TEST_CASE("Words that were not used for a while", "[explore]") {
  CHECK(found<OrderedCounts>({dynamic_leader, allreduce, 3}, 2, 0x8000'0000));
}

TEST_CASE("Buffers and pools used while peers copy from them", "[explore]") {
  CHECK(found<MissesThePool>({peer_slices, bcast, 54}));
  CHECK(found<NeverWaitsForThePool>({peer_slices, bcast, 54}));
  CHECK(found<ClaimsWorkInHalves>({peer_slices, allgather, 20}));
  for (const std::size_t most : {std::size_t{1}, SharedModel::all_stores}) {
    const LazyStores lazy{most};
    CHECK(found<ClosesNothing>({peer_slices, bcast, 54}));
  }
}

TEST_CASE("Buffers of a call that failed, given back while peers are at work on them",
          "[explore]") {
  const CallSpec right{split_tail, allreduce, 16};
  const CallSpec wrong{split_tail, allreduce, 21};
  const Script script{3, {right}, {{1, 0, wrong}}};
  CHECK(found_in<NeverLooksBeforeItReads>(script));
  const LazyStores lazy{1};
  CHECK(found_in<ReadsUnseen>(script));
}

TEST_CASE("Work that each of two ranks leaves to the other", "[explore]") {
  // A tree of eight, whose ranks may all have left but those who combine the two halves, and which
  // the root does not climb.
  const Script script{9, {{combining_tree, reduce, 3, 8}}};
  const LazyStores lazy{1};
  World<TightControlBlock, RealBells> sane{script};
  require_fine(random_walks(sane, 5, 20'000));
  World<TightControlBlock, RealBells, CompletesUnseen> world{script};
  CHECK_FALSE(random_walks(world, 5, 20'000).fine());
}

TEST_CASE("Results", "[explore]") {
  CHECK(found<HighLow>({exchange, allreduce, 3, 0, false, true}));
  CHECK(found<HighLow>({static_leader, reduce, 3, 1, false, true}));
  CHECK(found<OneByteMore>({dynamic_leader, bcast, 3}));
}

TEST_CASE("Lost wake-ups", "[explore]") {
  for (const Collective c : {allreduce, reduce, bcast, allgather}) {
    CHECK(found<NeverRings>({exchange, c, 112}));
  }
  using Hasty = ContextOver<WideControlBlock, HastySleeper>;
  CHECK(found<Hasty>({exchange, barrier, 0}));
  using Forgetful = ContextOver<WideControlBlock, ForgetfulWaker>;
  CHECK(found<Forgetful>({exchange, barrier, 0}));
  shared_model().delays_stores = true;
  using Impatient = ContextOver<TightControlBlock, ImpatientSleeper>;
  CHECK(found<Impatient>({exchange, reduce, 64}));
  shared_model().delays_stores = false;
}
