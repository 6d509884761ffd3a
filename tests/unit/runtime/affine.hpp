// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// An operator that does not commute, for tests of the order in which ranks are combined.

#include <cstddef>

namespace affine {

/// x → factor·x + term, modulo 2³².
struct Affine {
  unsigned factor;
  unsigned term;
  friend bool operator==(const Affine&, const Affine&) = default;
};

inline Affine then(const Affine& a, const Affine& b) {
  return {b.factor * a.factor, b.factor * a.term + b.term};
}

inline Affine affine_of(int rank, std::size_t i) {
  const auto r = static_cast<unsigned>(rank);
  const auto n = static_cast<unsigned>(i);
  return {2 * r + 3 + 2 * n, 7 * r + n};
}

}  // namespace affine
