// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <class Signature> class FunctionRef;

/// Refers to a function object that outlives it: a parameter of functions that are compiled once,
/// whatever they are to call.
template <class R, class... Args> class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      FunctionRef(F&& f)
  noexcept
      : call_(call<std::remove_reference_t<F>>),
        object_(const_cast<void*>(static_cast<const void*>(&f))) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  // No lambda, which is three more functions for each F.
  template <class F> static R call(void* object, Args... args) {
    return (*static_cast<F*>(object))(std::forward<Args>(args)...);
  }

  R (*call_)(void*, Args...);
  void* object_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
