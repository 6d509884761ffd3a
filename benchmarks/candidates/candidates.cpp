// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/candidates.hpp"

#include "candidates/library.hpp"
#include "candidates/native.hpp"
#include "candidates/persistent.hpp"
#include "candidates/simulated_network.hpp"
#include "timing/together.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/shared_vector.hpp>
#include <papcoll/tools/machines/machine_named.hpp>
#include <papcoll/tools/options/placements.hpp>
#include <papcoll/tools/parts_of_program.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/network_file.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

namespace bench {
namespace {

papcoll::Machine with_routes(const papcoll::Machine& machine, [[maybe_unused]] MPI_Comm comm) {
  if constexpr (papcoll::detail::simulated) {
    const std::span<const papcoll::Place> places = machine.places();
    return papcoll::Machine{{places.begin(), places.end()},
                            network_by_routes(machine.network().nodes(), comm)};
  }
  return machine;
}

/// Of what has no places, a file of a network alone, those of the ranks are found by the library.
papcoll::MachineSource described_machine(const Options& options, int ranks, MPI_Comm comm) {
  papcoll::Machine all = papcoll::tool::machine_named(options.machine);
  if (options.routes) all = with_routes(all, comm);
  if (all.size() == 0) return papcoll::network_file(options.machine);
  return papcoll::tool::placed(all, options.placement, ranks, options.seed);
}

/// What the library is told.
papcoll::Options library_options(const Options& options, MPI_Comm comm) {
  papcoll::Options told{.chunk_bytes = options.chunk_bytes,
                        .peer_access = options.peer_access,
                        .copy_method = options.copy_method,
                        .agreement_period = options.agreement_period,
                        .selection = options.selection};
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  if (!options.machine.empty()) {  // whose file may be there on some nodes only
    together(comm, [&] { told.machine = described_machine(options, ranks, comm); });
  }
  if (options.group_size == 0) return told;
  auto& colours = told.groups.emplace_back();
  for (int rank = 0; rank < ranks; ++rank) colours.push_back(rank / options.group_size);
  return told;
}

/// Memory that all ranks of a node see.
Memory allocate_shared(std::size_t bytes, papcoll::Communicator& comm) {
  papcoll::shared_allocator<std::byte> allocator{comm};
  std::byte* const p = allocator.allocate(bytes + 1);
  return {p, [allocator](std::byte* q) mutable { allocator.deallocate(q, 0); }};
}

Memory allocate_registered(std::size_t bytes, papcoll::Communicator& comm) {
  Memory own = allocate_private(bytes);
  auto registration = std::make_shared<papcoll::Registration>(comm, own.get(), bytes);
  return {own.get(), [own, registration](std::byte*) mutable { registration->end(); }};
}

}  // namespace

struct Candidates::State {
  State(const Options& options, MPI_Comm c) : mpi_comm(c), comm(c, library_options(options, c)) {}

  MPI_Comm mpi_comm;
  papcoll::Communicator comm;
  std::vector<std::optional<papcoll::Algorithm>> algorithms;  // none: the native collective
  std::vector<bool> persistent;
  std::vector<bool> packed;  // of the native collective
};

Candidates::Candidates(const Options& options, MPI_Comm comm)
    : state_(std::make_unique<State>(options, comm)) {
  for (std::string name : options.algorithms) {
    const bool persistent = name.starts_with(persistent_prefix);
    if (persistent) name.erase(0, persistent_prefix.size());
    state_->persistent.push_back(persistent);
    state_->packed.push_back(name == packed_native);
    auto& algorithm = state_->algorithms.emplace_back();
    if (is_native(name)) continue;
    algorithm = name == "auto" ? papcoll::Algorithm{} : papcoll::algorithm(name);
  }
}

Candidates::~Candidates() = default;

std::size_t Candidates::size() const { return state_->algorithms.size(); }

Memory Candidates::allocate(BufferKind kind, std::size_t bytes) const {
  switch (kind) {
    case BufferKind::ordinary: return allocate_private(bytes);
    case BufferKind::arena: return allocate_shared(bytes, state_->comm);
    case BufferKind::registered: return allocate_registered(bytes, state_->comm);
  }
  std::abort();
}

std::function<void()> Candidates::call(std::size_t candidate, const Problem& problem,
                                       const Buffers& buffers) {
  const auto& algorithm = state_->algorithms[candidate];
  if (!algorithm) {
    const auto native = state_->packed[candidate] ? packed_native_call : native_call;
    return native(problem, buffers, state_->mpi_comm);
  }
  const auto make = state_->persistent[candidate] ? persistent_call : library_call;
  return make(problem, buffers, state_->comm, *algorithm);
}

std::string Candidates::resolved(std::size_t candidate, const Problem& problem) const {
  const auto& algorithm = state_->algorithms[candidate];
  if (algorithm) return library_name(problem, state_->comm, *algorithm);
  return native_name(problem) + (state_->packed[candidate] ? " of a packed copy" : "");
}

}  // namespace bench
