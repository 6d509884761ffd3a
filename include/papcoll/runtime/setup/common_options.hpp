#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Throws argument_error, on all ranks, unless all pass the same valid options. Gives the
/// selection files that rank 0 names, to all. Collective.
[[gnu::cold]] inline std::string require_common(const PolledCollectives& all_ranks,
                                                const Options& options) {
  constexpr const char* where = "comparing the Options of a papcoll::Communicator";
  std::string problem = options.problem();
  std::string texts;
  if (all_ranks.rank(where) == 0) {
    try {
      texts = read_selection_files(options);
    } catch (const error& e) {
      if (problem.empty()) problem = bare(e.what());
    }
  }
  std::array<std::int64_t, 13> mine{options.deadline.count(),
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
                                    static_cast<std::int64_t>(texts.size())};
  std::array<std::int64_t, 13> first = mine;
  all_ranks.bcast(first.data(), sizeof first, 0, where);
  mine.back() = first.back();  // rank 0's counts
  if (problem.empty()) problem = problem_of(options.groups, all_ranks.size(where));
  if (problem.empty() && mine != first) {
    problem = "they differ from those of rank 0: pass the same on all ranks";
  }
  problem = first_problem(all_ranks, problem, where);
  if (!problem.empty()) {
    throw argument_error(
        detail::joined({"papcoll: Options of a papcoll::Communicator: ", problem}));
  }
  texts.resize(static_cast<std::size_t>(first.back()));
  if (!texts.empty()) all_ranks.bcast(texts.data(), texts.size(), 0, where);
  return texts;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
