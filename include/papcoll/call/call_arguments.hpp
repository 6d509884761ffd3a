#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/persistent.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/runtime/call_blocks.hpp>

#include <cstddef>
#include <cstdint>

// The type-erased interface: what every call, typed or not, says of its arguments, and the
// functions that check it, make a Call of it, and run, start or keep that.

namespace papcoll::inline PAPCOLL_ABI::detail {

struct CallArguments;

/// Length of a buffer that is given by its address alone.
inline constexpr std::size_t any_length = ~std::size_t{0};

/// Where a call's elements lie, if they need not be contiguous. By pointers, so that a file that
/// passes no such buffer does not compile what they point to.
struct LayoutArguments {
  /// Refuses layouts that are no right ones, says lengths and addresses in the arguments, and sets
  /// is_counted.
  void (*count)(const Caller&, LayoutArguments&, CallArguments&) = nullptr;
  /// Tells the call where its elements lie, and refuses null pointers and buffers that overlap.
  /// Counts are in elements; 0: nobody looks at that buffer. `in_place`: both are one buffer, of
  /// the larger count.
  void (*lay)(const Caller&, LayoutArguments&, Call&, std::size_t in_count, std::size_t out_count,
              bool in_place) = nullptr;
  bool is_counted = false;  ///< the arguments say lengths and addresses
};

/// How many elements each rank has, where that differs.
struct UnevenArguments {
  /// Checks the arguments and makes their call, which borrows `numbers`.
  void (*make)(const Caller&, const CallArguments&, Call&, CallBlocks& numbers) = nullptr;
  const blocks* sent = nullptr;      ///< of the input,
  const blocks* received = nullptr;  ///< of the output
};

/// The arguments of a call, whichever it is: borrowed. In elements. They are the call itself once
/// they are checked; until then `count`, `in` and `out` are what was passed.
struct CallArguments : Call {
  explicit CallArguments(Collective c) noexcept { collective = c; }

  bool is_count_signed = false;  ///< `count` may be negative
  bool one_buffer = false;       ///< in place: `in` is `out`
  /// `count` says how many elements each rank contributes or gets, else the lengths of the buffers.
  bool by_count = false;
  bool in_place_if_same = false;  ///< one address for both means in place
  std::size_t in_length = 0;
  std::size_t out_length = 0;
  LayoutArguments* layouts = nullptr;       ///< null: elements are contiguous
  const UnevenArguments* uneven = nullptr;  ///< null: all ranks have as many elements
  const Algorithm* algorithm = nullptr;     ///< null: none was given
};

/// What a request or a prepared call keeps of arguments.
struct KeptArguments {
  CallBlocks blocks;
  std::byte token{};
};

/// Elements of a buffer that holds that, in a call of blocks of n elements.
PAPCOLL_DECL std::size_t length_of(const Caller& caller, Holds what, std::size_t n);

[[noreturn]] PAPCOLL_DECL void refuse_lengths(const Caller& caller, std::size_t found,
                                              std::size_t needed);

/// Checks the arguments of a call of contiguous vectors of one block each, and makes them one.
/// Inlined: where the collective is known, little of it is left.
[[gnu::always_inline]] inline void make_elementwise_call(const Caller& caller, CallArguments& a,
                                                         const CollectiveTraits& traits) {
  bool has_output = true;
  if ((traits.flags & CollectiveTraits::rooted) != 0) {
    check_root(caller, root{a.root});
    has_output = traits.others.out != Holds::nothing || caller.rank() == a.root;
  }
  if (a.is_count_signed) checked_count(caller, static_cast<std::int64_t>(a.count));
  const std::size_t n = a.by_count ? a.count : a.in_length;
  caller.require_few_bytes(n, a.reducer.size);
  a.count = n;
  if (has_output && !a.by_count && !a.one_buffer && a.out_length != n) [[unlikely]] {
    refuse_lengths(caller, a.out_length, n);
  }
  const bool is_fine = n == 0 || (a.in != nullptr && a.in == a.out);
  if (!is_fine) check_buffers(caller, a, n, has_output ? n : 0);
}

/// Checks the arguments of a call whose ranks have as many elements, and makes them one.
PAPCOLL_DECL void make_even_call(const Caller& caller, CallArguments& a);
/// The same of ranks that differ, UnevenArguments::make; `numbers` outlive the call.
PAPCOLL_DECL void make_uneven_call(const Caller& caller, const CallArguments& a, Call& call,
                                   CallBlocks& numbers);

/// Checks the arguments and runs the call.
PAPCOLL_DECL void run_call(TeamCore& core, CallArguments& a, const Route& route);
/// Checks the arguments and starts the call. `kept` keeps alive what they borrow that is the
/// library's; null: nothing.
PAPCOLL_DECL Request start_call(TeamCore& core, CallArguments& a, const Route& route,
                                detail::Shared<KeptArguments> kept);
/// Checks the arguments and keeps the call.
PAPCOLL_DECL Persistent prepare_call(TeamCore& core, CallArguments& a, const Route& route,
                                     detail::Shared<KeptArguments> kept);

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/call_arguments.ipp>
#endif
