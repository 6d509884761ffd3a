// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/profile_error.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <string>

// The functions of MPI that the recorder calls itself, none of them new: MPI-3 has all.
// clang-format off
#define PAPCOLL_PROFILE_MPI_CALLS(X)                                                             \
  X(Allgather) X(Allreduce) X(Bcast) X(Send) X(Recv) X(Comm_rank) X(Comm_size)                   \
  X(Comm_remote_size) X(Comm_test_inter) X(Comm_group) X(Comm_remote_group) X(Comm_dup)          \
  X(Comm_free) X(Comm_get_parent) X(Comm_set_errhandler) X(Comm_split_type)                      \
  X(Comm_create_keyval) X(Comm_free_keyval) X(Comm_set_attr) X(Comm_get_attr) X(Comm_get_name)   \
  X(Group_size) X(Group_translate_ranks) X(Group_free) X(Type_size_x) X(Query_thread)            \
  X(Get_library_version) X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count)                    \
  X(Dist_graph_neighbors_count) X(Finalized)
// clang-format on

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// Where the recorder finds MPI: the PMPI_ functions that the program is linked with, or those that
/// a preloaded library has looked up in the MPI library of the process.
struct MpiCalls {
#define PAPCOLL_PROFILE_MEMBER(NAME) decltype(&PMPI_##NAME) NAME = nullptr;
  PAPCOLL_PROFILE_MPI_CALLS(PAPCOLL_PROFILE_MEMBER)
#undef PAPCOLL_PROFILE_MEMBER
};

/// Throws profile_error if a call of MPI has failed.
inline void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    throw profile_error(std::string(call) + " failed with code " + std::to_string(code));
  }
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
