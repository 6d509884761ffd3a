// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/dependencies.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// Pieces of scratch memory that a plan takes and returns while it is made. Steps that use a piece
/// again wait for those that used it before, since StepDependencies compares addresses.
class ScratchAllocator {
 public:
  /// Returns the offset of n contiguous elements, the first that are free.
  [[gnu::cold]] std::size_t take(std::size_t n) {
    std::size_t run = runs_.cut(0);
    while (runs_[run].value.tag == taken || runs_.end(run) - runs_[run].lo < n) ++run;
    const std::size_t at = runs_[run].lo;
    size_ = std::max(size_, at + n);
    runs_.assign({at, at + n}, {taken, 0});
    return at;
  }

  /// The elements can be taken again after free_resting(). Not before: what is received in the
  /// round in which they were sent would wait for that send, and where all ranks do so, they wait
  /// for each other in a circle.
  [[gnu::cold]] void give_back(std::size_t at, std::size_t n) {
    if (n != 0) resting_.push_back({at, at + n});
  }

  /// Must be called after each receive.
  [[gnu::cold]] void free_resting() {
    for (const Range r : resting_) runs_.assign(r, {});
    resting_.clear();
  }

  std::size_t size() const noexcept { return size_; }  ///< elements in use at once, at most

 private:
  static constexpr std::uint32_t taken = 1;

  detail::Vector<Range> resting_;
  ElementRuns runs_;  ///< taken or, at first, free
  std::size_t size_ = 0;
};

/// The memory of one rank while its plan is made: where each element of the vector stands at that
/// moment, where it may come to stand, and what scratch memory that takes.
///
/// While a plan is being made, scratch memory is several spaces: one with a place for each element
/// of the vector, the temporaries, and the areas. fix_scratch() lays them out one after the other.
class PlanMemory {
 public:
  using Piece = ElementLocations::Piece;

  [[gnu::cold]] PlanMemory(const Shape& shape, const Order& order, const BlockOrder& blocks)
      : layout_(layout_of(shape, order, blocks)),
        in_direct_(shape.in_direct),
        out_direct_(shape.out_direct),
        many_blocks_(traits_of(shape.collective).vector == VectorOf::block_per_pair),
        vector_(shape.named_size()) {
    const auto where = layout_.input_is_in_out ? ElementLocation::out : ElementLocation::in;
    for (const Placement& p : layout_.has) {
      locations_.place(p.range, {where, p.offset - p.range.lo});
    }
  }

  const Layout& layout() const noexcept { return layout_; }

  /// Returns where the elements stand.
  const ElementLocations& locations() const noexcept { return locations_; }

  /// Sets the location that r, which is not empty, has from now on.
  [[gnu::cold]] void place(Range r, ElementLocation location) {
    if (areas_.size() != 0) {
      locations_.each(r, [&](const Piece& p) {
        if (p.location.where != ElementLocation::area || p.location == location) return;
        areas_.give_back(p.range.lo + p.location.shift, p.range.size());
      });
    }
    locations_.place(r, location);
  }

  /// Returns where r can be received in the output; absent if it cannot.
  [[gnu::cold]] ElementLocation place_in_output(Range r) const noexcept {
    if (!out_direct_) return {};
    const auto& may = layout_.may;
    const auto p = std::partition_point(may.begin(), may.end(),
                                        [&](const Placement& m) { return m.range.hi <= r.lo; });
    if (p == may.end() || !p->range.contains(r)) return {};
    return {ElementLocation::out, p->offset - p->range.lo};
  }

  /// Returns where r can be received.
  [[gnu::cold]] ElementLocation writable(Range r) {
    const ElementLocation out = place_in_output(r);
    if (out.where != ElementLocation::absent) return out;
    if (!many_blocks_) return {ElementLocation::scratch, 0};
    return in_area(r, take_area(r.size()));
  }

  /// Returns true if messages can be sent from there.
  bool is_direct(ElementLocation location) const noexcept {
    if (location.where == ElementLocation::in) return in_direct_;
    return location.where != ElementLocation::out || out_direct_;
  }

  /// Returns true if elements there can be combined in place; the input's cannot.
  bool is_writable(ElementLocation location) const noexcept {
    return location.where != ElementLocation::in && is_direct(location);
  }

  Operand operand(ElementLocation location, std::size_t element) const noexcept {
    constexpr std::array spaces{Space::in, Space::in, Space::out, Space::scratch, area_space};
    return {spaces[location.where], element + location.shift};
  }

  // Areas, see there.
  std::size_t take_area(std::size_t n) { return areas_.take(n); }
  void give_area_back(std::size_t at, std::size_t n) { areas_.give_back(at, n); }
  void free_resting() { areas_.free_resting(); }
  static ElementLocation in_area(Range r, std::size_t at) noexcept {
    return {ElementLocation::area, at - r.lo};
  }
  static Operand area(std::size_t at) noexcept { return {area_space, at}; }

  /// The i-th temporary, of at least n elements.
  [[gnu::cold]] Space temporary(std::size_t i, std::size_t n) noexcept {
    temporaries_[i] = std::max(temporaries_[i], n);
    return temporary_space(i);
  }

  /// Assigns the steps their places in scratch space, and returns its size.
  [[gnu::cold]] std::size_t fix_scratch(detail::Vector<Step>& steps) const {
    std::size_t lo = vector_;
    std::size_t hi = 0;
    auto operands = [&steps](auto&& visit) {
      for (Step& s : steps) {
        if (s.kind != OpKind::receive) visit(s.a, s.n);
        if (s.kind == OpKind::reduce) visit(s.b, s.n);
        if (s.kind != OpKind::send) visit(s.to, s.n);
      }
    };
    operands([&](const Operand& o, std::size_t n) {
      if (o.space != Space::scratch || n == 0) return;
      lo = std::min(lo, o.offset);
      hi = std::max(hi, o.offset + n);
    });
    std::array<std::size_t, Flows::most_temporaries + 1> first{hi > lo ? hi - lo : 0};
    for (std::size_t i = 0; i < temporaries_.size(); ++i) first[i + 1] = first[i] + temporaries_[i];
    operands([&](Operand& o, std::size_t n) {
      if (n == 0) return;
      if (o.space == Space::scratch) {
        o.offset -= lo;
      } else if (o.space >= temporary_space(0)) {
        o.offset += first[static_cast<std::size_t>(o.space) - 3];
        o.space = Space::scratch;
      }
    });
    return first.back() + areas_.size();
  }

 private:
  static constexpr Space temporary_space(std::size_t i) noexcept {
    return static_cast<Space>(3 + i);
  }
  static constexpr Space area_space = static_cast<Space>(3 + Flows::most_temporaries);

  Layout layout_;
  bool in_direct_;
  bool out_direct_;
  bool many_blocks_;  ///< most of which never come here: areas instead of a place for each
  std::size_t vector_;
  ElementLocations locations_;
  ScratchAllocator areas_;
  std::array<std::size_t, Flows::most_temporaries> temporaries_{};  ///< elements of each
};

}  // namespace papcoll::inline PAPCOLL_ABI
