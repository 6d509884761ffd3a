// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/machine_source.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// How the ranks of one node reach each other's buffers.
enum class PeerAccess : unsigned char {
  best,         ///< where they are if all see them, else as each algorithm finds best
  copied,       ///< as `best`, but prefers the kernel's copies (CMA) of private buffers to chunks
  without_cma,  ///< not copied by the kernel
  staged,       ///< only chunk by chunk through buffers of the library
};

/// When ranks draw tickets for the order in which they arrive.
enum class RemoteTickets : unsigned char {
  probed,  ///< on one node, and where drawing one is fast although the rank that keeps them is busy
  always,  ///< at any price: for tests
  never,
};

/// What a call that names no algorithm may depend on. All ranks choose alike.
enum class Selection : unsigned char {
  learned,      ///< by the call, by how ranks arrive, and by what candidates cost that are tried
  by_arrivals,  ///< by the call, and by how ranks arrive
  repeatable,   ///< by the call alone: the same from run to run
};

/// Options of a Communicator or a ThreadTeam, set when it is made; equal on all ranks. An
/// aggregate: {.deadline = std::chrono::seconds(60)}.
struct Options {
  /// How long a call may wait, its transfers included, before it throws deadline_exceeded; 0:
  /// without limit. A call that fails waits once more, at most as long, for a peer that is stopped
  /// while it works on this rank's buffers. Time in which the waiting rank itself does not run,
  /// such as that of a suspended job, counts as 100 ms at most, and as a quarter of the deadline.
  std::chrono::nanoseconds deadline{0};
  /// Bytes of a chunk, in which arrival-driven algorithms move longer data through shared memory: a
  /// multiple of 64. Larger chunks use proportionally more memory: a rank has 16 chunk buffers, and
  /// all ranks together have 64 for results: 12 MB with 8 ranks, 132 MB with 128, allocated when
  /// calls first use them. To measure sizes: papcoll-bench allreduce --bytes 1M --chunk-bytes 16k.
  std::size_t chunk_bytes = 65536;
  /// Pipeline depth: blocks of a plan in flight at once: 1, 2, 4, 8 or 16.
  std::size_t pipeline_depth = 4;
  /// Bytes of address space for each rank's part of the arena, the memory that a node's ranks
  /// share: a multiple of 65536. A quarter is for the library's copies of private buffers (a
  /// ThreadTeam needs no more), the rest for shared_vectors and registered buffers. Pages are
  /// allocated when they are first used. 0: no arena, and shared_vector is ordinary memory.
  std::size_t arena_bytes = std::size_t{1} << 30U;
  PeerAccess peer_access = PeerAccess::best;  ///< how ranks of a node reach each other's buffers
  CopyMethod copy_method = CopyMethod::best;  ///< how a rank copies for others of its node
  RemoteTickets tickets = RemoteTickets::probed;  ///< of ArrivalOrder over RmaTransport
  /// After how many blocking calls, under PredictedOrder, or across nodes without policies, ranks
  /// exchange what they know of arrivals; ≥ 1. It takes effect as many calls later. With P ranks at
  /// least P / 2.
  std::uint32_t agreement_period = 16;
  /// Number of the first call; for tests, which start just below 2³².
  std::uint32_t first_epoch = 1;
  /// What Hierarchical takes for nodes, instead of ranks that share memory: a colour for each rank;
  /// then, if groups are to be grouped again, a colour for each group (in order of their lowest
  /// ranks), and so on. For sockets or racks, and for tests on one machine. Eight ranks, two to a
  /// node, two nodes to a rack: {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 1, 1}}.
  GroupColours groups{};
  /// What describes the machine, for OnTopology and for groups of ranks on a node: Linux by
  /// default; or a description in code, or a producer such as topology/network_file.hpp.
  MachineSource machine{};
  Selection selection = Selection::learned;  ///< by what calls that name no algorithm get one
  /// Path of a selection file to read: rules, thresholds, and what was learned on this machine.
  /// Empty: the one that the environment variable PAPCOLL_TUNING names, if any. Rank 0's counts.
  std::string tuning_file{};
  /// Path of a selection file in which the costs of calls are kept for the next run: read when the
  /// team is made, written when it ends. Empty: the one that PAPCOLL_LEARN names, if any. Rank 0's
  /// counts. A file that cannot be used is ignored, and replaced.
  std::string learn{};

  friend bool operator==(const Options&, const Options&) = default;

  /// Returns what is invalid, with the value found and what to do; empty if the options are valid.
  [[gnu::cold]] std::string problem() const {
    if (deadline.count() < 0) return "the deadline is negative: 0 stands for none";
    if (chunk_bytes == 0 || chunk_bytes % cache_line != 0) {
      return detail::joined({"chunk_bytes is ", chunk_bytes, ": take a multiple of ", cache_line});
    }
    if (arena_bytes % 65536 != 0) {
      return detail::joined({"arena_bytes is ", arena_bytes, ": take a multiple of 65536"});
    }
    if (pipeline_depth == 0 || 16 % pipeline_depth != 0) {
      return detail::joined({"pipeline_depth is ", pipeline_depth, ": take 1, 2, 4, 8 or 16"});
    }
    if (machine.is_of_no_places()) {
      return "machine: it has no places: describe those of all ranks, or leave it out";
    }
    if (agreement_period == 0) return "agreement_period is 0: take at least 1 call";
    return {};
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
