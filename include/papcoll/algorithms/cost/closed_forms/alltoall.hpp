#pragma once

#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

// What an alltoall costs: p is as in closed_forms.hpp; m: bytes that a position has for all, itself
// included.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

/// Batches of so many messages, one batch after the other.
inline double spread_out_alltoall(const HockneyWithGap& h, int p, double m, int window) noexcept {
  double seconds = 0;
  for (int left = p - 1; left > 0; left -= window) {
    seconds += (std::min(left, window) - 1) * h.port(m / p) + h.message(m / p);
  }
  return seconds;
}

/// All messages of a position at once.
inline double linear_alltoall(const HockneyWithGap& h, int p, double m) noexcept {
  return p < 2 ? 0 : spread_out_alltoall(h, p, m, p - 1);
}

/// One message after the other; Pairwise, too.
inline double ring_alltoall(const HockneyWithGap& h, int p, double m) noexcept {
  return spread_out_alltoall(h, p, m, 1);
}

/// For each digit of the distances, written to the base `radix`, a message for each of its values
/// but 0.
inline double bruck_alltoall(const HockneyWithGap& h, int p, double m, int radix) noexcept {
  double seconds = 0;
  for (long long weight = 1; weight < p; weight *= radix) {
    double last = 0;  // of this digit: what its message takes beyond its time in the port
    for (int digit = 1; digit < radix && digit * weight < p; ++digit) {
      int parts = 0;
      for (int o = 1; o < p; ++o) parts += o / weight % radix == digit ? 1 : 0;
      seconds += h.port(parts * m / p);
      last = h.alpha - h.gap;
    }
    seconds += last;
  }
  return seconds;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
