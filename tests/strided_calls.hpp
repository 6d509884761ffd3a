// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Blocking calls on non-contiguous elements, each rank's in another shape, also in one piece.

#include <papcoll/collectives.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What one rank makes of them; all ranks make the same calls.
template <class C> class StridedCalls {
 public:
  explicit StridedCalls(C& comm) : comm_(comm), me_(comm.rank()), size_(comm.size()) {}

  /// Everything, with as many elements; what was wrong on this rank.
  std::string check(std::size_t count) {
    problems_.clear();
    for (int shape = 0; shape < shapes; ++shape) {
      // Ranks have different shapes, and one of them has its elements in one piece.
      const int in = (shape + me_) % shapes;
      const int out = (shape + 2 * me_ + 1) % shapes;
      allreduce(count, in, out);
    }
    return problems_;
  }

 private:
  /// Combined in rank order this is the whole line of ranks, from the first to the last.
  struct Piece {
    std::int32_t first;
    std::int32_t last;
    std::int64_t sum;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  static Piece joined(const Piece& a, const Piece& b) {
    const bool fits = a.last + 1 == b.first;
    return {fits ? a.first : -1000, fits ? b.last : -1000, a.sum + b.sum};
  }

  /// The same in any order.
  static Piece add(const Piece& a, const Piece& b) { return {0, 0, a.sum + b.sum}; }

  static constexpr int shapes = 5;
  static constexpr Piece gap{-7, -7, -7};

  /// An array with gaps, and where its elements lie.
  struct Buffer {
    std::vector<Piece> all;
    papcoll::Strided<Piece> part;

    Buffer(std::size_t count, int shape) {
      // In one piece; columns; blocks; the same from the end; nearly in one piece.
      static constexpr std::size_t lengths[shapes] = {1, 1, 12, 4, 60};
      static constexpr std::ptrdiff_t strides[shapes] = {1, 5, 17, -6, 61};
      const std::size_t block = lengths[shape];
      const std::ptrdiff_t stride = strides[shape];
      const std::size_t blocks = count / block;
      const auto apart = static_cast<std::size_t>(stride < 0 ? -stride : stride);
      all.assign(blocks * apart + 2, gap);
      Piece* first = all.data() + 1;
      if (stride < 0 && blocks != 0) first += (blocks - 1) * apart;
      part = papcoll::strided(first, blocks, block, stride);
    }
    Piece& operator[](std::size_t i) const {
      const auto block = static_cast<std::ptrdiff_t>(i / part.block);
      return part.data[block * part.stride + static_cast<std::ptrdiff_t>(i % part.block)];
    }
    template <class F> void fill(F&& element) {
      for (std::size_t i = 0; i < part.size(); ++i) (*this)[i] = element(i);
    }
    /// Are these its elements, and the gaps untouched?
    template <class F> bool holds(F&& element) const {
      std::size_t gaps = 0;
      for (const Piece& p : all) gaps += p == gap ? 1 : 0;
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (!((*this)[i] == element(i))) return false;
      }
      return gaps == all.size() - part.size();
    }
  };

  static Piece of_rank(int r, std::size_t i) {
    return {r, r, static_cast<std::int64_t>(i) * 10 + r};
  }
  Piece of_all(std::size_t i) const {
    Piece p = of_rank(0, i);
    for (int r = 1; r < size_; ++r) p = joined(p, of_rank(r, i));
    return p;
  }

  void allreduce(std::size_t count, int in_shape, int out_shape) {
    const auto mine = [this](std::size_t i) { return of_rank(me_, i); };
    const auto result = [this](std::size_t i) { return of_all(i); };
    const auto op = [](const Piece& a, const Piece& b) { return joined(a, b); };
    Buffer in(count, in_shape);
    Buffer out(count, out_shape);
    in.fill(mine);
    papcoll::allreduce(comm_, in.part, out.part, op);
    expect(in.holds(mine) && out.holds(result), "allreduce", count, in_shape);
    papcoll::allreduce(comm_, in.part, op);
    expect(in.holds(result), "allreduce in place", count, in_shape);
    // The same call, with a range where the elements are contiguous.
    in.fill(mine);
    if (in_shape == 0) {
      papcoll::allreduce(comm_, in.part.data, count, op);
    } else {
      papcoll::allreduce(comm_, in.part, op);
    }
    expect(in.holds(result), "allreduce in place, in one piece somewhere", count, in_shape);
    in.fill(mine);
    papcoll::allreduce(comm_, in.part, out.part, papcoll::commutative(add));
    const auto in_any_order = [this](std::size_t i) {
      return Piece{size_ > 1 ? 0 : me_, size_ > 1 ? 0 : me_, of_all(i).sum};
    };
    expect(in.holds(mine) && out.holds(in_any_order), "allreduce in any order", count, in_shape);
  }

  void expect(bool right, const char* what, std::size_t count, int shape) {
    if (right) return;
    problems_ += std::string(what) + " on rank " + std::to_string(me_) + ", count " +
                 std::to_string(count) + ", shape " + std::to_string(shape) + "\n";
  }

  C& comm_;
  int me_;
  int size_;
  std::string problems_;
};
