// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/communicators.hpp>
#include <papcoll/profile/recorder.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// What a record has of a call, from the call's arguments: only those that are significant on this
/// rank, according to MPI, are read.
///
/// The size of a message is what this rank contributes (a scatter: what it receives): the buffer of
/// a bcast, reduction or scan; this rank's block in a gather or allgather; all blocks that it sends
/// in an alltoall or to its neighbours; the whole vector in a reduce-scatter; 0 in a barrier.
class Describe {
 public:
  Describe(const Recorder& recorder, KnownCommunicator& communicator) noexcept
      : recorder_(recorder), communicator_(communicator) {}

  /// The root of a collective that has none: no value that MPI has for a rank, while MPI_PROC_NULL
  /// and MPI_ROOT may be −1.
  static constexpr int no_root = std::numeric_limits<int>::min();

  Message nothing() const noexcept { return {}; }

  /// Bcast.
  template <class Count>
  Message vector(Count n, MPI_Datatype type, int root = no_root) const noexcept {
    if (root == MPI_PROC_NULL) return rooted(root);
    return message(n, type, root, nullptr);
  }

  /// Gather, allgather: a block of n; in place, one of m.
  template <class Count>
  Message block(const void* in, Count n, MPI_Datatype type, Count m, MPI_Datatype of_result,
                int root = no_root) const noexcept {
    if (is_outside(root)) return rooted(root);
    if (in == MPI_IN_PLACE) return message(m, of_result, root, in);
    return message(n, type, root, in);
  }

  /// Gatherv, allgatherv: as block(), with a count for each rank's block of the result.
  template <class Count>
  Message block_of(const void* in, Count n, MPI_Datatype type, const Count* counts,
                   MPI_Datatype of_result, int root = no_root) const noexcept {
    if (is_outside(root)) return rooted(root);
    if (in == MPI_IN_PLACE) {
      return message(counts == nullptr ? 0 : counts[communicator_.rank], of_result, root, in);
    }
    return message(n, type, root, in);
  }

  /// Scatter: `out` is in place at the root only, where its block is one of n.
  template <class Count>
  Message received(Count n, MPI_Datatype type, const void* out, Count m, MPI_Datatype of_result,
                   int root) const noexcept {
    return block(out, m, of_result, n, type, root);
  }

  /// Scatterv.
  template <class Count>
  Message received_of(const Count* counts, MPI_Datatype type, const void* out, Count m,
                      MPI_Datatype of_result, int root) const noexcept {
    return block_of(out, m, of_result, counts, type, root);
  }

  /// Alltoall: a block for each peer.
  template <class Count>
  Message blocks(const void* in, Count n, MPI_Datatype type, Count m,
                 MPI_Datatype of_result) const noexcept {
    return times(block(in, n, type, m, of_result), communicator_.peers);
  }

  /// Alltoallv.
  template <class Count>
  Message blocks_of(const void* in, const Count* counts, MPI_Datatype type,
                    const Count* counts_of_result, MPI_Datatype of_result) const noexcept {
    const bool in_place = in == MPI_IN_PLACE;
    return message(sum(in_place ? counts_of_result : counts, communicator_.peers),
                   in_place ? of_result : type, no_root, in);
  }

  /// Alltoallw.
  template <class Count>
  Message blocks_of(const void* in, const Count* counts, const MPI_Datatype* types,
                    const Count* counts_of_result,
                    const MPI_Datatype* types_of_result) const noexcept {
    const bool in_place = in == MPI_IN_PLACE;
    return mixed(in, in_place ? counts_of_result : counts, in_place ? types_of_result : types,
                 communicator_.peers);
  }

  /// Reduce, allreduce, scan, exscan.
  template <class Count>
  Message combined(const void* in, Count n, MPI_Datatype type, MPI_Op op,
                   int root = no_root) const noexcept {
    if (is_outside(root) && root != MPI_ROOT) return rooted(root);
    Message m = message(n, type, root, in);
    m.op = recorder_.ops().of(op);
    return m;
  }

  /// Reduce_scatter: a count for each rank of the group.
  template <class Count>
  Message combined_blocks(const void* in, const Count* counts, MPI_Datatype type,
                          MPI_Op op) const noexcept {
    return combined(in, sum(counts, communicator_.size), type, op);
  }

  /// Reduce_scatter_block: a block of n for each rank of the group.
  template <class Count>
  Message combined_block(const void* in, Count n, MPI_Datatype type, MPI_Op op) const noexcept {
    return times(combined(in, n, type, op), communicator_.size);
  }

  /// Neighbor_alltoall: a block for each rank that it sends to.
  template <class Count> Message to_neighbours(Count n, MPI_Datatype type) const noexcept {
    return times(message(n, type, no_root, nullptr), neighbours());
  }

  /// Neighbor_alltoallv.
  template <class Count>
  Message to_neighbours(const Count* counts, MPI_Datatype type) const noexcept {
    return message(sum(counts, neighbours()), type, no_root, nullptr);
  }

  /// Neighbor_alltoallw.
  template <class Count>
  Message to_neighbours(const Count* counts, const MPI_Datatype* types) const noexcept {
    return mixed(nullptr, counts, types, neighbours());
  }

 private:
  // In an inter-communicator the root's group has nothing to send to itself.
  static bool is_outside(int root) noexcept { return root == MPI_ROOT || root == MPI_PROC_NULL; }

  static Message rooted(int root) noexcept {
    Message m;
    m.root = root < 0 ? -1 : root;
    return m;
  }

  template <class Count>
  Message message(Count n, MPI_Datatype type, int root, const void* in) const noexcept {
    Message m = rooted(root);
    const Types::About about = recorder_.types().of(type);
    m.type = about.index;
    m.bytes = n > 0 ? static_cast<std::uint64_t>(n) * about.size : 0;
    m.flags = in != nullptr && in == MPI_IN_PLACE ? std::uint32_t{record_in_place} : 0U;
    return m;
  }

  static Message times(Message m, int factor) noexcept {
    m.bytes *= static_cast<std::uint64_t>(factor < 0 ? 0 : factor);
    return m;
  }

  template <class Count> static MPI_Count sum(const Count* counts, int n) noexcept {
    MPI_Count all = 0;
    if (counts == nullptr) return 0;  // an error, which is for MPI to tell
    for (int i = 0; i < n; ++i) all += counts[i];
    return all;
  }

  template <class Count>
  Message mixed(const void* in, const Count* counts, const MPI_Datatype* types,
                int n) const noexcept {
    Message all;
    if (counts == nullptr || types == nullptr) return all;
    for (int i = 0; i < n; ++i) {
      if (counts[i] <= 0) continue;
      const Message one = message(counts[i], types[i], no_root, in);
      all.bytes += one.bytes;
      all.type = one.type;
      all.flags = one.flags;
    }
    return all;
  }

  int neighbours() const noexcept {
    if (communicator_.neighbours < 0) communicator_.neighbours = asked_neighbours();
    return communicator_.neighbours;
  }

  int asked_neighbours() const noexcept {
    const MpiCalls& mpi = recorder_.mpi();
    MPI_Comm comm = communicator_.handle;
    int kind = MPI_UNDEFINED;
    int n = 0;
    if (mpi.Topo_test(comm, &kind) != MPI_SUCCESS) return 0;
    if (kind == MPI_CART) {
      return mpi.Cartdim_get(comm, &n) == MPI_SUCCESS ? 2 * n : 0;
    }
    if (kind == MPI_GRAPH) {
      return mpi.Graph_neighbors_count(comm, communicator_.rank, &n) == MPI_SUCCESS ? n : 0;
    }
    if (kind == MPI_DIST_GRAPH) {
      int sources = 0;
      int weighted = 0;
      return mpi.Dist_graph_neighbors_count(comm, &sources, &n, &weighted) == MPI_SUCCESS ? n : 0;
    }
    return 0;
  }

  const Recorder& recorder_;
  KnownCommunicator& communicator_;
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
