#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/call/argument_kinds.hpp>
#include <papcoll/call/make.hpp>
#include <papcoll/call/pack.hpp>
#include <papcoll/call/team_of.hpp>

#include <utility>

// The three functions of a collective, and what they say to arguments that none of their forms
// takes: they are deleted for these. Compilers name the Mistake, and show the line that declares
// the functions, whose comment says how to write a call.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What a wrong call would return.
struct NoResult {
  /// Becomes anything, so that nothing more is said where it is used.
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): only for the compiler's messages
  /// Nor where it is used as a Request or a Persistent.
  NoResult wait() const;
};

/// Of a policy that is a template and was given without its arguments.
template <template <class...> class Policy>
struct this_policy_is_made_of_others_and_they_are_missing {};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

// clang-format off
#define PAPCOLL_DELETED_FOR_POLICY(name, ...)                                                     \
  template <__VA_ARGS__ template <class...> class Policy, class... Rest, class... As,             \
            class why = detail::this_policy_is_made_of_others_and_they_are_missing<Policy>>       \
  detail::NoResult name(As&&...) = delete;

#define PAPCOLL_FUNCTION(name, collective, uneven, way)                                           \
  template <class... Ps, Team C, class... As>                                                     \
  requires(detail::mistake_of<Collective::collective, uneven, detail::Way::way, As...> ==         \
           detail::Mistake::none)                                                                 \
  [[nodiscard]] detail::ResultOf<                                                                 \
      detail::Pack<Collective::collective, uneven, detail::Way::way, As...>>                      \
  name(C&& comm, As&&... arguments) {                                                             \
    using Pack = detail::Pack<Collective::collective, uneven, detail::Way::way, As...>;           \
    return detail::make<Pack, Ps...>(comm, std::forward<As>(arguments)...);                       \
  }                                                                                               \
  template <class... Ps, class C, class... As,                                                    \
            detail::Mistake why = detail::mistake_of_call<                                        \
                C, Collective::collective, uneven, detail::Way::way, As...>>                      \
  requires(why != detail::Mistake::none)                                                          \
  detail::NoResult name(C&&, As&&...) = delete;                                                   \
  template <class... Ps,                                                                          \
            detail::Mistake why =                                                                 \
                detail::Mistake::                                                                 \
                    an_overloaded_function_such_as_std_max_is_no_operator_so_pass_papcoll_max> \
  detail::NoResult name(...) = delete;                                                            \
  PAPCOLL_DELETED_FOR_POLICY(name)                                                                \
  PAPCOLL_DELETED_FOR_POLICY(name, class,)                                                        \
  PAPCOLL_DELETED_FOR_POLICY(name, class, class,)                                                 \
  PAPCOLL_DELETED_FOR_POLICY(name, class, class, class,)

#define PAPCOLL_FUNCTIONS(name, collective, uneven)             \
  PAPCOLL_FUNCTION(name, collective, uneven, blocking)          \
  PAPCOLL_FUNCTION(i##name, collective, uneven, non_blocking)   \
  PAPCOLL_FUNCTION(name##_init, collective, uneven, persistent)

/// Declares a collective's blocking, non-blocking and persistent function.
#define PAPCOLL_COLLECTIVE(name) PAPCOLL_FUNCTIONS(name, name, false)
/// The same of a v-form, of that collective.
#define PAPCOLL_UNEVEN_COLLECTIVE(name, collective) PAPCOLL_FUNCTIONS(name, collective, true)
// clang-format on
