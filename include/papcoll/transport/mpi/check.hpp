#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/nonblocking_collectives.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What an error code of MPI says of peers.
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
    case PeerFailure::none:
      break;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw mpi_error(
      detail::joined({"papcoll: ", call, " failed in ", where, ": ",
                      std::string(text, static_cast<std::size_t>(length)), " (code ", code, ")"}),
      code);
}

/// Throws peer_lost if an MPI function says that a peer died, or mpi_error if it returned another
/// error. `call` is its name, `where` a noun phrase: what papcoll was doing, and on which rank if
/// that is known.
inline void check(int code, const char* call, const char* where) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call, where);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
