#pragma once

#include <papcoll/algorithms/cost/closed_forms/reduce.hpp>
#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

// What a scan and an exscan cost: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

/// From position to position, as a reduce by a chain.
inline double chain_scan(const Hockney& h, int p, double m) noexcept {
  return chain_reduce(h, p, m);
}

/// The last position only receives.
inline double chain_exscan(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : chain_reduce(h, p, m) - h.gamma * m;
}

/// The same in segments of s bytes.
inline double pipelined_chain_scan(const HockneyWithGap& h, int p, double m, double s) noexcept {
  return pipelined_chain_reduce(h, p, m, s);
}

/// Every round a message and a combination of the whole vector.
inline double recursive_doubling_scan(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * (h.message(m) + h.gamma * m);
}

/// Who is the upper one in every round combines what it gets with the result and with what it
/// passes on, and in the last round with the result only; in the first there is no result yet.
inline double recursive_doubling_exscan(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  const int rounds = detail::ceil_log2(p);
  return rounds * (h.message(m) + h.gamma * m) + (rounds - 1) * h.gamma * m;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
