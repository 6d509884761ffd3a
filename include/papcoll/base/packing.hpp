#pragma once

#include <papcoll/base/data_view.hpp>
#include <papcoll/config.hpp>

#include <cstddef>
#include <cstring>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// As f(n), where a compiler knows n if it is that of a short run: the copy is a load and a store.
template <class F>
void with_known_bytes(std::size_t n, F&& f) {
  switch (n) {
    case 4:
      return f(std::size_t{4});
    case 8:
      return f(std::size_t{8});
    case 16:
      return f(std::size_t{16});
    default:
      return f(n);
  }
}

/// Copies `count` elements of `size` bytes, from number `first` on, from where they lie; null: they
/// are neighbours.
inline void pack(std::byte* to, const std::byte* from, const DataView* view, std::size_t first,
                 std::size_t count, std::size_t size) {
  if (count == 0) return;
  if (view == nullptr) {
    std::memcpy(to, from + first * size, count * size);
    return;
  }
  view->for_each_run(first, count, size, [&](std::ptrdiff_t at, std::size_t n) {
    with_known_bytes(n * size, [&](std::size_t bytes) {
      std::memcpy(to, from + at, bytes);
      to += bytes;
    });
  });
}

/// The other way, for the first `count` elements; what lies between them is not written.
inline void unpack(std::byte* to, const DataView* view, const std::byte* from, std::size_t count,
                   std::size_t size) {
  if (count == 0) return;
  if (view == nullptr) {
    std::memcpy(to, from, count * size);
    return;
  }
  view->for_each_run(0, count, size, [&](std::ptrdiff_t at, std::size_t n) {
    with_known_bytes(n * size, [&](std::size_t bytes) {
      std::memcpy(to + at, from, bytes);
      from += bytes;
    });
  });
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
