#include "candidates.hpp"

#include "library.hpp"
#include "native.hpp"

#include <papcoll/catalogue/by_name.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace bench {

struct Candidates::State {
  explicit State(MPI_Comm c) : mpi_comm(c), comm(c) {}

  MPI_Comm mpi_comm;
  papcoll::Communicator comm;
  std::vector<std::optional<papcoll::Algorithm>> algorithms;  // none: the native collective
};

Candidates::Candidates(const std::vector<std::string>& names, MPI_Comm comm)
    : state_(std::make_unique<State>(comm)) {
  for (const std::string& name : names) {
    auto& algorithm = state_->algorithms.emplace_back();
    if (name == "auto") algorithm.emplace();
    if (name != "auto" && name != "mpi") algorithm = papcoll::algorithm(name);
  }
}

Candidates::~Candidates() = default;

std::size_t Candidates::size() const { return state_->algorithms.size(); }

Memory Candidates::allocate_shared(std::size_t bytes) const {
  papcoll::shared_allocator<std::byte> allocator{state_->comm};
  std::byte* const p = allocator.allocate(bytes + 1);
  return {p, [allocator](std::byte* q) mutable { allocator.deallocate(q, 0); }};
}

std::function<void()> Candidates::call(std::size_t candidate, const Problem& problem,
                                       const Buffers& buffers) {
  const auto& algorithm = state_->algorithms[candidate];
  return algorithm ? library_call(problem, buffers, state_->comm, *algorithm)
                   : native_call(problem, buffers, state_->mpi_comm);
}

std::string Candidates::resolved(std::size_t candidate, const Problem& problem) const {
  const auto& algorithm = state_->algorithms[candidate];
  return algorithm ? library_name(problem, state_->comm, *algorithm)
                   : native_name(problem.collective);
}

}  // namespace bench
