// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>

#include <string>

#include <dlfcn.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// MPI's functions by which ranks go on after one has died: User-Level Failure Mitigation. They are
/// looked up in the process, since a program may be compiled for a version of MPI that has none and
/// run by one that does.
class ProcessFailures {
 public:
  /// After MPI_Init.
  [[gnu::cold]] ProcessFailures() {
    if (failure_attribute == MPI_KEYVAL_INVALID) {
      why_not_ = no_functions;
      return;
    }
    find(revoke_, "revoke");
    find(shrink_, "shrink");
    find(agree_, "agree");
    find(iagree_, "iagree");
    find(get_failed_, "get_failed");
    if (revoke_ == nullptr || shrink_ == nullptr || agree_ == nullptr) {
      why_not_ = no_functions;
    } else if (!is_enabled()) {
      why_not_ = "the job was started without fault tolerance: start it by mpirun --with-ft ulfm";
    }
  }

  /// Why ranks cannot go on after one has died; empty: they can.
  const std::string& why_not() const noexcept { return why_not_; }

  /// A rank of the communicator that MPI knows to be dead, or −1. Local.
  [[gnu::cold]] int find_failed(MPI_Comm comm) const {
    if (get_failed_ == nullptr || !why_not_.empty()) return -1;
    MPI_Group failed = MPI_GROUP_NULL;
    if (get_failed_(comm, &failed) != MPI_SUCCESS) return -1;
    int size = 0;
    MPI_Group_size(failed, &size);
    int rank = -1;
    if (size > 0) {
      constexpr int first = 0;
      MPI_Group all = MPI_GROUP_NULL;
      MPI_Comm_group(comm, &all);
      MPI_Group_translate_ranks(failed, 1, &first, all, &rank);
      MPI_Group_free(&all);
    }
    MPI_Group_free(&failed);
    return rank;
  }

  /// Every rank's calls on the communicator fail from here on. Local.
  void revoke(MPI_Comm comm) const noexcept {
    if (why_not_.empty()) revoke_(comm);
  }

  /// The ranks that live, in their order. Collective among them. Throws mpi_error.
  [[gnu::cold]] OwnedComm shrink(MPI_Comm comm) const {
    const ErrorsReturned guard{comm, "papcoll::shrink"};
    MPI_Comm made = MPI_COMM_NULL;
    check(shrink_(comm, &made), "MPIX_Comm_shrink", "papcoll::shrink");
    return OwnedComm::take(made);
  }

  struct Agreed {
    int flags;      ///< those that all ranks that live have given
    bool all_live;  ///< and no rank has died
  };
  /// Agrees on flags among all ranks that live. Collective among them; they wait as in other
  /// collectives of `ranks` if MPI can. Throws mpi_error.
  [[gnu::cold]] Agreed agree(const PolledCollectives& ranks, int flags) const {
    constexpr const char* where = "papcoll's agreement after a death";
    const ErrorsReturned guard{ranks.comm(), where};
    auto agreed = make_owned<int>(flags);
    int code = MPI_SUCCESS;
    if (iagree_ == nullptr) {
      code = agree_(ranks.comm(), agreed.get());
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      check(iagree_(ranks.comm(), agreed.get(), &request), "MPIX_Comm_iagree", where);
      try {
        ranks.until(
            [&] {
              int done = 0;
              code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
              return done != 0 || code != MPI_SUCCESS;
            },
            where);
      } catch (...) {
        static_cast<void>(agreed.release());  // it is MPI's for ever
        throw;
      }
    }
    const bool died = peer_failure_of(code) != PeerFailure::none;
    if (!died) check(code, "MPIX_Comm_agree", where);
    return {*agreed, !died};
  }

 private:
  static constexpr const char* no_functions =
      "this MPI library does not go on then: take one with User-Level Failure Mitigation, such as "
      "Open MPI 5";

  template <class... Parameters>
  static void find(int (*&function)(Parameters...), const char* name) {
    for (const char* prefix : {"MPIX_Comm_", "MPI_Comm_"}) {
      void* const found = dlsym(RTLD_DEFAULT, joined({prefix, name}).c_str());
      function = reinterpret_cast<int (*)(Parameters...)>(found);
      if (function != nullptr) return;
    }
  }

  static bool is_enabled() {
    int* enabled = nullptr;
    int found = 0;
    const int code = MPI_Comm_get_attr(MPI_COMM_WORLD, failure_attribute, &enabled, &found);
    return code == MPI_SUCCESS && found != 0 && *enabled != 0;
  }

  int (*revoke_)(MPI_Comm) = nullptr;
  int (*shrink_)(MPI_Comm, MPI_Comm*) = nullptr;
  int (*agree_)(MPI_Comm, int*) = nullptr;
  int (*iagree_)(MPI_Comm, int*, MPI_Request*) = nullptr;  ///< null: MPI has none
  int (*get_failed_)(MPI_Comm, MPI_Group*) = nullptr;
  std::string why_not_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
