#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/errors/nonblocking_checks.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/runtime/setup/connections.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <pthread.h>

namespace papcoll::inline PAPCOLL_ABI {

/// All that a rank may have in flight on a team: messages, calls by plans, comparisons of calls,
/// requests, and what parts of the team do that nobody waits for.
class InFlight {
 public:
  explicit InFlight(const TeamContext& basis)
      : connections(basis.surroundings),
        plan_runs(basis.rank(), basis.size(), basis.options.window, basis.surroundings.machine) {}

  Connections connections;
  PlanRuns plan_runs;
  NonblockingCallChecks comparisons;
  TeamParts parts;

  bool has_requests() const noexcept { return requests_ != 0; }
  /// True: it is the only one.
  bool begin_request() noexcept {
    if (requests_++ != 0) return false;
    thread_ = pthread_self();
    return true;
  }
  /// True: it was the last one.
  bool end_request() noexcept { return --requests_ == 0; }

  void progress() {
    connections.progress();
    if constexpr (assertion_level >= 2) comparisons.progress(plan_runs.of_requests());
  }

  /// After the team broke. True: something may still use the memory of what was in flight.
  bool abandon() noexcept {
    const bool holds_on = connections.abandon();
    comparisons.abandon(holds_on);
    plan_runs.abandon(holds_on);
    parts.abandon(holds_on);
    requests_ = 0;
    return holds_on;
  }

  /// Requests are moved by all waits of the thread that started them, so by no other thread.
  void require_own_thread(int rank) const {
    if (!has_requests() || pthread_equal(thread_, pthread_self()) != 0) return;
    throw argument_error(
        detail::joined({"papcoll: rank ", rank,
                        " has requests under way that another thread started: a communicator with "
                        "requests stays with one thread until they are complete"}));
  }

 private:
  std::size_t requests_ = 0;  ///< that are not complete
  pthread_t thread_{};        ///< that started them
};

}  // namespace papcoll::inline PAPCOLL_ABI
