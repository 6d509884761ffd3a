// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// True if S serves the collective: it has an emit() for the tag.
template <class S, class Tag> concept Emits = requires(const S& s, Builder& b) {
  s.emit(Tag{}, b);
};

namespace detail {

template <std::size_t I> using TagOfIndex = CollectiveTag<static_cast<Collective>(I)>;

template <class S, std::size_t... I> constexpr bool emits_any(std::index_sequence<I...>) noexcept {
  return (Emits<S, TagOfIndex<I>> || ...);
}

template <class S>
inline constexpr bool serves_any = emits_any<S>(std::make_index_sequence<collective_count>{});

}  // namespace detail

/// A static schedule: a regular value whose members are its parameters, that can emit at least
/// one collective for any number of positions.
///
/// Required: `policy_kind = SchedulePolicyKind`, `name` (a string_view), `sentence` (one, for the
/// catalogue), `commutative_only` (true if it combines contributions out of rank order; a member
/// function where that depends on a parameter).
/// Optional: `arguments()`, the text of its parameters where they differ from the defaults, and the
/// way back, a static `parse(arguments)` that throws argument_error for a text it cannot read;
/// `parameters`, an array of Parameter (schedule/schedule_traits.hpp) for `papcoll list`;
/// `needs`, capability bits of its arrival policy, if positions are not all it needs;
/// `segment(size, element_size)`, elements of the blocks in which it pipelines allreduce, reduce
/// and bcast among `size` positions, 0 for one block;
/// `own_parts_only = true`, if its alltoall asks for no parts but those the position itself sends
/// and receives, so that it serves sizes that differ, of which a rank knows no others;
/// `mapping_hint(collective, size)`, or a constant, how its positions are laid along a machine:
/// by_traffic, if it does not say; `traffic(collective, traffic)`, who sends how much to whom, else
/// read off emit() of all positions if these take at most 64 steps each on average, or else its
/// positions stay in rank order;
/// `resolved(size, bytes)`, the schedule (an AnySchedule) that is played for a whole vector of so
/// many bytes among `size` positions, where it stands for another one by what these are;
/// `plan(shape, order)`, the plan of a rank, if it is not written by emit(), which then only says
/// what is served.
template <class S>
concept StaticSchedule = PolicyOfKind<S, SchedulePolicyKind> && RegularPolicy<S> &&
    requires(const S& s) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::sentence } -> std::convertible_to<std::string_view>;
  requires requires {
    { S::commutative_only } -> std::convertible_to<bool>;
  } || requires {
    { s.commutative_only() } -> std::same_as<bool>;
  };
} && detail::serves_any<S>;

namespace detail {

/// True if it is meant as a static schedule. Arrival-driven ones have serves().
template <class S>
inline constexpr bool emits_or_describes = serves_any<S> ||
                                           (
                                               requires { S::sentence; } &&
                                               !requires { S::serves(Collective::bcast); });

/// Is no StaticSchedule, for want of one of its members.
template <class S>
inline constexpr bool lacks_a_member = !StaticSchedule<S> && emits_or_describes<S> &&
                                       (!Policy<S> || PolicyOfKind<S, SchedulePolicyKind>);

/// Instantiated for a schedule that lacks members, it fails a static_assert for each.
template <class S> struct schedule_is_complete { static constexpr bool ok = true; };
template <class S>
requires lacks_a_member<S>
struct schedule_is_complete<S> {
  static constexpr bool ok = false;
  static constexpr bool has_name = requires {
    { S::name } -> std::convertible_to<std::string_view>;
  };
  static constexpr bool has_sentence = requires {
    { S::sentence } -> std::convertible_to<std::string_view>;
  };
  static_assert(Policy<S>,
                "papcoll: this schedule is no policy: give it a member "
                "`using policy_kind = papcoll::SchedulePolicyKind`");
  static_assert(has_name,
                "papcoll: this schedule has no name: give it a member "
                "`static constexpr std::string_view name`");
  static_assert(has_sentence,
                "papcoll: this schedule has no sentence about itself: give it a member "
                "`static constexpr std::string_view sentence`");
  static_assert(RegularPolicy<S>,
                "papcoll: this schedule is no regular value: it is made without arguments, copied "
                "and compared; `bool operator==(const S&) const = default` compares it");
  static_assert(serves_any<S>,
                "papcoll: this schedule emits the steps of no collective: give it a public member "
                "function for one, such as `void emit(papcoll::Bcast, papcoll::Builder&) const`; "
                "or, if it is driven by arrivals, `static bool serves(papcoll::Collective)`");
  static_assert(!Policy<S> || !has_name || !has_sentence || !RegularPolicy<S> || !serves_any<S>,
                "papcoll: this schedule does not say whether it combines contributions out of rank "
                "order: give it a member `static constexpr bool commutative_only`");
};

/// Ends the compilation with a sentence about the member.
template <class S> constexpr void name_missing_member() {
  static_cast<void>(schedule_is_complete<S>::ok);
}

}  // namespace detail

/// What schedules without parameters may have as their base: all of a type are equal.
struct PlainSchedule {
  using policy_kind = SchedulePolicyKind;
  friend bool operator==(const PlainSchedule&, const PlainSchedule&) = default;
};

/// A schedule whose parts are types: at_run_time() returns the equivalent schedule of AnySchedules.
template <class S> concept TypedSchedule = requires(const S& s) { s.at_run_time(); };

class AnySchedule;

/// What the library knows of a schedule once its type is gone. Null where it has no such member.
struct ScheduleTable {
  std::string_view name;
  std::string_view sentence;
  unsigned needs = 0;  ///< capability bits
  bool own_parts_only = false;
  bool always_commutative_only = false;  ///< where no function says it
  MappingHint constant_hint = MappingHint::by_traffic;

  bool (*equal)(const void*, const void*) = nullptr;  ///< null: has no parameters
  bool (*commutative_only)(const void*) = nullptr;
  std::string (*arguments)(const void*) = nullptr;
  AnySchedule (*parse)(std::string_view arguments) = nullptr;
  std::size_t (*segment)(const void*, int size, std::size_t element_size) = nullptr;
  AnySchedule (*resolved)(const void*, int size, std::size_t bytes) = nullptr;
  MappingHint (*mapping_hint)(const void*, Collective, int size) = nullptr;
  void (*traffic)(const void*, Collective, Traffic&) = nullptr;
  Plan (*plan)(const void*, const Shape&, const Order&) = nullptr;
  std::array<void (*)(const void*, Builder&), collective_count> emit{};

  bool serves(Collective c) const noexcept { return emit[static_cast<std::size_t>(c)] != nullptr; }
};

namespace detail {

template <class S> const ScheduleTable& schedule_table() noexcept;

template <class S> inline constexpr S default_schedule{};

/// True if a schedule combines contributions out of rank order.
template <class S> constexpr bool commutative_only_of(const S& s) {
  if constexpr (requires { s.commutative_only(); }) {
    return s.commutative_only();
  } else {
    return S::commutative_only;
  }
}

}  // namespace detail

/// Any static schedule, as a value.
class AnySchedule {
 public:
  AnySchedule() = default;

  /// A schedule with its parameters.
  template <StaticSchedule S>
  AnySchedule(S schedule)  // NOLINT(google-explicit-constructor): a schedule is one of any
      : table_(&detail::schedule_table<S>()),
        owner_(detail::make_shared<const S>(std::move(schedule))),
        self_(owner_.get()) {}
  /// Constructs it from a schedule.
  template <StaticSchedule S>
  requires TypedSchedule<S> AnySchedule(S schedule)  // NOLINT(google-explicit-constructor)
      : AnySchedule(schedule.at_run_time()) {}

  /// Does not compile: the error names the member that is missing.
  template <class S>
  requires detail::lacks_a_member<S> AnySchedule(S /*schedule*/) {  // NOLINT(*-explicit-*)
    detail::name_missing_member<S>();
  }

  /// The schedule with its default parameters; no allocation, but for the first TypedSchedule.
  template <StaticSchedule S> static AnySchedule of() noexcept(!TypedSchedule<S>) {
    AnySchedule s;
    if constexpr (TypedSchedule<S>) {
      static const AnySchedule& known = *new AnySchedule{S{}};  // calls at the end may borrow it
      s.table_ = known.table_;
      s.self_ = known.self_;
    } else {
      s.table_ = &detail::schedule_table<S>();
      s.self_ = &detail::default_schedule<S>;
    }
    return s;
  }

  /// Returns true if it holds a schedule.
  explicit operator bool() const noexcept { return table_ != nullptr; }
  /// The name without parameters.
  std::string_view base_name() const noexcept { return table_->name; }
  /// One sentence about it.
  std::string_view sentence() const noexcept { return table_->sentence; }
  /// Capability bits that it needs of other policies.
  unsigned needs() const noexcept { return table_->needs; }
  bool commutative_only() const {
    return table_->commutative_only == nullptr ? table_->always_commutative_only
                                               : table_->commutative_only(self_);
  }
  /// Returns true if the schedule serves the collective.
  bool serves(Collective c) const noexcept { return table_->serves(c); }
  /// Returns true if its alltoall serves blocks that differ in length.
  bool own_parts_only() const noexcept { return table_->own_parts_only; }
  /// Elements of the blocks in which it pipelines; 0: one block.
  std::size_t segment(int size, std::size_t element_size) const {
    return table_->segment == nullptr ? 0 : table_->segment(self_, size, element_size);
  }

  /// Returns how its positions want to be laid along a machine.
  MappingHint mapping_hint(Collective c, int size) const {
    return table_->mapping_hint == nullptr ? table_->constant_hint
                                           : table_->mapping_hint(self_, c, size);
  }
  /// Adds who sends how much to whom. Returns false if the schedule has no traffic(); emit() has it
  /// then.
  bool add_traffic(Collective c, Traffic& traffic) const {
    if (table_->traffic == nullptr) return false;
    const std::size_t before = traffic.arcs().size();
    table_->traffic(self_, c, traffic);
    return traffic.arcs().size() != before;
  }

  /// Returns what is played for a whole vector of so many bytes: this schedule, or its choice.
  AnySchedule resolved(int size, std::size_t bytes) const {
    return table_->resolved == nullptr ? *this : table_->resolved(self_, size, bytes);
  }

  /// The name with its parameters, as papcoll::algorithm() reads it: "KNomial:8".
  std::string name() const {
    const std::string arguments = table_->arguments == nullptr ? "" : table_->arguments(self_);
    return detail::joined({table_->name, (arguments.empty() ? "" : ":"), arguments});
  }

  /// A schedule of the same type with the parameters that the text after the colon gives. Throws
  /// argument_error if it cannot be read, or if the schedule has no parameters that a text can
  /// give.
  AnySchedule with_arguments(std::string_view arguments) const {
    if (table_->parse == nullptr) {
      detail::throw_error<argument_error>({"papcoll: ", table_->name, " takes no arguments, but '",
                                           arguments, "' was given: leave them and the colon out"});
    }
    return table_->parse(arguments);
  }

  /// The schedule itself if it is an S, else null.
  template <StaticSchedule S>
  requires(!TypedSchedule<S>) const S* target() const noexcept {
    return table_ == &detail::schedule_table<S>() ? static_cast<const S*>(self_) : nullptr;
  }

  /// Returns true if it makes its plans by itself, not by emit().
  bool makes_plans() const noexcept { return table_->plan != nullptr; }
  /// Of one that does: the plan of rank shape.rank; the schedule must serve the collective.
  Plan plan(const Shape& shape, const Order& order) const {
    return table_->plan(self_, shape, order);
  }
  /// Writes the steps of b's position; the schedule must serve c.
  void emit(Collective c, Builder& b) const { table_->emit[static_cast<std::size_t>(c)](self_, b); }

  friend bool operator==(const AnySchedule& a, const AnySchedule& b) {
    return a.table_ == b.table_ &&
           (a.self_ == b.self_ || a.table_->equal == nullptr || a.table_->equal(a.self_, b.self_));
  }

 private:
  const ScheduleTable* table_ = nullptr;
  detail::Shared<const void> owner_;
  const void* self_ = nullptr;
};

namespace detail {

template <class S> const S& schedule_of(const void* self) noexcept {
  return *static_cast<const S*>(self);
}

// Cold as make_plan() is.
template <class S, class Tag> [[gnu::cold]] void emit_as(const void* self, Builder& b) {
  schedule_of<S>(self).emit(Tag{}, b);
}

/// What a ScheduleTable points to. No lambdas, each of which is three functions.
template <class S> struct ScheduleMembers {
  static bool equal(const void* a, const void* b) { return schedule_of<S>(a) == schedule_of<S>(b); }
  static bool commutative_only(const void* self) {
    return commutative_only_of(schedule_of<S>(self));
  }
  [[gnu::cold]] static std::string arguments(const void* self) {
    return schedule_of<S>(self).arguments();
  }
  [[gnu::cold]] static AnySchedule parse(std::string_view arguments) {
    return AnySchedule{S::parse(arguments)};
  }
  static std::size_t segment(const void* self, int size, std::size_t bytes) {
    return schedule_of<S>(self).segment(size, bytes);
  }
  static AnySchedule resolved(const void* self, int size, std::size_t bytes) {
    return AnySchedule{schedule_of<S>(self).resolved(size, bytes)};
  }
  static MappingHint mapping_hint(const void* self, Collective c, int size) {
    return schedule_of<S>(self).mapping_hint(c, size);
  }
  [[gnu::cold]] static void traffic(const void* self, Collective c, Traffic& traffic) {
    schedule_of<S>(self).traffic(c, traffic);
  }
  [[gnu::cold]] static Plan plan(const void* self, const Shape& shape, const Order& order) {
    return schedule_of<S>(self).plan(shape, order);
  }
};

template <class S, std::size_t I> constexpr void add_emit(ScheduleTable& t) noexcept {
  if constexpr (Emits<S, TagOfIndex<I>>) t.emit[I] = &emit_as<S, TagOfIndex<I>>;
}

template <class S, std::size_t... I>
constexpr ScheduleTable made_table(std::index_sequence<I...>) noexcept {
  static_assert(!std::is_base_of_v<PlainSchedule, S> || std::is_empty_v<S>,
                "papcoll: this schedule has parameters, of which its base PlainSchedule says that "
                "all are equal: leave that out, add `using policy_kind = "
                "papcoll::SchedulePolicyKind` and an `operator==` of its own");
  using Members = ScheduleMembers<S>;
  ScheduleTable t{S::name, S::sentence, needs_of<S>};
  (add_emit<S, I>(t), ...);
  if constexpr (requires { S::own_parts_only; }) t.own_parts_only = S::own_parts_only;
  if constexpr (!std::is_empty_v<S>) {
    t.equal = Members::equal;
  }
  if constexpr (requires(const S& s) { s.commutative_only(); }) {
    t.commutative_only = Members::commutative_only;
  } else if constexpr (requires { std::bool_constant<S::commutative_only>{}; }) {
    t.always_commutative_only = S::commutative_only;
  } else {
    t.commutative_only = Members::commutative_only;
  }
  if constexpr (requires(const S& s) { s.arguments(); }) {
    t.arguments = Members::arguments;
  }
  if constexpr (requires(std::string_view arguments) { S::parse(arguments); }) {
    t.parse = Members::parse;
  }
  if constexpr (requires(const S& s, int size, std::size_t bytes) { s.segment(size, bytes); }) {
    t.segment = Members::segment;
  }
  if constexpr (requires(const S& s, int size, std::size_t bytes) { s.resolved(size, bytes); }) {
    t.resolved = Members::resolved;
  }
  if constexpr (requires(const S& s, Collective c, int size) { s.mapping_hint(c, size); }) {
    t.mapping_hint = Members::mapping_hint;
  } else if constexpr (requires {
                         { S::mapping_hint } -> std::convertible_to<MappingHint>;
                       }) {
    t.constant_hint = S::mapping_hint;
  }
  if constexpr (requires(const S& s, Collective c, Traffic& traffic) { s.traffic(c, traffic); }) {
    t.traffic = Members::traffic;
  }
  if constexpr (requires(const S& s, const Shape& shape, const Order& o) { s.plan(shape, o); }) {
    t.plan = Members::plan;
  }
  return t;
}

template <class S> const ScheduleTable& schedule_table() noexcept {
  static constexpr ScheduleTable table =
      made_table<S>(std::make_index_sequence<collective_count>{});
  return table;
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
