#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/nonblocking_collectives.hpp>

#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// May this process call MPI now: after MPI_Init and before the end of MPI_Finalize?
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

}  // namespace detail

/// An MPI communicator that is freed with its owner, unless MPI is finalized by then. Handles are
/// pointers in one MPI library and integers in another: an OwnedComm must not exist before
/// MPI_Init.
class OwnedComm {
 public:
  OwnedComm() noexcept = default;

  /// Takes over a communicator that somebody made.
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

  /// Gives the handle away, or leaks it: where peers may be dead, freeing could wait for them.
  MPI_Comm release() noexcept { return std::exchange(comm_, MPI_COMM_NULL); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace papcoll::inline PAPCOLL_ABI
