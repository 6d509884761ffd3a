// SPDX-License-Identifier: BSD-3-Clause
#include "timing/placement.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace bench {
namespace {

/// The hardware threads of a processor's core, as the kernel lists them ("0,64").
std::string core_of(std::size_t processor) {
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
  std::string list;
  return std::getline(file, list) ? list : std::to_string(processor);
}

/// 1 for each processor this rank may run on.
std::vector<std::uint8_t> affinity() {
  std::vector<std::uint8_t> mask(papcoll::ProcessorSet::most);
  const auto set = papcoll::ProcessorSet::of_this_thread();
  for (int p = 0; p < set.end(); ++p) mask[static_cast<std::size_t>(p)] = set.has(p) ? 1 : 0;
  if (set.empty()) {  // the system does not tell
    std::fill_n(mask.begin(), std::min(sysconf(_SC_NPROCESSORS_ONLN), 1L * set.most), 1);
  }
  return mask;
}

}  // namespace

Placement::Placement(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  if constexpr (papcoll::detail::simulated) {  // each rank is a node
    node_comm_ = MPI_COMM_SELF;
    node_ = rank_;
    nodes_ = processors_ = ranks_;
    node_ranks_ = most_node_ranks_ = 1;
    return;
  }
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_comm_);
  MPI_Comm_rank(node_comm_, &node_rank_);
  MPI_Comm_size(node_comm_, &node_ranks_);
  MPI_Allreduce(&node_ranks_, &most_node_ranks_, 1, MPI_INT, MPI_MAX, comm);

  // A node's number is the count of nodes whose lowest rank is lower than its own lowest.
  const int leads = node_rank_ == 0 ? 1 : 0;
  MPI_Allreduce(&leads, &nodes_, 1, MPI_INT, MPI_SUM, comm);
  MPI_Exscan(&leads, &node_, 1, MPI_INT, MPI_SUM, comm);
  if (rank_ == 0) node_ = 0;
  MPI_Bcast(&node_, 1, MPI_INT, 0, node_comm_);

  std::vector<std::uint8_t> mask = affinity();
  std::set<std::string> cores;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) cores.insert(core_of(i));
  }
  MPI_Allreduce(MPI_IN_PLACE, mask.data(), papcoll::ProcessorSet::most, MPI_UINT8_T, MPI_MAX,
                node_comm_);
  const auto covered = static_cast<int>(std::count(mask.begin(), mask.end(), 1));

  const int busy = leads * std::min(node_ranks_, covered);
  MPI_Allreduce(&busy, &processors_, 1, MPI_INT, MPI_SUM, comm);
  int crowded = node_ranks_ > covered ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, comm);
  oversubscribed_ = crowded != 0;
  int bound = cores.size() == 1 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bound, 1, MPI_INT, MPI_MIN, comm);
  pinned_ = bound != 0;
}

Placement::~Placement() {
  if (node_comm_ != MPI_COMM_SELF) MPI_Comm_free(&node_comm_);
}

}  // namespace bench
