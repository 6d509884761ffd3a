// SPDX-License-Identifier: BSD-3-Clause
// Which NUMA node the pages of shared memory are on. The kernel is asked by its calls, without
// libnuma.

#include <papcoll/node/control_block.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "catch.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;

namespace {

constexpr int most_nodes = 1024;

/// The NUMA nodes that this process may have memory on; none if the kernel does not say.
std::vector<int> allowed_nodes() {
  constexpr unsigned long of_task = 4;  // MPOL_F_MEMS_ALLOWED
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(most_nodes / bits);
  std::vector<int> nodes;
  if (syscall(SYS_get_mempolicy, nullptr, mask.data(), most_nodes, nullptr, of_task) != 0) {
    return nodes;
  }
  for (std::size_t i = 0; i < most_nodes; ++i) {
    if ((mask[i / bits] >> i % bits & 1U) != 0) nodes.push_back(static_cast<int>(i));
  }
  return nodes;
}

/// The node of a processor.
int node_of_processor(int cpu) {
  for (const int node : allowed_nodes()) {
    const std::string path = "/sys/devices/system/node/node" + std::to_string(node) + "/cpu";
    if (std::ifstream{path + std::to_string(cpu) + "/topology/core_id"}) return node;
  }
  return -1;
}

/// This thread runs on one of the node's processors for as long as this lives.
class OnNode {
 public:
  explicit OnNode(int node) {
    CPU_ZERO(&before_);
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE && !moved_; ++cpu) {
      if (!CPU_ISSET(cpu, &before_) || node_of_processor(cpu) != node) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
    }
  }
  OnNode(const OnNode&) = delete;
  OnNode& operator=(const OnNode&) = delete;
  ~OnNode() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  bool moved() const { return moved_; }

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

/// The node of each page of [data, data + bytes), or a negative error.
std::vector<int> nodes_of_pages(const void* data, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(data) + bytes;
  std::vector<void*> pages;
  for (auto at = begin; at < end; at += page) pages.push_back(reinterpret_cast<void*>(at));
  std::vector<int> nodes(pages.size(), -EFAULT);
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    nodes.assign(1, -errno);
  }
  return nodes;
}

/// Runs each rank on a NUMA node, in turns; or says, on all ranks, why the test cannot run.
class Placed {
 public:
  explicit Placed(Communicator& comm, MPI_Comm all) {
    if (!comm.why_no_shared_memory().empty()) {
      problem_ = "the ranks share no memory: " + comm.why_no_shared_memory();
      return;
    }
    const std::vector<int> nodes = allowed_nodes();
    if (nodes.size() < 2) {
      problem_ = "needs two NUMA nodes, and the kernel shows " + std::to_string(nodes.size());
      return;
    }
    mine_ = nodes[static_cast<std::size_t>(comm.rank()) % nodes.size()];
    here_.emplace(mine_);
    const std::vector<int> found = nodes_of_pages(&here_, sizeof here_);
    int unable = here_->moved() && found.front() >= 0 ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &unable, 1, MPI_INT, MPI_MAX, all);
    if (unable != 0) {
      problem_ = "a rank may not run on a processor of NUMA node " + std::to_string(mine_) +
                 ", or not ask where its pages are";
    }
  }

  const std::string& problem() const { return problem_; }
  /// Are all these pages on the rank's node?
  bool has(const void* data, std::size_t bytes) const {
    const std::vector<int> where = nodes_of_pages(data, bytes);
    return static_cast<std::size_t>(std::count(where.begin(), where.end(), mine_)) == where.size();
  }

 private:
  std::string problem_;
  int mine_ = -1;
  std::optional<OnNode> here_;
};

}  // namespace

TEST_CASE("pages of the arena are on the node of the rank that took them", "[numa]") {
  const OwnComm own;
  Communicator comm{own.get()};
  const Placed placed{comm, own.get()};
  if (!placed.problem().empty()) {
    WARN("SKIPPED: " << placed.problem());
    return;
  }
  const papcoll::shared_allocator<double> arena{comm};
  papcoll::shared_vector<double> data(std::size_t{1} << 20U, 1.0, arena);
  CHECK(placed.has(data.data(), data.size() * sizeof(double)));
  papcoll::allreduce<papcoll::PeerSlices>(comm, data);  // which writes to it from all ranks
  CHECK(placed.has(data.data(), data.size() * sizeof(double)));
}

TEST_CASE("a rank's chunk buffers are on its node", "[numa]") {
  const OwnComm own;
  Communicator comm{own.get()};
  const Placed placed{comm, own.get()};
  if (!placed.problem().empty() || comm.nodes() > 1 || comm.size() == 1) {
    WARN("SKIPPED: " << (placed.problem().empty() ? "needs ranks of one node" : placed.problem()));
    return;
  }
  const papcoll::TeamCore& core = comm.core();
  const papcoll::NodeControlBlock control =
      papcoll::detail::control_block_of(*core.environment().node, core.options().chunk_bytes);
  // The second writes to peers' chunk buffers; its chunks need all results and four ranks' chunk
  // buffers.
  for (const bool first : {true, false}) {
    std::vector<double> data(std::size_t{1} << 19U, 1.0);
    if (first) {
      papcoll::allreduce<papcoll::MultiLeader>(comm, data);
    } else {
      papcoll::allreduce<papcoll::Accumulator>(comm, data);
    }
    // What nobody has touched yet has no place to be asked for.
    std::byte* const mine = control.chunk_buffer(0, comm.rank(), 0);
    for (std::size_t at = 0; at < control.rank_buffers_bytes(); at += 4096) {
      static_cast<void>(*static_cast<volatile std::byte*>(mine + at));
    }
    MPI_Barrier(own.get());
    CHECK(placed.has(mine, control.rank_buffers_bytes()));
  }
}
