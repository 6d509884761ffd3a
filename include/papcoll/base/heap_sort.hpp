#pragma once

#include <papcoll/config.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Sorts n elements in O(n log n) without keeping the order of equal ones; each std::sort takes the
/// compiler far longer.
template <class T, class Less>
[[gnu::cold]] void heap_sort(T* elements, std::size_t n, const Less& less) {
  const auto exchange = [elements](std::size_t a, std::size_t b) {
    T kept = static_cast<T&&>(elements[a]);
    elements[a] = static_cast<T&&>(elements[b]);
    elements[b] = static_cast<T&&>(kept);
  };
  const auto sift_down = [&](std::size_t at, std::size_t end) {
    for (std::size_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
      if (child + 1 < end && less(elements[child], elements[child + 1])) ++child;
      if (!less(elements[at], elements[child])) return;
      exchange(at, child);
      at = child;
    }
  };
  for (std::size_t i = n / 2; i > 0; --i) sift_down(i - 1, n);
  for (std::size_t end = n; end > 1; --end) {
    exchange(0, end - 1);
    sift_down(0, end - 1);
  }
}

template <class T>
void heap_sort(T* elements, std::size_t n) {
  heap_sort(elements, n, [](const T& a, const T& b) { return a < b; });
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
