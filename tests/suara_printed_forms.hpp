// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cmath>

// The models of the SUARA paper as they are printed, to reproduce its figures and nothing else. Do
// not choose by them: the ring with segmentation divides m/m_s by p where every one of its p−1
// rounds moves m/p bytes, so that it undercuts the bandwidth bound as soon as there are several
// segments (52 MB on 64 positions: 3.9 ms, the least possible 10 ms), and whatever minimises over
// these forms picks it. Likewise the condition for a grid of √p × √p puts m/(m_s p) where a row has
// p_c positions, not p. closed_forms.hpp has the corrected forms, and suara_choice.hpp searches all
// grids.
//
// Source: Nuriyev, Manumachu, Aseeri, Verma, Lastovetsky, "SUARA: A scalable universal allreduce
// communication algorithm for acceleration of parallel deep learning applications", JPDC 183, 2024,
// table of sec. 4.1, eqs. (11) and (12). p: positions; m: bytes; s: bytes of a segment.

namespace papcoll::inline PAPCOLL_ABI {

namespace suara_printed {

inline double linear(const Hockney& h, double p, double m) noexcept {
  return (p - 1) * (2 * h.message(m) + h.gamma * m);
}

inline double recursive_doubling(const Hockney& h, double p, double m) noexcept {
  return std::log2(p) * (h.message(m) + h.gamma * m);
}

inline double ring(const Hockney& h, double p, double m) noexcept {
  return 2 * (p - 1) * h.alpha + 2 * (p - 1) / p * h.beta * m + (p - 1) / p * h.gamma * m;
}

inline double segmented_ring(const Hockney& h, double p, double m, double s) noexcept {
  return (p + m / (s * p) - 2) * (h.message(s) + h.gamma * s) + (p - 1) * h.message(m / p);
}

inline double rabenseifner(const Hockney& h, double p, double m) noexcept {
  return 2 * std::log2(p) * h.alpha + 2 * (p - 1) / p * h.beta * m + (p - 1) / p * h.gamma * m;
}

/// Rings with segmentation in rows of `columns` and in columns, with the m/(m_s p) that eq. (11)
/// prints for both of them.
inline double two_segmented_rings(const Hockney& h, double p, double columns, double m,
                                  double s) noexcept {
  const double each = h.message(s) + h.gamma * s;
  const double rows = p / columns;
  const double blocks = m / (s * p);
  return (columns + blocks - 2) * each + (columns - 1) * h.message(m / columns) +
         (rows + blocks - 2) * each + (rows - 1) * h.message(m / rows);
}

/// Columns of the best grid by eq. (12): √p, rounded to the better side, if the condition holds,
/// else p, which is one row.
inline double columns_of_two_segmented_rings(const Hockney& h, double p, double m,
                                             double s) noexcept {
  const double condition = 2 * h.alpha + h.beta * s + h.gamma * s - h.beta * m / p;
  if (condition <= 0) return p;
  const double down = std::floor(std::sqrt(p));
  const double up = std::ceil(std::sqrt(p));
  return two_segmented_rings(h, p, down, m, s) < two_segmented_rings(h, p, up, m, s) ? down : up;
}

}  // namespace suara_printed

}  // namespace papcoll::inline PAPCOLL_ABI
