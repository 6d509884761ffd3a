#include "candidates.hpp"

#include "native.hpp"

namespace bench {

struct Candidates::State {
  std::vector<std::string> names;
  MPI_Comm comm;
};

Candidates::Candidates(const std::vector<std::string>& names, MPI_Comm comm)
    : state_(new State{names, comm}) {}
Candidates::~Candidates() = default;

std::size_t Candidates::size() const { return state_->names.size(); }

std::function<void()> Candidates::call(std::size_t, const Problem& problem,
                                       const Buffers& buffers) {
  return native_call(problem, buffers, state_->comm);
}

std::string Candidates::resolved(std::size_t, const Problem& problem) const {
  return native_name(problem.collective);
}

}  // namespace bench
