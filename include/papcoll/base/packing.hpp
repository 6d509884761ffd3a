#pragma once

#include <papcoll/base/data_view.hpp>
#include <papcoll/config.hpp>

#include <cstddef>
#include <cstring>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Copies `count` elements of `size` bytes, from number `first` on, from where they lie; null: they
/// are neighbours.
inline void pack(std::byte* to, const std::byte* from, const DataView* view, std::size_t first,
                 std::size_t count, std::size_t size) {
  if (count == 0) return;
  if (view == nullptr) {
    std::memcpy(to, from + first * size, count * size);
  } else {
    view->pack(to, from, first, count, size);
  }
}

/// The other way, for the first `count` elements; what lies between them is not written.
inline void unpack(std::byte* to, const DataView* view, const std::byte* from, std::size_t count,
                   std::size_t size) {
  if (count == 0) return;
  if (view == nullptr) {
    std::memcpy(to, from, count * size);
  } else {
    view->unpack(to, from, count, size);
  }
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
