// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/call_arguments.hpp>
#include <papcoll/runtime/call_records.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Notifies the other ranks that this one has no room for so many elements; they are in the call
/// that moves them, or will be.
PAPCOLL_DECL void report_no_room(const CallOrigin& origin, std::size_t elements,
                                 const std::exception& problem);

/// Memory for what comes, once this rank knows how much that is.
template <class T> std::vector<T> room_for(const CallOrigin& origin, std::size_t elements) {
  try {
    return std::vector<T>(elements);
  } catch (const std::exception& problem) {
    report_no_room(origin, elements, problem);
    throw;
  }
}

/// Checks the blocks of an input that is called with unknown_counts: their lengths, by rank.
PAPCOLL_DECL std::vector<std::size_t> checked_lengths(const CallOrigin& origin, const blocks& each,
                                                      std::size_t length, std::size_t element_size,
                                                      const void* data);

PAPCOLL_DECL std::size_t sum_of(const std::vector<std::size_t>& lengths) noexcept;

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/overlap.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A buffer that has a block for each rank, as the caller passed it.
struct BlockedBuffer {
  const char* name;        ///< for messages: "input"
  blocks given;            ///< lengths and displacements
  std::size_t length = 0;  ///< elements, or any_length
  bool is_written = false;
};

/// The numbers of one buffer's blocks, in CallBlocks::numbers.
struct BlockNumbersOfBuffer {
  std::size_t* counts;
  std::size_t* displacements;
  std::size_t total = 0;   ///< elements of all blocks
  bool one_by_one = true;  ///< the blocks stand one after the other from the beginning
};

/// Makes room for the numbers of so many buffers: 2·size() each, counts of all and then
/// displacements of all.
inline std::size_t* room_for_blocks(const CallOrigin& origin, CallBlocks& blocks,
                                    std::size_t buffers) {
  const std::size_t needed = 2 * buffers * origin.ranks();
  if (blocks.numbers.size() < needed) blocks.numbers.resize(needed);
  return blocks.numbers.data();
}

/// Refuses numbers that are too few, too many, or negative.
[[noreturn, gnu::cold]] inline void refuse_numbers(const CallOrigin& origin,
                                                   const BlockedBuffer& buffer, const counts& from,
                                                   const char* what) {
  if (from.size() != origin.ranks()) {
    origin.refuse(joined({"the ", buffer.name, " has ", from.size(), " ", what, "s for ",
                          origin.ranks(), " ranks: pass one for each"}));
  }
  std::size_t r = 0;
  while (!from.is_negative(r)) ++r;
  origin.refuse(joined({"the ", what, " of rank ", r, "'s block in the ", buffer.name, " is ",
                        static_cast<std::int64_t>(from[r]), ": they start at 0"}));
}

/// Copies numbers that must not be negative.
inline void copy_numbers(const CallOrigin& origin, const BlockedBuffer& buffer, const counts& from,
                         const char* what, std::size_t* to) {
  if (from.size() == origin.ranks() && from.copy_to(to)) [[likely]]
    return;
  refuse_numbers(origin, buffer, from, what);
}

/// The blocks as the list that they are.
inline BufferLayout list_of(const char* name, const BlockNumbersOfBuffer& n, std::size_t ranks) {
  const std::span<const std::size_t> lengths{n.counts, ranks};
  const std::span<const std::size_t> displacements{n.displacements, ranks};
  return {.name = name,
          .is_list = true,
          .lengths = counts{lengths},
          .displacements = counts{displacements}};
}

/// Copies and checks the numbers of a buffer. Refuses counts that are negative or too few, whose
/// sum is too much, that do not fit the buffer, and blocks of an output that overlap.
inline BlockNumbersOfBuffer check_blocks(const CallOrigin& origin, const BlockedBuffer& buffer,
                                         std::size_t element_size, std::size_t* counts,
                                         std::size_t* displacements) {
  BlockNumbersOfBuffer n{counts, displacements};
  const std::size_t ranks = origin.ranks();
  copy_numbers(origin, buffer, buffer.given.sizes, "count", counts);
  const std::size_t most = PTRDIFF_MAX / element_size;
  bool too_much = false;
  for (std::size_t r = 0; r < ranks; ++r) {
    displacements[r] = n.total;
    too_much = too_much || __builtin_add_overflow(n.total, counts[r], &n.total) || n.total > most;
  }
  if (too_much) origin.refuse_sum({counts, ranks}, element_size);
  if (!buffer.given.has_displacements) {
    const bool any = buffer.length == any_length;
    origin.require_length(any ? n.total : buffer.length, n.total,
                          buffer.is_written
                              ? "the output must have as many elements as its counts add up to"
                              : "the input must have as many elements as its counts add up to");
    return n;
  }
  std::size_t next = 0;
  bool ascending = true;
  copy_numbers(origin, buffer, buffer.given.displacements, "displacement", displacements);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (counts[r] == 0) {
      displacements[r] = 0;  // whatever was passed: nobody looks there
      continue;
    }
    std::size_t end = 0;
    if (__builtin_add_overflow(displacements[r], counts[r], &end) || end > most ||
        end > buffer.length) {
      origin.refuse(joined({"the block of rank ", r, " in the ", buffer.name, ", ", counts[r],
                            " elements from ", displacements[r],
                            " on, ends past the buffer: pass a longer buffer, or other "
                            "displacements"}));
    }
    n.one_by_one = n.one_by_one && displacements[r] == next;
    ascending = ascending && displacements[r] >= next;
    next = end;
  }
  if (!ascending && buffer.is_written) {
    check_list_disjoint(origin, list_of(buffer.name, n, ranks), element_size);
  }
  return n;
}

/// Tells static schedules where blocks are that do not stand one after the other.
inline const BufferView* view_of_blocks(const CallOrigin& origin,
                                        const BlockNumbersOfBuffer& numbers,
                                        std::size_t element_size, BufferView& view) {
  if (numbers.one_by_one || numbers.total == 0) return nullptr;
  const BufferLayout list = list_of("", numbers, origin.ranks());
  look_at_blocks(origin, [&] { view = view_of_list(list, element_size, 0, view.take_runs()); });
  return &view;
}

/// Refuses a block for the rank itself that is not as long in the output as in the input.
inline void check_own_block(const CallOrigin& origin, const BlockNumbersOfBuffer& in,
                            const BlockNumbersOfBuffer& out) {
  const auto me = static_cast<std::size_t>(origin.rank());
  if (in.counts[me] == out.counts[me]) return;
  origin.refuse(joined({"this rank sends ", in.counts[me], " elements to itself and expects ",
                        out.counts[me], " of itself: both counts must be the same"}));
}

/// Refuses one buffer whose blocks of the input are others than those of the output.
inline void check_blocks_in_place(const CallOrigin& origin, const BlockNumbersOfBuffer& in,
                                  const BlockNumbersOfBuffer& out) {
  for (std::size_t r = 0; r < origin.ranks(); ++r) {
    if (in.counts[r] == out.counts[r] &&
        (in.counts[r] == 0 || in.displacements[r] == out.displacements[r])) {
      continue;
    }
    origin.refuse(joined({"input and output are one buffer, where the blocks of rank ", r,
                          " are not the same: pass the same counts and displacements for both (in "
                          "place), or two buffers"}));
  }
}

PAPCOLL_DECL void report_no_room(const CallOrigin& origin, std::size_t elements,
                                 const std::exception& problem) {
  origin.core.invalid.notify_peers(
      origin.non_blocking,
      joined({origin.label().name(), " on rank ", origin.rank(), " of ", origin.size(),
              ": there is no memory for the ", elements, " elements that come: ", problem.what()}));
}

/// Begins a call whose blocks differ: `n` elements of its vector, or 1.
inline void begin_irregular_call(const CallOrigin& origin, const CallArguments& a, Call& call,
                                 std::size_t n) {
  call.collective = origin.collective;
  call.in = a.in;
  call.out = a.out;
  call.count = n;
  call.reducer = a.reducer;
  call.types = a.types;
}

inline bool is_in_place(const CallArguments& a) noexcept {
  return a.one_buffer || (a.in_place_if_same && a.in == a.out);
}

PAPCOLL_DECL void make_alltoallv_call(const CallOrigin& origin, const CallArguments& a, Call& call,
                                      CallBlocks& numbers) {
  const std::size_t ranks = origin.ranks();
  const std::size_t size = a.reducer.size;
  std::size_t* const counts = room_for_blocks(origin, numbers, 2);
  std::size_t* const displacements = counts + 2 * ranks;
  begin_irregular_call(origin, a, call, 1);
  const auto sent =
      check_blocks(origin, {"input", a.irregular->sent, a.in_length}, size, counts, displacements);
  const auto received = check_blocks(origin, {"output", a.irregular->received, a.out_length, true},
                                     size, counts + ranks, displacements + ranks);
  check_pointers(origin, a.in, sent.total, a.out, received.total);
  call.counts = counts;
  call.displacements = displacements;
  call.local_counts = true;
  call.out_view = view_of_blocks(origin, received, size, numbers.out);
  call.in_view = view_of_blocks(origin, sent, size, numbers.in);
  if (a.in == a.out) {
    check_blocks_in_place(origin, sent, received);
    call.input_in_output = true;
  } else {
    check_own_block(origin, sent, received);
    check_disjoint(origin, call, sent.total, received.total);
  }
}

PAPCOLL_DECL void make_allgatherv_call(const CallOrigin& origin, const CallArguments& a, Call& call,
                                       CallBlocks& numbers) {
  const bool in_place = is_in_place(a);
  const std::size_t ranks = origin.ranks();
  std::size_t* const sizes = room_for_blocks(origin, numbers, 1);
  std::size_t* const displacements = sizes + ranks;
  const auto me = static_cast<std::size_t>(origin.rank());
  const auto gathered = check_blocks(origin, {"output", a.irregular->received, a.out_length, true},
                                     a.reducer.size, sizes, displacements);
  const std::size_t own = sizes[me];
  const bool knows_length = !in_place && a.in_length != any_length;
  origin.require_length(
      knows_length ? a.in_length : own, own,
      "the input must have as many elements as papcoll::counts says of this rank");
  begin_irregular_call(origin, a, call, gathered.total);
  check_pointers(origin, a.in, own, a.out, gathered.total);
  call.counts = sizes;
  call.displacements = displacements;
  call.split = hash_of_counts({sizes, ranks});
  call.out_view = view_of_blocks(origin, gathered, a.reducer.size, numbers.out);
  if (!in_place) return check_disjoint(origin, call, own, gathered.total);
  call.in = call.out + displacements[me] * a.reducer.size;
  call.input_in_output = true;
  call.in_view = call.out_view;
}

/// A gatherv or a scatterv: the root has the blocks of all, each rank its own.
PAPCOLL_DECL void make_rooted_call(const CallOrigin& origin, const CallArguments& a, Call& call,
                                   CallBlocks& numbers) {
  check_root(origin, root{a.root});
  const bool gathers = a.collective == Collective::gather;
  blocks each = gathers ? a.irregular->received : a.irregular->sent;
  const std::size_t length_of_all = gathers ? a.out_length : a.in_length;
  const std::size_t length_of_own = gathers ? a.in_length : a.out_length;
  const bool in_place = is_in_place(a);
  const std::size_t ranks = origin.ranks();
  std::size_t* const sizes = room_for_blocks(origin, numbers, 1);
  std::size_t* const displacements = sizes + ranks;
  const auto me = static_cast<std::size_t>(origin.rank());
  const bool is_root = origin.rank() == a.root;
  BlockNumbersOfBuffer all{sizes, displacements};
  begin_irregular_call(origin, a, call, 1);
  call.root = a.root;
  call.counts = sizes;
  call.displacements = displacements;
  call.local_counts = true;
  if (is_root || each.sizes.size() != 0) {
    each.has_displacements = each.has_displacements && is_root;
    all = check_blocks(
        origin, {gathers ? "output" : "input", each, is_root ? length_of_all : any_length, gathers},
        a.reducer.size, sizes, displacements);
    call.knows_all_counts = true;
  } else {
    std::fill_n(sizes, 2 * ranks, 0);
    sizes[me] = length_of_own;
  }
  const std::size_t own = sizes[me];
  const bool has_length = length_of_own != any_length && !(is_root && in_place);
  origin.require(own != any_length,
                 "pointers say nothing of lengths: pass papcoll::counts on all ranks");
  origin.require_length(
      has_length ? length_of_own : own, own,
      gathers ? "the input must have as many elements as papcoll::counts says of this rank"
              : "the output must have as many elements as papcoll::counts says of this rank");
  const std::size_t of_all = is_root ? all.total : 0;
  const std::size_t in = gathers ? own : of_all;
  const std::size_t out = gathers ? of_all : own;
  check_pointers(origin, a.in, in, a.out, out);
  if (!is_root) {
    if (gathers) call.out = nullptr;
    if (!gathers) call.in = nullptr;
    return;
  }
  const BufferView*& view = gathers ? call.out_view : call.in_view;
  view = view_of_blocks(origin, all, a.reducer.size, gathers ? numbers.out : numbers.in);
  if (!in_place) return check_disjoint(origin, call, in, out);
  call.input_in_output = true;
  call.in_view = call.out_view = view;
  if (gathers) {
    call.in = call.out + displacements[me] * a.reducer.size;
  } else {
    call.out = const_cast<std::byte*>(call.in);
  }
}

/// A reduce_scatter with counts.
PAPCOLL_DECL void make_irregular_reduce_scatter_call(const CallOrigin& origin,
                                                     const CallArguments& a, Call& call,
                                                     CallBlocks& numbers) {
  CallArguments b = a;
  if (a.layouts != nullptr) a.layouts->check_lengths(origin, *a.layouts, b);
  begin_irregular_call(origin, b, call, 0);
  std::size_t* const sizes = room_for_blocks(origin, numbers, 1);
  std::size_t* const displacements = sizes + origin.ranks();
  call.count = check_blocks(origin, {"input", b.irregular->received, b.in_length}, b.reducer.size,
                            sizes, displacements)
                   .total;
  call.counts = sizes;
  call.split = hash_of_counts({sizes, origin.ranks()});
  const std::size_t own = sizes[static_cast<std::size_t>(origin.rank())];
  // In place the output is all of the input, which has been checked.
  const bool is_longer = call.in_place() && b.out_length >= own;
  if (!is_longer && b.out_length != own && b.out_length != any_length)
    refuse_lengths(origin, b.out_length, own);
  const std::size_t out = b.out_length == any_length ? own : b.out_length;
  if (b.layouts != nullptr)
    return b.layouts->make_views(origin, *b.layouts, call, call.count, out, false);
  check_buffers(origin, call, call.count, out);
}

PAPCOLL_DECL std::vector<std::size_t> checked_lengths(const CallOrigin& origin, const blocks& each,
                                                      std::size_t length, std::size_t element_size,
                                                      const void* data) {
  const std::size_t ranks = origin.ranks();
  std::vector<std::size_t> lengths(2 * ranks);
  const auto checked = check_blocks(origin, {"input", each, length}, element_size, lengths.data(),
                                    lengths.data() + ranks);
  check_pointers(origin, data, checked.total, nullptr, 0);
  lengths.resize(ranks);
  return lengths;
}

PAPCOLL_DECL std::size_t sum_of(const std::vector<std::size_t>& lengths) noexcept {
  std::size_t sum = 0;
  for (const std::size_t n : lengths) sum += n;
  return sum;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
