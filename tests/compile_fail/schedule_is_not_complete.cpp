// SPDX-License-Identifier: BSD-3-Clause
// Schedules of which each lacks one member, named without an arrival policy, made a value, or
// registered.
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/core.hpp>

#include <string_view>

// EXPECT: papcoll: this schedule has no name
// EXPECT: papcoll: this schedule has no sentence about itself
// EXPECT: papcoll: this schedule is no regular value
// EXPECT: papcoll: this schedule does not say whether it combines contributions out of rank order
// EXPECT: papcoll: this schedule emits the steps of no collective
// EXPECT: papcoll: this schedule is no policy: give it a member
// ERRORS: 9

enum class Member { name, sentence, equality, commutative_only };

template <Member without> struct Name { static constexpr std::string_view name = "Example"; };
template <Member without> struct Sentence {
  static constexpr std::string_view sentence = "Does nothing.";
};
template <Member without> struct Equality {
  friend bool operator==(const Equality&, const Equality&) = default;
};
template <Member without> struct CommutativeOnly {
  static constexpr bool commutative_only = false;
};
#ifndef PAPCOLL_TEST_CONTROL
template <> struct Name<Member::name> {};
template <> struct Sentence<Member::sentence> {};
template <> struct Equality<Member::equality> {};
template <> struct CommutativeOnly<Member::commutative_only> {};
#endif

template <Member without>
struct Lacking : Name<without>, Sentence<without>, Equality<without>, CommutativeOnly<without> {
  using policy_kind = papcoll::SchedulePolicyKind;
  void emit(papcoll::Barrier, papcoll::Builder&) const {}
};

struct Emitting {
  static constexpr std::string_view name = "Emitting";
  static constexpr std::string_view sentence = "Emits nothing that can be called.";
  static constexpr bool commutative_only = false;
  using policy_kind = papcoll::SchedulePolicyKind;
  friend bool operator==(const Emitting&, const Emitting&) = default;
};
struct NotConst : Emitting {
#ifdef PAPCOLL_TEST_CONTROL
  void emit(papcoll::Barrier, papcoll::Builder&) const {}
#else
  void emit(papcoll::Barrier, papcoll::Builder&) {}
#endif
};
class Private : public Emitting {
#ifdef PAPCOLL_TEST_CONTROL
 public:
#endif
  void emit(papcoll::Barrier, papcoll::Builder&) const {}
};

struct Kindless {
  static constexpr std::string_view name = "Kindless";
  static constexpr std::string_view sentence = "Says not that it is a schedule.";
  static constexpr bool commutative_only = false;
  void emit(papcoll::Barrier, papcoll::Builder&) const {}
  friend bool operator==(const Kindless&, const Kindless&) = default;
#ifdef PAPCOLL_TEST_CONTROL
  using policy_kind = papcoll::SchedulePolicyKind;
#endif
};
template <int> struct Nameless : Lacking<Member::name> {
  friend bool operator==(const Nameless&, const Nameless&) = default;
};

void calls(papcoll::ThreadTeam::Rank& comm) {
  papcoll::barrier<Lacking<Member::name>>(comm);
  papcoll::barrier<Lacking<Member::sentence>>(comm);
  papcoll::barrier<Lacking<Member::equality>>(comm);
  papcoll::barrier<Lacking<Member::commutative_only>>(comm);
  papcoll::barrier<NotConst>(comm);
  papcoll::barrier<Private>(comm);
  static_cast<void>(papcoll::AnySchedule{Kindless{}});
  static_cast<void>(papcoll::AnySchedule{Nameless<0>{}});
  static_cast<void>(papcoll::static_row<Nameless<1>>());
}
