// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/node_measurements.hpp>
#include <papcoll/runtime/node_signals.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/topology/options.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank does in the control block of its node, if all ranks of its team share one. Every
/// blocking call, whatever it runs, enters an epoch slot there: so calls are compared, arrivals are
/// watched, and failures are notified. In a team whose ranks do not share memory it is absent:
/// functions that need the control block must not be called, and queries return their empty value.
class NodeCallTracker : Pinned {
 public:
  explicit NodeCallTracker(TeamContext& team) : team_(team) {
    if (const Node* node = team.environment().node) {
      shared_.emplace(*node, team.options(), team.rank());
      team.waiter().bells = &shared_->bells;
    }
  }

  /// Returns true if all ranks of the team share a control block.
  bool is_there() const noexcept { return shared_.has_value(); }

  // --- what needs the control block

  NodeContext& context() noexcept { return shared_->context; }

  /// Enters the epoch slot of a blocking call. Returns false if the call that used the slot before
  /// did not match; then only fail_for_earlier_call() may follow.
  bool begin(const CallFingerprint& fingerprint, const Call& call) {
    NodeContext& context = shared_->context;
    context.begin(fingerprint, call.reducer);
    enter_epoch_slot(&call);
    in_call_ = true;
    return context.earlier_call_matched();
  }
  void end() noexcept {
    if (times_) [[unlikely]]
      note_cost();
    shared_->context.leave();
    in_call_ = false;
  }

  /// Called after begin(): throws peer_error, and makes all ranks in this call throw it.
  [[noreturn, gnu::noinline, gnu::cold]] void fail_for_earlier_call() {
    NodeContext& context = shared_->context;
    const detail::OnExit left{[this] { end(); }};
    announce_only();
    team_.waiter().until([&] { return context.failed(); });  // another may say so first
    team_.mismatch(context.failure_text());
  }

  /// Returns true if this rank passed messages, or began to, in the call that used the present
  /// epoch slot before. If that call did not match, a message may be left that no rank has
  /// received.
  bool earlier_call_passed_messages() const noexcept {
    const std::uint32_t before = shared_->context.epoch() - NodeControlBlock::epoch_slots;
    return with_messages_[before % NodeControlBlock::epoch_slots] == make_tagged(before, 1);
  }

  /// Throws peer_error, on all ranks and with nothing in flight, if those of a node differ in the
  /// call under way.
  void compare() {
    NodeContext& context = shared_->context;
    team_.waiter().until([&] {
      for (int r = 0; r < team_.size(); ++r) {
        if (!context.arrived(r, 0)) return false;
      }
      return true;
    });
    context.note_all_arrived();
    for (int r = 0; r < team_.size(); ++r) {
      if (context.matches(r)) continue;
      context.compare_calls();
      fail();
    }
    // A rank that learns of an earlier mismatch arrives with an equal fingerprint, and does not go
    // on.
    if (context.is_failing()) fail();
  }

  /// Makes a call that is invalid on this rank fail on the others. Returns what is to be added to
  /// the exception of this rank, which may learn only here that an earlier call did not match.
  [[gnu::cold]] std::string refuse_call(const std::string& what) {
    NodeContext& context = shared_->context;
    std::string earlier;
    CallFingerprint fingerprint;
    fingerprint.packed = CallFingerprint::invalid;
    const Reducer none;
    context.begin(fingerprint, none);
    enter_epoch_slot(nullptr);
    const detail::OnExit left{[this] { end(); }};
    if (!context.earlier_call_matched()) {
      team_.waiter().until([&] { return context.failed(); });  // another may say so first
      earlier = detail::joined({"; and ", context.failure_text()});
    }
    context.fail_with(detail::joined({"another rank's call is invalid: ", what}));
    announce_only();
    return earlier;
  }

  /// This rank refuses its request of that number.
  void refuse_request(std::uint32_t number) { shared_->refused.refuse(number); }

  /// Changes whenever what the ranks know of arrivals, costs and processors has changed.
  std::uint32_t generation() const noexcept {
    const std::uint32_t choices = costs != nullptr ? costs->changes() : 0;
    return shared_->monitor.generation() + generation_offset_ + choices;
  }

  // --- what does nothing where there is no control block

  /// Announces this rank in the present call, in which it shares nothing.
  void announce_only() noexcept {
    if (shared_) shared_->context.announce(nullptr, 0, 0);
  }

  /// Records that from here on this rank passes messages in the call under way.
  void note_messages() noexcept {
    if (!shared_) return;
    const std::uint32_t epoch = shared_->context.epoch();
    with_messages_[epoch % NodeControlBlock::epoch_slots] = make_tagged(epoch, 1);
  }

  /// Is notified of what calls cost, from the same call on on all ranks of the team.
  CostListener* costs = nullptr;

  /// Returns what signals and copies between the ranks cost, as far as they know.
  const PeerCosts& peer_costs() const noexcept { return shared_->trials.costs(); }
  /// Takes over costs that are known already, from the same call on on all ranks.
  void begin_with(const PeerCosts& known) noexcept {
    shared_->trials.begin_with(known);
    ++generation_offset_;
  }
  /// Returns the number of processors on which the ranks may run, as they have counted together; 0:
  /// unknown.
  std::size_t processors() const noexcept { return shared_ ? shared_->census.processors() : 0; }

  /// Returns what the ranks have learnt of arrivals in calls of this kind.
  Imbalance seen(const Call& call) const noexcept {
    return shared_ ? shared_->monitor.of(kind_of(call)) : Imbalance{};
  }

  /// The rendezvous of ranks before something that blocks in MPI; null if there is none.
  NodeRendezvous* rendezvous() noexcept { return shared_ ? &shared_->rendezvous : nullptr; }

  /// A peer that has refused a request up to this number which this rank has started; −1: none.
  int find_refused_request(std::uint32_t last) {
    return shared_ ? shared_->refused.find(last) : -1;
  }

  /// Marks the control block as broken and wakes everyone. `reason`, as in NodeControlBlock::Abort,
  /// or that of the rank which was first to do so.
  [[gnu::cold]] std::uint32_t abort(std::uint32_t reason) noexcept {
    if (!shared_) return reason;
    std::uint32_t first = 0;
    const bool is_first = shared_->context.control_block().abort().reason.compare_exchange_strong(
        first, reason, std::memory_order_seq_cst);
    shared_->bells.ring_all();
    return is_first ? reason : first;
  }

  /// As in NodeControlBlock::Abort; 0: not broken. In one order with what readers show of
  /// themselves: see NodeContext::reader().
  std::uint32_t abort_reason() const noexcept {
    return shared_ ? shared_->context.control_block().abort().reason.load(std::memory_order_seq_cst)
                   : 0;
  }

  /// Throws peer_error if the call under way does not match those of the ranks that have arrived.
  void check() {
    if (!in_call_) return;
    shared_->context.compare_calls();
    if (shared_->context.failed()) team_.mismatch(shared_->context.failure_text());
  }

  /// Returns a sentence that names the ranks that have not arrived in the present call; empty if
  /// all have, or there is no call.
  [[gnu::cold]] std::string missing() const {
    const bool any = shared_ && shared_->context.under_way();
    return any ? shared_->context.missing() : std::string{};
  }

  /// Returns a sentence on what this rank waits for in the call under way; empty if none is.
  [[gnu::cold]] std::string waits_for() const {
    if (!shared_ || !shared_->context.under_way()) return {};
    std::string who = missing();
    if (!who.empty()) return who;
    return detail::joined({"all ranks have entered ", shared_->context.describe_call(),
                           ", and one is stopped or held up in it"});
  }

  /// See NodeContext.
  [[gnu::cold]] void leak_pools_in_use() noexcept {
    if (shared_) shared_->context.leak_pools_in_use();
  }

  [[gnu::cold]] void set_user_ranks(const std::vector<int>& ranks) {
    if (shared_) shared_->context.set_user_ranks(ranks);
  }

  /// Called when all ranks have just waited for each other: they may try how to copy.
  void try_copies() noexcept {
    if (shared_) shared_->trials.begin(team_.waiter());
  }

  /// Sets whether there are more ranks than processors on the node, for the teams within this one,
  /// too.
  [[gnu::cold]] void set_oversubscribed(bool yes) noexcept {
    team_.waiter().oversubscribed = yes;
    ++generation_offset_;
    for (NodeCallTracker* part : parts_) {
      if (part != nullptr) part->set_oversubscribed(yes);
    }
  }
  /// Sets the trackers of the teams within this one; its ranks are then not part of another's.
  void set_parts(NodeCallTracker* intra, NodeCallTracker* inter) noexcept {
    parts_ = {intra, inter};
    for (NodeCallTracker* part : parts_) {
      if (part != nullptr) part->is_outermost_ = false;
    }
  }

 private:
  /// All that is there if the control block is.
  struct Shared {
    [[gnu::cold]] Shared(const Node& node, const Options& options, int rank)
        : bells(node.bells, node.size),
          context(detail::control_block_of(node, options.chunk_bytes), bells, node.rank,
                  options.first_epoch, &node),
          monitor(context.control_block(), rank),
          rendezvous(context.control_block(), bells),
          refused(context.control_block(), rank),
          census(context.control_block(), rank),
          trials(node, context.control_block()) {}

    Doorbells bells;
    NodeContext context;
    ArrivalMonitor monitor;
    NodeRendezvous rendezvous;
    RefusedRequests refused;
    detail::ProcessorCensus census;
    detail::PeerTrials trials;
  };

  /// What this rank records of a call: its arrival, and besides that what the call costs.
  struct Recording {
    bool arrival = false;
    bool cost = false;
  };
  Recording recording_of(const Call* call, ArrivalClass kind, std::uint32_t epoch) const noexcept {
    const ArrivalMonitor& monitor = shared_->monitor;
    if (!monitor.watches(epoch)) return {};
    const bool notes = ArrivalMonitor::notes(epoch, kind);
    if (call == nullptr) return {notes, false};
    // Of blocks whose lengths only their own ranks know, costs carry the present lengths.
    const bool often = kind.is_large() || (notes && call->local_counts);
    const bool times = call->trial.is_timed(epoch, often, monitor.timed_one_in());
    return {notes || times, times};
  }

  /// Enters the epoch slot of the call that has just begun, and watches arrivals; `call` is null
  /// where there is none.
  void enter_epoch_slot(const Call* call) {
    NodeContext& context = shared_->context;
    const std::uint32_t epoch = context.epoch();
    const ArrivalClass kind = call != nullptr ? kind_of(*call) : ArrivalClass{};
    const Recording recording = recording_of(call, kind, epoch);
    if (recording.arrival) {
      enter_recorded(call, kind, recording.cost);
    } else if (!context.enter()) {
      team_.waiter().until([&] { return context.enter(); }, Naps::brief);
    }
    if (shared_->monitor.evaluates_at(epoch)) evaluate(epoch);
  }

  /// As enter_epoch_slot(), for a call whose arrival is recorded.
  [[gnu::noinline]] void enter_recorded(const Call* call, ArrivalClass kind, bool times) {
    NodeContext& context = shared_->context;
    const Waiter::Clock::time_point arrival = Waiter::Clock::now();
    if (!context.enter()) team_.waiter().until([&] { return context.enter(); }, Naps::brief);
    shared_->monitor.note(context.epoch(),
                          static_cast<std::uint64_t>(arrival.time_since_epoch().count()), kind,
                          call != nullptr && is_in_arena(*call));
    if (!times) return;
    times_ = true;
    arrival_ = arrival;
    trial_ = call->trial;
    block_bits_ = 0;
    if (call->local_counts) {
      const std::size_t block = detail::mean_block(*call, team_.size());
      block_bits_ = static_cast<std::uint8_t>(std::bit_width(block | 1U));
    }
  }

  [[gnu::noinline]] void evaluate(std::uint32_t epoch) {
    ArrivalMonitor& monitor = shared_->monitor;
    monitor.evaluate(epoch, costs);
    if (shared_->trials.on_evaluation(team_.waiter(), monitor.evaluations(), monitor.longer_calls(),
                                      monitor.has_costs())) {
      ++generation_offset_;
    }
    if (is_outermost_) count_processors();
  }

  [[gnu::noinline]] void note_cost() noexcept {
    times_ = false;
    const auto took = Waiter::Clock::now() - arrival_;
    shared_->monitor.note_cost(shared_->context.epoch(), trial_,
                               static_cast<std::uint64_t>(took.count()), block_bits_);
  }

  /// Ranks may have been bound to other processors. A part of a team has only some of the ranks
  /// that share them.
  [[gnu::cold, gnu::noinline]] void count_processors() {
    const std::size_t before = shared_->census.processors();
    const bool is_another = shared_->census.on_evaluation(shared_->monitor.evaluations());
    // Also when they are counted for the first time, since choices may depend on them.
    if (shared_->census.processors() != before) ++generation_offset_;
    if (!is_another) return;
    set_oversubscribed(
        detail::outnumber(static_cast<std::size_t>(team_.size()), shared_->census.processors()));
  }

  /// Throws what made the present call fail, once some rank has published it.
  [[noreturn, gnu::noinline, gnu::cold]] void fail() {
    NodeContext& context = shared_->context;
    team_.waiter().until([&] { return context.failed(); });
    team_.mismatch(context.failure_text());
  }

  static ArrivalClass kind_of(const Call& call) noexcept {
    return ArrivalClass::of(call.collective, call.bytes());
  }

  bool is_in_arena(const Call& call) const noexcept {
    const PeerMemory& peers = shared_->context.peers();
    const auto seen = [&](const std::byte* p) {
      return p == nullptr || peers.place(p, call.bytes()).mapped != 0;
    };
    return seen(call.in) && seen(call.out);
  }

  TeamContext& team_;
  std::optional<Shared> shared_;
  std::uint32_t generation_offset_ = 0;
  std::array<NodeCallTracker*, 2> parts_{};
  bool is_outermost_ = true;
  bool in_call_ = false;  ///< between begin() and end()
  bool times_ = false;    ///< the call under way, which began at arrival_
  CallTrial trial_;
  std::uint8_t block_bits_ = 0;  ///< see CallCost
  Waiter::Clock::time_point arrival_;
  /// For each epoch slot the last call in it in which this rank passed messages, (epoch, 1); 0:
  /// none.
  std::array<TaggedCount, NodeControlBlock::epoch_slots> with_messages_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
