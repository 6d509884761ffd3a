#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/heap_sort.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/overlap.hpp>
#include <papcoll/call/passed.hpp>
#include <papcoll/call/run.ipp>
#include <papcoll/runtime/call_blocks.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What check_layouts() finds out of one buffer.
struct CheckedLayout {
  std::size_t count = 0;
  std::ptrdiff_t first = 0;  ///< elements from the address passed to the first element
  const BufferView* view = nullptr;
};

[[noreturn, gnu::cold]] inline void refuse_span(const Caller& caller, const BufferLayout& l) {
  const bool blocks = l.dimensions == 2 && l.strides[1] == 1;
  const std::size_t apart = magnitude(l.strides[0]);
  caller.refuse(
      blocks ? joined({"a strided buffer of ", l.extents[0], " blocks, ", apart,
                       " elements apart, spans more than PTRDIFF_MAX bytes: pass fewer blocks, or "
                       "a shorter stride"})
             : joined({"the ", l.name, ", of ", l.dimensions,
                       " dimensions, spans more than PTRDIFF_MAX bytes: pass smaller extents or "
                       "strides"}));
}

[[noreturn, gnu::cold]] inline void refuse_own_overlap(const Caller& caller,
                                                       const BufferLayout& l) {
  const bool blocks = l.dimensions == 2 && l.strides[1] == 1;
  caller.refuse(blocks ? std::string{"the blocks of a strided buffer overlap: the stride, in "
                                     "elements, is at least the length of a block"}
                       : joined({"elements of the ", l.name,
                                 " overlap or interleave: each stride, from the smallest to the "
                                 "largest, is more elements than lie from the first to the last of "
                                 "the dimensions with smaller ones"}));
}

/// The elements of a layout; refuses what spans too much or overlaps itself.
inline std::size_t checked_elements(const Caller& caller, const BufferLayout& l, std::size_t size) {
  caller.require(l.is_regular,
                 "an mdspan without strides is no buffer: pass one whose mapping is_strided()");
  std::size_t count = 1;
  for (std::size_t d = 0; d < l.dimensions; ++d) {
    if (l.extents[d] == 0) return 0;
  }
  std::array<std::pair<std::size_t, std::size_t>, BufferView::most_dimensions>
      steps;  // strides, then extents
  std::size_t n = 0;
  std::size_t span = 1;
  bool too_much = false;
  for (std::size_t d = 0; d < l.dimensions; ++d) {
    if (l.extents[d] == 1) continue;
    steps[n] = {magnitude(l.strides[d]), l.extents[d]};
    std::size_t further = 0;
    too_much = too_much || __builtin_mul_overflow(count, l.extents[d], &count) ||
               __builtin_mul_overflow(l.extents[d] - 1, steps[n].first, &further) ||
               __builtin_add_overflow(span, further, &span);
    ++n;
  }
  std::size_t bytes = 0;
  too_much = too_much || __builtin_mul_overflow(span, size, &bytes) || bytes > PTRDIFF_MAX;
  if (too_much) refuse_span(caller, l);
  heap_sort(steps.data(), n);
  std::size_t inner = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (steps[i].first < inner) refuse_own_overlap(caller, l);
    inner += (steps[i].second - 1) * steps[i].first;
  }
  return count;
}

/// Leaves out dimensions of one element, and makes one of two that are as one.
inline BufferLayout merged(const BufferLayout& l) noexcept {
  BufferLayout m;
  for (std::size_t d = 0; d < l.dimensions; ++d) {
    if (l.extents[d] == 1) continue;
    const auto extent = static_cast<std::ptrdiff_t>(l.extents[d]);
    std::size_t to = m.dimensions;
    if (to != 0 && m.strides[to - 1] == extent * l.strides[d]) {
      m.extents[--to] *= l.extents[d];
    } else {
      m.extents[to] = l.extents[d];
    }
    m.strides[to] = l.strides[d];
    m.dimensions = to + 1;
  }
  return m;
}

/// Null: all elements are neighbours.
inline const BufferView* view_of_steps(const BufferLayout& merged, std::size_t size,
                                       BufferView& view) {
  std::size_t left = merged.dimensions;
  std::size_t length = 1;
  if (left != 0 && merged.strides[left - 1] == 1) length = merged.extents[--left];
  if (left == 0) return nullptr;
  std::array<BufferView::Step, BufferView::most_dimensions> steps;
  std::size_t n = 0;
  while (left-- > 0) {
    steps[n++] = {merged.extents[left], merged.strides[left] * static_cast<std::ptrdiff_t>(size)};
  }
  view = BufferView::nested(length, {steps.data(), n});
  return &view;
}

/// Number i of a list's displacements, which may be negative.
inline std::ptrdiff_t place_of(const BufferLayout& l, std::size_t i) noexcept {
  return static_cast<std::ptrdiff_t>(l.places[i]);
}

/// Refuses a list two of whose blocks have an element in common.
inline void check_blocks_of_list(const Caller& caller, const BufferLayout& l) {
  std::vector<std::size_t> order;
  order.reserve(l.lengths.size());
  bool ascending = true;
  std::ptrdiff_t end = PTRDIFF_MIN;
  for (std::size_t i = 0; i < l.lengths.size(); ++i) {
    if (l.lengths[i] == 0) continue;
    order.push_back(i);
    ascending = ascending && place_of(l, i) >= end;
    end = place_of(l, i) + static_cast<std::ptrdiff_t>(l.lengths[i]);
  }
  if (ascending) return;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::ptrdiff_t at = place_of(l, a);
    const std::ptrdiff_t other = place_of(l, b);
    return at != other ? at < other : a < b;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t a = order[i - 1];
    const std::size_t b = order[i];
    if (place_of(l, b) >= place_of(l, a) + static_cast<std::ptrdiff_t>(l.lengths[a])) continue;
    caller.refuse(joined({"blocks ", std::min(a, b), " and ", std::max(a, b), " of the ", l.name,
                          " overlap, at element ", place_of(l, b),
                          ": pass displacements at least a block's length apart"}));
  }
}

/// The elements of a list; refuses lengths and displacements that make no buffer.
inline std::size_t checked_list(const Caller& caller, const BufferLayout& l, std::size_t size) {
  const std::size_t n = l.lengths.size();
  if (l.places.size() != n) {
    caller.refuse(joined({"the ", l.name, " has ", n, " lengths and ", l.places.size(),
                          " displacements: pass one of each for each block"}));
  }
  const auto most = static_cast<std::size_t>(PTRDIFF_MAX) / size;
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (l.lengths.is_negative(i)) {
      caller.refuse(joined({"the length of block ", i, " of the ", l.name, " is ",
                            static_cast<std::int64_t>(l.lengths[i]), ": lengths start at 0"}));
    }
    if (l.lengths[i] == 0) continue;
    const bool wraps = !l.places.is_negative(i) && l.places[i] > most;
    std::size_t end = 0;
    if (wraps || __builtin_add_overflow(magnitude(place_of(l, i)), l.lengths[i], &end) ||
        end > most) {
      caller.refuse(joined({"block ", i, " of the ", l.name, ", ", l.lengths[i], " elements from ",
                            place_of(l, i),
                            " on, ends more than PTRDIFF_MAX bytes from its address: pass a "
                            "shorter block, or another displacement"}));
    }
    if (__builtin_add_overflow(count, l.lengths[i], &count) || count > most) {
      refuse_count(caller.core, caller.called(), count, size);
    }
  }
  return count;
}

/// Null: all elements are neighbours. `first`: the displacement of the first of them.
inline const BufferView* view_of_list(const BufferLayout& l, std::size_t size,
                                      std::ptrdiff_t& first, BufferView& view) {
  detail::Vector<BufferView::Run> runs = view.take_runs();
  runs.clear();
  std::size_t before = 0;
  std::ptrdiff_t end = 0;
  for (std::size_t i = 0; i < l.lengths.size(); ++i) {
    if (l.lengths[i] == 0) continue;
    const std::ptrdiff_t place = place_of(l, i);
    if (runs.empty()) first = place;
    if (runs.empty() || place != end) {
      runs.push_back({before, (place - first) * static_cast<std::ptrdiff_t>(size)});
    }
    before += l.lengths[i];
    end = place + static_cast<std::ptrdiff_t>(l.lengths[i]);
  }
  const bool one = runs.size() == 1;
  view = BufferView::of_runs(std::move(runs));
  return one ? nullptr : &view;
}

inline CheckedLayout checked_layout(const Caller& caller, const BufferLayout& l, std::size_t size,
                                    bool is_written, BufferView& view) {
  CheckedLayout c;
  if (!l.is_list) {
    c.count = checked_elements(caller, l, size);
    if (c.count != 0) c.view = view_of_steps(merged(l), size, view);
    return c;
  }
  c.count = checked_list(caller, l, size);
  if (c.count == 0) return c;
  try {
    if (is_written) check_blocks_of_list(caller, l);
    c.view = view_of_list(l, size, c.first, view);
  } catch (const std::bad_alloc&) {
    caller.refuse(joined({"there is no memory for the list of ", l.lengths.size(),
                          " blocks of the ", l.name, ": pass fewer"}));
  }
  return c;
}

PAPCOLL_DECL void count_passed(const Caller& caller, LayoutArguments& layouts, CallArguments& a) {
  auto& both = static_cast<PassedLayouts&>(layouts);
  const std::size_t size = a.reducer.size;
  both.is_counted = true;
  caller.core.require_no_call();
  CallBlocks& views = caller.core.blocks();
  const auto [in, out] = buffers_of(caller.collective, caller.rank() == a.root);
  const auto checked = [&](const BufferLayout& l, bool is_written, BufferView& view) {
    return checked_layout(caller, l, size, is_written, view);
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
  const auto bytes = static_cast<std::ptrdiff_t>(size);
  if (a.in != nullptr) a.in += i.first * bytes;
  if (a.out != nullptr) a.out += o.first * bytes;
}

/// Do the two lay their elements alike?
inline bool lie_alike(const BufferLayout& a, const BufferLayout& b, const PassedLayouts& both) {
  if ((both.in_view == nullptr) != (both.out_view == nullptr)) return false;
  if (both.in_view == nullptr) return true;
  if (a.is_list != b.is_list) return false;
  if (a.is_list) return both.in_view->runs() == both.out_view->runs();
  const BufferLayout x = merged(a);
  const BufferLayout y = merged(b);
  return x.dimensions == y.dimensions && x.extents == y.extents && x.strides == y.strides;
}

/// Which bytes a buffer has, of so many elements.
inline Region region_of(const BufferLayout& l, const BufferView* view, const std::byte* address,
                        std::size_t count, std::size_t size) {
  Region r;
  r.first = reinterpret_cast<std::uintptr_t>(address);
  if (view == nullptr || l.is_list) {
    r.bytes = count * size;
    if (view != nullptr) r.runs = &view->runs();
    r.element_size = size;
    return r;
  }
  const BufferLayout m = merged(l);
  std::array<std::size_t, BufferView::most_dimensions> order{};
  for (std::size_t d = 0; d < m.dimensions; ++d) order[d] = d;
  heap_sort(order.data(), m.dimensions, [&](std::size_t a, std::size_t b) {
    return magnitude(m.strides[a]) < magnitude(m.strides[b]);
  });
  r.bytes = size;
  for (std::size_t d = 0; d < m.dimensions; ++d) {
    r.add(m.extents[order[d]], m.strides[order[d]] * static_cast<std::ptrdiff_t>(size));
  }
  return r;
}

inline void check_overlap(const Caller& caller, const Call& call, const PassedLayouts& both,
                          std::size_t in_count, std::size_t out_count) {
  if constexpr (assertion_level == 0) return;
  const auto [in, out] = buffers_of(call.collective, true);
  const bool own_place =
      in == Holds::own_block || (out == Holds::own_block && !is_reduction(call.collective));
  const bool in_place = call.in == call.out && in_count == out_count && !own_place &&
                        lie_alike(both.in, both.out, both);
  if (in_place) return;
  const std::size_t size = call.reducer.size;
  bool share = false;
  try {
    share = share_bytes(region_of(both.in, both.in_view, call.in, in_count, size),
                        region_of(both.out, both.out_view, call.out, out_count, size));
  } catch (const std::bad_alloc&) {
    caller.refuse("there is no memory to compare the blocks of input and output: pass fewer");
  }
  caller.require(!share,
                 "input and output overlap: pass the same buffer once (in place), or two that have "
                 "no element in common");
}

PAPCOLL_DECL void lay_passed(const Caller& caller, LayoutArguments& layouts, Call& call,
                             std::size_t in_count, std::size_t out_count, bool) {
  const auto& both = static_cast<const PassedLayouts&>(layouts);
  if constexpr (assertion_level > 0) {
    check_pointers(caller, call.in, in_count, call.out, out_count);
  }
  call.in_view = both.in_view;
  call.out_view = both.out_view;
  call.apart = call.in_view != nullptr || call.out_view != nullptr;
  if (in_count != 0 && out_count != 0 && !both.in_place) {
    check_overlap(caller, call, both, in_count, out_count);
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
