// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/argument_checks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// |n|, also of the least number there is.
constexpr std::size_t magnitude(std::ptrdiff_t n) noexcept {
  return n < 0 ? 0 - static_cast<std::size_t>(n) : static_cast<std::size_t>(n);
}

/// The bytes of a buffer: equal pieces in dimensions, upwards from its lowest address, whatever the
/// order of its elements; or the runs of a list. No two of its pieces overlap, unless it is a list.
struct Region {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;       ///< of a piece; of a list, all of them
  std::size_t dimensions = 0;  ///< none: it is one piece
  std::array<std::size_t, BufferView::most_dimensions> pieces{};
  std::array<std::size_t, BufferView::most_dimensions> strides{};  ///< bytes, ascending
  /// Of a list: runs of elements, from `first` on. Else null.
  const Vector<BufferView::Run>* runs = nullptr;
  std::size_t element_size = 1;  ///< of a list

  /// Adds a dimension of more than one piece and a larger stride than those before it.
  void add(std::size_t n, std::ptrdiff_t stride) noexcept {
    const std::size_t step = magnitude(stride);
    if (stride < 0) first -= (n - 1) * step;
    if (step == bytes && dimensions == 0) {
      bytes *= n;
    } else {
      pieces[dimensions] = n;
      strides[dimensions++] = step;
    }
  }

  /// Bytes from the first to the end of the last; of pieces.
  std::size_t extent() const noexcept {
    std::size_t n = bytes;
    for (std::size_t d = 0; d < dimensions; ++d) n += (pieces[d] - 1) * strides[d];
    return n;
  }
};

/// Returns true if r, of one dimension at most, contains one of the `n` bytes from `at` on.
inline bool has_one_of(const Region& r, std::uintptr_t at, std::size_t n) noexcept {
  if (at < r.first) return at + n > r.first;
  const std::size_t from = at - r.first;
  if (r.dimensions == 0) return from < r.bytes;
  const std::size_t piece = from / r.strides[0];
  if (piece >= r.pieces[0]) return false;
  const std::size_t in_piece = from - piece * r.strides[0];
  return in_piece < r.bytes || (piece + 1 < r.pieces[0] && in_piece + n > r.strides[0]);
}

/// Returns true if two regions of pieces share a byte. Columns of one matrix are separated in a few
/// steps; otherwise the larger region is halved until the halves do not overlap.
inline bool pieces_share_bytes(const Region& a, const Region& b) noexcept {
  if (a.first + a.extent() <= b.first || b.first + b.extent() <= a.first) return false;
  if (a.dimensions == 0 && b.dimensions <= 1) return has_one_of(b, a.first, a.bytes);
  if (b.dimensions == 0 && a.dimensions <= 1) return has_one_of(a, b.first, b.bytes);
  if (a.dimensions == 1 && b.dimensions == 1 && a.strides[0] == b.strides[0]) {
    // Piece i of a and piece j of b lie to each other as a's last and piece j + n − 1 − i, of n.
    Region more = b;
    more.pieces[0] += a.pieces[0] - 1;
    return has_one_of(more, a.first + (a.pieces[0] - 1) * a.strides[0], a.bytes);
  }
  const bool halve_a = b.dimensions == 0 || (a.dimensions != 0 && a.extent() >= b.extent());
  Region half = halve_a ? a : b;
  const Region& other = halve_a ? b : a;
  const std::size_t d = half.dimensions - 1;
  const std::size_t all = half.pieces[d];
  const auto share = [&](std::size_t from, std::size_t n) {
    Region part = half;
    part.first += from * half.strides[d];
    part.pieces[d] = n;
    if (n == 1) --part.dimensions;
    return pieces_share_bytes(part, other);
  };
  return share(0, all / 2) || share(all / 2, all - all / 2);
}

/// Calls f with the first byte of each run of a list, and where it ends.
template <class F> void for_each_run(const Region& list, F&& f) {
  const Vector<BufferView::Run>& runs = *list.runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t from = runs[i].first * list.element_size;
    const std::size_t to = i + 1 < runs.size() ? runs[i + 1].first * list.element_size : list.bytes;
    const std::uintptr_t at = list.first + static_cast<std::uintptr_t>(runs[i].at);
    f(at, at + (to - from));
  }
}

/// Where a block lies, in whatever unit.
struct PlacedBlock {
  std::intptr_t first;
  std::intptr_t end;
  std::size_t number;  ///< of the block, or of its list
};

/// In ascending order. Not by heap_sort(), which is for what is set up: this is done in each call,
/// and most lists are in order.
inline void sort_by_place(Vector<PlacedBlock>& all) {
  const auto before = [](const PlacedBlock& x, const PlacedBlock& y) { return x.first < y.first; };
  if (!std::is_sorted(all.begin(), all.end(), before)) std::sort(all.begin(), all.end(), before);
}

/// Returns true if two lists share a byte. Throws std::bad_alloc.
inline bool lists_share_bytes(const Region& a, const Region& b) {
  Vector<PlacedBlock> all;
  all.reserve(a.runs->size() + b.runs->size());
  for (const Region* const list : {&a, &b}) {
    for_each_run(*list, [&](std::uintptr_t from, std::uintptr_t to) {
      all.push_back({static_cast<std::intptr_t>(from), static_cast<std::intptr_t>(to),
                     list == &a ? std::size_t{0} : std::size_t{1}});
    });
  }
  sort_by_place(all);
  std::intptr_t ends[2] = {INTPTR_MIN, INTPTR_MIN};
  for (const PlacedBlock& r : all) {
    if (r.first < ends[1 - r.number]) return true;
    ends[r.number] = std::max(ends[r.number], r.end);
  }
  return false;
}

/// Returns the addresses of the first byte of a region and of the end of its last.
inline std::pair<std::uintptr_t, std::uintptr_t> extent_of(const Region& r) noexcept {
  if (r.runs == nullptr) return {r.first, r.first + r.extent()};
  std::pair<std::uintptr_t, std::uintptr_t> all{UINTPTR_MAX, 0};
  for_each_run(r, [&](std::uintptr_t from, std::uintptr_t to) {
    all = {std::min(all.first, from), std::max(all.second, to)};
  });
  return all;
}

/// Returns true if two regions, neither of them empty, share a byte. Throws std::bad_alloc.
inline bool share_bytes(const Region& a, const Region& b) {
  const auto [first_of_a, end_of_a] = extent_of(a);
  const auto [first_of_b, end_of_b] = extent_of(b);
  if (end_of_a <= first_of_b || end_of_b <= first_of_a) return false;
  if (a.runs != nullptr && b.runs != nullptr) return lists_share_bytes(a, b);
  if (a.runs == nullptr && b.runs == nullptr) return pieces_share_bytes(a, b);
  const Region& list = a.runs != nullptr ? a : b;
  const Region& other = a.runs != nullptr ? b : a;
  bool share = false;
  for_each_run(list, [&](std::uintptr_t from, std::uintptr_t to) {
    Region run;
    run.first = from;
    run.bytes = to - from;
    share = share || pieces_share_bytes(run, other);
  });
  return share;
}

/// Returns the bytes that `count` elements occupy. A view in strides has its own number of
/// elements.
inline Region region_of(const BufferView* view, const std::byte* address, std::size_t count,
                        std::size_t size) {
  Region r;
  r.first = reinterpret_cast<std::uintptr_t>(address);
  r.bytes = count * size;
  if (view == nullptr) return r;
  if (view->length() == 0) {
    r.runs = &view->runs();
    r.element_size = size;
    return r;
  }
  std::array<BufferView::Step, BufferView::most_dimensions> steps{};
  const std::size_t n = view->steps().size();
  std::copy_n(view->steps().begin(), n, steps.begin());
  heap_sort(steps.data(), n, [](const BufferView::Step& a, const BufferView::Step& b) {
    return magnitude(a.stride) < magnitude(b.stride);
  });
  r.bytes = view->length() * size;
  for (std::size_t d = 0; d < n; ++d) r.add(steps[d].count, steps[d].stride);
  return r;
}

/// As look(), which may allocate; refuses the call where there is no memory.
template <class Look> auto look_at_blocks(const CallOrigin& origin, const Look& look) {
  try {
    return look();
  } catch (const std::bad_alloc&) {
    origin.refuse("there is no memory to look at the blocks of input and output: pass fewer");
  }
}

/// Refuses input and output that have a byte in common; the call knows their views.
inline void check_disjoint(const CallOrigin& origin, const Call& call, std::size_t in_count,
                           std::size_t out_count) {
  if (assertion_level == 0 || in_count == 0 || out_count == 0) return;
  const std::size_t size = call.reducer.size;
  const bool share = look_at_blocks(origin, [&] {
    return share_bytes(region_of(call.in_view, call.in, in_count, size),
                       region_of(call.out_view, call.out, out_count, size));
  });
  origin.require(
      !share,
      "input and output overlap: pass one buffer (in place), or two that have no element "
      "in common");
}

// -- Lists

/// Bytes that displacements of a layout count in, and units of an element.
inline std::size_t bytes_of_unit(const BufferLayout& l, std::size_t size) noexcept {
  return l.unit != 0 ? l.unit : size;
}
inline std::size_t units_of_element(const BufferLayout& l, std::size_t size) noexcept {
  return size / bytes_of_unit(l, size);
}

/// Returns where block i of a list begins, in units; may be negative.
inline std::ptrdiff_t displacement_of(const BufferLayout& l, std::size_t i) noexcept {
  return static_cast<std::ptrdiff_t>(l.displacements[i]);
}
/// Returns where block i ends; elements have `width` units.
inline std::ptrdiff_t end_of(const BufferLayout& l, std::size_t i, std::size_t width) noexcept {
  return displacement_of(l, i) + static_cast<std::ptrdiff_t>(l.lengths[i] * width);
}

/// Refuses a list two of whose blocks have an element in common.
inline void check_list_disjoint(const CallOrigin& origin, const BufferLayout& l, std::size_t size) {
  const auto blocks = look_at_blocks(origin, [&] {
    const std::size_t width = units_of_element(l, size);
    Vector<PlacedBlock> all;
    for (std::size_t i = 0; i < l.lengths.size(); ++i) {
      if (l.lengths[i] != 0) all.push_back({displacement_of(l, i), end_of(l, i, width), i});
    }
    sort_by_place(all);
    return all;
  });
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    const PlacedBlock& a = blocks[i - 1];
    const PlacedBlock& b = blocks[i];
    if (b.first >= a.end) continue;
    origin.refuse(
        joined({"blocks ", std::min(a.number, b.number), " and ", std::max(a.number, b.number),
                " of the ", l.name, " overlap, at ", l.unit == 0 ? "element " : "byte ", b.first,
                ": pass displacements at least a block's length apart"}));
  }
}

/// The view of a list, from `first` units after its address on.
inline BufferView view_of_list(const BufferLayout& l, std::size_t size, std::ptrdiff_t first,
                               Vector<BufferView::Run> runs) {
  runs.clear();
  const auto unit = static_cast<std::ptrdiff_t>(bytes_of_unit(l, size));
  const std::size_t width = units_of_element(l, size);
  std::size_t before = 0;
  std::ptrdiff_t end = 0;
  for (std::size_t i = 0; i < l.lengths.size(); ++i) {
    if (l.lengths[i] == 0) continue;
    const std::ptrdiff_t place = displacement_of(l, i);
    if (runs.empty() || place != end) runs.push_back({before, (place - first) * unit});
    before += l.lengths[i];
    end = end_of(l, i, width);
  }
  return BufferView::of_runs(std::move(runs));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
