#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/mpi/wide_count.hpp>

#include <cstddef>
#include <cstring>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// One side of an MPI_Ialltoallw: a block of a buffer for each rank. Where it lies is a datatype's
/// offset, as MPI's own displacements are ints.
class NativeBlocks : Pinned {
 public:
  [[gnu::cold]] NativeBlocks(int size, const char* where)
      : where_(where),
        used_(static_cast<std::size_t>(size)),
        displacements_(static_cast<std::size_t>(size)) {
    types_.resize(static_cast<std::size_t>(size), MPI_BYTE);
  }
  [[gnu::cold]] ~NativeBlocks() {
    for (std::size_t r = 0; r < used_.size(); ++r) {
      if (used_[r] != 0) MPI_Type_free(&types_[r]);
    }
  }

  /// The block for `rank` is so many bytes, from `offset` bytes behind the buffer's begin.
  [[gnu::cold]] void set(int rank, std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    const auto r = static_cast<std::size_t>(rank);
    const WideCount n{bytes};
    const int length = n.count();
    const auto place = static_cast<MPI_Aint>(offset);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hindexed(1, &length, &place, n.type(), &made), "MPI_Type_create_hindexed",
          where_);
    types_[r] = made;
    used_[r] = 1;
    check(MPI_Type_commit(&types_[r]), "MPI_Type_commit", where_);
  }

  /// The buffer, or null where no rank has a block: MPI refuses one buffer for both sides.
  template <class B>
  B* of(B* buffer) const noexcept {
    for (const int n : used_) {
      if (n != 0) return buffer;
    }
    return nullptr;
  }
  const int* counts() const noexcept { return used_.data(); }
  const int* displacements() const noexcept { return displacements_.data(); }
  const MPI_Datatype* types() const noexcept { return types_.data(); }

 private:
  const char* where_;
  Vector<int> used_;  ///< 1 where the rank has a block that is not empty
  Vector<int> displacements_;
  Vector<MPI_Datatype> types_;
};

/// The calls whose blocks differ in size, by MPI's own collectives: see NativeCollectives.
class NativeBlockCollectives {
 public:
  [[gnu::cold]] NativeBlockCollectives(const PolledCollectives& all_ranks, int rank, int size,
                                       const char* where)
      : all_ranks_(all_ranks),
        where_(where),
        rank_(rank),
        size_(size),
        sent_(size, where),
        received_(size, where) {}

  /// Runs a call of which Call::is_uneven() holds. Once.
  [[gnu::cold]] void run(const Call& c) {
    switch (c.collective) {
      case Collective::allgather:
        return allgather(c);
      case Collective::gather:
        return gather(c);
      case Collective::scatter:
        return scatter(c);
      default:
        return alltoall(c);
    }
  }

 private:
  /// Calls use(rank, offset, bytes) for the `size` blocks from number `first` on.
  [[gnu::cold]] void each_block(const Call& c, std::size_t first,
                                FunctionRef<void(int, std::size_t, std::size_t)> use) const {
    std::size_t behind = 0;
    for (int r = 0; r < size_; ++r) {
      const std::size_t i = first + static_cast<std::size_t>(r);
      const std::size_t place = c.places != nullptr ? c.places[i] : behind;
      use(r, place * c.reducer.size, c.counts[i] * c.reducer.size);
      behind += c.counts[i];
    }
  }

  [[gnu::cold]] void allgather(const Call& c) {
    each_block(c, 0, [&](int r, std::size_t offset, std::size_t bytes) {
      if (r == rank_ && !c.in_place() && bytes != 0) std::memcpy(c.out + offset, c.in, bytes);
      const WideCount n{bytes};
      all_ranks_.run("MPI_Ibcast", where_, [&](MPI_Comm comm, MPI_Request* request) {
        return MPI_Ibcast(bytes != 0 ? c.out + offset : nullptr, n.count(), n.type(), r, comm,
                          request);
      });
    });
  }

  [[gnu::cold]] void gather(const Call& c) {
    set_rooted(c, sent_, received_);
    exchange(c.in, c.out);
  }

  [[gnu::cold]] void scatter(const Call& c) {
    set_rooted(c, received_, sent_);
    exchange(c.in, c.out);
  }

  /// This rank's block, to or from the root, and on the root those of all; in place, its own stays.
  [[gnu::cold]] void set_rooted(const Call& c, NativeBlocks& own, NativeBlocks& all) const {
    const bool is_root = rank_ == c.root;
    const bool stays = is_root && c.in_place();
    if (!stays) own.set(c.root, 0, c.counts[rank_] * c.reducer.size);
    if (!is_root) return;
    each_block(c, 0, [&](int r, std::size_t offset, std::size_t bytes) {
      if (r != rank_ || !stays) all.set(r, offset, bytes);
    });
  }

  [[gnu::cold]] void alltoall(const Call& c) {
    std::size_t end = 0;
    each_block(c, 0, [&](int r, std::size_t offset, std::size_t bytes) {
      sent_.set(r, offset, bytes);
      if (offset + bytes > end) end = offset + bytes;
    });
    each_block(
        c, static_cast<std::size_t>(size_),
        [&](int r, std::size_t offset, std::size_t bytes) { received_.set(r, offset, bytes); });
    const std::byte* in = c.in;
    if (c.in_place() && end != 0) {
      copy_.append(c.out, end);
      in = copy_.data();
    }
    exchange(in, c.out);
  }

  [[gnu::cold]] void exchange(const std::byte* in, std::byte* out) const {
    all_ranks_.run("MPI_Ialltoallw", where_, [&](MPI_Comm comm, MPI_Request* r) {
      return MPI_Ialltoallw(sent_.of(in), sent_.counts(), sent_.displacements(), sent_.types(),
                            received_.of(out), received_.counts(), received_.displacements(),
                            received_.types(), comm, r);
    });
  }

  const PolledCollectives& all_ranks_;
  const char* where_;
  int rank_;
  int size_;
  NativeBlocks sent_;
  NativeBlocks received_;
  Vector<std::byte> copy_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
