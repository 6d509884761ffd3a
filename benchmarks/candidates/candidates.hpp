// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"
#include "options.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// The ways to carry out a collective that are compared.
class Candidates {
 public:
  /// Those of the options: mpi, auto or names of papcoll's own. Collective; throws what
  /// papcoll::algorithm throws.
  Candidates(const Options& options, MPI_Comm comm);
  ~Candidates();
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  std::size_t size() const;

  /// Memory for a buffer. Collective.
  Memory allocate(BufferKind kind, std::size_t bytes) const;

  /// The call that the candidate makes, with everything chosen beforehand. It throws, on every
  /// rank, if the candidate does not serve the problem.
  std::function<void()> call(std::size_t candidate, const Problem& problem, const Buffers& buffers);

  /// What the name stands for in this problem.
  std::string resolved(std::size_t candidate, const Problem& problem) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bench
