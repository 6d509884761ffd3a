// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

// The kind of each argument of a typed call, and where a form of the collective has it: values
// alone, no types, so that one function distinguishes all forms of all collectives.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// How a call returns.
enum class Way : unsigned char { blocking, non_blocking, persistent };

/// What an argument is by its type.
enum class Kind : unsigned char {
  none,  ///< there is no such argument
  other,
  sequence,  ///< a range that is not contiguous
  range,     ///< contiguous
  layout,    ///< a buffer whose elements need not be contiguous
  pointer,
  null,
  number,
  root,
  blocks,  ///< or counts
  unknown_counts,
  algorithm,
  policy,  ///< which is no argument
};

/// An argument.
struct Argument {
  Kind kind = Kind::none;
  bool is_writable = false;  ///< of a buffer: its elements, and they outlive the call
  bool is_array = false;     ///< a built-in one, which may stand for a pointer
  bool is_text = false;      ///< a range that may be meant as a name
  bool is_counts = false;    ///< of blocks: lengths alone
  bool is_value = false;     ///< one element
};

/// Why no form of a collective takes some arguments: a sentence each, which compilers quote. For an
/// example see the end of call/make.hpp.
enum class Mistake : unsigned char {
  none,
  no_form_of_this_collective_takes_these_arguments,
  the_first_argument_is_a_Communicator_or_a_ThreadTeam_Rank_or_an_MPI_Comm,
  a_buffer_is_a_contiguous_range_or_strided_and_no_vector_of_bool_or_list,
  an_element_by_value_is_for_blocking_allreduce_reduce_bcast_scan_and_exscan,
  an_in_place_buffer_is_written_so_pass_an_lvalue_or_a_span_of_non_const_elements,
  the_output_is_an_lvalue_or_a_span_of_non_const_elements,
  this_input_is_a_temporary_that_is_gone_when_the_call_returns,
  input_and_output_have_elements_of_the_same_type,
  elements_are_copied_byte_by_byte_and_this_type_is_not_trivially_copyable,
  a_count_follows_pointers,
  counts_or_blocks_are_missing_as_in_papcoll_counts_sizes,
  a_root_goes_right_after_the_buffers_as_in_papcoll_root_0,
  text_is_no_output_so_write_papcoll_algorithm_as_the_last_argument,
  an_algorithm_goes_after_the_operator_as_in_papcoll_sum_then_papcoll_algorithm,
  an_algorithm_is_no_text_so_include_algorithm_hpp_and_write_papcoll_algorithm,
  a_range_is_no_operator_and_sizes_of_a_reduce_scatter_go_in_papcoll_counts,
  this_operator_does_not_make_one_element_of_two_of_this_type,
  an_overloaded_function_such_as_std_max_is_no_operator_so_pass_papcoll_max,
};

/// The forms that a function has.
struct Forms {
  Collective collective;
  bool irregular;  ///< a v-form: ranks' blocks differ
  Way way;
};

/// The positions of a call's arguments, counted after the team; −1: there is none.
struct Match {
  Mistake mistake = Mistake::no_form_of_this_collective_takes_these_arguments;
  int in = -1;
  int out = -1;
  int count = -1;
  int sent = -1;      ///< blocks of the input
  int received = -1;  ///< blocks of the output
  int root = -1;
  int op = -1;
  int algorithm = -1;
  bool by_value = false;    ///< `in` is one element
  bool by_pointer = false;  ///< buffers are pointers
  bool is_unknown = false;  ///< the call finds out how much comes

  /// Returns this match with a mistake.
  constexpr Match with(Mistake m) const noexcept {
    Match other = *this;
    other.mistake = m;
    return other;
  }
  constexpr bool ok() const noexcept { return mistake == Mistake::none; }
  constexpr bool in_place() const noexcept { return in >= 0 && out < 0 && !is_unknown; }
};

/// Reads arguments from the left.
template <std::size_t N> struct ArgumentReader {
  const std::array<Argument, N>& all;
  int next = 0;

  constexpr Argument at(int i) const noexcept {
    return static_cast<std::size_t>(i) < N ? all[static_cast<std::size_t>(i)] : Argument{};
  }
  constexpr Kind kind(int ahead = 0) const noexcept { return at(next + ahead).kind; }
  constexpr bool has(Kind k, int ahead = 0) const noexcept { return kind(ahead) == k; }
  constexpr bool has_buffer() const noexcept { return has(Kind::range) || has(Kind::layout); }
  constexpr bool has_pointer(int ahead = 0) const noexcept {
    return has(Kind::pointer, ahead) || at(next + ahead).is_array;
  }
  constexpr int take_if(bool yes) noexcept { return yes ? next++ : -1; }
  constexpr int take(Kind k) noexcept { return take_if(has(k)); }
  /// Takes an output, which may be null where buffers are pointers.
  constexpr int take_output(bool by_pointer) noexcept {
    return take_if(by_pointer ? has(Kind::pointer) || has(Kind::null) : has(Kind::range));
  }
};

/// Returns what is wrong with the buffers that were found.
template <std::size_t N>
constexpr Mistake mistake_in_buffers(const Match& m, const ArgumentReader<N>& r) noexcept {
  using enum Mistake;
  if (m.is_unknown || m.by_value) return none;
  if (m.in_place() && !r.at(m.in).is_writable) {
    return an_in_place_buffer_is_written_so_pass_an_lvalue_or_a_span_of_non_const_elements;
  }
  if (m.out >= 0 && r.at(m.out).kind != Kind::null && !r.at(m.out).is_writable) {
    return r.at(m.out).is_text ? text_is_no_output_so_write_papcoll_algorithm_as_the_last_argument
                               : the_output_is_an_lvalue_or_a_span_of_non_const_elements;
  }
  return none;
}

/// Returns the match with what follows the buffers in any form: [root] [op] [algorithm].
template <std::size_t N>
constexpr Match with_rest(const Forms& f, Match m, ArgumentReader<N> r) noexcept {
  using enum Mistake;
  const Mistake in_buffers = mistake_in_buffers(m, r);
  if (in_buffers != none) return m.with(in_buffers);
  if (is_rooted(f.collective)) {
    m.root = r.take(Kind::root);
    if (m.root < 0) return m.with(a_root_goes_right_after_the_buffers_as_in_papcoll_root_0);
  }
  if (is_reduction(f.collective) && !r.has(Kind::none)) {
    m.op = r.next++;
    const Argument op = r.at(m.op);
    if (op.kind == Kind::algorithm || op.kind == Kind::policy || op.is_text) {
      return m.with(an_algorithm_goes_after_the_operator_as_in_papcoll_sum_then_papcoll_algorithm);
    }
    if (op.kind == Kind::range || op.kind == Kind::layout) {
      return m.with(a_range_is_no_operator_and_sizes_of_a_reduce_scatter_go_in_papcoll_counts);
    }
  }
  m.algorithm = r.take(Kind::algorithm);
  if (r.has(Kind::none)) return m.with(none);
  return r.at(r.next).is_text
             ? m.with(an_algorithm_is_no_text_so_include_algorithm_hpp_and_write_papcoll_algorithm)
             : m;
}

/// in, out [, counts] | data [, counts] | in, out, count | data, count | value
template <std::size_t N> constexpr Match match_even(const Forms& f, ArgumentReader<N> r) noexcept {
  using enum Mistake;
  Match m;
  if (!has_data(f.collective)) return with_rest(f, m, r);
  const bool two = !has_one_buffer(f.collective);
  const bool is_pointer =
      r.has_pointer() && (r.has(Kind::number, 1) ||
                          ((r.has_pointer(1) || r.has(Kind::null, 1)) && r.has(Kind::number, 2)));
  if (is_pointer) {
    m.by_pointer = true;
    m.in = r.next++;
    m.out = r.take_if(two && !r.has(Kind::number));
    m.count = r.take(Kind::number);
    return m.count < 0 ? m : with_rest(f, m, r);
  }
  if (r.has_buffer()) {
    m.in = r.next++;
    m.out = r.take_if(two && r.has_buffer());
    const bool has_counts = f.collective == Collective::reduce_scatter && r.at(r.next).is_counts;
    m.received = r.take_if(has_counts);
    return with_rest(f, m, r);
  }
  if (r.has(Kind::pointer)) return m.with(a_count_follows_pointers);
  if (r.has(Kind::sequence)) {
    return m.with(a_buffer_is_a_contiguous_range_or_strided_and_no_vector_of_bool_or_list);
  }
  if (!r.at(r.next).is_value) return m;
  if (f.way != Way::blocking || !is_elementwise(f.collective)) {
    return m.with(an_element_by_value_is_for_blocking_allreduce_reduce_bcast_scan_and_exscan);
  }
  m.by_value = true;
  m.in = r.next++;
  return with_rest(f, m, r);
}

/// Returns true if the call may find out how much comes.
constexpr bool may_ask(const Forms& f, const Match& m) noexcept {
  return f.way == Way::blocking && !m.by_pointer;
}

/// As with_rest(), if the call has its blocks.
template <std::size_t N>
constexpr Match with_blocks(const Forms& f, const Match& m, bool has_blocks,
                            ArgumentReader<N> r) noexcept {
  return has_blocks ? with_rest(f, m, r)
                    : m.with(Mistake::counts_or_blocks_are_missing_as_in_papcoll_counts_sizes);
}

/// After the input or data: blocks, out, blocks | blocks | blocks, unknown counts
template <std::size_t N>
constexpr Match match_alltoallv(const Forms& f, Match m, ArgumentReader<N> r) noexcept {
  m.sent = r.take(Kind::blocks);
  m.is_unknown = m.sent >= 0 && may_ask(f, m) && r.take(Kind::unknown_counts) >= 0;
  if (m.is_unknown) return with_rest(f, m, r);
  m.out = r.take_output(m.by_pointer);
  m.received = m.out < 0 ? m.sent : r.take(Kind::blocks);
  return with_blocks(f, m, m.sent >= 0 && m.received >= 0, r);
}

/// After the input or data: out, blocks | blocks | blocks, unknown counts
template <std::size_t N>
constexpr Match match_scatterv(const Forms& f, Match m, ArgumentReader<N> r) noexcept {
  m.out = r.take_output(m.by_pointer);
  m.sent = r.take(Kind::blocks);
  m.is_unknown = m.sent >= 0 && m.out < 0 && may_ask(f, m) && r.take(Kind::unknown_counts) >= 0;
  return with_blocks(f, m, m.sent >= 0, r);
}

/// Of an allgatherv, gatherv and reduce_scatterv, after the input or data: out, blocks | blocks |
/// nothing, and the call finds out how much comes
template <std::size_t N>
constexpr Match match_gathering(const Forms& f, Match m, ArgumentReader<N> r) noexcept {
  m.out = r.take_output(m.by_pointer);
  m.received = r.take(Kind::blocks);
  m.is_unknown = m.received < 0 && m.out < 0 && may_ask(f, m);
  return with_blocks(f, m, m.received >= 0 || m.is_unknown, r);
}

template <std::size_t N>
constexpr Match match_irregular(const Forms& f, ArgumentReader<N> r) noexcept {
  using enum Mistake;
  Match m;
  m.by_pointer = r.has(Kind::pointer);
  if (!r.has(Kind::range) && !m.by_pointer) {
    return m.with(a_buffer_is_a_contiguous_range_or_strided_and_no_vector_of_bool_or_list);
  }
  m.in = r.next++;
  switch (f.collective) {
    case Collective::alltoall: return match_alltoallv(f, m, r);
    case Collective::scatter: return match_scatterv(f, m, r);
    default: return match_gathering(f, m, r);
  }
}

/// Returns the form that these arguments have, and which argument is what.
template <std::size_t N>
constexpr Match match(const Forms& f, const std::array<Argument, N>& arguments) noexcept {
  const ArgumentReader<N> reader{arguments};
  return f.irregular ? match_irregular(f, reader) : match_even(f, reader);
}

// -- The types of the arguments: which form they have, or why none takes them.

// `A` is the type of an argument as a forwarding reference deduces it.

template <class A>
inline constexpr bool is_text =
    std::is_convertible_v<const std::remove_cvref_t<A>&, std::string_view>;

/// True for an argument that is moved into a call which uses it after it has returned.
template <class A> inline constexpr bool is_owner = false;
template <ContiguousRange R>
requires(!std::is_reference_v<R> && !std::ranges::enable_borrowed_range<R> &&
         std::constructible_from<std::remove_cv_t<R>, R> &&
         requires(R & r) { r.data(); }) inline constexpr bool is_owner<R> = !Noncontiguous<R>;

template <class A> constexpr bool can_be_written(Way way) noexcept {
  if (!is_writable<A>) return false;
  return OutputRange<A> || (way != Way::blocking && is_owner<A>);
}

template <class A> constexpr Argument argument_of(Way way) noexcept {
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

template <class A> struct pointed_to : std::type_identity<void> {};
template <Buffer A> struct pointed_to<A> : std::type_identity<element_of<A>> {};
template <class A>
requires std::is_pointer_v<std::remove_cvref_t<A>>
struct pointed_to<A> : std::remove_cv<std::remove_pointer_t<std::remove_cvref_t<A>>> {
};

/// The number'th of some types; void: there is none.
template <int number, class... As> struct NthType : std::type_identity<void> {};
template <class A, class... As> struct NthType<0, A, As...> : std::type_identity<A> {};
template <int number, class A, class... As>
requires(number > 0) struct NthType<number, A, As...> : NthType<number - 1, As...> {
};

/// What the arguments of a call are.
template <Collective C, bool Irregular, Way W, class... As> struct Pack {
  static constexpr Forms forms{C, Irregular, W};

  static constexpr Match by_kinds =
      match(forms, std::array<Argument, sizeof...(As)>{argument_of<As>(W)...});
  template <int number> using At = typename NthType<number, As...>::type;
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

template <Collective C, bool Irregular, Way W, class... As>
inline constexpr Mistake mistake_of = Pack<C, Irregular, W, As...>::mistake();

/// As mistake_of, with the first argument checked, too.
template <class Comm, Collective C, bool Irregular, Way W, class... As>
inline constexpr Mistake mistake_of_call =
    Team<Comm> ? mistake_of<C, Irregular, W, As...>
               : Mistake::the_first_argument_is_a_Communicator_or_a_ThreadTeam_Rank_or_an_MPI_Comm;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
