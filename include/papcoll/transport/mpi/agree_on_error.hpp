#pragma once

#include <papcoll/config.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// Did something work on all ranks? Collective: each rank passes its problem, or nothing if it has
/// none; all get the same answer, the problem of the lowest rank that has one, or nothing. Costs
/// one MPI_Allreduce if all is well.
inline std::string first_problem(MPI_Comm comm, std::string_view mine, const char* where) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", where);
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size", where);
  const int candidate = mine.empty() ? size : rank;
  int first = size;
  check(MPI_Allreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce", where);
  if (first == size) return {};
  std::array<char, 512> text{};
  const std::size_t n = std::min(mine.size(), text.size() - 1);
  if (n != 0) std::memcpy(text.data(), mine.data(), n);
  check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, comm), "MPI_Bcast",
        where);
  return "rank " + std::to_string(first) + ": " + text.data();
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
