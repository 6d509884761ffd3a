#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/call_counter.hpp>
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

/// What differs between teams of processes and of threads. Any function may be null.
struct TeamHooks {
  void (*progress)(void*) = nullptr;  ///< moves MPI and this rank's requests on other teams
  void (*poke_mpi)(void*) = nullptr;  ///< moves MPI alone
  void (*watch)(void*) = nullptr;     ///< throws peer_lost if a peer is dead
  /// Tells peers that share no memory with this rank of its call number n, or of itself.
  void (*refused)(void*, std::uint32_t n, PeerFailureNotice what,
                  const std::string& text) = nullptr;
  /// Runs a blocking call by MPI's own collectives, where no endpoint could be had.
  void (*native)(void*, const Call&) = nullptr;
  /// The first request of this rank on this team begins, or the last one ends.
  void (*outstanding)(void*, bool any) = nullptr;
  /// Has this rank requests under way on other teams? Null: never wait in an endpoint.
  bool (*busy_elsewhere)(void*) = nullptr;
  /// Has the process of a rank ended?
  bool (*is_gone)(void*, int rank) = nullptr;
  void* context = nullptr;
  /// What time it is for this rank, in seconds, where that is simulated.
  double (*clock)() = nullptr;
};

/// What all parts of a rank's side of a team read: who and where the ranks are, how this one waits,
/// and how many calls it has made.
struct TeamContext : Pinned {
  TeamContext(TeamEnvironment s, const Options& o)
      : surroundings(std::move(s)), options(o), calls(o.first_epoch) {
    waiter.rank = surroundings.rank;
    waiter.deadline = std::chrono::duration_cast<Waiter::Clock::duration>(options.deadline);
  }

  TeamEnvironment surroundings;
  const Options options;
  TeamHooks hooks{};  ///< given by whoever makes the team
  Waiter waiter;      ///< its bells are the node side's, its hooks those of TeamFailures
  CallCounter calls;  ///< counted by the parts that begin calls
  /// Is a blocking call under way? Only to tell who calls at the same time, so relaxed is enough:
  /// it orders nothing, and two threads that come at the same instant are not told apart.
  std::atomic<bool> in_call{false};
  std::vector<int> names;  ///< the ranks', in the outermost team, if this is not it

  int rank() const noexcept { return surroundings.rank; }
  int size() const noexcept { return surroundings.size; }
  /// Carries what the ranks compare and agree on where no board does.
  const TransportTable& agrees_by() const noexcept { return *surroundings.transports.front(); }

  /// The outermost team's number of a rank, for messages.
  int shown(int r) const noexcept { return names.empty() ? r : names[static_cast<std::size_t>(r)]; }

  /// By the clock that costs are told by.
  std::chrono::nanoseconds now() const {
    using std::chrono::nanoseconds;
    if (hooks.clock == nullptr) return Waiter::Clock::now().time_since_epoch();
    return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>{hooks.clock()});
  }

  /// Throws argument_error in a thread, or an operator, that calls while a call is under way.
  void require_no_call() const {
    if (in_call.load(std::memory_order_relaxed)) refuse_second_call();
  }

  [[noreturn, gnu::cold, gnu::noinline]] void mismatch(const std::string& what) const {
    throw peer_error(detail::joined({"papcoll: seen on rank ", shown(rank()), ": ", what}));
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_second_call() const {
    throw argument_error(
        detail::joined({"papcoll: rank ", shown(rank()),
                        " calls while it is in another call on the same communicator, in another "
                        "thread or in that call's operator: take a communicator for each thread "
                        "(MPI_Comm_dup)"}));
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
