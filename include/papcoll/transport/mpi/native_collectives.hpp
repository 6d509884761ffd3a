#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/native_blocks.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/mpi/wide_count.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace papcoll::inline PAPCOLL_ABI {

/// Runs a call by the MPI library's own collectives on the user's communicator: the way that is
/// left when MPI has no communicator for papcoll's messages. Data are moved by MPI and combined
/// here, in rank order, so any type and operator will do; slower than a schedule. Whoever gets an
/// exception leaves the object to MPI.
class NativeCollectives {
 public:
  NativeCollectives(const detail::PolledCollectives& all_ranks, int rank, int size)
      : all_ranks_(all_ranks), rank_(rank), size_(size), blocks_(all_ranks, rank, size, where) {}

  [[gnu::cold]] void run(const Call& c) {
    if (c.is_uneven()) return blocks_.run(c);
    if (c.in_view != nullptr || c.out_view != nullptr) return run_packed(c);
    switch (c.collective) {
      case Collective::allreduce:
        return combine(c, true);
      case Collective::reduce:
        return combine(c, rank_ == c.root);
      case Collective::bcast: {
        const detail::WideCount n{c.bytes()};
        return all_ranks_.run("MPI_Ibcast", where, [&](MPI_Comm comm, MPI_Request* r) {
          return MPI_Ibcast(c.out, n.count(), n.type(), c.root, comm, r);
        });
      }
      case Collective::allgather:
        return allgather(c.in, c.out, c.bytes(), c.in_place());
      case Collective::gather:
        return gather(c.in, c.out, c.bytes(), c.root, c.in_place());
      case Collective::scatter: {
        const detail::WideCount n{c.bytes()};
        const bool in_place = c.in_place() && rank_ == c.root;
        return all_ranks_.run("MPI_Iscatter", where, [&](MPI_Comm comm, MPI_Request* r) {
          return MPI_Iscatter(c.in, n.count(), n.type(),
                              in_place ? MPI_IN_PLACE : static_cast<void*>(c.out), n.count(),
                              n.type(), c.root, comm, r);
        });
      }
      case Collective::reduce_scatter:
        return reduce_scatter(c);
      case Collective::barrier:
        return all_ranks_.run("MPI_Ibarrier", where,
                              [](MPI_Comm comm, MPI_Request* r) { return MPI_Ibarrier(comm, r); });
      case Collective::alltoall: {
        const detail::WideCount n{c.bytes()};
        return all_ranks_.run("MPI_Ialltoall", where, [&](MPI_Comm comm, MPI_Request* r) {
          return MPI_Ialltoall(c.in_place() ? MPI_IN_PLACE : static_cast<const void*>(c.in),
                               n.count(), n.type(), c.out, n.count(), n.type(), comm, r);
        });
      }
      case Collective::scan:
        return combine(c, true);
      case Collective::exscan:
        return combine(c, rank_ > 0);
    }
  }

 private:
  static constexpr const char* where = "a collective by MPI's own means";
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;  ///< of each rank at a time

  [[gnu::cold]] void allgather(const std::byte* in, std::byte* out, std::size_t bytes,
                               bool in_place) {
    const detail::WideCount n{bytes};
    all_ranks_.run("MPI_Iallgather", where, [&](MPI_Comm comm, MPI_Request* r) {
      return MPI_Iallgather(in_place ? MPI_IN_PLACE : static_cast<const void*>(in), n.count(),
                            n.type(), out, n.count(), n.type(), comm, r);
    });
  }

  [[gnu::cold]] void gather(const std::byte* in, std::byte* out, std::size_t bytes, int root,
                            bool in_place) {
    const detail::WideCount n{bytes};
    const bool own_is_there = in_place && rank_ == root;
    all_ranks_.run("MPI_Igather", where, [&](MPI_Comm comm, MPI_Request* r) {
      return MPI_Igather(own_is_there ? MPI_IN_PLACE : static_cast<const void*>(in), n.count(),
                         n.type(), out, n.count(), n.type(), root, comm, r);
    });
  }

  /// A call whose elements are not neighbours: from a copy and into one.
  [[gnu::cold]] void run_packed(const Call& c) {
    const detail::PackedLayout parts{c, rank_, size_};
    packed_.resize(parts.bytes());
    run(parts.pack(packed_.data()));
    parts.unpack(packed_.data());
  }

  /// out = the contributions in `gathered_` that belong there, combined in rank order.
  [[gnu::cold]] void fold(const Call& c, std::byte* out, std::size_t elements) {
    const std::size_t bytes = elements * c.reducer.size;
    const int last = contributors(c.collective, rank_, size_).last;
    std::memcpy(out, gathered_.data(), bytes);
    for (std::size_t r = 1; r < static_cast<std::size_t>(last); ++r) {
      c.reducer.apply(out, out, gathered_.data() + r * bytes, elements, c.reducer.context);
    }
  }

  [[gnu::cold]] void combine(const Call& c, bool wants_result) {
    const std::size_t piece = std::max<std::size_t>(1, piece_bytes / c.reducer.size);
    for (std::size_t done = 0; done < c.count; done += piece) {
      const std::size_t n = std::min(piece, c.count - done);
      const std::size_t bytes = n * c.reducer.size;
      const std::byte* const in = c.in + done * c.reducer.size;
      gathered_.resize(bytes * static_cast<std::size_t>(size_));
      if (!is_rooted(c.collective)) {
        allgather(in, gathered_.data(), bytes, false);
      } else {
        gather(in, gathered_.data(), bytes, c.root, false);
      }
      if (wants_result) fold(c, c.out + done * c.reducer.size, n);
    }
  }

  [[gnu::cold]] void reduce_scatter(const Call& c) {
    detail::Vector<std::byte> own;
    std::size_t first = 0;
    for (int r = 0; r < size_; ++r) {
      const std::size_t n = c.counts ? c.counts[r] : c.count;
      const std::size_t bytes = n * c.reducer.size;
      if (rank_ == r) gathered_.resize(bytes * static_cast<std::size_t>(size_));
      gather(c.in + first * c.reducer.size, gathered_.data(), bytes, r, false);
      if (rank_ == r && n != 0) {
        own.resize(bytes);
        fold(c, own.data(), n);
      }
      first += n;
    }
    if (!own.empty()) std::memcpy(c.out, own.data(), own.size());
  }

  const detail::PolledCollectives& all_ranks_;
  int rank_;
  int size_;
  detail::NativeBlockCollectives blocks_;
  detail::Vector<std::byte> packed_;
  detail::Vector<std::byte> gathered_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
