#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/choice/policies/requirements.hpp>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {
template <class...>
inline constexpr bool requirement_is_met = false;
}  // namespace detail

/// What the compiler says where a requirement is not met: a type for each row of the table, whose
/// name and arguments, the collective and the policies, show in the compiler's output.
namespace unmet {
#define PAPCOLL_UNMET(id, bit, asks, what, why, remedy)                                         \
  template <class... CollectiveAndPolicies>                                                     \
  struct id {                                                                                   \
    static constexpr bool ok = ::papcoll::detail::requirement_is_met<CollectiveAndPolicies...>; \
    static_assert(ok, "papcoll: " what why ": " remedy);                                        \
  };
PAPCOLL_REQUIREMENTS(PAPCOLL_UNMET)
#undef PAPCOLL_UNMET
}  // namespace unmet

namespace detail {

/// Ends the compilation with the sentence of one requirement.
template <unsigned Bit, class... CollectiveAndPolicies>
constexpr void refuse_policies() noexcept {
#define PAPCOLL_REFUSE(id, ...) \
  if constexpr (Bit == requirement::id) static_cast<void>(unmet::id<CollectiveAndPolicies...>::ok);
  PAPCOLL_REQUIREMENTS(PAPCOLL_REFUSE)
#undef PAPCOLL_REFUSE
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
