#pragma once

#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI::detail {

// What schedules that are made of others have in common.

template <class S, class Tag>
inline constexpr bool part_serves = StaticSchedule<S>&& Emits<S, Tag>;

/// The schedule, or where it is wrong another, so that no more is said of it.
template <class S, class Tag>
using PartServing = std::conditional_t<part_serves<S, Tag>, S, Binomial>;

/// Throws argument_error, which begins with `needs`, if there is no part or it does not serve c.
[[gnu::cold]] inline void require_part(const AnySchedule& part, Collective c,
                                       std::string_view needs) {
  if (part && part.serves(c)) return;
  const std::string why = part ? joined({", and ", part.name(), " does not"}) : std::string{};
  detail::throw_error<argument_error>({"papcoll: ", needs, why});
}

/// Emits a part of the schedule of this name. Throws argument_error as require_part().
[[gnu::cold]] inline void emit_part(std::string_view schedule, const AnySchedule& part,
                                    Collective c, Builder& b) {
  require_part(part, c, joined({schedule, " needs a schedule that serves ", name_of(c)}));
  part.emit(c, b);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
