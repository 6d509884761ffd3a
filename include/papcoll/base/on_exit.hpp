#pragma once

#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Calls f where its scope is left, also by an exception.
template <class F>
struct OnExit {
  F f;
  ~OnExit() { f(); }
};
template <class F>
OnExit(F) -> OnExit<F>;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
