// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// The values of a sequence of elements without end, in runs: contiguous elements with one value.
class ElementRuns {
 public:
  /// Two numbers, whose meaning is the user's. Zeros at first.
  struct Value {
    std::uint32_t tag = 0;
    std::size_t number = 0;
    friend bool operator==(const Value&, const Value&) = default;
  };
  /// A run that ends where the next one begins.
  struct Run {
    std::size_t lo = 0;
    Value value{};
  };
  /// The elements of a run that are asked for.
  struct Piece {
    Range range;
    Value value;
  };

  std::size_t size() const noexcept { return runs_.size(); }  ///< runs; none: all values are zeros
  Run& operator[](std::size_t run) noexcept { return runs_[run]; }
  const Run& operator[](std::size_t run) const noexcept { return runs_[run]; }

  /// Returns where run number `run` ends.
  std::size_t end(std::size_t run) const noexcept {
    return run + 1 < runs_.size() ? runs_[run + 1].lo : ~std::size_t{0};
  }

  /// Returns as many elements from r.lo on, inside of r, as are in one run. r is not empty.
  Piece piece(Range r) const noexcept {
    if (runs_.empty()) return {r, {}};
    const std::size_t run = first_from(r.lo + 1) - 1;
    return {{r.lo, std::min(r.hi, end(run))}, runs_[run].value};
  }

  /// Makes a run begin at the element, and returns the run's number.
  std::size_t cut(std::size_t element) {
    if (runs_.empty()) runs_.push_back({});
    const std::size_t run = first_from(element);
    if (run == runs_.size() || runs_[run].lo != element) {
      runs_.insert(runs_.begin() + run, Run{element, Value{runs_[run - 1].value}});
    }
    return run;
  }

  /// Makes one run of those from number `first` to before number `last`, with this value, and of
  /// the runs before and behind them, if these have it too.
  void assign(std::size_t first, std::size_t last, Value value) noexcept {
    runs_[first].value = value;
    if (last < runs_.size() && runs_[last].value == value) ++last;
    if (first != 0 && runs_[first - 1].value == value) --first;
    if (first + 1 != last) runs_.erase(runs_.begin() + first + 1, runs_.begin() + last);
  }

  /// Sets the value of the elements of r, which is not empty.
  [[gnu::cold]] void assign(Range r, Value value) {
    const std::size_t first = cut(r.lo);
    assign(first, cut(r.hi), value);
  }

 private:
  /// Returns the number of the first run that begins at the element or behind it.
  [[gnu::noinline]] std::size_t first_from(std::size_t element) const noexcept {
    std::size_t first = 0;
    for (std::size_t n = runs_.size(); n != 0;) {
      const std::size_t half = n / 2;
      const bool before = runs_[first + half].lo < element;
      if (before) first += half + 1;
      n = before ? n - half - 1 : half;
    }
    return first;
  }

  detail::Vector<Run> runs_;  ///< sorted; the first begins with element 0
};

/// Where the current value of an element stands while a plan is made: in a space, at the element's
/// number in the vector plus `shift` (modulo 2^64, so that it may be less).
struct ElementLocation {
  enum Where : unsigned char {
    absent,
    in,
    out,
    scratch,  ///< which has a place for every element
    area,     ///< of scratch memory that is used again, see Areas
  };
  Where where = absent;
  std::size_t shift = 0;
  friend bool operator==(const ElementLocation&, const ElementLocation&) = default;
};

/// The locations of all elements of a vector; at first they are absent.
class ElementLocations {
 public:
  /// Elements that stand together.
  struct Piece {
    Range range;
    ElementLocation location;
  };

  /// Returns as many elements from r.lo on, inside of r, as stand together. r is not empty.
  Piece piece(Range r) const noexcept {
    const ElementRuns::Piece p = runs_.piece(r);
    return {p.range, {static_cast<ElementLocation::Where>(p.value.tag), p.value.number}};
  }

  /// Calls f with the pieces that r is made of, as long as can be, in order. f may give those that
  /// it gets, and those before, another location.
  [[gnu::cold, gnu::noinline]] void each(Range r, detail::FunctionRef<void(const Piece&)> f) const {
    while (!r.empty()) {
      const Piece p = piece(r);
      r.lo = p.range.hi;
      f(p);
    }
  }

  /// Sets the location that r, which is not empty, has from now on.
  void place(Range r, ElementLocation location) {
    runs_.assign(r, {location.where, location.shift});
  }

 private:
  ElementRuns runs_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
