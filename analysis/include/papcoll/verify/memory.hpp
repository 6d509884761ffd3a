// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/verify/verdict.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Returns what a rank knows of a shape that has the sizes of all pairs.
inline Shape seen_by(const Shape& shape, int rank) {
  Shape s = shape;
  s.rank = rank;
  if (traits_of(s.collective).vector != VectorOf::block_per_pair || s.counts.empty()) return s;
  const std::size_t ranks = s.ranks();
  const auto me = static_cast<std::size_t>(rank);
  s.counts.clear();
  for (std::size_t to = 0; to < ranks; ++to) s.counts.push_back(shape.counts[me * ranks + to]);
  for (std::size_t from = 0; from < ranks; ++from) {
    s.counts.push_back(shape.counts[from * ranks + me]);
  }
  return s;
}

/// One rank's memory as a row of cells, an element each: input, output, scratch space. In place the
/// input is no memory of its own but the beginning of the output.
class CellMap {
 public:
  /// `shape` is what the rank knows of the call.
  CellMap(const Shape& shape, std::size_t scratch)
      : direct_{shape.in_direct, shape.out_direct, true} {
    const Layout layout = layout_of(shape);
    const std::size_t out = layout.out;
    const std::size_t in = layout.input_is_in_out ? out : layout.in;
    size_ = {in, out, scratch};
    base_ = {0, layout.input_is_in_out ? 0 : in, 0};
    base_[2] = base_[1] + out;
    input_is_const_ = !layout.input_is_in_out;
  }

  std::size_t cells() const noexcept { return base_[2] + size_[2]; }
  std::size_t cell(Operand o) const noexcept { return base_[index(o.space)] + o.offset; }
  std::size_t size(Space space) const noexcept { return size_[index(space)]; }
  bool contains(Operand o, std::size_t n) const noexcept {
    return o.offset <= size(o.space) && n <= size(o.space) - o.offset;
  }
  /// Returns true if messages may be sent from there and received there.
  bool is_direct(Space space) const noexcept { return direct_[index(space)]; }
  bool is_const(Space space) const noexcept { return space == Space::in && input_is_const_; }

 private:
  static std::size_t index(Space space) noexcept { return static_cast<std::size_t>(space); }

  std::array<bool, 3> direct_;
  std::array<std::size_t, 3> size_{};
  std::array<std::size_t, 3> base_{};
  bool input_is_const_ = true;
};

/// Calls read(operand) for what a step reads.
template <class F> void for_each_read(const Step& s, F&& read) {
  if (s.kind != OpKind::receive) read(s.a);
  if (s.kind == OpKind::reduce) read(s.b);
}

inline bool writes(const Step& s) noexcept { return s.kind != OpKind::send; }

/// Proves that one rank's plan touches only memory that it may, and that of two steps that touch
/// the same memory, one of them writing, one waits for the other.
class MemoryCheck {
 public:
  /// `rank_at` maps positions to ranks.
  Verdict check(const Plan& plan, const CellMap& map, int rank, std::span<const int> rank_at) {
    plan_ = &plan;
    map_ = &map;
    rank_ = rank;
    rank_at_ = rank_at;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (Verdict v = check_bounds(i); !v) return v;
    }
    if (Verdict v = find_ancestors(); !v) return v;
    return check_conflicts();
  }

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  static constexpr std::size_t word_bits = 64;

  struct Cell {
    std::uint32_t writer = none;   ///< the last step that wrote it
    std::uint32_t readers = none;  ///< the steps that read it since, the head of a list
  };
  struct Reader {
    std::uint32_t step;
    std::uint32_t next;
  };

  std::string describe(std::size_t i) const {
    const Step& s = (*plan_)[i];
    const int peer = s.peer < 0 ? -1 : rank_at_[static_cast<std::size_t>(s.peer)];
    return detail::describe(rank_, i, s, peer);
  }

  Verdict check_bounds(std::size_t i) const {
    const Step& s = (*plan_)[i];
    const bool message = s.kind == OpKind::send || s.kind == OpKind::receive;
    if (message && (s.peer < 0 || static_cast<std::size_t>(s.peer) >= rank_at_.size())) {
      return {FaultKind::out_of_bounds, rank_, i, Verdict::nowhere,
              "rank " + std::to_string(rank_) + ", step " + std::to_string(i) +
                  ": there is no position " + std::to_string(s.peer) + " among " +
                  std::to_string(rank_at_.size())};
    }
    Verdict verdict;
    auto stays_inside = [&](Operand o, const char* does) {
      if (!verdict || map_->contains(o, s.n)) return;
      verdict = {FaultKind::out_of_bounds, rank_, i, o.offset,
                 describe(i) + does + "elements " + span_text(o, s.n) + " of its " +
                     std::string(name_of(o.space)) + ", which has " +
                     std::to_string(map_->size(o.space))};
    };
    const Space sent_or_received = s.kind == OpKind::send ? s.a.space : s.to.space;
    if (message && !map_->is_direct(sent_or_received)) {
      return {FaultKind::out_of_bounds, rank_, i, Verdict::nowhere,
              describe(i) + " uses elements of its " + std::string(name_of(sent_or_received)) +
                  " where they are, which messages cannot: it must go through scratch memory"};
    }
    for_each_read(s, [&](Operand o) { stays_inside(o, " reads "); });
    if (!writes(s)) return verdict;
    if (verdict && map_->is_const(s.to.space)) {
      return {FaultKind::input_written, rank_, i, s.to.offset,
              describe(i) + " writes to its input, which must stay as it is"};
    }
    stays_inside(s.to, " writes ");
    if (verdict && s.kind == OpKind::reduce) verdict = check_operands(i);
    return verdict;
  }

  /// A reduction may write over one of its operands, but not over a part of one.
  Verdict check_operands(std::size_t i) const {
    const Step& s = (*plan_)[i];
    const std::size_t to = map_->cell(s.to);
    for (const Operand o : {s.a, s.b}) {
      const std::size_t from = map_->cell(o);
      if (from == to || from + s.n <= to || to + s.n <= from) continue;
      return {FaultKind::conflict, rank_, i, s.to.offset,
              describe(i) + " writes over a part of its own operand: elements " +
                  span_text(s.to, s.n) + " and " + span_text(o, s.n)};
    }
    return {};
  }

  static std::string span_text(Operand o, std::size_t n) {
    return "[" + std::to_string(o.offset) + ", " + std::to_string(o.offset + n) + ")";
  }

  /// For each step, the steps that are surely complete when it starts, as a row of bits.
  Verdict find_ancestors() {
    const std::size_t n = plan_->size();
    words_ = (n + word_bits - 1) / word_bits;
    ancestors_.assign(n * words_, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t* row = ancestors_.data() + i * words_;
      for (const std::uint32_t later : plan_->successors(i)) {
        if (later <= i) {
          return {FaultKind::deadlock, rank_, later, Verdict::nowhere,
                  describe(later) + " waits for step " + std::to_string(i) +
                      ", which does not come before it: steps stand in an order in which they can "
                      "also be run one after the other"};
        }
        std::uint64_t* to = ancestors_.data() + later * words_;
        for (std::size_t w = 0; w <= i / word_bits; ++w) to[w] |= row[w];
        to[i / word_bits] |= std::uint64_t{1} << (i % word_bits);
      }
    }
    return {};
  }

  bool is_before(std::uint32_t earlier, std::uint32_t later) const noexcept {
    const std::uint64_t word = ancestors_[later * words_ + earlier / word_bits];
    return (word >> (earlier % word_bits) & 1U) != 0;
  }

  // Walking through the steps in their order, it is enough to compare each access with the last
  // write of the cell and, for a write, with the reads since: all else follows, because "before" is
  // transitive.
  Verdict check_conflicts() {
    cells_.assign(map_->cells(), {});
    readers_.clear();
    for (std::uint32_t i = 0; i < plan_->size(); ++i) {
      const Step& s = (*plan_)[i];
      Verdict verdict;
      for_each_read(s, [&](Operand o) {
        if (verdict && !map_->is_const(o.space)) verdict = read(i, o);
      });
      if (verdict && writes(s)) verdict = write(i, s.to);
      if (!verdict) return verdict;
    }
    return {};
  }

  Verdict read(std::uint32_t step, Operand o) {
    const std::size_t first = map_->cell(o);
    const std::size_t n = (*plan_)[step].n;
    for (std::size_t c = first; c < first + n; ++c) {
      Cell& cell = cells_[c];
      if (cell.writer != none && !is_before(cell.writer, step)) {
        return conflict(step, cell.writer, {o.space, o.offset + (c - first)});
      }
      readers_.push_back({step, cell.readers});
      cell.readers = static_cast<std::uint32_t>(readers_.size() - 1);
    }
    return {};
  }

  Verdict write(std::uint32_t step, Operand o) {
    const std::size_t first = map_->cell(o);
    const std::size_t n = (*plan_)[step].n;
    for (std::size_t c = first; c < first + n; ++c) {
      Cell& cell = cells_[c];
      const Operand at{o.space, o.offset + (c - first)};
      if (cell.writer != none && !is_before(cell.writer, step)) {
        return conflict(step, cell.writer, at);
      }
      for (std::uint32_t r = cell.readers; r != none; r = readers_[r].next) {
        const std::uint32_t reader = readers_[r].step;
        if (reader != step && !is_before(reader, step)) return conflict(step, reader, at);
      }
      cell = {step, none};
    }
    return {};
  }

  Verdict conflict(std::size_t step, std::size_t other, Operand at) const {
    return {FaultKind::conflict, rank_, step, at.offset,
            describe(step) + " and step " + std::to_string(other) + " both touch element " +
                std::to_string(at.offset) + " of the " + std::string(name_of(at.space)) +
                ", one of them writing, and neither waits for the other"};
  }

  const Plan* plan_ = nullptr;
  const CellMap* map_ = nullptr;
  int rank_ = -1;
  std::span<const int> rank_at_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> ancestors_;
  std::vector<Cell> cells_;
  std::vector<Reader> readers_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
