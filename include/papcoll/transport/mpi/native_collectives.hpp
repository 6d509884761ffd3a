// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/packed_layout.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// One side of an MPI_Ialltoallw: a block of a buffer for each rank. Where it lies is a datatype's
/// offset, as MPI's own displacements are ints.
class NativeBlocks : Pinned {
 public:
  [[gnu::cold]] NativeBlocks(std::size_t size, const char* where)
      : where_(where), used_(size), displacements_(size) {
    types_.resize(size, MPI_BYTE);
  }
  [[gnu::cold]] ~NativeBlocks() {
    for (std::size_t r = 0; r < used_.size(); ++r) {
      if (used_[r] != 0) MPI_Type_free(&types_[r]);
    }
  }

  /// The block for rank r is so many bytes, from `offset` bytes behind the buffer's begin.
  [[gnu::cold]] void set(std::size_t r, std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
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
  template <class B> B* of(B* buffer) const noexcept {
    return std::find(used_.begin(), used_.end(), 1) != used_.end() ? buffer : nullptr;
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

}  // namespace detail

/// Runs a call by the MPI library's own collectives on the user's communicator: the way that is
/// left when MPI has no communicator for papcoll's messages. Data are moved by MPI_Ialltoallw, each
/// block by itself, and combined here, in rank order, so any type and operator will do; slower than
/// a schedule. After an exception the object must be left to MPI.
class NativeCollectives {
 public:
  NativeCollectives(const detail::PolledCollectives& all_ranks, int rank, int size)
      : all_ranks_(all_ranks),
        rank_(static_cast<std::size_t>(rank)),
        size_(static_cast<std::size_t>(size)) {}

  [[gnu::cold]] void run(const Call& c) {
    if (!has_data(c.collective)) return all_ranks_.barrier(where);
    if (c.is_irregular()) return exchange(c);
    if (c.in_view != nullptr || c.out_view != nullptr) return run_packed(c);
    if (c.collective == Collective::reduce_scatter) return reduce_scatter(c);
    if (is_reduction(c.collective)) return combine(c);
    exchange(c);
  }

 private:
  static constexpr const char* where = "a collective by MPI's own means";
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;  ///< of each rank at a time

  static std::size_t length(const Call& c, std::size_t i) noexcept {
    return (c.is_irregular() ? c.counts[i] : c.count) * c.reducer.size;
  }
  /// Returns where the i-th block of a buffer begins, of which the first is block `first` of the
  /// call's.
  static std::size_t place(const Call& c, std::size_t first, std::size_t i) noexcept {
    if (!c.is_irregular()) return i * c.bytes();
    if (c.displacements != nullptr) return c.displacements[first + i] * c.reducer.size;
    std::size_t bytes = 0;
    for (std::size_t before = 0; before < i; ++before) bytes += length(c, first + before);
    return bytes;
  }

  bool is_root(const Call& c, std::size_t r) const noexcept {
    return r == static_cast<std::size_t>(c.root);
  }

  /// Sets one side of an exchange: a buffer of this rank, by what it holds, has a block for each
  /// rank whose buffer on the other side holds anything, but for `except`. Returns where the last
  /// one ends.
  [[gnu::cold]] std::size_t set(detail::NativeBlocks& side, const Call& c, Holds holds,
                                Holds CollectiveTraits::Buffers::*other_side,
                                std::size_t except) const {
    if (holds == Holds::nothing) return 0;
    const bool is_one =
        holds == Holds::own_block || traits_of(c.collective).vector == VectorOf::one_block;
    const std::size_t first = holds == Holds::blocks_from_all ? size_ : 0;
    std::size_t end = 0;
    for (std::size_t r = 0; r < size_; ++r) {
      const auto theirs = buffers_of(c.collective, is_root(c, r));
      if (r == except || theirs.*other_side == Holds::nothing) continue;
      const std::size_t at = is_one ? 0 : place(c, first, r);
      const std::size_t bytes = length(c, is_one ? rank_ : first + r);
      side.set(r, at, bytes);
      end = std::max(end, at + bytes);
    }
    return end;
  }

  [[gnu::cold]] void exchange(const Call& c) {
    using Buffers = CollectiveTraits::Buffers;
    const Buffers mine = buffers_of(c.collective, is_root(c, rank_));
    const bool in_place = mine.in != Holds::nothing && mine.out != Holds::nothing &&
                          (c.in_place() || has_one_buffer(c.collective));
    const bool by_pairs = mine.in == Holds::blocks_to_all;
    const std::size_t except = in_place && !by_pairs ? rank_ : size_;  // its own block is there
    sent_ = detail::make_owned<detail::NativeBlocks>(size_, where);
    received_ = detail::make_owned<detail::NativeBlocks>(size_, where);
    const std::size_t end = set(*sent_, c, mine.in, &Buffers::out, except);
    set(*received_, c, mine.out, &Buffers::in, except);
    const std::byte* in = has_one_buffer(c.collective) ? c.out : c.in;
    if (in_place && mine.in != Holds::vector) {  // MPI must not write to what it sends
      copy_.clear();
      copy_.append(c.out + (by_pairs ? 0 : place(c, 0, rank_)), end);
      in = copy_.data();
    }
    all_ranks_.run("MPI_Ialltoallw", where, [&](MPI_Comm comm, MPI_Request* r) {
      return MPI_Ialltoallw(sent_->of(in), sent_->counts(), sent_->displacements(), sent_->types(),
                            received_->of(c.out), received_->counts(), received_->displacements(),
                            received_->types(), comm, r);
    });
  }

  /// `bytes` of all ranks to `root`, or to all if that is −1, in rank order in `gathered_`.
  [[gnu::cold]] void collect(const std::byte* in, std::size_t bytes, int root) {
    Call c;
    c.collective = root < 0 ? Collective::allgather : Collective::gather;
    c.root = root < 0 ? 0 : root;
    if (root < 0 || is_root(c, rank_)) gathered_.resize(bytes * size_);
    c.in = in;
    c.out = gathered_.data();
    c.count = bytes;
    c.reducer.size = 1;
    exchange(c);
  }

  /// Runs a call whose elements are not contiguous: from a copy and into one.
  [[gnu::cold]] void run_packed(const Call& c) {
    const detail::PackedLayout parts{c, static_cast<int>(rank_), static_cast<int>(size_)};
    packed_.resize(parts.bytes());
    run(parts.pack(packed_.data()));
    parts.unpack(packed_.data());
  }

  Contributors contributors_to_own(const Call& c) const noexcept {
    return contributors(c.collective, static_cast<int>(rank_), static_cast<int>(size_));
  }

  /// out = the contributions in `gathered_` that belong there, combined in rank order.
  [[gnu::cold]] void fold(const Call& c, std::byte* out, std::size_t elements) {
    const std::size_t bytes = elements * c.reducer.size;
    const auto last = static_cast<std::size_t>(contributors_to_own(c).last);
    std::memcpy(out, gathered_.data(), bytes);
    for (std::size_t r = 1; r < last; ++r) {
      c.reducer.apply(out, out, gathered_.data() + r * bytes, elements, c.reducer.context);
    }
  }

  [[gnu::cold]] void combine(const Call& c) {
    const bool wants_result = buffers_of(c.collective, is_root(c, rank_)).out != Holds::nothing &&
                              contributors_to_own(c).last > 0;
    const std::size_t piece = std::max<std::size_t>(1, piece_bytes / c.reducer.size);
    for (std::size_t done = 0; done < c.count; done += piece) {
      const std::size_t n = std::min(piece, c.count - done);
      collect(c.in + done * c.reducer.size, n * c.reducer.size,
              is_rooted(c.collective) ? c.root : -1);
      if (wants_result) fold(c, c.out + done * c.reducer.size, n);
    }
  }

  [[gnu::cold]] void reduce_scatter(const Call& c) {
    detail::Vector<std::byte> own;
    std::size_t first = 0;
    for (std::size_t r = 0; r < size_; ++r) {
      const std::size_t n = c.counts ? c.counts[r] : c.count;
      collect(c.in + first * c.reducer.size, n * c.reducer.size, static_cast<int>(r));
      if (rank_ == r && n != 0) {
        own.resize(n * c.reducer.size);
        fold(c, own.data(), n);
      }
      first += n;
    }
    if (!own.empty()) std::memcpy(c.out, own.data(), own.size());
  }

  const detail::PolledCollectives& all_ranks_;
  std::size_t rank_;
  std::size_t size_;
  detail::Owned<detail::NativeBlocks> sent_;
  detail::Owned<detail::NativeBlocks> received_;
  detail::Vector<std::byte> copy_;
  detail::Vector<std::byte> packed_;
  detail::Vector<std::byte> gathered_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
