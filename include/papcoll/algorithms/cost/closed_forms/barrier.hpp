#pragma once

#include <papcoll/algorithms/cost/closed_forms/terms.hpp>
#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

// What a barrier costs: p is as in closed_forms.hpp.

namespace papcoll::inline PAPCOLL_ABI::closed_form {

inline double dissemination_barrier(const Hockney& h, int p) noexcept {
  return p < 2 ? 0 : detail::ceil_log2(p) * h.alpha;
}

}  // namespace papcoll::inline PAPCOLL_ABI::closed_form
