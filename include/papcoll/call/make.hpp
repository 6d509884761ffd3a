// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/argument_kinds.hpp>
#include <papcoll/call/blocks.hpp>
#include <papcoll/call/call_arguments.hpp>
#include <papcoll/call/layouts.hpp>
#include <papcoll/call/persistent_call.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/route.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

// The typed arguments of a call, in any form, become CallArguments here.

namespace papcoll::inline PAPCOLL_ABI {

template <class T> struct ReceivedBlocks;

namespace detail {

// -- From arguments to CallArguments

template <int> struct NotThere {};

/// The arguments of a call, and what they point to that the call makes of them.
template <class P> struct PackedArguments : CallArguments, Pinned {
  static constexpr Match m = P::by_kinds;
  static constexpr bool has_layout =
      Noncontiguous<typename P::In> || Noncontiguous<typename P::Out>;
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
      constexpr auto make = maker_of_irregular(P::forms.collective);
      given.make = make;
      irregular = &given;
    }
  }

  template <class Op> void set_operator(const Op& op) noexcept {
    using T = typename P::T;
    reducer = papcoll::reducer<T>(op);
    types = types_of_reduction<T, Op>(reducer);
  }

  /// Takes argument `number`. Buffers and the operator are those that are kept, if they are.
  template <int number, class A> void put(A& argument) noexcept {
    if constexpr (number == m.in && m.by_value) {
      in = reinterpret_cast<const std::byte*>(std::addressof(argument));
    } else if constexpr (number == m.in) {
      std::byte* const address = put_buffer(argument, in_length);
      in = address;
      if constexpr (is_in_place) {
        out = address;
        out_length = in_length;
      }
      if constexpr (has_layout) passed.in = layout_of(argument);
      if constexpr (has_layout && is_in_place) passed.set_in_place();
    } else if constexpr (number == m.out) {
      out = put_buffer(argument, out_length);
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
      if constexpr (number == m.sent) given.sent = argument;
      if constexpr (number == m.received) given.received = argument;
    }
  }

  /// Returns the address of a buffer, and its length if it has one.
  template <class A> static std::byte* put_buffer(A& argument, std::size_t& length) noexcept {
    length = any_length;
    if constexpr (std::is_null_pointer_v<std::remove_cv_t<A>>) {
      return nullptr;
    } else if constexpr (std::is_pointer_v<A>) {
      return bytes_at(argument);
    } else {
      if constexpr (ContiguousRange<A>) length = std::ranges::size(argument);
      return bytes_at(address_of(argument));
    }
  }

  template <class T> static std::byte* bytes_at(const T* at) noexcept {
    return reinterpret_cast<std::byte*>(const_cast<T*>(at));
  }

  [[no_unique_address]] std::conditional_t<has_layout, PassedLayouts, NotThere<0>> passed;
  [[no_unique_address]] std::conditional_t<has_blocks, IrregularArguments, NotThere<1>> given;
};

template <class P, int... numbers, class... As>
void put_all(PackedArguments<P>& a, std::integer_sequence<int, numbers...>, As&... as) noexcept {
  (a.template put<numbers>(as), ...);
}

// -- What a call that outlives its function keeps

/// A buffer that is moved into such a call.
template <class P, int number>
inline constexpr bool is_owned =
    (number >= 0) && (P::forms.way != Way::blocking) && is_owner<typename P::template At<number>>;

/// The type that holds argument `number`: a copy of it, or a reference. The library's own kernels
/// do not use their operator.
template <class P, int number> constexpr auto kept_as() noexcept {
  using A = typename P::template At<number>;
  constexpr bool is_operator =
      number == P::by_kinds.op && !Vectorizable<typename P::T, typename P::Op>;
  constexpr bool is_buffer = number == P::by_kinds.in || number == P::by_kinds.out;
  constexpr bool is_kept = is_operator || (is_buffer && is_owned<P, number>);
  return std::type_identity<std::conditional_t<is_kept, std::decay_t<A>, A&&>>{};
}

template <class P, int number> struct KeptArgument {
  typename decltype(kept_as<P, number>())::type it;
};

/// All arguments of a pack's call.
template <class P, class Numbers = typename P::Numbers> struct KeptPack;
template <class P, int... numbers>
struct KeptPack<P, std::integer_sequence<int, numbers...>> : KeptArguments,
                                                             KeptArgument<P, numbers>... {
  static constexpr int in = P::by_kinds.in_place() ? -1 : P::by_kinds.in;
  static constexpr int out = P::by_kinds.in_place() ? P::by_kinds.in : P::by_kinds.out;
  template <int number>
  using Owned = std::conditional_t<is_owned<P, number>,
                                   std::remove_cvref_t<typename P::template At<number>>, NotOwned>;
  static constexpr bool owns = is_owned<P, in> || is_owned<P, out>;
  static constexpr bool is_needed =
      (!std::is_reference_v<decltype(KeptArgument<P, numbers>::it)> || ...);

  template <class... As>
  explicit KeptPack(As&&... as) : KeptArgument<P, numbers>{std::forward<As>(as)}... {}

  void put_in(PackedArguments<P>& a) noexcept {
    put_all(a, typename P::Numbers{}, at<numbers>()...);
  }

  template <int number> auto& at() noexcept { return KeptArgument<P, number>::it; }
  /// Argument `number`, which keeps all alive; null if it is the caller's.
  template <int number> static Shared<Owned<number>> part(const Shared<KeptPack>& all) noexcept {
    if constexpr (is_owned<P, number>) return {all, &all->template at<number>()};
    return {};
  }
};

// -- The calls

/// What a call returns.
template <class P> constexpr auto result_of() noexcept {
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
    if constexpr (Kept::owns) {
      using In = typename Kept::template Owned<Kept::in>;
      using Out = typename Kept::template Owned<Kept::out>;
      return std::type_identity<
          std::conditional_t<starts, OwningRequest<In, Out>, OwningPersistent<In, Out>>>{};
    } else {
      return std::type_identity<std::conditional_t<starts, Request, Persistent>>{};
    }
  }
}

template <class P> using ResultOf = typename decltype(result_of<P>())::type;

/// A blocking call whose ranks exchange the lengths of their blocks first: see each v-form.
template <Collective C> struct CallOfUnknownBlocks;

template <class P, class... Ps>
inline const Route route_for = route_of<
    P::forms.way, P::forms.collective,
    !is_reduction(P::forms.collective) || is_commutative<typename P::Op, typename P::T>, Ps...>();

/// Runs a blocking call, without a Route if its types decide the way it goes.
template <class P, class... Ps> void run_packed(TeamCore& core, PackedArguments<P>& a) {
  constexpr Collective c = P::forms.collective;
  constexpr bool is_plain = is_elementwise(c) && !PackedArguments<P>::has_layout &&
                            !PackedArguments<P>::has_blocks && P::by_kinds.algorithm < 0;
  constexpr bool is_chosen = named_by<Ps...>() == Named::nothing;
  if constexpr (is_plain && (!is_chosen || chooses<CollectiveTag<c>>)) {
    const CallOrigin origin{core, c};
    make_elementwise_call(origin, a, collective_traits[static_cast<std::size_t>(c)]);
    constexpr bool commutes = !is_reduction(c) || is_commutative<typename P::Op, typename P::T>;
    const AlgorithmSpec& spec = spec_of_policies<c, false, commutes, Ps...>();
    if constexpr (is_chosen) {
      Chosen<c>::run(origin, spec, a);
    } else {
      constexpr auto run = runner_of<Ps...>();
      run(origin, spec, a);
    }
  } else {
    run_call(core, a, route_for<P, Ps...>);
  }
}

/// Makes a call of the form that a pack has.
template <class P, class... Ps, class C, class... As> ResultOf<P> make(C& comm, As&&... as) {
  TeamCore& core = core_of(comm);
  if constexpr (P::by_kinds.algorithm >= 0) offer_transports<C>(core);
  PackedArguments<P> a;
  if constexpr (P::forms.way == Way::blocking) {
    put_all(a, typename P::Numbers{}, as...);
    if constexpr (P::by_kinds.by_value) {
      using T = typename P::T;
      T result = is_exclusive(P::forms.collective) ? T{} : *reinterpret_cast<const T*>(a.in);
      a.out = reinterpret_cast<std::byte*>(&result);
      if (!is_exclusive(P::forms.collective)) a.in = a.out;
      a.count = 1;
      a.by_count = true;
      run_packed<P, Ps...>(core, a);
      return result;
    } else if constexpr (P::by_kinds.is_unknown) {
      return CallOfUnknownBlocks<P::forms.collective>::template make<P, Ps...>(comm, as...);
    } else {
      run_packed<P, Ps...>(core, a);
    }
  } else {
    using Kept = KeptPack<P>;
    const Route& route = route_for<P, Ps...>;
    Shared<Kept> kept;
    if constexpr (Kept::is_needed) {
      kept = detail::make_shared<Kept>(std::forward<As>(as)...);
      kept->put_in(a);
    } else {
      put_all(a, typename P::Numbers{}, as...);
    }
    const auto made = [&] {
      if constexpr (P::forms.way == Way::non_blocking) return start_call(core, a, route, kept);
      if constexpr (P::forms.way == Way::persistent) return prepare_call(core, a, route, kept);
    };
    if constexpr (Kept::owns) {
      return {made(), Kept::template part<Kept::in>(kept), Kept::template part<Kept::out>(kept)};
    } else {
      return made();
    }
  }
}

/// The blocking call of a v-form once lengths are known.
template <Collective C, class... Ps, class Comm, class... As>
void call_irregular(Comm& comm, As&&... as) {
  make<Pack<C, true, Way::blocking, As...>, Ps...>(comm, std::forward<As>(as)...);
}

// -- The three functions of a collective. For arguments that none of their forms takes they are
// deleted: compilers name the Mistake, whose enumerators are sentences for that reason, and show
// the line that declares the functions, whose comment says how to write a call. As in g++ 12:
//
//     error: use of deleted function 'NoResult papcoll::bcast(C&&, As&& ...) [with …; why =
//       papcoll::detail::Mistake::a_root_goes_right_after_the_buffers_as_in_papcoll_root_0]'
//        15 |   papcoll::bcast(comm, data);
//     papcoll/bcast.hpp:28:20: note: declared here
//        28 | PAPCOLL_COLLECTIVE(bcast)  // papcoll: write bcast(comm, data, papcoll::root{0} …

/// What a wrong call would return.
struct NoResult {
  /// Converts to anything, so that its use is no further error.
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): only for the compiler's messages
  /// Nor where it is used as a Request or a Persistent.
  NoResult wait() const;
};

/// The reason for a policy that is a template and was given without its arguments: a sentence, too.
template <template <class...> class Policy>
struct this_policy_is_made_of_others_and_they_are_missing {};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI

// clang-format off
#define PAPCOLL_DELETED_FOR_POLICY(name, ...)                                                     \
  template <__VA_ARGS__ template <class...> class Policy, class... Rest, class... As,             \
            class why = detail::this_policy_is_made_of_others_and_they_are_missing<Policy>>       \
  detail::NoResult name(As&&...) = delete;

#define PAPCOLL_FUNCTION(name, collective, v_form, way)                                           \
  template <class... Ps, Team C, class... As>                                                     \
  requires(detail::mistake_of<Collective::collective, v_form, detail::Way::way, As...> ==         \
           detail::Mistake::none)                                                                 \
  [[nodiscard]] detail::ResultOf<                                                                 \
      detail::Pack<Collective::collective, v_form, detail::Way::way, As...>>                      \
  name(C&& comm, As&&... arguments) {                                                             \
    using Pack = detail::Pack<Collective::collective, v_form, detail::Way::way, As...>;           \
    return detail::make<Pack, Ps...>(comm, std::forward<As>(arguments)...);                       \
  }                                                                                               \
  template <class... Ps, class C, class... As,                                                    \
            detail::Mistake why = detail::mistake_of_call<                                        \
                C, Collective::collective, v_form, detail::Way::way, As...>>                      \
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

#define PAPCOLL_FUNCTIONS(name, collective, v_form)             \
  PAPCOLL_FUNCTION(name, collective, v_form, blocking)          \
  PAPCOLL_FUNCTION(i##name, collective, v_form, non_blocking)   \
  PAPCOLL_FUNCTION(name##_init, collective, v_form, persistent)

/// Declares a collective's blocking, non-blocking and persistent function.
#define PAPCOLL_COLLECTIVE(name) PAPCOLL_FUNCTIONS(name, name, false)
/// Declares the functions of a v-form of `collective`.
#define PAPCOLL_IRREGULAR_COLLECTIVE(name, collective) PAPCOLL_FUNCTIONS(name, collective, true)
// clang-format on
