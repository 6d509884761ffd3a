// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/runtime/team_state.hpp>
#include <papcoll/transport/transport.hpp>

#include <atomic>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// As long as it lives, this thread is the only one in a blocking call of the team: a second one
/// throws.
class SingleCallGuard : Pinned {
 public:
  explicit SingleCallGuard(TeamState& team) : in_call_(team.in_call) {
    team.require_no_call();
    in_call_.store(true, std::memory_order_relaxed);
  }
  ~SingleCallGuard() { in_call_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool>& in_call_;
};

/// One blocking call, from entering its epoch slot in the node's control block to leaving it; or,
/// in a team without a control block, as long as messages about failures name it.
class CallScope : Pinned {
 public:
  /// Always inline, so that a call costs the same however many kinds of calls a program makes.
  [[gnu::always_inline]] CallScope(TeamState& team, const CallFingerprint& fingerprint,
                                   const Call& call)
      : guard_(team), team_(team) {
    team.require_usable();
    if (team.has_requests()) move_requests();
    team.calls.count_blocking();
    if (team.node.is_there()) {
      if (!team.node.begin(fingerprint, call)) fail_for_earlier_call();
    } else {
      team.set_call(fingerprint);
    }
  }
  [[gnu::always_inline]] ~CallScope() {
    if (team_.node.is_there()) {
      team_.node.end();
    } else {
      team_.set_call({0, CallFingerprint::invalid});
    }
  }

 private:
  [[gnu::noinline, gnu::cold]] void move_requests() {
    team_.require_own_thread();
    team_.progress();
  }

  /// A call that this rank has long left did not match. If it passed messages there, one may be
  /// left that no rank has received, and a much later call must not receive it.
  [[noreturn, gnu::noinline, gnu::cold]] void fail_for_earlier_call() {
    const bool passed_messages = team_.node.earlier_call_passed_messages();
    try {
      team_.node.fail_for_earlier_call();
    } catch (const peer_error& problem) {
      if (passed_messages) team_.abort_team(problem);
      throw;
    }
  }

  SingleCallGuard guard_;  // first: undone also where the rest of the constructor throws
  TeamState& team_;
};

/// Waits, in a call that has failed, until no peer works on the buffers that this rank has exposed.
/// The user has them back with the exception, to free or to write them; a peer stops after its
/// present step. A dead peer is not waited for, and a stopped one until the deadline; from then on
/// the communicator is broken. Called in the handler of what the call threw.
[[gnu::cold, gnu::noinline]] inline void wait_for_readers(TeamState& team) noexcept {
  NodeContext& context = team.node.context();
  // From here on no peer begins to work on them. What failed may be known to a team that this one
  // is a part of, and not to the ranks of this one.
  if (!context.failed()) team.abort_node(team.handled_reason());
  context.end_reading();  // an exception may have come in between
  struct ReaderWait final : WaitHooks {
    explicit ReaderWait(TeamState& of) : team(of) {}
    void watch() override {  // dead readers are forgotten
      NodeContext& owner = team.node.context();
      TeamHooks& outermost = team.outermost().hooks();
      for (int r = 0; r < team.size(); ++r) {
        if (owner.is_reading(r) && outermost.is_gone(team.user_rank(r))) owner.forget_reader(r);
      }
    }
    void deadline_passed() override { over = true; }

    TeamState& team;
    bool over = false;
  } wait{team};
  Waiter waiter = team.waiter();
  if (!team.environment().processes) waiter.deadline = {};
  waiter.hooks = &wait;
  waiter.until([&] { return wait.over || context.reader() < 0; }, Naps::brief);
  if (wait.over) {
    team.abort_team("a peer is stopped in the midst of a call that failed",
                    NodeControlBlock::Abort::deadline);
  }
}

/// What a call of an arrival-driven algorithm runs on.
struct ContextOfCall {
  void* context;              ///< of the kind that the algorithm is compiled for
  std::uint32_t compared_by;  ///< 16 bits that stand for the algorithm on that call context
};

/// A rank's call contexts, in one team, of transports that bring a type of their own.
class TransportContexts final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::transport_contexts;

  explicit TransportContexts(TeamState& team) : team_(team) {}

  /// The call context of a transport for the next call; all ranks make theirs at the first of them.
  [[gnu::noinline]] ContextOfCall of(const TransportTable& t, const ArrivalAlgorithm& algorithm,
                                     const Call& call) {
    OwnContext& own = find(t);
    if (own.context == nullptr) make(own, call);
    return {own.context.get(), short_id(own.number + algorithm.id)};
  }

  void close(bool /*broken*/) noexcept override { contexts_.clear(); }

 private:
  struct OwnContext {
    const TransportTable* transport;
    std::uint32_t number;          ///< of the transport's name; the lowest 9 bits are 0
    detail::Shared<void> context;  ///< null until this rank has made its own
  };

  static constexpr std::uint32_t no_algorithm = 256;  ///< above the numbers of all algorithms

  OwnContext& find(const TransportTable& t) {
    for (OwnContext& s : contexts_) {
      if (s.transport == &t) return s;
    }
    return contexts_.emplace_back(OwnContext{&t, hash_of_name(t.name) * 512, nullptr});
  }

  /// Makes this rank's call context in an epoch slot of its own, which shows that all ranks want
  /// it, so that none is alone in what makes it.
  [[gnu::noinline, gnu::cold]] void make(OwnContext& own, const Call& call) {
    const CallFingerprint fingerprint = fingerprint_of_long(call, own.number + no_algorithm);
    const CallScope scope{team_, fingerprint, call};
    team_.node.announce_only();
    team_.node.compare();
    own.context = team_.or_break(
        [&] { return own.transport->make_context(team_.environment(), team_.node.context()); });
  }

  TeamState& team_;
  detail::Vector<OwnContext> contexts_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
