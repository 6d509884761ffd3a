// Schedules of which each lacks one member, named without an arrival policy.
#include <papcoll/core.hpp>

#include <string_view>

// EXPECT: papcoll: this schedule has no name
// EXPECT: papcoll: this schedule has no sentence about itself
// EXPECT: papcoll: this schedule is no regular value
// EXPECT: papcoll: this schedule does not say whether it combines contributions out of rank order
// EXPECT: papcoll: this schedule emits the steps of no collective
// ERRORS: 6

enum class Member { name, sentence, equality, commutative_only };

template <Member without>
struct Name {
  static constexpr std::string_view name = "Example";
};
template <Member without>
struct Sentence {
  static constexpr std::string_view sentence = "Does nothing.";
};
template <Member without>
struct Equality {
  friend bool operator==(const Equality&, const Equality&) = default;
};
template <Member without>
struct CommutativeOnly {
  static constexpr bool commutative_only = false;
};
#ifndef PAPCOLL_TEST_CONTROL
template <>
struct Name<Member::name> {};
template <>
struct Sentence<Member::sentence> {};
template <>
struct Equality<Member::equality> {};
template <>
struct CommutativeOnly<Member::commutative_only> {};
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

void calls(papcoll::ThreadTeam::Rank& comm) {
  papcoll::barrier<Lacking<Member::name>>(comm);
  papcoll::barrier<Lacking<Member::sentence>>(comm);
  papcoll::barrier<Lacking<Member::equality>>(comm);
  papcoll::barrier<Lacking<Member::commutative_only>>(comm);
  papcoll::barrier<NotConst>(comm);
  papcoll::barrier<Private>(comm);
}
