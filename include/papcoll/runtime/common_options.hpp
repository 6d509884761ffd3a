#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/tuning_text.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/transport/mpi/agree_on_error.hpp>
#include <papcoll/transport/mpi/polled.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Throws argument_error, on all ranks, unless all pass the same valid options. Gives the
/// tuning file that they name. Collective.
[[gnu::cold]] inline TuningText require_common(const PolledCollectives& all_ranks,
                                               const Options& options) {
  constexpr const char* where = "comparing the Options of a papcoll::Communicator";
  std::string problem = options.problem();
  TuningText tuning;
  try {
    tuning = tuning_text(options.tuning);
  } catch (const error& e) {
    if (problem.empty()) problem = bare(e.what());
  }
  const std::array<std::int64_t, 13> mine{options.deadline.count(),
                                          static_cast<std::int64_t>(options.chunk_bytes),
                                          static_cast<std::int64_t>(options.window),
                                          options.first_epoch,
                                          options.agreement_period,
                                          static_cast<std::int64_t>(options.arena_bytes),
                                          static_cast<std::int64_t>(options.peer_access),
                                          static_cast<std::int64_t>(options.copy_method),
                                          static_cast<std::int64_t>(options.tickets),
                                          static_cast<std::int64_t>(options.selection),
                                          static_cast<std::int64_t>(hash_of(options.groups)),
                                          static_cast<std::int64_t>(hash_of(options.machine)),
                                          static_cast<std::int64_t>(tuning.hash())};
  std::array<std::int64_t, 13> first = mine;
  all_ranks.bcast(first.data(), sizeof first, 0, where);
  if (problem.empty()) problem = problem_of(options.groups, all_ranks.size(where));
  if (problem.empty() && mine != first) {
    problem = mine.back() != first.back()
                  ? "their tuning, or $PAPCOLL_TUNING, says something else than on rank 0"
                  : "they differ from those of rank 0: pass the same on all ranks";
  }
  problem = first_problem(all_ranks, problem, where);
  if (!problem.empty()) {
    throw argument_error(
        detail::joined({"papcoll: Options of a papcoll::Communicator: ", problem}));
  }
  return tuning;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
