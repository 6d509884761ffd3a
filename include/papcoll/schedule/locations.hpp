#pragma once

#include <papcoll/base/function_ref.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

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
    return {p.range, {static_cast<ElementLocation::Where>(p.value.what), p.value.number}};
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

  /// From now on r, which is not empty, has this location.
  void place(Range r, ElementLocation location) {
    runs_.assign(r, {location.where, location.shift});
  }

 private:
  ElementRuns runs_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
