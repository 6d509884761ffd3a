// Which NUMA node the pages of shared memory are on. The kernel is asked by its calls, without
// libnuma.

#include <papcoll/papcoll.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
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

}  // namespace

TEST_CASE("pages of the arena are on the node of the rank that took them", "[numa]") {
  const OwnComm own;
  Communicator comm{own.get()};
  if (!comm.no_shared_memory().empty()) {
    WARN("SKIPPED: the ranks share no memory: " << comm.no_shared_memory());
    return;
  }
  const std::vector<int> nodes = allowed_nodes();
  if (nodes.size() < 2) {
    WARN("SKIPPED: needs two NUMA nodes, and the kernel shows " << nodes.size());
    return;
  }
  const int mine = nodes[static_cast<std::size_t>(comm.rank()) % nodes.size()];
  const OnNode here{mine};
  const std::vector<int> found = nodes_of_pages(&here, sizeof here);
  int unable = here.moved() && found.front() >= 0 ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &unable, 1, MPI_INT, MPI_MAX, own.get());
  if (unable != 0) {
    WARN("SKIPPED: a rank may not run on a processor of NUMA node "
         << mine << ", or not ask where its pages are");
    return;
  }
  const papcoll::shared_allocator<double> arena{comm};
  papcoll::shared_vector<double> data(std::size_t{1} << 20U, 1.0, arena);
  const auto all_are_mine = [&] {
    const std::vector<int> where = nodes_of_pages(data.data(), data.size() * sizeof(double));
    return static_cast<std::size_t>(std::count(where.begin(), where.end(), mine)) == where.size();
  };
  CHECK(all_are_mine());
  papcoll::allreduce<papcoll::PeerSlices>(comm, data);  // which writes to it from all ranks
  CHECK(all_are_mine());
}
