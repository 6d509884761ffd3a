#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Sorts n elements that `less` and `exchange` know by their numbers, in O(n log n) without keeping
/// the order of equal ones.
[[gnu::cold, gnu::noinline]] inline void heap_sort(
    std::size_t n, FunctionRef<bool(std::size_t, std::size_t)> less,
    FunctionRef<void(std::size_t, std::size_t)> exchange) {
  std::size_t unordered = n / 2;
  for (std::size_t end = n; end > 1;) {
    if (unordered > 0) {
      --unordered;
    } else {
      exchange(0, --end);
    }
    std::size_t at = unordered;
    for (std::size_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
      if (child + 1 < end && less(child, child + 1)) ++child;
      if (!less(at, child)) break;
      exchange(at, child);
      at = child;
    }
  }
}

/// Sorts n elements; each std::sort takes the compiler far longer.
template <class T, class Less>
[[gnu::cold]] void heap_sort(T* elements, std::size_t n, const Less& less) {
  heap_sort(
      n, [&](std::size_t a, std::size_t b) { return less(elements[a], elements[b]); },
      [elements](std::size_t a, std::size_t b) {
        T kept = static_cast<T&&>(elements[a]);
        elements[a] = static_cast<T&&>(elements[b]);
        elements[b] = static_cast<T&&>(kept);
      });
}

template <class T>
void heap_sort(T* elements, std::size_t n) {
  heap_sort(elements, n, [](const T& a, const T& b) { return a < b; });
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
