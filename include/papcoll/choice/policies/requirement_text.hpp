#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/requirements.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What the sentence of a requirement is about, where that is known; what is empty stays as it is.
struct RefusalDetails {
  std::string algorithm{};   ///< for "this schedule" and "this algorithm"
  std::string collective{};  ///< for "this collective", with those that are served instead
  std::string arrival{};     ///< for "this arrival policy"
  std::string transport{};   ///< for "this transport"
  std::string both{};        ///< for "for one collective": "Ring and Chain"
  std::size_t found = 0;     ///< for "{found}"
  std::size_t limit = 0;     ///< for "{limit}"
  std::string remedy{};      ///< rather than the table's
};

/// The numbers of a requirement that an algorithm does not meet in a team.
[[gnu::cold]] inline RefusalDetails numbers_of(const Requirement& why, const AlgorithmNeeds& needs,
                                               const TeamOffers& team) {
  RefusalDetails d;
  d.found = static_cast<std::size_t>(team.ranks);
  d.limit = why.bit == requirement::few_ranks ? static_cast<std::size_t>(needs.most_ranks)
                                              : team.chunk_bytes;
  return d;
}

namespace detail {

/// A text of the table with the details in their places.
[[gnu::cold, gnu::noinline]] inline std::string with_details(std::string text,
                                                             const RefusalDetails& d) {
  struct Place {
    std::string_view words;
    const std::string& value;
  };
  const std::string found = std::to_string(d.found);
  const std::string limit = std::to_string(d.limit);
  for (const Place& p :
       {Place{"this schedule", d.algorithm}, Place{"this algorithm", d.algorithm},
        Place{"this collective", d.collective}, Place{"this arrival policy", d.arrival},
        Place{"this transport", d.transport}, Place{" for one collective", d.both},
        Place{"{found}", found}, Place{"{limit}", limit}}) {
    if (p.value.empty()) continue;
    for (std::size_t at = text.find(p.words); at != text.npos;
         at = text.find(p.words, at + p.value.size())) {
      text.replace(at, p.words.size(), p.value);
    }
  }
  return text;
}

}  // namespace detail

/// The sentence of a requirement that is not met.
[[gnu::cold]] inline std::string refusal(const Requirement& r, const RefusalDetails& d) {
  return detail::with_details(
      detail::joined({r.what, r.why, ": ", d.remedy.empty() ? r.remedy : d.remedy}), d);
}

/// Of an algorithm that does not serve a collective: tells which it serves, and which others serve
/// that. `serves(c)` says what it serves.
template <class Serves>
[[gnu::cold, gnu::noinline]] void tell_served(RefusalDetails& d, const Requirement& why,
                                              Collective wanted, Serves&& serves) {
  if (why.bit != requirement::served_collective) return;
  d.collective = name_of(wanted);
  bool first = true;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (!serves(c)) continue;
    d.collective += first ? ", only " : ", ";
    d.collective += name_of(c);
    first = false;
  }
  const auto others = traits_of(wanted).schedules;
  d.remedy = detail::joined({"take ", others[0], " or ", others[1]});
}

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
