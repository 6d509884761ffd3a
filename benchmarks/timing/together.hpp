// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/transport/mpi/mpi.hpp>

#include <exception>
#include <stdexcept>
#include <string>

namespace bench {

/// The command line, or what it refers to, cannot be served: exit status 2. Thrown on all ranks.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs f() on all ranks; if it throws on any of them, all throw usage_error with the words of the
/// lowest such rank. Collective.
template <class F> void together(MPI_Comm comm, F&& f) {
  std::string text;
  bool failed = false;
  try {
    f();
  } catch (const std::exception& error) {
    text = error.what();
    failed = true;
  }
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int speaker = failed ? rank : ranks;
  MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, comm);
  if (speaker == ranks) return;
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, speaker, comm);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, speaker, comm);
  throw usage_error(text);
}

}  // namespace bench
