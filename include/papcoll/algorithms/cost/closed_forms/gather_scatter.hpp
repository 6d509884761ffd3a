#pragma once

#include <papcoll/algorithms/cost/closed_forms/allgather.hpp>
#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

// What a gather and a scatter cost: p, m and s are as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

inline double linear_gather(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_allgather(h, p, m);
}

inline double binomial_gather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha + h.beta * detail::others_share(p, m);
}

inline double linear_scatter(const HockneyWithGap& h, int p, double m) noexcept {
  return linear_allgather(h, p, m);
}

inline double binomial_scatter(const Hockney& h, int p, double m) noexcept {
  return binomial_gather(h, p, m);
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
