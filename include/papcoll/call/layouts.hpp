// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/call_arguments.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

// The buffers of a call as its caller passed them: ranges, pointers and counts, or buffers that
// need not be contiguous. The code for the latter has no templates, and is reached only if one of
// the buffers has such a type.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// LayoutArguments::check_lengths and ::make_views of a PassedLayouts.
PAPCOLL_DECL void check_passed_lengths(const CallOrigin& origin, LayoutArguments& layouts,
                                       CallArguments& a);
PAPCOLL_DECL void make_passed_views(const CallOrigin& origin, LayoutArguments& layouts, Call& call,
                                    std::size_t in_count, std::size_t out_count, bool in_place);

/// How the elements of both buffers of a typed call lie.
struct PassedLayouts : LayoutArguments {
  PassedLayouts() noexcept {
    check_lengths = check_passed_lengths;
    make_views = make_passed_views;
  }
  /// There is one buffer, `in`.
  void set_in_place() noexcept {
    in_place = true;
    out = in;
  }

  BufferLayout in;
  BufferLayout out;
  bool in_place = false;

  // Found out by check_passed_lengths().
  const BufferView* in_view = nullptr;  ///< null: the elements are contiguous
  const BufferView* out_view = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/overlap.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/runtime/call_records.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstdint>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What is known of a buffer once its layout is checked.
struct CheckedLayout {
  std::size_t count = 0;
  std::ptrdiff_t first = 0;          ///< bytes from the address passed to where `view` begins
  const BufferView* view = nullptr;  ///< null: all elements are contiguous
};

// -- Steps

/// Returns true if the layout is blocks of contiguous elements at equal distances.
inline bool is_of_blocks(const BufferLayout& l, std::size_t size) noexcept {
  return l.dimensions == 2 &&
         l.strides[1] == static_cast<std::ptrdiff_t>(units_of_element(l, size));
}

/// Returns a text on how far blocks are apart, for messages.
inline std::string distance_of(const BufferLayout& l) {
  return joined({magnitude(l.strides[0]), l.unit == 0 ? " elements apart" : " bytes apart"});
}

[[noreturn, gnu::cold]] inline void refuse_span(const CallOrigin& origin, const BufferLayout& l,
                                                std::size_t size) {
  const bool blocks = is_of_blocks(l, size);
  const std::string what =
      blocks ? joined({l.extents[0], " blocks ", distance_of(l)})
             : joined({l.dimensions, l.dimensions == 1 ? " dimension" : " dimensions"});
  origin.refuse(
      joined({"the ", l.name, ", of ", what, ", spans more than PTRDIFF_MAX bytes: pass ",
              blocks ? "fewer blocks, or a shorter stride" : "smaller extents or strides"}));
}

[[noreturn, gnu::cold]] inline void refuse_own_overlap(const CallOrigin& origin,
                                                       const BufferLayout& l, std::size_t size) {
  if (is_of_blocks(l, size)) {
    origin.refuse(joined({"the blocks of the ", l.name, " overlap: they are ", distance_of(l),
                          ", and each has ", l.extents[1] * units_of_element(l, size),
                          "; pass a stride of at least a block's length"}));
  }
  origin.refuse(joined({"elements of the ", l.name,
                        " overlap or interleave: each stride, from the smallest to the largest, is "
                        "more than lies from the first to the last of the dimensions with smaller "
                        "ones"}));
}

/// The elements of a layout in steps; refuses what spans too much or overlaps itself.
inline std::size_t check_steps(const CallOrigin& origin, const BufferLayout& l, std::size_t size) {
  origin.require(l.is_regular,
                 "an mdspan without strides is no buffer: pass one whose mapping is_strided()");
  std::array<std::pair<std::size_t, std::size_t>, BufferView::most_dimensions>
      steps;  // strides, then extents
  std::size_t n = 0;
  for (std::size_t d = 0; d < l.dimensions; ++d) {
    if (l.extents[d] == 0) return 0;
    if (l.extents[d] != 1) steps[n++] = {magnitude(l.strides[d]), l.extents[d]};
  }
  heap_sort(steps.data(), n);
  std::size_t count = 1;
  std::size_t span = units_of_element(l, size);  // units, of the dimensions so far
  for (std::size_t i = 0; i < n; ++i) {
    const auto [stride, extent] = steps[i];
    std::size_t further = 0;
    std::size_t bytes = 0;
    const bool too_much = __builtin_mul_overflow(extent - 1, stride, &further) ||
                          __builtin_add_overflow(span, further, &further) ||
                          __builtin_mul_overflow(further, bytes_of_unit(l, size), &bytes) ||
                          bytes > PTRDIFF_MAX;
    if (too_much) refuse_span(origin, l, size);
    if (stride < span) refuse_own_overlap(origin, l, size);
    span = further;
    count *= extent;
  }
  return count;
}

/// Returns the view; null if all elements are contiguous. Dimensions of one element are left out,
/// and two that are equivalent to one are merged.
inline const BufferView* view_of_steps(const BufferLayout& l, std::size_t size, BufferView& view) {
  const auto unit = static_cast<std::ptrdiff_t>(bytes_of_unit(l, size));
  std::array<BufferView::Step, BufferView::most_dimensions> steps;
  std::size_t n = 0;
  std::size_t length = 1;                         // of contiguous elements
  for (std::size_t d = l.dimensions; d-- > 0;) {  // the fastest first
    const std::ptrdiff_t stride = l.strides[d] * unit;
    if (l.extents[d] == 1) continue;
    if (n == 0 && stride == static_cast<std::ptrdiff_t>(length * size)) {
      length *= l.extents[d];
    } else if (n != 0 &&
               stride == static_cast<std::ptrdiff_t>(steps[n - 1].count) * steps[n - 1].stride) {
      steps[n - 1].count *= l.extents[d];
    } else {
      steps[n++] = {l.extents[d], stride};
    }
  }
  if (n == 0) return nullptr;
  view = BufferView::nested(length, {steps.data(), n});
  return &view;
}

// -- Lists

/// The elements of a list; refuses lengths and displacements that make no buffer.
inline std::size_t check_list(const CallOrigin& origin, const BufferLayout& l, std::size_t size) {
  const std::size_t n = l.lengths.size();
  if (l.displacements.size() != n) {
    origin.refuse(joined({"the ", l.name, " has ", n, " lengths and ", l.displacements.size(),
                          " displacements: pass one of each for each block"}));
  }
  const std::size_t most = static_cast<std::size_t>(PTRDIFF_MAX) / bytes_of_unit(l, size);
  const std::size_t most_elements = PTRDIFF_MAX / size;
  const std::size_t width = units_of_element(l, size);
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t length = l.lengths[i];
    if (l.lengths.is_negative(i)) {
      origin.refuse(joined({"the length of block ", i, " of the ", l.name, " is ",
                            static_cast<std::int64_t>(length), ": lengths start at 0"}));
    }
    if (length == 0) continue;
    std::size_t end = 0;
    const bool is_far = (!l.displacements.is_negative(i) && l.displacements[i] > most) ||
                        __builtin_mul_overflow(length, width, &end) ||
                        __builtin_add_overflow(magnitude(displacement_of(l, i)), end, &end) ||
                        end > most;
    if (is_far) {
      origin.refuse(joined({"block ", i, " of the ", l.name, ", ", length, " elements from ",
                            l.unit == 0 ? "" : "byte ", displacement_of(l, i),
                            " on, ends more than PTRDIFF_MAX bytes from its address: pass a "
                            "shorter block, or another displacement"}));
    }
    if (__builtin_add_overflow(count, length, &count) || count > most_elements) {
      origin.refuse_count(count, size);
    }
  }
  return count;
}

/// The view of a list of `count` elements, which is not 0. It begins with the first of them.
inline CheckedLayout view_of_checked(const BufferLayout& l, std::size_t count, std::size_t size,
                                     BufferView& room) {
  std::size_t i = 0;
  while (l.lengths[i] == 0) ++i;
  const std::ptrdiff_t first = displacement_of(l, i);
  room = view_of_list(l, size, first, room.take_runs());
  const bool are_contiguous = room.runs().size() == 1;
  return {count, first * static_cast<std::ptrdiff_t>(bytes_of_unit(l, size)),
          are_contiguous ? nullptr : &room};
}

/// Checks a layout, whose view is made in `room` unless it has one.
inline CheckedLayout check_layout(const CallOrigin& origin, const BufferLayout& l, std::size_t size,
                                  bool is_written, BufferView& room) {
  if (!l.is_list) {
    const std::size_t count = check_steps(origin, l, size);
    return {count, 0, count == 0 ? nullptr : view_of_steps(l, size, room)};
  }
  const std::size_t count = check_list(origin, l, size);
  if (count == 0) return {};
  if (is_written) check_list_disjoint(origin, l, size);
  if (l.cached_view != nullptr) return {count, 0, l.cached_view};
  return look_at_blocks(origin, [&] { return view_of_checked(l, count, size, room); });
}

// -- Calls

PAPCOLL_DECL void check_passed_lengths(const CallOrigin& origin, LayoutArguments& layouts,
                                       CallArguments& a) {
  auto& both = static_cast<PassedLayouts&>(layouts);
  both.has_lengths = true;
  origin.core.require_no_call();
  CallBlocks& views = origin.core.blocks;
  const auto [in, out] = buffers_of(origin.collective, origin.rank() == a.root);
  const auto checked = [&](const BufferLayout& l, bool is_written, BufferView& view) {
    return check_layout(origin, l, a.reducer.size, is_written, view);
  };
  both.in.name = both.in_place ? "buffer" : "input";
  both.out.name = "output";
  CheckedLayout i;
  CheckedLayout o;
  if (both.in_place) {
    i = o = checked(both.in, true, views.in);
  } else {
    if (in != Holds::nothing) i = checked(both.in, false, views.in);
    if (out != Holds::nothing) o = checked(both.out, true, views.out);
  }
  both.in_view = i.view;
  both.out_view = o.view;
  a.in_length = i.count;
  a.out_length = o.count;
  if (a.in != nullptr) a.in += i.first;
  if (a.out != nullptr) a.out += o.first;
}

inline bool lie_alike(const BufferView* a, const BufferView* b) noexcept {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

PAPCOLL_DECL void make_passed_views(const CallOrigin& origin, LayoutArguments& layouts, Call& call,
                                    std::size_t in_count, std::size_t out_count, bool) {
  const auto& both = static_cast<const PassedLayouts&>(layouts);
  if constexpr (assertion_level > 0) {
    check_pointers(origin, call.in, in_count, call.out, out_count);
  }
  call.in_view = both.in_view;
  call.out_view = both.out_view;
  call.is_noncontiguous = call.in_view != nullptr || call.out_view != nullptr;
  if (both.in_place) return;
  const bool in_place = call.in == call.out && in_count == out_count &&
                        !has_own_place(call.collective) && lie_alike(call.in_view, call.out_view);
  if (!in_place) check_disjoint(origin, call, in_count, out_count);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
