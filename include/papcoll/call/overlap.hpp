#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// |n|, also of the least number there is.
constexpr std::size_t magnitude(std::ptrdiff_t n) noexcept {
  return n < 0 ? 0 - static_cast<std::size_t>(n) : static_cast<std::size_t>(n);
}

/// Which bytes a buffer has: equal pieces in dimensions, upwards from its lowest address, whatever
/// the order of its elements; or the runs of a list. No two of its pieces overlap, unless it is a
/// list.
struct Region {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;       ///< of a piece; of a list, all of them
  std::size_t dimensions = 0;  ///< none: it is one piece
  std::array<std::size_t, BufferView::most_dimensions> pieces{};
  std::array<std::size_t, BufferView::most_dimensions> apart{};  ///< bytes, ascending
  /// Of a list: runs of elements, from `first` on. Else null.
  const detail::Vector<BufferView::Run>* runs = nullptr;
  std::size_t element_size = 1;  ///< of a list

  /// One more dimension, of more than one piece and a larger stride than those before it.
  void add(std::size_t n, std::ptrdiff_t stride) noexcept {
    const std::size_t step = magnitude(stride);
    if (stride < 0) first -= (n - 1) * step;
    if (step == bytes && dimensions == 0) {
      bytes *= n;
    } else {
      pieces[dimensions] = n;
      apart[dimensions++] = step;
    }
  }

  /// Bytes from the first to the end of the last; of pieces.
  std::size_t extent() const noexcept {
    std::size_t n = bytes;
    for (std::size_t d = 0; d < dimensions; ++d) n += (pieces[d] - 1) * apart[d];
    return n;
  }
};

/// Has r, of one dimension at most, one of the `n` bytes from `at` on?
inline bool has_one_of(const Region& r, std::uintptr_t at, std::size_t n) noexcept {
  if (at < r.first) return at + n > r.first;
  const std::size_t from = at - r.first;
  if (r.dimensions == 0) return from < r.bytes;
  const std::size_t piece = from / r.apart[0];
  if (piece >= r.pieces[0]) return false;
  const std::size_t in_piece = from - piece * r.apart[0];
  return in_piece < r.bytes || (piece + 1 < r.pieces[0] && in_piece + n > r.apart[0]);
}

/// Have two, of pieces, a byte in common? Columns of one matrix are told apart in a few steps; else
/// the larger one is halved until the halves lie apart.
inline bool pieces_share_bytes(const Region& a, const Region& b) noexcept {
  if (a.first + a.extent() <= b.first || b.first + b.extent() <= a.first) return false;
  if (a.dimensions == 0 && b.dimensions <= 1) return has_one_of(b, a.first, a.bytes);
  if (b.dimensions == 0 && a.dimensions <= 1) return has_one_of(a, b.first, b.bytes);
  if (a.dimensions == 1 && b.dimensions == 1 && a.apart[0] == b.apart[0]) {
    // Piece i of a and piece j of b lie to each other as a's last and piece j + n − 1 − i, of n.
    Region more = b;
    more.pieces[0] += a.pieces[0] - 1;
    return has_one_of(more, a.first + (a.pieces[0] - 1) * a.apart[0], a.bytes);
  }
  const bool halve_a = b.dimensions == 0 || (a.dimensions != 0 && a.extent() >= b.extent());
  Region half = halve_a ? a : b;
  const Region& other = halve_a ? b : a;
  const std::size_t d = half.dimensions - 1;
  const std::size_t all = half.pieces[d];
  const auto share = [&](std::size_t from, std::size_t n) {
    Region part = half;
    part.first += from * half.apart[d];
    part.pieces[d] = n;
    if (n == 1) --part.dimensions;
    return pieces_share_bytes(part, other);
  };
  return share(0, all / 2) || share(all / 2, all - all / 2);
}

/// Calls f with the first byte of each run of a list, and where it ends.
template <class F>
void for_each_run(const Region& list, F&& f) {
  const detail::Vector<BufferView::Run>& runs = *list.runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t from = runs[i].first * list.element_size;
    const std::size_t to = i + 1 < runs.size() ? runs[i + 1].first * list.element_size : list.bytes;
    const std::uintptr_t at = list.first + static_cast<std::uintptr_t>(runs[i].at);
    f(at, at + (to - from));
  }
}

/// Have two lists a byte in common? Throws std::bad_alloc.
inline bool lists_share_bytes(const Region& a, const Region& b) {
  struct Bytes {
    std::uintptr_t first;
    std::uintptr_t end;
    bool of_a;
  };
  detail::Vector<Bytes> all;
  all.reserve(a.runs->size() + b.runs->size());
  for_each_run(a, [&](std::uintptr_t from, std::uintptr_t to) { all.push_back({from, to, true}); });
  for_each_run(b, [&](std::uintptr_t from, std::uintptr_t to) {
    all.push_back({from, to, false});
  });
  // Not heap_sort(), which is for what is set up: this is done in each call.
  std::sort(all.begin(), all.end(),
            [](const Bytes& x, const Bytes& y) { return x.first < y.first; });
  std::uintptr_t end_of_a = 0;
  std::uintptr_t end_of_b = 0;
  for (const Bytes& r : all) {
    if (r.first < (r.of_a ? end_of_b : end_of_a)) return true;
    std::uintptr_t& end = r.of_a ? end_of_a : end_of_b;
    end = std::max(end, r.end);
  }
  return false;
}

/// Have two regions, neither of which is empty, a byte in common? Throws std::bad_alloc.
inline bool share_bytes(const Region& a, const Region& b) {
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

}  // namespace papcoll::inline PAPCOLL_ABI::detail
