#pragma once

#include <papcoll/config.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Where the ranks of a communicator are, as one of them sees it.
struct NodeRanks {
  std::vector<int> ranks;  ///< those on this rank's node, itself included, ascending
  int nodes = 1;           ///< nodes of the whole communicator; the same on all ranks
};

/// Which ranks of `comm` can share memory with this one. Collective; no MPI communicator is left
/// behind. Throws mpi_error.
inline NodeRanks node_ranks(MPI_Comm comm) {
  constexpr const char* where = "finding the ranks of a node";
  int rank = 0;
  detail::check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", where);
  if constexpr (detail::simulated) {
    NodeRanks alone{{rank}, 1};
    detail::check(MPI_Comm_size(comm, &alone.nodes), "MPI_Comm_size", where);
    return alone;
  }
  MPI_Comm node = MPI_COMM_NULL;
  detail::check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
                "MPI_Comm_split_type", where);

  int size = 0;
  int rank_on_node = 0;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group node_group = MPI_GROUP_NULL;
  MPI_Comm_size(node, &size);
  MPI_Comm_rank(node, &rank_on_node);
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(node, &node_group);
  std::vector<int> positions(static_cast<std::size_t>(size));
  std::iota(positions.begin(), positions.end(), 0);
  NodeRanks result;
  result.ranks.resize(positions.size());
  const int translated =
      MPI_Group_translate_ranks(node_group, size, positions.data(), group, result.ranks.data());
  MPI_Group_free(&node_group);
  MPI_Group_free(&group);
  MPI_Comm_free(&node);
  detail::check(translated, "MPI_Group_translate_ranks", where);

  const int first_of_node = rank_on_node == 0 ? 1 : 0;
  detail::check(MPI_Allreduce(&first_of_node, &result.nodes, 1, MPI_INT, MPI_SUM, comm),
                "MPI_Allreduce", where);
  return result;
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
