// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/memory_transports.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

class ThreadTeamState;

/// Throws argument_error.
PAPCOLL_DECL Shared<ThreadTeamState> thread_team_state(int ranks, const Options& options);
PAPCOLL_DECL TeamCore& core_of_thread(ThreadTeamState& team, int rank) noexcept;
PAPCOLL_DECL void run_threads(ThreadTeamState& team, void (*body)(void*, int rank), void* context);

}  // namespace detail

/// Threads of one process as ranks: the same collectives, without MPI. run() may be called any
/// number of times; each call starts one thread per rank.
///
/// Example:
///
///     papcoll::ThreadTeam team{4};
///     team.run([](papcoll::ThreadTeam::Rank& rank) {
///       const int sum = papcoll::allreduce(rank, rank.rank());    // 6 on each
///     });
class ThreadTeam {
 public:
  /// One rank of the team; passed to collectives in place of a Communicator. Only its own thread
  /// may use it.
  class Rank {
   public:
    /// Returns this rank's number, from 0.
    int rank() const noexcept { return rank_; }
    /// Returns the number of ranks of the team.
    int size() const noexcept { return size_; }
    /// Returns the reason why messages between GPU buffers go through the host, as
    /// Communicator::why_no_ipc().
    const std::string& why_no_ipc() const noexcept { return detail::why_no_ipc_of(*core_); }
    /// For the library: what collectives work on.
    TeamCore& core() noexcept { return *core_; }

   private:
    friend class ThreadTeam;
    Rank(TeamCore& core, int rank, int size) noexcept : core_(&core), rank_(rank), size_(size) {}

    TeamCore* core_;
    int rank_;
    int size_;
  };

  /// Creates a team of `ranks` ranks, `ranks` ≥ 1; run() starts the threads. Throws argument_error
  /// if `ranks` < 1 or the options are invalid (Options::problem()), and system_error if memory for
  /// the team cannot be had.
  explicit ThreadTeam(int ranks, const Options& options = {})
      : state_(detail::thread_team_state(ranks, options)) {
    for (int r = 0; r < ranks; ++r) {
      ranks_.push_back(Rank{detail::core_of_thread(*state_, r), r, ranks});
    }
  }

  /// Returns the number of ranks of the team.
  int size() const noexcept { return static_cast<int>(ranks_.size()); }

  /// Calls body(rank) on a new thread for each rank, with a ThreadTeam::Rank&, and returns when all
  /// have ended. If a body throws, ranks that wait for it throw peer_lost, the team is broken, and
  /// run() throws the first exception.
  template <class Body> void run(Body&& body) {
    struct Context {
      detail::Vector<Rank>& ranks;
      std::remove_reference_t<Body>& body;
    } context{ranks_, body};
    const auto run_one = [](void* p, int rank) {
      const auto& c = *static_cast<Context*>(p);
      c.body(c.ranks[static_cast<std::size_t>(rank)]);
    };
    detail::run_threads(*state_, run_one, &context);
  }

 private:
  detail::Shared<detail::ThreadTeamState> state_;
  detail::Vector<Rank> ranks_;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/runtime/thread_team_state.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

PAPCOLL_DECL Shared<ThreadTeamState> thread_team_state(int ranks, const Options& options) {
  auto team = detail::make_shared<ThreadTeamState>(ranks, options);
  for (int r = 0; r < ranks; ++r) team->core(r).owner = team;
  return team;
}

PAPCOLL_DECL TeamCore& core_of_thread(ThreadTeamState& team, int rank) noexcept {
  return team.core(rank);
}

PAPCOLL_DECL void run_threads(ThreadTeamState& team, void (*body)(void*, int), void* context) {
  team.run(body, context);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
