// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How papcoll's headers and the preloaded library call MPI: through pointers, which are looked up
// in the MPI library of the process when MPI_Init is called. transport/mpi/mpi.hpp includes this
// file behind <mpi.h> (PAPCOLL_MPI_THROUGH), so that no call of theirs is an undefined symbol and
// none comes back to this library: all go to the library's own PMPI functions. That the library is
// linked with --no-undefined and without MPI proves that the list is complete.

#include "../interpose/mpi_library.hpp"

#include <string>

// clang-format off
#define PRELOAD_MPI_FUNCTIONS(X)                                                                  \
  X(Abort) X(Add_error_class) X(Add_error_code) X(Add_error_string) X(Allgather) X(Allreduce)     \
  X(Bcast) X(Cancel) X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_dup) X(Comm_free)       \
  X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_group) X(Comm_idup) X(Comm_rank)                 \
  X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_set_name) X(Comm_size) X(Comm_split_type)        \
  X(Comm_test_inter) X(Errhandler_free) X(Error_class) X(Error_string) X(Fetch_and_op)            \
  X(Finalized) X(Gather) X(Gatherv) X(Get_count) X(Get_elements_x) X(Get_library_version)         \
  X(Grequest_complete) X(Grequest_start) X(Group_free) X(Group_size) X(Group_translate_ranks)     \
  X(Iallgather) X(Iallreduce) X(Ialltoall) X(Ialltoallw) X(Ibarrier) X(Ibcast) X(Igather)         \
  X(Initialized) X(Iprobe) X(Irecv) X(Iscatter) X(Isend) X(Op_commutative) X(Pack)                \
  X(Query_thread) X(Recv) X(Reduce) X(Reduce_local) X(Reduce_scatter) X(Reduce_scatter_block)     \
  X(Request_free) X(Request_get_status) X(Rget_accumulate) X(Scatter) X(Send) X(Sendrecv)         \
  X(Test) X(Testsome) X(Type_commit) X(Type_contiguous) X(Type_create_hindexed)                   \
  X(Type_create_keyval) X(Type_create_struct) X(Type_free) X(Type_get_attr) X(Type_get_contents)  \
  X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent) X(Type_set_attr)                \
  X(Type_size_x) X(Unpack) X(Waitsome) X(Win_allocate) X(Win_free) X(Win_get_attr)                \
  X(Win_lock_all) X(Win_set_errhandler) X(Win_sync) X(Win_unlock_all)
// clang-format on

namespace preload {

/// The functions of the MPI library.
struct MpiTable {
#define PRELOAD_MEMBER(NAME) decltype(&PMPI_##NAME) NAME = nullptr;
  PRELOAD_MPI_FUNCTIONS(PRELOAD_MEMBER)
#undef PRELOAD_MEMBER

  /// Looks them up. Returns the name of one that is missing; empty if none is.
  std::string look_up() {
    std::string missing;
#define PRELOAD_FIND(NAME)                                                  \
  NAME = interpose::function_of_mpi<decltype(&PMPI_##NAME)>("PMPI_" #NAME); \
  if (NAME == nullptr) missing = "MPI_" #NAME;
    PRELOAD_MPI_FUNCTIONS(PRELOAD_FIND)
#undef PRELOAD_FIND
    return missing;
  }
};

inline constinit MpiTable mpi_table{};

}  // namespace preload

// Open MPI's are symbols, too.
#if defined(OPEN_MPI) && !defined(MPI_ABI_VERSION)
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_TYPE_NULL_COPY_FN
#define MPI_COMM_NULL_COPY_FN \
  (interpose::handle_of_mpi<MPI_Comm_copy_attr_function*>("OMPI_C_MPI_COMM_NULL_COPY_FN"))
#define MPI_TYPE_NULL_COPY_FN \
  (interpose::handle_of_mpi<MPI_Type_copy_attr_function*>("OMPI_C_MPI_TYPE_NULL_COPY_FN"))
#endif

// clang-format off
#define MPI_Abort (*preload::mpi_table.Abort)
#define MPI_Add_error_class (*preload::mpi_table.Add_error_class)
#define MPI_Add_error_code (*preload::mpi_table.Add_error_code)
#define MPI_Add_error_string (*preload::mpi_table.Add_error_string)
#define MPI_Allgather (*preload::mpi_table.Allgather)
#define MPI_Allreduce (*preload::mpi_table.Allreduce)
#define MPI_Bcast (*preload::mpi_table.Bcast)
#define MPI_Cancel (*preload::mpi_table.Cancel)
#define MPI_Comm_call_errhandler (*preload::mpi_table.Comm_call_errhandler)
#define MPI_Comm_create_keyval (*preload::mpi_table.Comm_create_keyval)
#define MPI_Comm_dup (*preload::mpi_table.Comm_dup)
#define MPI_Comm_free (*preload::mpi_table.Comm_free)
#define MPI_Comm_get_attr (*preload::mpi_table.Comm_get_attr)
#define MPI_Comm_get_errhandler (*preload::mpi_table.Comm_get_errhandler)
#define MPI_Comm_group (*preload::mpi_table.Comm_group)
#define MPI_Comm_idup (*preload::mpi_table.Comm_idup)
#define MPI_Comm_rank (*preload::mpi_table.Comm_rank)
#define MPI_Comm_set_attr (*preload::mpi_table.Comm_set_attr)
#define MPI_Comm_set_errhandler (*preload::mpi_table.Comm_set_errhandler)
#define MPI_Comm_set_name (*preload::mpi_table.Comm_set_name)
#define MPI_Comm_size (*preload::mpi_table.Comm_size)
#define MPI_Comm_split_type (*preload::mpi_table.Comm_split_type)
#define MPI_Comm_test_inter (*preload::mpi_table.Comm_test_inter)
#define MPI_Errhandler_free (*preload::mpi_table.Errhandler_free)
#define MPI_Error_class (*preload::mpi_table.Error_class)
#define MPI_Error_string (*preload::mpi_table.Error_string)
#define MPI_Fetch_and_op (*preload::mpi_table.Fetch_and_op)
#define MPI_Finalized (*preload::mpi_table.Finalized)
#define MPI_Gather (*preload::mpi_table.Gather)
#define MPI_Gatherv (*preload::mpi_table.Gatherv)
#define MPI_Get_count (*preload::mpi_table.Get_count)
#define MPI_Get_elements_x (*preload::mpi_table.Get_elements_x)
#define MPI_Get_library_version (*preload::mpi_table.Get_library_version)
#define MPI_Grequest_complete (*preload::mpi_table.Grequest_complete)
#define MPI_Grequest_start (*preload::mpi_table.Grequest_start)
#define MPI_Group_free (*preload::mpi_table.Group_free)
#define MPI_Group_size (*preload::mpi_table.Group_size)
#define MPI_Group_translate_ranks (*preload::mpi_table.Group_translate_ranks)
#define MPI_Iallgather (*preload::mpi_table.Iallgather)
#define MPI_Iallreduce (*preload::mpi_table.Iallreduce)
#define MPI_Ialltoall (*preload::mpi_table.Ialltoall)
#define MPI_Ialltoallw (*preload::mpi_table.Ialltoallw)
#define MPI_Ibarrier (*preload::mpi_table.Ibarrier)
#define MPI_Ibcast (*preload::mpi_table.Ibcast)
#define MPI_Igather (*preload::mpi_table.Igather)
#define MPI_Initialized (*preload::mpi_table.Initialized)
#define MPI_Iprobe (*preload::mpi_table.Iprobe)
#define MPI_Irecv (*preload::mpi_table.Irecv)
#define MPI_Iscatter (*preload::mpi_table.Iscatter)
#define MPI_Isend (*preload::mpi_table.Isend)
#define MPI_Op_commutative (*preload::mpi_table.Op_commutative)
#define MPI_Pack (*preload::mpi_table.Pack)
#define MPI_Query_thread (*preload::mpi_table.Query_thread)
#define MPI_Recv (*preload::mpi_table.Recv)
#define MPI_Reduce (*preload::mpi_table.Reduce)
#define MPI_Reduce_local (*preload::mpi_table.Reduce_local)
#define MPI_Reduce_scatter (*preload::mpi_table.Reduce_scatter)
#define MPI_Reduce_scatter_block (*preload::mpi_table.Reduce_scatter_block)
#define MPI_Request_free (*preload::mpi_table.Request_free)
#define MPI_Request_get_status (*preload::mpi_table.Request_get_status)
#define MPI_Rget_accumulate (*preload::mpi_table.Rget_accumulate)
#define MPI_Scatter (*preload::mpi_table.Scatter)
#define MPI_Send (*preload::mpi_table.Send)
#define MPI_Sendrecv (*preload::mpi_table.Sendrecv)
#define MPI_Test (*preload::mpi_table.Test)
#define MPI_Testsome (*preload::mpi_table.Testsome)
#define MPI_Type_commit (*preload::mpi_table.Type_commit)
#define MPI_Type_contiguous (*preload::mpi_table.Type_contiguous)
#define MPI_Type_create_hindexed (*preload::mpi_table.Type_create_hindexed)
#define MPI_Type_create_keyval (*preload::mpi_table.Type_create_keyval)
#define MPI_Type_create_struct (*preload::mpi_table.Type_create_struct)
#define MPI_Type_free (*preload::mpi_table.Type_free)
#define MPI_Type_get_attr (*preload::mpi_table.Type_get_attr)
#define MPI_Type_get_contents (*preload::mpi_table.Type_get_contents)
#define MPI_Type_get_envelope (*preload::mpi_table.Type_get_envelope)
#define MPI_Type_get_extent (*preload::mpi_table.Type_get_extent)
#define MPI_Type_get_true_extent (*preload::mpi_table.Type_get_true_extent)
#define MPI_Type_set_attr (*preload::mpi_table.Type_set_attr)
#define MPI_Type_size_x (*preload::mpi_table.Type_size_x)
#define MPI_Unpack (*preload::mpi_table.Unpack)
#define MPI_Waitsome (*preload::mpi_table.Waitsome)
#define MPI_Win_allocate (*preload::mpi_table.Win_allocate)
#define MPI_Win_free (*preload::mpi_table.Win_free)
#define MPI_Win_get_attr (*preload::mpi_table.Win_get_attr)
#define MPI_Win_lock_all (*preload::mpi_table.Win_lock_all)
#define MPI_Win_set_errhandler (*preload::mpi_table.Win_set_errhandler)
#define MPI_Win_sync (*preload::mpi_table.Win_sync)
#define MPI_Win_unlock_all (*preload::mpi_table.Win_unlock_all)
// clang-format on
