// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/transport.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Returns the fingerprint of a call, by which calls are compared. 16 bits of `algorithm` count.
/// Whether bits must not depend on arrivals is part of it, since such calls may run differently.
inline CallFingerprint fingerprint_of(const Call& call, std::uint32_t algorithm) noexcept {
  const std::uint32_t contract = call.by_arrivals() ? 0U : 0x6a5dU;
  const std::uint32_t reach = static_cast<std::uint32_t>(call.reach) << 8U;
  return CallFingerprint::of(call.local_counts ? CallFingerprint::local_counts : call.count,
                             call.collective, algorithm ^ contract ^ reach,
                             static_cast<std::uint32_t>(call.root) ^ call.split, call.types);
}

/// 16 bits that stand for a number of 32.
constexpr std::uint32_t short_id(std::uint32_t id) noexcept { return id * 0x9e3779b1U >> 16; }

/// As fingerprint_of(), for an algorithm whose number takes 32 bits.
inline CallFingerprint fingerprint_of_long(const Call& call, std::uint32_t id) noexcept {
  return fingerprint_of(call, short_id(id));
}

/// What blocking calls by schedules, with their parameters, on transports are compared by, and
/// those that do not block. Remembers the schedule asked for last.
class PlanFingerprints {
 public:
  CallFingerprint of(const Call& call, const AnySchedule& schedule, const TransportTable& transport,
                     const PlayedOrder& played = {}, bool takes_tickets = false) {
    if (transport_ != &transport || !(schedule_ == schedule)) {
      schedule_ = schedule;
      transport_ = &transport;
      id_ = hash_of_name(detail::joined({schedule.name(), "+", transport.name}));
    }
    return fingerprint_of_long(call, id_ + order_id(played) + (takes_tickets ? 1 : 0));
  }

 private:
  /// Tells orders that were agreed on apart, from each other and from those that need no agreement.
  static std::uint32_t order_id(const PlayedOrder& played) noexcept {
    if (played.along.map != nullptr) return 0x85ebca6bU;
    const Predictions* const p = played.predictions;
    return p == nullptr ? 0 : 0x9e3779b9U * (p->generation() + 1);
  }

  AnySchedule schedule_;
  const TransportTable* transport_ = nullptr;
  std::uint32_t id_ = 0;
};

/// How many calls this rank has made on a team. A message is known by the number of its call, its
/// sequence: twice that of a blocking call, or one more than twice that of a non-blocking one. All
/// ranks count alike.
class CallCounter {
 public:
  explicit CallCounter(std::uint32_t first) noexcept : blocking_(first), requests_(first) {}

  const std::uint32_t& blocking() const noexcept { return blocking_; }
  std::uint32_t requests() const noexcept { return requests_; }
  /// The number of the next call, whichever it is.
  std::uint32_t next() const noexcept { return blocking_ + requests_; }

  void count_blocking() noexcept { ++blocking_; }
  /// The number of the last of them.
  std::uint32_t count_requests(std::uint32_t n = 1) noexcept { return requests_ += n; }

  /// The sequence number of the present blocking call.
  std::uint32_t sequence() const noexcept { return 2 * blocking_; }
  static std::uint32_t sequence_of_request(std::uint32_t number) noexcept { return 2 * number + 1; }

 private:
  std::uint32_t blocking_;
  std::uint32_t requests_;
};

/// Returns true if a call has nothing to do.
inline bool is_empty(const Call& c) noexcept {
  return c.count == 0 && c.counts == nullptr && c.collective != Collective::barrier;
}

/// What differs between teams of processes and of threads, whose hooks do nothing. Teams within a
/// team have such hooks, too: its own serve them.
struct TeamHooks : Pinned {
  virtual ~TeamHooks() = default;

  bool moves_mpi = false;   ///< poke_mpi() does something
  bool has_native = false;  ///< so does native()

  virtual void progress() {}  ///< moves MPI and this rank's requests on other teams
  virtual void poke_mpi() {}  ///< moves MPI alone
  virtual void watch() {}     ///< throws peer_lost if a peer is dead
  /// Tells peers that share no memory with this rank that its call number n is invalid, or why the
  /// team is lost: `reason` as in NodeControlBlock::Abort, 0 if it goes on.
  virtual void refused(std::uint32_t /*n*/, std::uint32_t /*reason*/, const std::string& /*text*/) {
  }
  /// Runs a blocking call by MPI's own collectives, where no endpoint could be had.
  virtual void native(const Call& /*call*/) {}
  /// The first request of this rank on this team begins, or the last one ends.
  virtual void outstanding(bool /*any*/) {}
  /// Returns true if this rank may not block in an endpoint, since it has requests in flight on
  /// other teams.
  virtual bool busy_elsewhere() { return true; }
  /// Returns true if the process of a rank has ended.
  virtual bool is_gone(int /*rank*/) { return false; }
  /// The clock by which costs are measured, which may be a simulated one.
  virtual std::chrono::nanoseconds now() const { return Waiter::Clock::now().time_since_epoch(); }
};

/// What all parts of a rank's side of a team read: who and where the ranks are, how this one waits,
/// and how many calls it has made.
class TeamContext : Pinned {
 public:
  /// Null hooks: they do nothing.
  TeamContext(TeamEnvironment environment, const Options& o, TeamHooks* hooks)
      : calls(o.first_epoch),
        hooks_(hooks != nullptr ? *hooks : no_hooks_),
        environment_(std::move(environment)),
        options_(o) {
    waiter_.rank = rank();
    waiter_.deadline = std::chrono::duration_cast<Waiter::Clock::duration>(o.deadline);
  }

  CallCounter calls;  ///< counted by the parts that begin calls
  /// True while a blocking call is in progress. Only finds calls of several threads at once, so
  /// relaxed is enough: it orders nothing, and two threads that call at the same instant are not
  /// found.
  std::atomic<bool> in_call{false};
  std::vector<int> user_ranks;  ///< the ranks' numbers in the outermost team; empty: this is it

  const TeamEnvironment& environment() const noexcept { return environment_; }
  const Options& options() const noexcept { return options_; }
  TeamHooks& hooks() const noexcept { return hooks_; }
  Waiter& waiter() noexcept { return waiter_; }
  int rank() const noexcept { return environment_.rank; }
  int size() const noexcept { return environment_.size; }
  /// Carries what the ranks compare and agree on where no control block does.
  const TransportTable& agrees_by() const noexcept { return *environment_.transports.front(); }

  /// The rank in the user's communicator, that of the outermost team, for messages.
  int user_rank(int r) const noexcept {
    return user_ranks.empty() ? r : user_ranks[static_cast<std::size_t>(r)];
  }

  /// Throws argument_error in a thread, or an operator, that calls while a call is under way.
  void require_no_call() const {
    if (in_call.load(std::memory_order_relaxed)) refuse_second_call();
  }

  [[noreturn, gnu::cold, gnu::noinline]] void mismatch(const std::string& what) const {
    throw peer_error(detail::joined({"papcoll: seen on rank ", user_rank(rank()), ": ", what}));
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_second_call() const {
    throw argument_error(
        detail::joined({"papcoll: rank ", user_rank(rank()),
                        " calls while it is in another call on the same communicator, in another "
                        "thread or in that call's operator: take a communicator for each thread "
                        "(MPI_Comm_dup)"}));
  }

  TeamHooks no_hooks_;
  TeamHooks& hooks_;

 protected:
  TeamEnvironment environment_;

 private:
  const Options options_;
  Waiter waiter_;  ///< its bells are the node side's, its hooks those of TeamState
};

}  // namespace papcoll::inline PAPCOLL_ABI
