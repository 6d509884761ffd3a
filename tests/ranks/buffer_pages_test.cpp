// SPDX-License-Identifier: BSD-3-Clause
// How many pages of a node's shared memory a communicator has taken: none that no call needs.

#include <papcoll/node/control_block.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/shared_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>

#include "catch.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;
using papcoll::NodeControlBlock;

namespace {

/// The file behind a mapping; 0: none.
ino_t file_at(const std::byte* address) {
  std::ifstream maps{"/proc/self/maps"};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields{line};
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string access;
    std::string offset;
    std::string device;
    ino_t file = 0;
    fields >> std::hex >> begin >> dash >> end >> access >> offset >> device >> std::dec >> file;
    if (begin <= at && at < end) return file;
  }
  return 0;
}

/// Bytes of the pages of the file behind a mapping, touched or not; 0: it is not known.
std::size_t taken_at(const std::byte* address) {
  const ino_t file = file_at(address);
  std::size_t taken = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> all{opendir("/proc/self/fd"), &closedir};
  while (const dirent* entry = all ? readdir(all.get()) : nullptr) {
    struct stat status {};
    if (fstat(std::atoi(entry->d_name), &status) == 0 && status.st_ino == file) {
      taken = static_cast<std::size_t>(status.st_blocks) * 512;
    }
  }
  return taken;
}

class Pages {
 public:
  explicit Pages(const papcoll::Options& options = {}) : comm_(own_.get(), options) {}

  Communicator& comm() { return comm_; }
  /// Why the test cannot run here, or nothing.
  std::string problem() const {
    if (!comm_.why_no_shared_memory().empty()) return comm_.why_no_shared_memory();
    return comm_.nodes() > 1 ? "the ranks are on several nodes" : "";
  }

  /// Of the communicator's memory, once all ranks are here.
  std::size_t taken() {
    MPI_Barrier(own_.get());
    const std::size_t bytes = taken_at(node().control);
    MPI_Barrier(own_.get());
    return bytes;
  }
  NodeControlBlock control_block() {
    return papcoll::detail::control_block_of(node(), comm_.core().options().chunk_bytes);
  }
  std::size_t all_buffers() {
    return papcoll::detail::chunk_buffers_bytes(own_.size(), comm_.core().options().chunk_bytes);
  }

 private:
  const papcoll::Node& node() { return *comm_.core().environment().node; }

  OwnComm own_;
  Communicator comm_;
};

template <class... Policies> void add(Communicator& comm, std::size_t bytes) {
  std::vector<std::int64_t> data(bytes / sizeof(std::int64_t), comm.rank());
  papcoll::allreduce<Policies...>(comm, data);
  CHECK(data.back() == std::int64_t{comm.size()} * (comm.size() - 1) / 2);
}

}  // namespace

TEST_CASE("chunk buffers take memory when they are first used, and no sooner", "[pages]") {
  papcoll::Options options;
  options.peer_access = papcoll::PeerAccess::staged;   // so that all data go through chunk buffers
  options.selection = papcoll::Selection::repeatable;  // what is tried may take some
  Pages pages{options};
  if (const std::string problem = pages.problem(); !problem.empty()) {
    WARN("SKIPPED: " << problem);
    return;
  }
  Communicator& comm = pages.comm();
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t made = pages.taken();
  CAPTURE(made, pages.all_buffers());
  REQUIRE(made > 0);
  CHECK(made < pages.all_buffers() / 4);
  for (int i = 0; i < 2 * NodeControlBlock::epoch_slots; ++i) {
    add<>(comm, 8);
    add<papcoll::DynamicLeader>(comm, 8);
    papcoll::barrier(comm);
  }
  CHECK(pages.taken() == made);
  if (ranks == 1) return;
  // A slice is a cache line at least, so one rank has all of this; nobody writes into the buffer
  // of rank 0.
  add<papcoll::MultiLeader>(comm, 8);
  CHECK(pages.taken() <= made + (ranks - 1) * pages.control_block().rank_buffers_bytes());
  add<papcoll::MultiLeader>(comm, std::size_t{1} << 20U);
  const std::size_t in_chunk_buffers = pages.taken();
  CHECK(in_chunk_buffers == made + ranks * pages.control_block().rank_buffers_bytes());
  add<papcoll::MultiLeader>(comm, std::size_t{4} << 20U);
  CHECK(pages.taken() == in_chunk_buffers);
  // The leader is the root, so nobody else takes a result.
  std::vector<std::int64_t> sums(std::size_t{1} << 17U, comm.rank());
  papcoll::reduce<papcoll::StaticLeader>(comm, sums, papcoll::root{0});
  CHECK(pages.taken() == in_chunk_buffers);
  // 16 chunks of a result, in one epoch slot.
  add<papcoll::DynamicLeader>(comm, std::size_t{1} << 20U);
  const std::size_t results = pages.taken() - in_chunk_buffers;
  CHECK(results >= NodeControlBlock::results * comm.core().options().chunk_bytes);
  CHECK(results <= 2 * NodeControlBlock::results * comm.core().options().chunk_bytes);
}

TEST_CASE("calls that read buffers where they are take no chunk buffers", "[pages]") {
  Pages pages;
  if (const std::string problem = pages.problem(); !problem.empty()) {
    WARN("SKIPPED: " << problem);
    return;
  }
  Communicator& comm = pages.comm();
  papcoll::shared_vector<double> data(std::size_t{1} << 17U, 1.0,
                                      papcoll::shared_allocator<double>{comm});
  const std::size_t before = pages.taken();
  papcoll::allreduce<papcoll::PeerSlices>(comm, data);
  papcoll::allreduce<papcoll::PeerSlices>(comm, data);
  CHECK(pages.taken() == before);
}

TEST_CASE("chunks smaller than a page are in pages of one rank's, too", "[pages]") {
  papcoll::Options options;
  options.chunk_bytes = 64;
  options.peer_access = papcoll::PeerAccess::staged;
  Pages pages{options};
  if (const std::string problem = pages.problem(); !problem.empty()) {
    WARN("SKIPPED: " << problem);
    return;
  }
  Communicator& comm = pages.comm();
  const std::size_t before = pages.taken();
  for (int i = 0; i < 2 * NodeControlBlock::epoch_slots; ++i) {
    add<papcoll::Exchange>(comm, 5000);
    add<papcoll::DynamicLeader>(comm, 5000);
    add<papcoll::Accumulator>(comm, 5000);
  }
  CHECK(pages.taken() <= before + pages.all_buffers());
  if (comm.size() > 1) CHECK(pages.taken() > before);
}
