#pragma once

#include <papcoll/base/heap_sort.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/block_arguments.hpp>
#include <papcoll/call/call_arguments.ipp>
#include <papcoll/call/run.ipp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

PAPCOLL_DECL std::size_t* room_for_blocks(const Caller& caller, CallBlocks& blocks,
                                          std::size_t buffers) {
  const std::size_t needed = (2 * buffers + 1) * caller.ranks();
  if (blocks.numbers.size() < needed) blocks.numbers.resize(needed);
  return blocks.numbers.data();
}

/// They are too few, too many, or one is negative.
[[noreturn, gnu::cold]] inline void refuse_numbers(const Caller& caller,
                                                   const BlockedBuffer& buffer, const counts& from,
                                                   const char* what) {
  if (from.size() != caller.ranks()) {
    caller.refuse(joined({"the ", buffer.name, " has ", from.size(), " ", what, "s for ",
                          caller.ranks(), " ranks: pass one for each"}));
  }
  std::size_t r = 0;
  while (!from.is_negative(r)) ++r;
  caller.refuse(joined({"the ", what, " of rank ", r, "'s block in the ", buffer.name, " is ",
                        static_cast<std::int64_t>(from[r]), ": they start at 0"}));
}

/// Copies numbers that must not be negative.
inline void copy_numbers(const Caller& caller, const BlockedBuffer& buffer, const counts& from,
                         const char* what, std::size_t* to) {
  if (from.size() == caller.ranks() && from.copy_to(to)) [[likely]]
    return;
  refuse_numbers(caller, buffer, from, what);
}

/// Two blocks of an output that have an element in common.
[[gnu::cold]] inline void refuse_overlap(const Caller& caller, const BlockedBuffer& buffer,
                                         const BlockNumbersOfBuffer& n, std::size_t* spare) {
  std::size_t blocks = 0;
  for (std::size_t r = 0; r < caller.ranks(); ++r) {
    if (n.counts[r] != 0) spare[blocks++] = r;
  }
  heap_sort(spare, blocks, [&](std::size_t a, std::size_t b) { return n.places[a] < n.places[b]; });
  for (std::size_t i = 1; i < blocks; ++i) {
    const std::size_t a = spare[i - 1];
    const std::size_t b = spare[i];
    if (n.places[b] - n.places[a] >= n.counts[a]) continue;
    caller.refuse(joined({"the blocks of ranks ", a, " and ", b, " in the ", buffer.name,
                          " overlap: elements ", n.places[a], " to ", n.places[a] + n.counts[a] - 1,
                          " and ", n.places[b], " to ", n.places[b] + n.counts[b] - 1,
                          "; pass displacements at least a block's length apart"}));
  }
}

PAPCOLL_DECL BlockNumbersOfBuffer check_blocks(const Caller& caller, const BlockedBuffer& buffer,
                                               std::size_t element_size, std::size_t* counts,
                                               std::size_t* places, std::size_t* spare) {
  BlockNumbersOfBuffer n{counts, places};
  const std::size_t ranks = caller.ranks();
  copy_numbers(caller, buffer, buffer.given.sizes, "count", counts);
  const std::size_t most = PTRDIFF_MAX / element_size;
  bool too_much = false;
  for (std::size_t r = 0; r < ranks; ++r) {
    places[r] = n.total;
    too_much = too_much || __builtin_add_overflow(n.total, counts[r], &n.total) || n.total > most;
  }
  if (too_much) {
    refuse_sum(caller.core, caller.called(), {counts, ranks}, element_size);
  }
  if (!buffer.given.anywhere) {
    const bool any = buffer.length == any_length;
    caller.require_length(any ? n.total : buffer.length, n.total,
                          buffer.is_written
                              ? "the output must have as many elements as its counts add up to"
                              : "the input must have as many elements as its counts add up to");
    return n;
  }
  std::size_t next = 0;
  bool ascending = true;
  copy_numbers(caller, buffer, buffer.given.places, "displacement", places);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (counts[r] == 0) {
      places[r] = 0;  // whatever was passed: nobody looks there
      continue;
    }
    std::size_t end = 0;
    if (__builtin_add_overflow(places[r], counts[r], &end) || end > most || end > buffer.length) {
      caller.refuse(joined({"the block of rank ", r, " in the ", buffer.name, ", ", counts[r],
                            " elements from ", places[r],
                            " on, ends past the buffer: pass a longer buffer, or other "
                            "displacements"}));
    }
    n.one_by_one = n.one_by_one && places[r] == next;
    ascending = ascending && places[r] >= next;
    next = end;
  }
  if (!ascending && buffer.is_written) refuse_overlap(caller, buffer, n, spare);
  return n;
}

PAPCOLL_DECL const BufferView* view_of_blocks(const BlockNumbersOfBuffer& numbers, int ranks,
                                              std::size_t element_size, BufferView& view) {
  if (numbers.one_by_one || numbers.total == 0) return nullptr;
  detail::Vector<BufferView::Run> runs;
  std::size_t first = 0;
  for (int r = 0; r < ranks; ++r) {
    if (numbers.counts[r] == 0) continue;
    runs.push_back({first, static_cast<std::ptrdiff_t>(numbers.places[r] * element_size)});
    first += numbers.counts[r];
  }
  view = BufferView::of_runs(std::move(runs));
  return &view;
}

PAPCOLL_DECL void check_own_block(const Caller& caller, const BlockNumbersOfBuffer& in,
                                  const BlockNumbersOfBuffer& out) {
  const auto me = static_cast<std::size_t>(caller.rank());
  if (in.counts[me] == out.counts[me]) return;
  caller.refuse(joined({"this rank sends ", in.counts[me], " elements to itself and expects ",
                        out.counts[me], " of itself: both counts must be the same"}));
}

PAPCOLL_DECL void check_blocks_in_place(const Caller& caller, const BlockNumbersOfBuffer& in,
                                        const BlockNumbersOfBuffer& out) {
  for (std::size_t r = 0; r < caller.ranks(); ++r) {
    if (in.counts[r] == out.counts[r] && (in.counts[r] == 0 || in.places[r] == out.places[r])) {
      continue;
    }
    caller.refuse(joined({"input and output are one buffer, where the blocks of rank ", r,
                          " are not the same: pass the same counts and displacements for both (in "
                          "place), or two buffers"}));
  }
}

PAPCOLL_DECL void check_blocks_apart(const Caller& caller, const Call& call,
                                     const BlockNumbersOfBuffer& in,
                                     const BlockNumbersOfBuffer& out) {
  if constexpr (assertion_level == 0) return;
  const std::size_t size = call.reducer.size;
  const auto range_of = [&](const void* base, const BlockNumbersOfBuffer& n, std::size_t r) {
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(base) + n.places[r] * size;
    return std::pair{first, first + n.counts[r] * size};
  };
  const auto blocks_in = [&](const BlockNumbersOfBuffer& n) {
    return n.n != 0 ? n.n : caller.ranks();
  };
  const auto extent_of = [&](const void* base, const BlockNumbersOfBuffer& n) {
    if (n.one_by_one) {
      const auto first = reinterpret_cast<std::uintptr_t>(base);
      return std::pair{first, first + n.total * size};
    }
    std::pair<std::uintptr_t, std::uintptr_t> all{UINTPTR_MAX, 0};
    for (std::size_t r = 0; r < blocks_in(n); ++r) {
      if (n.counts[r] == 0) continue;
      const auto [first, end] = range_of(base, n, r);
      all = {std::min(all.first, first), std::max(all.second, end)};
    }
    return all;
  };
  const auto apart = [](const auto& a, const auto& b) {
    return a.second <= b.first || b.second <= a.first;
  };
  if (apart(extent_of(call.in, in), extent_of(call.out, out))) return;
  for (std::size_t i = 0; i < blocks_in(in); ++i) {
    for (std::size_t o = 0; o < blocks_in(out); ++o) {
      if (in.counts[i] == 0 || out.counts[o] == 0) continue;
      if (apart(range_of(call.in, in, i), range_of(call.out, out, o))) continue;
      caller.refuse(joined({"block ", i, " of the input and block ", o,
                            " of the output overlap: pass one buffer (in place), or two that have "
                            "no element in common"}));
    }
  }
}

PAPCOLL_DECL void tell_no_room(const Caller& caller, std::size_t elements,
                               const std::exception& problem) {
  caller.core.tell_refusal(
      caller.non_blocking,
      joined({caller.called().name(), " on rank ", caller.rank(), " of ", caller.size(),
              ": there is no memory for the ", elements, " elements that come: ", problem.what()}));
}

/// Begins a call whose blocks differ: `n` elements of its vector, or 1.
inline void begin_uneven_call(const Caller& caller, const CallArguments& a, Call& call,
                              std::size_t n) {
  call.collective = caller.collective;
  call.in = a.in;
  call.out = a.out;
  call.count = n;
  call.reducer = a.reducer;
  call.types = a.types;
}

inline bool is_in_place(const CallArguments& a) noexcept {
  return a.one_buffer || (a.in_place_if_same && a.in == a.out);
}

PAPCOLL_DECL void make_alltoallv_call(const Caller& caller, const CallArguments& a, Call& call,
                                      CallBlocks& numbers) {
  const std::size_t ranks = caller.ranks();
  std::size_t* const counts = room_for_blocks(caller, numbers, 2);
  std::size_t* const places = counts + 2 * ranks;
  std::size_t* const spare = places + 2 * ranks;
  begin_uneven_call(caller, a, call, 1);
  const auto sent = check_blocks(caller, {"input", *a.uneven->sent, a.in_length}, a.reducer.size,
                                 counts, places, spare);
  const auto received = check_blocks(caller, {"output", *a.uneven->received, a.out_length, true},
                                     a.reducer.size, counts + ranks, places + ranks, spare);
  check_pointers(caller, a.in, sent.total, a.out, received.total);
  if (a.in == a.out) {
    check_blocks_in_place(caller, sent, received);
    call.input_in_output = true;
  } else {
    check_own_block(caller, sent, received);
    check_blocks_apart(caller, call, sent, received);
  }
  call.counts = counts;
  call.places = places;
  call.own_counts = true;
  call.out_view = view_of_blocks(received, caller.size(), a.reducer.size, numbers.out);
  call.in_view = view_of_blocks(sent, caller.size(), a.reducer.size, numbers.in);
}

PAPCOLL_DECL void make_allgatherv_call(const Caller& caller, const CallArguments& a, Call& call,
                                       CallBlocks& numbers) {
  const bool in_place = is_in_place(a);
  const std::size_t ranks = caller.ranks();
  std::size_t* const sizes = room_for_blocks(caller, numbers, 1);
  std::size_t* const places = sizes + ranks;
  const auto me = static_cast<std::size_t>(caller.rank());
  const auto gathered = check_blocks(caller, {"output", *a.uneven->received, a.out_length, true},
                                     a.reducer.size, sizes, places, places + ranks);
  const std::size_t own = sizes[me];
  const bool knows_length = !in_place && a.in_length != any_length;
  caller.require_length(
      knows_length ? a.in_length : own, own,
      "the input must have as many elements as papcoll::counts says of this rank");
  begin_uneven_call(caller, a, call, gathered.total);
  check_pointers(caller, a.in, own, a.out, gathered.total);
  call.counts = sizes;
  call.places = places;
  call.split = hash_of_counts({sizes, ranks});
  call.out_view = view_of_blocks(gathered, caller.size(), a.reducer.size, numbers.out);
  if (in_place) {
    call.in = call.out + places[me] * a.reducer.size;
    call.input_in_output = true;
    call.in_view = call.out_view;
  } else {
    std::size_t whole[2] = {own, 0};
    check_blocks_apart(caller, call, {whole, whole + 1, own, true, 1}, gathered);
  }
}

PAPCOLL_DECL void make_gatherv_call(const Caller& caller, const CallArguments& a, Call& call,
                                    CallBlocks& numbers) {
  const root r{a.root};
  check_root(caller, r);
  const bool in_place = is_in_place(a);
  const std::size_t ranks = caller.ranks();
  std::size_t* const sizes = room_for_blocks(caller, numbers, 1);
  std::size_t* const places = sizes + ranks;
  const auto me = static_cast<std::size_t>(caller.rank());
  const bool is_root = caller.rank() == r.rank;
  BlockNumbersOfBuffer all{sizes, places};
  begin_uneven_call(caller, a, call, 1);
  call.root = r.rank;
  call.counts = sizes;
  call.places = places;
  call.own_counts = true;
  if (is_root || a.uneven->received->sizes.size() != 0) {
    blocks lengths = *a.uneven->received;
    lengths.anywhere = lengths.anywhere && is_root;
    all = check_blocks(caller, {"output", lengths, is_root ? a.out_length : any_length, true},
                       a.reducer.size, sizes, places, places + ranks);
    call.knows_all_counts = true;
  } else {
    std::fill_n(sizes, 2 * ranks, 0);
    sizes[me] = a.in_length;
  }
  const std::size_t own = sizes[me];
  const bool has_length = a.in_length != any_length && !(is_root && in_place);
  caller.require(own != any_length,
                 "pointers say nothing of lengths: pass papcoll::counts on all ranks");
  caller.require_length(
      has_length ? a.in_length : own, own,
      "the input must have as many elements as papcoll::counts says of this rank");
  if (!is_root) {
    check_pointers(caller, a.in, own, nullptr, 0);
    call.out = nullptr;
    return;
  }
  call.out_view = view_of_blocks(all, caller.size(), a.reducer.size, numbers.out);
  check_pointers(caller, a.in, own, a.out, all.total);
  if (in_place) {
    call.in = call.out + places[me] * a.reducer.size;
    call.input_in_output = true;
    call.in_view = call.out_view;
  } else {
    std::size_t whole[2] = {own, 0};
    check_blocks_apart(caller, call, {whole, whole + 1, own, true, 1}, all);
  }
}

PAPCOLL_DECL void make_scatterv_call(const Caller& caller, const CallArguments& a, Call& call,
                                     CallBlocks& numbers) {
  const root r{a.root};
  check_root(caller, r);
  const bool in_place = is_in_place(a);
  const std::size_t ranks = caller.ranks();
  std::size_t* const sizes = room_for_blocks(caller, numbers, 1);
  std::size_t* const places = sizes + ranks;
  const auto me = static_cast<std::size_t>(caller.rank());
  const bool is_root = caller.rank() == r.rank;
  BlockNumbersOfBuffer all{sizes, places};
  begin_uneven_call(caller, a, call, 1);
  call.root = r.rank;
  call.counts = sizes;
  call.places = places;
  call.own_counts = true;
  if (is_root || a.uneven->sent->sizes.size() != 0) {
    blocks lengths = *a.uneven->sent;
    lengths.anywhere = lengths.anywhere && is_root;
    all = check_blocks(caller, {"input", lengths, is_root ? a.in_length : any_length, false},
                       a.reducer.size, sizes, places, places + ranks);
    call.knows_all_counts = true;
  } else {
    std::fill_n(sizes, 2 * ranks, 0);
    sizes[me] = a.out_length;
  }
  const std::size_t own = sizes[me];
  const bool has_length = a.out_length != any_length && !(is_root && in_place);
  caller.require(own != any_length,
                 "pointers say nothing of lengths: pass papcoll::counts on all ranks");
  caller.require_length(
      has_length ? a.out_length : own, own,
      "the output must have as many elements as papcoll::counts says of this rank");
  if (!is_root) {
    check_pointers(caller, nullptr, 0, a.out, own);
    call.in = nullptr;
    return;
  }
  call.in_view = view_of_blocks(all, caller.size(), a.reducer.size, numbers.in);
  check_pointers(caller, a.in, all.total, a.out, own);
  if (in_place) {
    call.out = const_cast<std::byte*>(call.in);
    call.input_in_output = true;
    call.out_view = call.in_view;
  } else {
    std::size_t whole[2] = {own, 0};
    check_blocks_apart(caller, call, all, {whole, whole + 1, own, true, 1});
  }
}

PAPCOLL_DECL void make_uneven_reduce_scatter_call(const Caller& caller, const CallArguments& a,
                                                  Call& call, CallBlocks& numbers) {
  CallArguments b = a;
  if (a.layouts != nullptr) a.layouts->count(caller, *a.layouts, b);
  begin_uneven_call(caller, b, call, 0);
  std::size_t* const sizes = room_for_blocks(caller, numbers, 1);
  std::size_t* const places = sizes + caller.ranks();
  call.count = check_blocks(caller, {"input", *b.uneven->received, b.in_length}, b.reducer.size,
                            sizes, places, nullptr)
                   .total;
  call.counts = sizes;
  call.split = hash_of_counts({sizes, caller.ranks()});
  const std::size_t own = sizes[static_cast<std::size_t>(caller.rank())];
  // In place the output is all of the input, which has been checked.
  const bool is_longer = call.in_place() && b.out_length >= own;
  if (!is_longer && b.out_length != own && b.out_length != any_length)
    refuse_lengths(caller, b.out_length, own);
  const std::size_t out = b.out_length == any_length ? own : b.out_length;
  if (b.layouts != nullptr) return b.layouts->lay(caller, *b.layouts, call, call.count, out, false);
  check_buffers(caller, call, call.count, out);
}

PAPCOLL_DECL std::vector<std::size_t> checked_lengths(const Caller& caller, const blocks& each,
                                                      std::size_t length, std::size_t element_size,
                                                      const void* data) {
  const std::size_t ranks = caller.ranks();
  std::vector<std::size_t> lengths(3 * ranks);
  std::size_t* const first = lengths.data();
  const auto checked = check_blocks(caller, {"input", each, length}, element_size, first,
                                    first + ranks, first + 2 * ranks);
  check_pointers(caller, data, checked.total, nullptr, 0);
  lengths.resize(ranks);
  return lengths;
}

PAPCOLL_DECL std::size_t sum_of(const std::vector<std::size_t>& lengths) noexcept {
  std::size_t sum = 0;
  for (const std::size_t n : lengths) sum += n;
  return sum;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
