#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/call/argument_kinds.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/policies/algorithm.hpp>

#include <array>
#include <concepts>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

// The types of a call's arguments: which form they have, or why none takes them.

namespace papcoll::inline PAPCOLL_ABI::detail {

// -- What kind an argument is. `A` is its type as a forwarding reference deduces it.

template <class A>
inline constexpr bool is_text =
    std::is_convertible_v<const std::remove_cvref_t<A>&, std::string_view>;

/// Does a call that reads or writes the argument after it has returned keep it?
template <class A>
inline constexpr bool is_owner = false;
template <ContiguousRange R>
requires(!std::is_reference_v<R> && !std::ranges::enable_borrowed_range<R> &&
         std::constructible_from<std::remove_cv_t<R>, R> &&
         requires(R & r) { r.data(); }) inline constexpr bool is_owner<R> = !Noncontiguous<R>;

template <class A>
constexpr bool can_be_written(Way way) noexcept {
  if (!is_writable<A>) return false;
  return OutputRange<A> || (way != Way::blocking && is_owner<A>);
}

template <class A>
constexpr Argument argument_of(Way way) noexcept {
  using T = std::remove_cvref_t<A>;
  Argument a;
  a.is_text = is_text<A>;
  if constexpr (std::same_as<T, root>) {
    a.kind = Kind::root;
  } else if constexpr (std::same_as<T, blocks> || std::same_as<T, counts>) {
    a.kind = Kind::blocks;
    a.is_counts = std::same_as<T, counts>;
  } else if constexpr (std::same_as<T, UnknownCounts>) {
    a.kind = Kind::unknown_counts;
  } else if constexpr (std::same_as<T, Algorithm>) {
    a.kind = Kind::algorithm;
  } else if constexpr (Buffer<std::remove_reference_t<A>>) {
    a.kind = ContiguousRange<std::remove_reference_t<A>> ? Kind::range : Kind::layout;
    a.is_array = std::is_array_v<T>;
    a.is_writable = can_be_written<A>(way);
  } else if constexpr (std::is_pointer_v<T>) {
    a.kind = Kind::pointer;
    a.is_writable = !std::is_const_v<std::remove_pointer_t<T>>;
  } else if constexpr (std::is_null_pointer_v<T>) {
    a.kind = Kind::null;
  } else if constexpr (Policy<T>) {
    a.kind = Kind::policy;
  } else if constexpr (requires(T & x) { std::ranges::begin(x); }) {
    a.kind = Kind::sequence;
  } else {
    a.kind = std::integral<T> ? Kind::number : Kind::other;
    a.is_value = Element<T>;
  }
  return a;
}

template <class A>
struct pointed_to : std::type_identity<void> {};
template <Buffer A>
struct pointed_to<A> : std::type_identity<element_of<A>> {};
template <class A>
requires std::is_pointer_v<std::remove_cvref_t<A>>
struct pointed_to<A> : std::remove_cv<std::remove_pointer_t<std::remove_cvref_t<A>>> {
};

/// The number'th of some types; void: there is none.
template <int number, class... As>
struct NthType : std::type_identity<void> {};
template <class A, class... As>
struct NthType<0, A, As...> : std::type_identity<A> {};
template <int number, class A, class... As>
requires(number > 0) struct NthType<number, A, As...> : NthType<number - 1, As...> {
};

/// What the arguments of a call are.
template <Collective C, bool Uneven, Way W, class... As>
struct Pack {
  static constexpr Forms forms{C, Uneven, W};

  static constexpr Match by_kinds =
      match(forms, std::array<Argument, sizeof...(As)>{argument_of<As>(W)...});
  template <int number>
  using At = typename NthType<number, As...>::type;
  using Numbers = std::make_integer_sequence<int, static_cast<int>(sizeof...(As))>;
  using In = At<by_kinds.in>;
  using Out = At<by_kinds.out>;
  using Value = std::remove_cvref_t<In>;
  using T = typename std::conditional_t<by_kinds.by_value, std::type_identity<Value>,
                                        pointed_to<std::remove_reference_t<In>>>::type;
  using Op = std::conditional_t < by_kinds.op<0, Sum, std::remove_cvref_t<At<by_kinds.op>>>;

  static constexpr Mistake mistake() noexcept {
    using enum Mistake;
    if constexpr (!by_kinds.ok()) return by_kinds.mistake;
    if constexpr (has_data(C)) {
      if constexpr (std::is_void_v<T> || !std::is_trivially_copyable_v<T>) {
        return elements_are_copied_byte_by_byte_and_this_type_is_not_trivially_copyable;
      } else {
        if constexpr (by_kinds.out >= 0 && !std::is_null_pointer_v<std::remove_cvref_t<Out>>) {
          using U = typename pointed_to<std::remove_reference_t<Out>>::type;
          if (!std::same_as<T, U>) return input_and_output_have_elements_of_the_same_type;
        }
        if constexpr (by_kinds.by_value && is_exclusive(C)) {
          if (!std::default_initializable<T>)
            return no_form_of_this_collective_takes_these_arguments;
        }
        if constexpr (is_reduction(C)) {
          if (!OperatorFor<Op, T>)
            return this_operator_does_not_make_one_element_of_two_of_this_type;
        }
        if constexpr (W != Way::blocking && Buffer<std::remove_reference_t<In>>) {
          if (!OutputRange<In> && !is_owner<In>) {
            return this_input_is_a_temporary_that_is_gone_when_the_call_returns;
          }
        }
      }
    }
    return none;
  }
};

template <Collective C, bool Uneven, Way W, class... As>
inline constexpr Mistake mistake_of = Pack<C, Uneven, W, As...>::mistake();

/// The same, with the first argument.
template <class Comm, Collective C, bool Uneven, Way W, class... As>
inline constexpr Mistake mistake_of_call =
    Team<Comm> ? mistake_of<C, Uneven, W, As...>
               : Mistake::the_first_argument_is_a_Communicator_or_a_ThreadTeam_Rank_or_an_MPI_Comm;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
