// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls of MPI: what MPI libraries differ in, under names of papcoll's own, errors as exceptions,
// handles that are freed, and counts beyond what an int holds. Simulated ranks have what their
// library lacks in simulate/smpi/nonblocking_collectives.hpp, by the same names.

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/waiting/liveness.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <cstddef>
#include <string>
#include <utility>

#ifdef SMPI_H
#include <papcoll/simulate/smpi/nonblocking_collectives.hpp>
#else

namespace papcoll::inline PAPCOLL_ABI::detail {

/// True under Open MPI before 5.0. Its osc/rdma keeps what a window's ranks on one node share in a
/// file whose name a communicator without a rank in common may use, too: when both make windows at
/// the same time, one works on the other's memory (open-mpi/ompi, issue 9492).
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
inline constexpr bool mixes_windows_up = true;
#else
inline constexpr bool mixes_windows_up = false;
#endif

/// True if a rank can read the memory of its window while it holds a lock.
inline constexpr bool sees_locked_windows = true;

/// True if the ranks are simulated. Then they take turns, each until it waits inside MPI: waiting
/// there is far quicker than polling, and no rank may wait for another outside MPI.
inline constexpr bool simulated = false;

/// Returns the process of this rank.
inline ProcessId own_process() noexcept { return ProcessId::own(); }

/// The error handler of a communicator; MPI_ERRHANDLER_NULL where errors are always returned.
inline int error_handler(MPI_Comm comm, MPI_Errhandler* handler) {
  return MPI_Comm_get_errhandler(comm, handler);
}

/// MPI_Get_elements_x of bytes.
inline int get_bytes(const MPI_Status& status, MPI_Count& bytes) {
  return MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
}

/// Its error classes for a process that failed, as User-Level Failure Mitigation has them.
struct FailureClasses {
  int failed;   ///< the call needs a process that failed; −1: there are no such classes
  int pending;  ///< so may a receive from any source
  int revoked;  ///< a rank has revoked the communicator
};
// The library that runs may be newer than its header: Open MPI 4 is compatible with 5.0.
#if defined(MPIX_ERR_PROC_FAILED)
inline constexpr FailureClasses failure_classes{(MPIX_ERR_PROC_FAILED),
                                                (MPIX_ERR_PROC_FAILED_PENDING), (MPIX_ERR_REVOKED)};
#elif defined(OPEN_MPI)
inline constexpr FailureClasses failure_classes{75, 76, 77};
#else
inline constexpr FailureClasses failure_classes{-1, -1, -1};
#endif

/// The attribute of MPI_COMM_WORLD that is set if a job goes on after a failure: MPI_FT of Open MPI
/// 5. MPI_KEYVAL_INVALID: it does not; MPICH has the functions, and 4.0 ends in MPIX_Comm_revoke.
#if defined(OPEN_MPI)
inline const int failure_attribute = MPI_WIN_MODEL + 1;
#else
inline const int failure_attribute = MPI_KEYVAL_INVALID;
#endif

/// Collectives of MPI that are started, and asked after by MPI_Test. `may_block`: nothing else
/// needs this rank meanwhile, so that the library may wait at once.
struct NonblockingCollectives {
  MPI_Comm comm;
  bool may_block;

  int barrier(MPI_Request* r) const { return MPI_Ibarrier(comm, r); }
  int bcast(void* data, int bytes, int root, MPI_Request* r) const {
    return MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, r);
  }
  int allgather(const void* mine, int bytes, void* all, MPI_Request* r) const {
    return MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, r);
  }
  int allreduce(const void* mine, void* all, MPI_Op op, MPI_Request* r) const {
    return MPI_Iallreduce(mine, all, 1, MPI_INT, op, comm, r);
  }
  int duplicate(MPI_Comm* made, MPI_Request* r) const { return MPI_Comm_idup(comm, made, r); }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#endif

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What an error code of MPI means for peers.
enum class PeerFailure { none, died, revoked };

inline PeerFailure peer_failure_of(int code) noexcept {
  if (code == MPI_SUCCESS || failure_classes.failed < 0) return PeerFailure::none;
  int error_class = MPI_SUCCESS;
  if (MPI_Error_class(code, &error_class) != MPI_SUCCESS) return PeerFailure::none;
  if (error_class == failure_classes.revoked) return PeerFailure::revoked;
  const bool died = error_class == failure_classes.failed || error_class == failure_classes.pending;
  return died ? PeerFailure::died : PeerFailure::none;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_mpi_error(int code, const char* call,
                                                                   const char* where) {
  switch (peer_failure_of(code)) {
    case PeerFailure::died:
      throw peer_lost(joined(
          {"papcoll: a rank died, as MPI says by ", call, " in ", where, ": ", recovery_advice}));
    case PeerFailure::revoked:
      throw peer_lost(
          joined({"papcoll: a rank has revoked the communicator, since one died, as MPI says by ",
                  call, " in ", where, ": ", recovery_advice}));
    case PeerFailure::none: break;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw mpi_error(
      joined({"papcoll: ", call, " failed in ", where, ": ",
              std::string(text, static_cast<std::size_t>(length)), " (code ", code, ")"}),
      code);
}

/// Throws peer_lost if an MPI function reports that a peer died, or mpi_error if it returned
/// another error. `call` is its name, `where` a noun phrase: what papcoll was doing, and on which
/// rank if that is known.
inline void check(int code, const char* call, const char* where) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call, where);
}

/// A number of bytes as the (count, datatype) pair that MPI-3 functions take, whose counts are
/// ints: plain bytes, or above 1 GiB one element of a datatype made for the message.
class WideCount : Pinned {
 public:
  explicit WideCount(std::size_t bytes) {
    constexpr std::size_t plain = std::size_t{1} << 30;
    if (bytes <= plain) {
      count_ = static_cast<int>(bytes);
    } else {
      make_type(bytes);
    }
  }
  ~WideCount() {
    if (made_) MPI_Type_free(&type_);
  }

  int count() const noexcept { return count_; }
  MPI_Datatype type() const noexcept { return type_; }

 private:
  [[gnu::cold, gnu::noinline]] void make_type(std::size_t bytes) {
    constexpr std::size_t unit = std::size_t{1} << 20;
    const char* const where = "papcoll's message of more than 1 GiB";
    MPI_Datatype mebibyte = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &mebibyte), "MPI_Type_contiguous",
          where);
    int lengths[2] = {static_cast<int>(bytes / unit), static_cast<int>(bytes % unit)};
    MPI_Aint offsets[2] = {0, static_cast<MPI_Aint>(bytes / unit * unit)};
    MPI_Datatype types[2] = {mebibyte, MPI_BYTE};
    check(MPI_Type_create_struct(2, lengths, offsets, types, &type_), "MPI_Type_create_struct",
          where);
    check(MPI_Type_commit(&type_), "MPI_Type_commit", where);
    check(MPI_Type_free(&mebibyte), "MPI_Type_free", where);
    made_ = true;
  }

  int count_ = 1;
  MPI_Datatype type_ = MPI_BYTE;
  bool made_ = false;
};

/// The length of a message received as a WideCount.
inline MPI_Count received_bytes(const MPI_Status& status, const char* where) {
  MPI_Count bytes = 0;
  check(get_bytes(status, bytes), "MPI_Get_elements_x", where);
  return bytes;
}

/// Returns true if this process may call MPI now: after MPI_Init and before the end of
/// MPI_Finalize.
inline bool mpi_is_usable() noexcept {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

/// While it lives, errors on a communicator are returned and not fatal. The user's error handler is
/// back afterwards.
class ErrorsReturned : Pinned {
 public:
  ErrorsReturned(MPI_Comm comm, const char* where) : comm_(comm), before_(MPI_ERRHANDLER_NULL) {
    check(error_handler(comm_, &before_), "MPI_Comm_get_errhandler", where);
    if (before_ == MPI_ERRHANDLER_NULL) return;
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", where);
  }
  /// The user's; MPI_ERRHANDLER_NULL: none has to be put back.
  MPI_Errhandler before() const noexcept { return before_; }
  ~ErrorsReturned() {
    if (before_ == MPI_ERRHANDLER_NULL) return;
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

namespace papcoll::inline PAPCOLL_ABI {

/// An MPI communicator that is freed with its owner, unless MPI is finalized by then. Handles are
/// pointers in one MPI library and integers in another: an OwnedComm must not exist before
/// MPI_Init.
class OwnedComm {
 public:
  OwnedComm() noexcept = default;

  /// Takes ownership of a communicator.
  static OwnedComm take(MPI_Comm comm) noexcept {
    OwnedComm owner;
    owner.comm_ = comm;
    return owner;
  }

  OwnedComm(OwnedComm&& other) noexcept : comm_(other.release()) {}
  OwnedComm& operator=(OwnedComm&& other) noexcept {
    if (this != &other) {
      reset();
      comm_ = other.release();
    }
    return *this;
  }
  ~OwnedComm() { reset(); }

  MPI_Comm get() const noexcept { return comm_; }
  explicit operator bool() const noexcept { return comm_ != MPI_COMM_NULL; }

  /// Frees the communicator; collective, unless MPI is finalized.
  void reset() noexcept {
    if (comm_ != MPI_COMM_NULL && detail::mpi_is_usable()) MPI_Comm_free(&comm_);
    comm_ = MPI_COMM_NULL;
  }

  /// Releases the handle, also to leak it: freeing could wait for peers that may be dead.
  MPI_Comm release() noexcept { return std::exchange(comm_, MPI_COMM_NULL); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace papcoll::inline PAPCOLL_ABI
