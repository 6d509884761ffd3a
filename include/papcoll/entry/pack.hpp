#pragma once

#include <papcoll/base/policy.hpp>
#include <papcoll/buffers.hpp>
#include <papcoll/entry/argument_kinds.hpp>
#include <papcoll/entry/arguments.hpp>
#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/call_arguments.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/owning.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/route.hpp>
#include <papcoll/op.hpp>
#include <papcoll/policies/algorithm.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The typed arguments of a collective, in all its forms, become CallArguments here.

namespace papcoll {
inline namespace PAPCOLL_ABI {

template <class T>
struct ReceivedBlocks;

namespace detail {

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
         requires(R & r) { r.data(); }) inline constexpr bool is_owner<R> = !LiesApart<R>;

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
  if constexpr (std::same_as<T, papcoll::root>) {
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

// -- What a call that outlives its function keeps

template <class A, Way W>
using Owned =
    std::conditional_t<W != Way::blocking && is_owner<A>, std::remove_cvref_t<A>, NotOwned>;

/// The operator and the buffers that a pack's call keeps.
template <class P>
struct KeptPack : KeptArguments {
  using In =
      std::conditional_t<P::by_kinds.in_place(), NotOwned, Owned<typename P::In, P::forms.way>>;
  using Out = Owned<std::conditional_t<P::by_kinds.in_place(), typename P::In, typename P::Out>,
                    P::forms.way>;
  // A kernel that is the library's does not look at its operator.
  static constexpr bool keeps_operator =
      P::by_kinds.op >= 0 && !Vectorizable<typename P::T, typename P::Op>;
  static constexpr bool owns = !std::same_as<In, NotOwned> || !std::same_as<Out, NotOwned>;
  static constexpr bool is_needed = keeps_operator || owns;
  using Buffers = OwnedBuffers<In, Out>;
  using KeptOperator = std::conditional_t<keeps_operator, typename P::Op, NotOwned>;

  template <class... As>
  explicit KeptPack(As&&... as)
      : op(nth_or < keeps_operator ? P::by_kinds.op : -1 > (std::forward<As>(as)...)),
        buffers{
            nth_or < std::same_as<In, NotOwned> ? -1 : P::by_kinds.in > (std::forward<As>(as)...),
            nth_or < std::same_as<Out, NotOwned> ? -1
            : P::by_kinds.in_place()             ? P::by_kinds.in
                                                 : P::by_kinds.out > (std::forward<As>(as)...)} {}

  std::decay_t<KeptOperator> op;
  Buffers buffers;

 private:
  template <int number, class... As>
  static decltype(auto) nth_or(As&&... as) {
    if constexpr (number < 0) {
      return NotOwned{};
    } else {
      return nth<number>(std::forward<As>(as)...);
    }
  }
  template <int number, class A, class... As>
  static decltype(auto) nth(A&& a, As&&... as) {
    if constexpr (number == 0) {
      return std::forward<A>(a);
    } else {
      return nth<number - 1>(std::forward<As>(as)...);
    }
  }
};

// -- From arguments to CallArguments

template <int>
struct NotThere {};

/// The arguments of a call, and what they point to that the call makes of them.
template <class P>
struct PackedArguments : CallArguments {
  static constexpr Match m = P::by_kinds;
  static constexpr bool has_layout = LiesApart<typename P::In> || LiesApart<typename P::Out>;
  static constexpr bool is_in_place = m.in_place();
  static constexpr bool has_blocks = m.sent >= 0 || m.received >= 0;

  PackedArguments() noexcept : CallArguments(P::forms.collective) {
    one_buffer = is_in_place;
    if constexpr (has_data(P::forms.collective)) {
      if constexpr (!is_reduction(P::forms.collective)) {
        reducer.size = sizeof(typename P::T);
        types = element_bits<typename P::T>();
      } else if constexpr (m.op < 0) {
        set_operator(sum);
      }
    }
    if constexpr (has_layout) layouts = &passed;
    if constexpr (has_blocks) {
      constexpr auto make = maker_of_uneven(P::forms.collective);
      given.make = make;
      uneven = &given;
    }
  }
  PackedArguments(const PackedArguments&) = delete;
  PackedArguments& operator=(const PackedArguments&) = delete;

  template <class Op>
  void set_operator(const Op& op) noexcept {
    using T = typename P::T;
    reducer = papcoll::reducer<T>(op);
    types = types_of_reduction<T, Op>(reducer);
  }

  /// Takes argument `number`. Buffers and the operator are those that are kept, if they are.
  template <int number, class A>
  void put(A& argument) noexcept {
    if constexpr (number == m.in && m.by_value) {
      in = std::addressof(argument);
    } else if constexpr (number == m.in) {
      put_buffer(argument, in_length);
      in = address;
      if constexpr (is_in_place) {
        out = address;
        out_length = in_length;
      }
      if constexpr (has_layout) passed.in = layout_of(argument);
      if constexpr (has_layout && is_in_place) passed.set_in_place();
    } else if constexpr (number == m.out) {
      put_buffer(argument, out_length);
      out = address;
      if constexpr (has_layout) passed.out = layout_of(argument);
    } else if constexpr (number == m.count) {
      count = static_cast<std::size_t>(argument);
      is_count_signed = std::is_signed_v<A>;
      by_count = true;
    } else if constexpr (number == m.op) {
      set_operator(argument);
    } else if constexpr (number == m.root) {
      root = argument.rank;
    } else if constexpr (number == m.algorithm) {
      algorithm = &argument;
    }
    if constexpr (has_blocks) {
      if constexpr (number == m.sent) given_blocks.sent = argument;
      if constexpr (number == m.sent) given.sent = &given_blocks.sent;
      if constexpr (number == m.received && number != m.sent) given_blocks.received = argument;
      if constexpr (number == m.received) {
        given.received = number == m.sent ? &given_blocks.sent : &given_blocks.received;
      }
    }
  }

  template <class A>
  void put_buffer(A& argument, std::size_t& length) noexcept {
    if constexpr (std::is_null_pointer_v<std::remove_cv_t<A>>) {
      address = nullptr;
      length = any_length;
    } else if constexpr (std::is_pointer_v<A>) {
      address = const_cast<std::remove_const_t<std::remove_pointer_t<A>>*>(argument);
      length = any_length;
    } else {
      using T = typename P::T;
      if constexpr (ContiguousRange<A>) {
        address = const_cast<T*>(std::ranges::data(argument));
        length = std::ranges::size(argument);
      } else {
        address = const_cast<T*>(address_of(argument));
      }
    }
  }

  struct BothBlocks {
    blocks sent{counts{}};
    blocks received{counts{}};
  };
  void* address = nullptr;
  [[no_unique_address]] std::conditional_t<has_layout, PassedLayouts, NotThere<0>> passed;
  [[no_unique_address]] std::conditional_t<has_blocks, UnevenArguments, NotThere<1>> given;
  [[no_unique_address]] std::conditional_t<has_blocks, BothBlocks, NotThere<2>> given_blocks;
};

template <class P, int... numbers, class... As>
void put_all(PackedArguments<P>& a, std::integer_sequence<int, numbers...>, As&... as) noexcept {
  (a.template put<numbers>(as), ...);
}

/// The same of a call that keeps some of the arguments.
template <class P, class... As>
void put_kept(PackedArguments<P>& a, KeptPack<P>& kept, As&... as) noexcept {
  using Kept = KeptPack<P>;
  constexpr Match m = P::by_kinds;
  const auto put = [&]<int number, class A>(std::integral_constant<int, number>, A& argument) {
    if constexpr (number == m.in && m.in_place() && !std::same_as<typename Kept::Out, NotOwned>) {
      a.template put<number>(kept.buffers.out);
    } else if constexpr (number == m.in && !std::same_as<typename Kept::In, NotOwned>) {
      a.template put<number>(kept.buffers.in);
    } else if constexpr (number == m.out && !std::same_as<typename Kept::Out, NotOwned>) {
      a.template put<number>(kept.buffers.out);
    } else if constexpr (number == m.op && Kept::keeps_operator) {
      a.template put<number>(kept.op);
    } else {
      a.template put<number>(argument);
    }
  };
  [&]<int... numbers>(std::integer_sequence<int, numbers...>) {
    (put(std::integral_constant<int, numbers>{}, as), ...);
  }
  (std::make_integer_sequence<int, sizeof...(As)>{});
}

// -- The calls

/// What a call returns.
template <class P>
constexpr auto result_of() noexcept {
  if constexpr (P::mistake() != Mistake::none) {
    return std::type_identity<void>{};
  } else if constexpr (P::forms.way == Way::blocking) {
    using T = typename P::T;
    if constexpr (P::by_kinds.by_value) {
      return std::type_identity<T>{};
    } else if constexpr (!P::by_kinds.is_unknown) {
      return std::type_identity<void>{};
    } else if constexpr (P::forms.collective == Collective::alltoall) {
      return std::type_identity<ReceivedBlocks<T>>{};
    } else {
      return std::type_identity<std::vector<T>>{};
    }
  } else {
    using Kept = KeptPack<P>;
    constexpr bool starts = P::forms.way == Way::non_blocking;
    if constexpr (Kept::owns && starts) {
      return std::type_identity<OwningRequest<typename Kept::In, typename Kept::Out>>{};
    } else if constexpr (Kept::owns) {
      return std::type_identity<OwningPersistent<typename Kept::In, typename Kept::Out>>{};
    } else {
      return std::type_identity<std::conditional_t<starts, Request, Persistent>>{};
    }
  }
}

template <class P>
using ResultOf = typename decltype(result_of<P>())::type;

/// A blocking call whose ranks tell each other how long their blocks are: see each v-form.
template <Collective C>
struct CallOfUnknownBlocks;

template <class P, class... Ps>
inline const Route route_for =  // initialised by the compiler

    route_of<P::forms.way, P::forms.collective,
             !is_reduction(P::forms.collective) || is_commutative<typename P::Op, typename P::T>,
             Ps...>();

/// Makes a call of the form that a pack has.
template <class P, class... Ps, class C, class... As>
ResultOf<P> make(C& comm, As&&... as) {
  TeamCore& core = core_of(comm);
  PackedArguments<P> a;
  const Route& route = route_for<P, Ps...>;
  if constexpr (P::forms.way == Way::blocking) {
    put_all(a, std::make_integer_sequence<int, sizeof...(As)>{}, as...);
    if constexpr (P::by_kinds.by_value) {
      using T = typename P::T;
      T result = is_exclusive(P::forms.collective) ? T{} : *static_cast<const T*>(a.in);
      if (!is_exclusive(P::forms.collective)) a.in = &result;
      a.out = &result;
      a.count = 1;
      a.by_count = true;
      run_call(core, a, route);
      return result;
    } else if constexpr (P::by_kinds.is_unknown) {
      return CallOfUnknownBlocks<P::forms.collective>::template make<P, Ps...>(comm, as...);
    } else {
      run_call(core, a, route);
    }
  } else {
    using Kept = KeptPack<P>;
    std::shared_ptr<Kept> kept;
    if constexpr (Kept::is_needed) {
      kept = std::make_shared<Kept>(std::forward<As>(as)...);
      put_kept<P>(a, *kept, as...);
    } else {
      put_all(a, std::make_integer_sequence<int, sizeof...(As)>{}, as...);
    }
    const auto made = [&] {
      if constexpr (P::forms.way == Way::non_blocking) return start_call(core, a, route, kept);
      if constexpr (P::forms.way == Way::persistent) return prepare_call(core, a, route, kept);
    };
    if constexpr (Kept::owns) {
      using Buffers = typename Kept::Buffers;
      auto call = made();
      return {std::move(call), std::shared_ptr<Buffers>{kept, &kept->buffers}};
    } else {
      return made();
    }
  }
}

/// The blocking call of a v-form once lengths are known.
template <Collective C, class... Ps, class Comm, class... As>
void call_uneven(Comm& comm, As&&... as) {
  make<Pack<C, true, Way::blocking, As...>, Ps...>(comm, std::forward<As>(as)...);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
