#pragma once

#include <papcoll/config.hpp>

// What a collective says to arguments that none of its forms takes: one sentence, rather than why
// each form in turn does not fit.

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Anything becomes one, but by a conversion, which every real form does without.
struct Anything {
  template <class... T>
  Anything(const T&...);  // NOLINT(google-explicit-constructor): only for overload resolution
};

/// Becomes anything, so that nothing more is said where the result is used.
struct NoResult {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): only for the compiler's messages
};

template <class...>
inline constexpr bool is_a_call = false;

template <template <class...> class>
inline constexpr bool is_policy = false;

template <template <class...> class Policy>
struct policy_has_its_parts {
  static constexpr bool ok = is_policy<Policy>;
  static_assert(ok,
                "papcoll: this policy is made of others, and they are missing: write "
                "Suara<Ring, Rabenseifner> (or AnySuara, which chooses them for each call), "
                "ReduceThenBcast<Binomial, Chain>, GatherThenBcast<Binomial, Chain> or "
                "Hierarchical<Exchange, Rabenseifner>");
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#define PAPCOLL_ANYTHING                                                                      \
  detail::Anything = {}, detail::Anything = {}, detail::Anything = {}, detail::Anything = {}, \
  detail::Anything = {}, detail::Anything = {}, detail::Anything = {}, detail::Anything = {}

/// Declares the form of `collective` for a template as one of its policies, after types.
#define PAPCOLL_POLICY_WITHOUT_PARTS(result, collective, ...)       \
  template <__VA_ARGS__ template <class...> class Policy, class...> \
  result collective(PAPCOLL_ANYTHING) {                             \
    static_cast<void>(detail::policy_has_its_parts<Policy>::ok);    \
    return {};                                                      \
  }

/// Declares the forms of `collective` for all other arguments. `rest` is what follows the team in a
/// right call.
#define PAPCOLL_WRONG_CALL(result, collective, rest)                                            \
  PAPCOLL_POLICY_WITHOUT_PARTS(result, collective)                                              \
  PAPCOLL_POLICY_WITHOUT_PARTS(result, collective, class, )                                     \
  PAPCOLL_POLICY_WITHOUT_PARTS(result, collective, class, class, )                              \
  PAPCOLL_POLICY_WITHOUT_PARTS(result, collective, class, class, class, )                       \
  template <class... Ps>                                                                        \
  result collective(PAPCOLL_ANYTHING) {                                                         \
    static_assert(                                                                              \
        detail::is_a_call<Ps...>,                                                               \
        "papcoll: no " #collective " takes these arguments: write " #collective "(comm" rest    \
        "), where comm is a Communicator, a ThreadTeam::Rank or (with "                         \
        "<papcoll/communicator.hpp>) an MPI_Comm; buffers are contiguous ranges of trivially "  \
        "copyable elements (not std::vector<bool>), or pointers and one count, or (not in the " \
        "v-forms) papcoll::strided, papcoll::indexed or an mdspan, or, in blocking allreduce, " \
        "reduce, bcast, scan and exscan, one such element by value; and an algorithm chosen "   \
        "at run time is the last argument, papcoll::algorithm(\"Ring\") (with "                 \
        "<papcoll/algorithm.hpp>)");                                                            \
    return {};                                                                                  \
  }
