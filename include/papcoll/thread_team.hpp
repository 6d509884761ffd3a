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

/// Threads of one process as ranks: the same collectives without MPI. Made once, run as often as
/// wanted; each run() starts one thread a rank.
class ThreadTeam {
 public:
  /// One rank of the team, to be used by its own thread only.
  class Rank {
   public:
    /// This rank, from 0.
    int rank() const noexcept { return rank_; }
    /// Ranks of the team.
    int size() const noexcept { return size_; }
    /// Why messages between memory of GPUs go through the host, or nothing: as of Communicator.
    const std::string& no_ipc() const noexcept { return detail::no_ipc_of(*core_); }
    /// What collectives work on; for the library.
    TeamCore& core() noexcept { return *core_; }

   private:
    friend class ThreadTeam;
    Rank(TeamCore& core, int rank, int size) noexcept : core_(&core), rank_(rank), size_(size) {}

    TeamCore* core_;
    int rank_;
    int size_;
  };

  /// So many ranks. Throws argument_error if there are none or the options cannot be.
  explicit ThreadTeam(int ranks, const Options& options = {})
      : state_(detail::thread_team_state(ranks, options)) {
    for (int r = 0; r < ranks; ++r) {
      ranks_.push_back(Rank{detail::core_of_thread(*state_, r), r, ranks});
    }
  }

  /// Ranks of the team.
  int size() const noexcept { return static_cast<int>(ranks_.size()); }

  /// Runs body(rank) on a thread for each rank, and returns when all have. If a body throws, ranks
  /// that wait for it throw peer_lost, the team is broken, and the first exception is thrown here.
  template <class Body>
  void run(Body&& body) {
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
