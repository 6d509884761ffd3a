// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <exception>
#include <stdexcept>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// Base of all exceptions of papcoll. what() says what was wrong, where (call, rank, communicator),
/// and what to do about it. When a call has thrown, no rank works on its buffers any more; for a
/// peer that was stopped see deadline_exceeded.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An argument of this rank's own call is invalid.
struct argument_error : error {
  using error::error;
};

/// The named algorithm does not serve this call: its operator does not commute, its elements are
/// larger than a chunk, there are too many ranks… The reason is the same on all ranks whose calls
/// match, so all of them throw, and the communicator stays usable.
struct unsupported_call : argument_error {
  using argument_error::argument_error;
};

/// Another rank made an invalid call, or one that does not match this rank's; what() quotes it.
/// After an algorithm that reads peers' memory this rank's output is unchanged, except that a bcast
/// of several chunks may have delivered the first of them, and that SplitTail, the arrival-ordered
/// Chain and CombiningTree may have written partial results to it (in place: over the input). If
/// messages were in flight, the communicator is broken and the output undefined.
struct peer_error : error {
  using error::error;
};

/// Another rank died during the call. The communicator is broken: see recovery.hpp.
struct peer_lost : error {
  using error::error;
};

/// Options::deadline passed while waiting. The communicator is broken. A stopped peer may resume
/// later and still write to this call's output if that is a shared_vector or a registered buffer.
/// Before using the output again, replace the shared_vector, or end the registration.
struct deadline_exceeded : error {
  using error::error;
};

/// The communicator was broken by an earlier error (peer_lost, deadline_exceeded, or a peer_error
/// while messages were in flight), its MPI communicator was freed, or MPI is finalized.
struct broken_communicator : error {
  using error::error;
};

/// The transport cannot serve this communicator; for example shared memory across nodes.
struct transport_unavailable : error {
  using error::error;
};

/// papcoll::algorithm() was given a name that is not in the grammar or the catalogue.
struct unknown_algorithm : error {
  using error::error;
};

namespace detail {
/// What to do after a death, for messages.
inline constexpr const char* recovery_advice =
    "where MPI goes on, papcoll::shrink makes a communicator of the ranks that are left";

/// Returns the text without "papcoll: ", as another message may quote it.
[[gnu::cold]] inline std::string bare(std::string text) {
  constexpr const char* prefix = "papcoll: ";
  if (text.rfind(prefix, 0) == 0) text.erase(0, std::char_traits<char>::length(prefix));
  return text;
}

/// Returns what f throws as an Error, in a form for another message; empty if it throws none.
template <class Error = std::exception, class F> [[gnu::cold]] std::string caught(F&& f) {
  try {
    f();
  } catch (const Error& problem) {
    return bare(problem.what());
  }
  return {};
}

/// The exception whose handler this is called in, as an E; null if it is none. By its type, not by
/// its virtual table as dynamic_cast: without RTTI files have no dynamic_cast, and the tables that
/// they define, which the linker may take for all files, do not identify their class.
template <class E> const E* handled_as() noexcept {
  try {
    throw;
  } catch (const E& problem) {
    return &problem;
  } catch (...) {
    return nullptr;
  }
}
}  // namespace detail

/// An MPI function returned an error code.
struct mpi_error : error {
  /// For the library.
  mpi_error(const std::string& text, int code_) : error(text), code(code_) {}
  int code;  ///< as MPI returned it
};

/// A system call failed (memory, files, futex).
struct system_error : error {
  /// For the library.
  system_error(const std::string& text, int number_) : error(text), number(number_) {}
  int number;  ///< errno
};

}  // namespace papcoll::inline PAPCOLL_ABI
