#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>

#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Where the ranks of a communicator are, as one of them sees it.
struct NodeRanks {
  std::vector<int> ranks;  ///< those on this rank's node, itself included, ascending
  int nodes = 1;           ///< nodes of the whole communicator; the same on all ranks
};

/// Has MPICH been told to take ranks of one machine for ranks of several, as tests do? It reads
/// each variable under three names.
[[gnu::cold]] inline bool mpi_pretends_nodes() {
  for (const std::string_view prefix : {"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"}) {
    for (const char* name : {"NOLOCAL", "NUM_CLIQUES", "ODD_EVEN_CLIQUES", "EVEN_ODD_CLIQUES"}) {
      if (std::getenv((detail::joined({prefix, name})).c_str()) != nullptr) return true;
    }
  }
  return false;
}

/// Asks MPI which ranks can share memory with this one. Collective, and MPI_Comm_split_type waits
/// inside MPI, for which there is no non-blocking form. No MPI communicator is left behind. Throws
/// mpi_error.
inline NodeRanks node_ranks(const detail::PolledCollectives& all_ranks) {
  constexpr const char* where = "finding the ranks of a node";
  MPI_Comm comm = all_ranks.comm();
  const int rank = all_ranks.rank(where);
  const detail::ErrorsReturned guard{comm, where};
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
  result.nodes = all_ranks.allreduce(first_of_node, MPI_SUM, where);
  return result;
}

}  // namespace papcoll::inline PAPCOLL_ABI
