// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/persistent_call.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/runtime/call_records.hpp>

#include <cstddef>
#include <cstdint>

// The type-erased interface: the arguments of every call, typed or not, and the functions that
// check them, make a Call of them, and run, start or keep that.

namespace papcoll::inline PAPCOLL_ABI::detail {

struct CallArguments;

/// Length of a buffer that is given by its address alone.
inline constexpr std::size_t any_length = ~std::size_t{0};

/// Where a call's elements lie, if they need not be contiguous. By pointers, so that a file that
/// passes no such buffer does not compile what they point to.
struct LayoutArguments {
  /// Refuses invalid layouts, stores lengths and addresses in the arguments, and sets has_lengths.
  void (*check_lengths)(const CallOrigin&, LayoutArguments&, CallArguments&) = nullptr;
  /// Sets the call's views, and refuses null pointers and buffers that overlap. Counts are in
  /// elements; 0: the buffer is not used. `in_place`: both are one buffer, of the larger count.
  void (*make_views)(const CallOrigin&, LayoutArguments&, Call&, std::size_t in_count,
                     std::size_t out_count, bool in_place) = nullptr;
  bool has_lengths = false;  ///< the arguments say lengths and addresses
};

/// Checks the arguments of a call whose ranks have different numbers of elements, and makes their
/// call, which borrows `numbers`.
using MakeIrregular = void(const CallOrigin&, const CallArguments&, Call&, CallBlocks& numbers);

/// How many elements each rank has, where that differs.
struct IrregularArguments {
  MakeIrregular* make = nullptr;
  blocks sent{counts{}};      ///< of the input
  blocks received{counts{}};  ///< of the output
};

/// The arguments of a call, whichever it is: borrowed. In elements. They are the call itself once
/// they are checked; until then `count`, `in` and `out` are what was passed.
struct CallArguments : Call {
  explicit CallArguments(Collective c) noexcept { collective = c; }

  bool is_count_signed = false;  ///< `count` may be negative
  bool one_buffer = false;       ///< in place: `in` is `out`
  /// `count` is the number of elements that each rank contributes or gets; false: the lengths of
  /// the buffers decide.
  bool by_count = false;
  bool in_place_if_same = false;  ///< one address for both means in place
  std::size_t in_length = 0;
  std::size_t out_length = 0;
  LayoutArguments* layouts = nullptr;             ///< null: elements are contiguous
  const IrregularArguments* irregular = nullptr;  ///< null: all ranks have as many elements
  const Algorithm* algorithm = nullptr;           ///< null: none was given
};

/// What a request or a prepared call keeps of arguments.
struct KeptArguments {
  CallBlocks blocks;
  std::byte token{};
};

/// Returns the number of elements of a buffer that holds `what`, in a call of blocks of n elements.
PAPCOLL_DECL std::size_t length_of(const CallOrigin& origin, Holds what, std::size_t n);

[[noreturn]] PAPCOLL_DECL void refuse_lengths(const CallOrigin& origin, std::size_t found,
                                              std::size_t needed);

/// Checks the arguments of a call of contiguous vectors of one block each, and makes them one.
/// Inlined: where the collective is known, little of it is left.
[[gnu::always_inline]] inline void make_elementwise_call(const CallOrigin& origin, CallArguments& a,
                                                         const CollectiveTraits& traits) {
  bool has_output = true;
  if ((traits.flags & CollectiveTraits::rooted) != 0) {
    check_root(origin, root{a.root});
    has_output = traits.others.out != Holds::nothing || origin.rank() == a.root;
  }
  if (a.is_count_signed) checked_count(origin, static_cast<std::int64_t>(a.count));
  const std::size_t n = a.by_count ? a.count : a.in_length;
  origin.require_few_bytes(n, a.reducer.size);
  a.count = n;
  if (has_output && !a.by_count && !a.one_buffer && a.out_length != n) [[unlikely]] {
    refuse_lengths(origin, a.out_length, n);
  }
  const bool is_fine = n == 0 || (a.in != nullptr && a.in == a.out);
  if (!is_fine) check_buffers(origin, a, n, has_output ? n : 0);
}

/// Checks the arguments of a call whose ranks have as many elements, and makes them one.
PAPCOLL_DECL void make_even_call(const CallOrigin& origin, CallArguments& a);
/// Make the calls whose blocks differ in length. In a reduce_scatter the counts are the lengths of
/// `received`.
PAPCOLL_DECL MakeIrregular make_alltoallv_call, make_allgatherv_call, make_rooted_call,
    make_irregular_reduce_scatter_call;

/// IrregularArguments::make of a collective; each by itself, so that a v-form compiles its own
/// alone.
constexpr MakeIrregular* maker_of_irregular(Collective c) noexcept {
  switch (c) {
    case Collective::alltoall: return make_alltoallv_call;
    case Collective::allgather: return make_allgatherv_call;
    case Collective::gather:
    case Collective::scatter: return make_rooted_call;
    default: return make_irregular_reduce_scatter_call;
  }
}

/// Checks the arguments and runs the call.
PAPCOLL_DECL void run_call(TeamCore& core, CallArguments& a, const Route& route);
/// Checks the arguments and starts the call. `kept` keeps alive what they borrow that is the
/// library's; null: nothing.
PAPCOLL_DECL Request start_call(TeamCore& core, CallArguments& a, const Route& route,
                                Shared<KeptArguments> kept);
/// Checks the arguments and keeps the call.
PAPCOLL_DECL Persistent prepare_call(TeamCore& core, CallArguments& a, const Route& route,
                                     Shared<KeptArguments> kept);

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/collective.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/team.hpp>

#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

[[noreturn, gnu::cold]] inline void refuse_division(const CallOrigin& origin) {
  const auto what = [&] {
    switch (origin.collective) {
      case Collective::allgather:
        return "the data do not divide into size() equal parts, one of each rank";
      case Collective::alltoall:
        return "the input does not divide into size() equal blocks, one for each rank";
      case Collective::reduce_scatter:
        return "the input does not divide into equal blocks: give it a multiple of size() "
               "elements, or papcoll::counts";
      default: return "the root's data do not divide into size() equal parts";
    }
  };
  origin.refuse(what());
}

[[gnu::cold]] PAPCOLL_DECL void refuse_lengths(const CallOrigin& origin, std::size_t found,
                                               std::size_t needed) {
  const auto what = [&] {
    switch (origin.collective) {
      case Collective::reduce:
        return "input and output of the root differ in length: the result has as many elements as "
               "each contribution";
      case Collective::allgather:
        return "the output must have as many elements as all ranks contribute together: size() "
               "times the length of the input";
      case Collective::gather:
        return "the root's output must have as many elements as all ranks contribute together: "
               "size() times the length of the input";
      case Collective::scatter:
        return "the root's input must have size() times as many elements as the output of each "
               "rank";
      case Collective::alltoall:
        return "input and output differ in length: an alltoall gives and takes a block for each "
               "rank, all of the same length";
      case Collective::reduce_scatter:
        return "the output must have as many elements as this rank's block";
      case Collective::scan:
        return "input and output differ in length: a scan needs the same number of elements";
      case Collective::exscan:
        return "input and output differ in length: an exscan needs the same number of elements";
      default:
        return "input and output differ in length: an allreduce needs the same number of elements";
    }
  };
  origin.refuse_length(found, needed, what());
}

/// Elements of a buffer, if a block has `block` and the whole vector `all`.
inline std::size_t length_of(Holds what, std::size_t block, std::size_t all) noexcept {
  return what == Holds::nothing ? 0 : what == Holds::own_block ? block : all;
}

PAPCOLL_DECL std::size_t length_of(const CallOrigin& origin, Holds what, std::size_t n) {
  const bool is_one = traits_of(origin.collective).vector == VectorOf::one_block;
  return length_of(what, n, is_one ? n : n * origin.ranks());
}

/// Returns the elements of a block, where `length` elements are a block for each rank.
inline std::size_t equal_part(const CallOrigin& origin, std::size_t length) {
  if (length % origin.ranks() != 0) refuse_division(origin);
  return length / origin.ranks();
}

/// Elements of each block, by the lengths of the buffers that were passed. `is_apart`: one buffer
/// has this rank's block alone, which is the output if `by_output`.
inline std::size_t block_of_lengths(const CallOrigin& origin, const CallArguments& a, bool is_apart,
                                    bool by_output) {
  if (!is_apart) return equal_part(origin, a.in_length);
  return by_output ? a.out_length : a.in_length;
}

/// Elements of a rank's buffers; 0: nobody looks at that one.
struct EvenLengths {
  std::size_t in;
  std::size_t out;
};

/// Refuses two buffers whose lengths do not fit each other. `by_output`: the output says how long
/// the blocks are, and the input must fit.
inline void check_even_lengths(const CallOrigin& origin, const CallArguments& a,
                               const CollectiveTraits::Buffers& holds, const EvenLengths& needs,
                               bool by_output) {
  const std::size_t found = by_output ? a.in_length : a.out_length;
  const std::size_t needed = by_output ? needs.in : needs.out;
  const bool has_other = (by_output ? holds.in : holds.out) != Holds::nothing;
  // Passed twice, the input of a reduce_scatter has its output at its beginning.
  const bool is_longer =
      a.collective == Collective::reduce_scatter && a.in == a.out && found > needed;
  if (has_other && found != needed && !is_longer) refuse_lengths(origin, found, needed);
}

/// As check_buffers(), which is called only where something may be wrong. `has_own_block`: one
/// buffer has a block of each rank, and the other this rank's.
inline void check_even_buffers(const CallOrigin& origin, const Call& call, const EvenLengths& n,
                               bool has_own_block) {
  if constexpr (assertion_level == 0) return;
  const std::size_t size = call.reducer.size;
  const bool is_null = (call.in == nullptr && n.in != 0) || (call.out == nullptr && n.out != 0);
  const bool overlap = n.in != 0 && n.out != 0 && call.in < call.out + n.out * size &&
                       call.out < call.in + n.in * size;
  if (is_null || (overlap && (call.in != call.out || has_own_block))) [[unlikely]] {
    check_buffers(origin, call, n.in, n.out);
  }
}

// Every call comes through here whose blocks are alike, but for the elementwise ones that
// run_packed() makes: few functions that are not inlined, few looks at tables.
PAPCOLL_DECL void make_even_call(const CallOrigin& origin, CallArguments& a) {
  if (a.layouts != nullptr && !a.layouts->has_lengths)
    a.layouts->check_lengths(origin, *a.layouts, a);
  Call& call = a;
  const Collective c = a.collective;
  const CollectiveTraits& traits = traits_of(c);
  const bool has_one_block = traits.vector == VectorOf::one_block;
  if (has_one_block && a.layouts == nullptr) [[likely]]
    return make_elementwise_call(origin, a, traits);
  bool is_root = true;
  if (traits.is(CollectiveTraits::rooted)) {
    check_root(origin, root{a.root});
    is_root = origin.rank() == a.root;
  }
  if (a.is_count_signed) checked_count(origin, static_cast<std::int64_t>(a.count));
  const std::size_t size = a.reducer.size;
  const bool in_place = a.one_buffer || (a.in_place_if_same && a.in == a.out);
  const CollectiveTraits::Buffers holds = is_root ? traits.root : traits.others;
  const bool has_own_block =
      traits.vector == VectorOf::block_per_rank && traits.combines == Combines::no_ranks;
  const bool own_block_in_place = has_own_block && in_place && is_root;
  const bool by_output = has_own_block && holds.out == Holds::own_block;
  // Schedules count the blocks of all pairs of ranks.
  const bool has_pairs = traits.vector == VectorOf::block_per_pair;
  std::size_t n = a.by_count ? a.count : a.in_length;
  if (!has_one_block && !a.by_count) {
    if (has_pairs) origin.require_few_bytes(n, size);
    n = block_of_lengths(origin, a, has_own_block && !own_block_in_place, by_output);
  }
  origin.require_few_bytes(n, size);
  call.count = n;
  const std::size_t all = has_one_block ? n : n * origin.ranks();
  EvenLengths lengths{length_of(holds.in, n, all), length_of(holds.out, n, all)};
  if (has_pairs) origin.require_few_bytes(all, size);
  if (!a.by_count && !in_place) check_even_lengths(origin, a, holds, lengths, by_output);
  if (c == Collective::reduce_scatter && !a.by_count && a.in == a.out) lengths.out = a.out_length;
  const bool has_one_buffer = traits.is(CollectiveTraits::one_buffer);
  if (has_one_buffer) lengths = {n, n};
  if (own_block_in_place) (holds.in == Holds::own_block ? lengths.in : lengths.out) = 0;
  if (has_own_block && holds.in == Holds::nothing) call.in = nullptr;
  if (has_own_block && holds.out == Holds::nothing) call.out = nullptr;
  if (a.layouts != nullptr) [[unlikely]] {
    a.layouts->make_views(origin, *a.layouts, call, lengths.in, lengths.out,
                          in_place && (is_root || has_one_buffer));
  } else {
    check_even_buffers(origin, call, lengths, has_own_block);
  }
  if (!own_block_in_place) return;
  call.input_in_output = true;
  const bool is_contiguous = call.in_view == nullptr;
  if (holds.in == Holds::own_block && is_contiguous && call.in != nullptr) {
    call.in += static_cast<std::size_t>(origin.rank()) * call.bytes();
  }
}

/// Returns the blocks of a blocking call, which live as long as the team.
inline CallBlocks& blocks_of(const CallOrigin& origin) {
  origin.core.require_no_call();
  return origin.core.blocks;
}

inline const Algorithm& algorithm_of(const CallArguments& a) {
  static const Algorithm none;
  return a.algorithm != nullptr ? *a.algorithm : none;
}

/// Returns what the policies name, or else the algorithm among the arguments.
inline const AlgorithmSpec& spec_of(const CallOrigin& origin, const CallArguments& a,
                                    const Route& route) {
  if (route.policies == nullptr) return algorithm_of(a).spec();
  origin.require(a.algorithm == nullptr || a.algorithm->name().empty(),
                 "policies and the name of an algorithm were given: give one of them");
  return route.policies();
}

inline const CallActions& actions_of(const Route& route, const AlgorithmSpec& spec) {
  return route.chooses && spec.is_automatic() ? route.chosen : route.named;
}

inline void run_made_call(const CallOrigin& origin, const CallArguments& a, const Route& route,
                          Call& call) {
  const AlgorithmSpec& spec = spec_of(origin, a, route);
  actions_of(route, spec).run(origin, spec, call);
}

PAPCOLL_DECL void run_call(TeamCore& core, CallArguments& a, const Route& route) {
  const CallOrigin origin{core, a.collective, false, a.irregular != nullptr};
  if (a.irregular != nullptr) {
    Call call;
    a.irregular->make(origin, a, call, blocks_of(origin));
    return run_made_call(origin, a, route, call);
  }
  if (!has_data(a.collective)) {
    std::byte token{};
    Call call = barrier_call(&token);
    return run_made_call(origin, a, route, call);
  }
  make_even_call(origin, a);
  run_made_call(origin, a, route, a);
}

/// Makes a call that outlives the function of its caller. Returns what keeps alive what the call
/// borrows.
inline Shared<const void> make_kept_call(const CallOrigin& origin, CallArguments& a, Call& call,
                                         Shared<KeptArguments> kept) {
  if (a.irregular == nullptr && has_data(a.collective)) {
    make_even_call(origin, a);
    call = a;
  } else {
    if (kept == nullptr) kept = make_shared<KeptArguments>();
    if (a.irregular != nullptr) {
      a.irregular->make(origin, a, call, kept->blocks);
    } else {
      call = barrier_call(&kept->token);
    }
  }
  return call.is_noncontiguous ? with_views(call, std::move(kept)) : std::move(kept);
}

PAPCOLL_DECL Request start_call(TeamCore& core, CallArguments& a, const Route& route,
                                Shared<KeptArguments> kept) {
  const CallOrigin origin{core, a.collective, true, a.irregular != nullptr};
  Call call;
  Shared<const void> owned = make_kept_call(origin, a, call, std::move(kept));
  const AlgorithmSpec& spec = spec_of(origin, a, route);
  return actions_of(route, spec).start(origin, spec, call, std::move(owned));
}

PAPCOLL_DECL Persistent prepare_call(TeamCore& core, CallArguments& a, const Route& route,
                                     Shared<KeptArguments> kept) {
  const CallOrigin origin{core, a.collective, false, a.irregular != nullptr};
  Call call;
  Shared<const void> owned = make_kept_call(origin, a, call, std::move(kept));
  const AlgorithmSpec& spec = spec_of(origin, a, route);
  return prepare_call(origin, spec, call, actions_of(route, spec), algorithm_of(a),
                      std::move(owned));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
