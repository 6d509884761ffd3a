#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Did something work on all ranks? Collective: each rank passes its problem, or nothing if it has
/// none; all get the same answer, the problem of the lowest rank that has one, or nothing. Costs
/// one MPI_Iallreduce if all is well.
inline std::string first_problem(const PolledCollectives& all_ranks, std::string_view mine,
                                 const char* where) {
  const int rank = all_ranks.rank(where);
  const int size = all_ranks.size(where);
  const int candidate = mine.empty() ? size : rank;
  const int first = all_ranks.allreduce(candidate, MPI_MIN, where);
  if (first == size) return {};
  std::array<char, 512> text{};
  const std::size_t n = std::min(mine.size(), text.size() - 1);
  if (n != 0) std::memcpy(text.data(), mine.data(), n);
  all_ranks.bcast(text.data(), text.size(), first, where);
  return detail::joined({"rank ", first, ": ", text.data()});
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
