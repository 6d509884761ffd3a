// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The memory of a Vector. Its functions know no type, so that a program has them once.
struct VectorMemory {
  /// Moves n elements to other memory.
  using Move = void(void* to, void* from, std::size_t n) noexcept;

  void* data = nullptr;
  std::size_t size = 0;      ///< elements
  std::size_t capacity = 0;  ///< elements

  /// Makes room for `least` elements of `bytes` bytes in all. Null for `move`: elements are moved
  /// byte by byte. Throws std::bad_alloc.
  [[gnu::cold, gnu::noinline]] void reserve(std::size_t least, std::size_t bytes, Move* move) {
    const bool fits = least <= static_cast<std::size_t>(-1) / bytes;
    void* const grown = !fits             ? nullptr
                        : move == nullptr ? std::realloc(data, least * bytes)
                                          : std::malloc(least * bytes);
    if (grown == nullptr) throw std::bad_alloc{};
    if (move != nullptr) {
      move(grown, data, size);
      std::free(data);
    }
    data = grown;
    capacity = least;
  }

  /// Makes room for `least` elements and for as many more as there are.
  [[gnu::cold, gnu::noinline]] void grow(std::size_t least, std::size_t bytes, Move* move) {
    constexpr std::size_t first_bytes = 128;
    reserve(std::max({least, 2 * capacity, first_bytes / bytes}), bytes, move);
  }

  /// Replaces `removed` elements from number `at` on by n elements whose values are not set. The
  /// elements are moved byte by byte.
  [[gnu::cold, gnu::noinline]] void replace(std::size_t at, std::size_t removed, std::size_t n,
                                            std::size_t bytes) {
    const std::size_t behind = size - at - removed;
    const std::size_t new_size = size - removed + n;
    if (new_size > capacity) grow(new_size, bytes, nullptr);
    size = new_size;
    auto* const from = static_cast<std::byte*>(data) + at * bytes;
    if (behind != 0) std::memmove(from + n * bytes, from + removed * bytes, behind * bytes);
  }
};

/// A vector at a fraction of the code that std::vector compiles for each type of elements, for
/// papcoll's own types. An element may be moved without an exception. No argument may refer to an
/// element of the vector itself.
template <class T> class Vector {
  static constexpr bool is_trivial = __is_trivially_copyable(T);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  Vector() = default;
  explicit Vector(std::size_t n) : Vector() {
    reserve(n);
    resize(n);
  }
  Vector(std::size_t n, const T& value) : Vector() { assign(n, value); }
  Vector(std::initializer_list<T> elements) : Vector() {
    append(elements.begin(), elements.size());
  }
  Vector(const T* first, const T* last) : Vector() {
    append(first, static_cast<std::size_t>(last - first));
  }
  Vector(const Vector& other) : Vector() { append(other.data(), other.size()); }
  Vector(Vector&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Vector& operator=(Vector other) noexcept {
    swap(other);
    return *this;
  }
  ~Vector() {
    static_assert(alignof(T) <= alignof(std::max_align_t), "memory of std::malloc has no more");
    if constexpr (!std::is_trivially_destructible_v<T>) clear();
    std::free(memory_.data);
  }

  [[gnu::always_inline]] T* data() noexcept { return static_cast<T*>(memory_.data); }
  [[gnu::always_inline]] const T* data() const noexcept {
    return static_cast<const T*>(memory_.data);
  }
  [[gnu::always_inline]] std::size_t size() const noexcept { return memory_.size; }
  [[gnu::always_inline]] std::size_t capacity() const noexcept { return memory_.capacity; }
  [[gnu::always_inline]] bool empty() const noexcept { return memory_.size == 0; }
  [[gnu::always_inline]] T* begin() noexcept { return data(); }
  [[gnu::always_inline]] T* end() noexcept { return data() + size(); }
  [[gnu::always_inline]] const T* begin() const noexcept { return data(); }
  [[gnu::always_inline]] const T* end() const noexcept { return data() + size(); }
  [[gnu::always_inline]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[gnu::always_inline]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[gnu::always_inline]] T& front() noexcept { return *begin(); }
  [[gnu::always_inline]] const T& front() const noexcept { return *begin(); }
  [[gnu::always_inline]] T& back() noexcept { return end()[-1]; }
  [[gnu::always_inline]] const T& back() const noexcept { return end()[-1]; }
  bool operator==(const Vector& other) const {
    if (size() != other.size()) return false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!((*this)[i] == other[i])) return false;
    }
    return true;
  }

  void swap(Vector& other) noexcept { std::swap(memory_, other.memory_); }
  void clear() noexcept { cut(0); }
  void pop_back() noexcept {
    back().~T();
    --memory_.size;
  }

  void reserve(std::size_t n) {
    if (n > memory_.capacity) memory_.reserve(n, bytes_of_one, move);
  }

  template <class... As> T& emplace_back(As&&... arguments) {
    if (memory_.size == memory_.capacity) [[unlikely]]
      memory_.grow(memory_.size + 1, bytes_of_one, move);
    T* const made = ::new (memory_at(memory_.size)) T{std::forward<As>(arguments)...};
    ++memory_.size;
    return *made;
  }
  void push_back(const T& element) { emplace_back(element); }
  void push_back(T&& element) requires(!is_trivial) { emplace_back(std::move(element)); }

  /// Adds n elements of an array.
  void append(const T* elements, std::size_t n) {
    if (n == 0) return;
    if constexpr (is_trivial) {
      const std::size_t at = size();
      memory_.replace(at, 0, n, bytes_of_one);
      std::memcpy(memory_at(at), elements, n * bytes_of_one);
    } else {
      if (size() + n > capacity()) memory_.grow(size() + n, bytes_of_one, move);
      for (std::size_t i = 0; i < n; ++i) emplace_back(elements[i]);
    }
  }

  void assign(std::size_t n, const T& value) {
    clear();
    reserve(n);
    resize(n, value);
  }

  /// Inserts an element before `at`.
  void insert(const T* at, T element) {
    const auto number = static_cast<std::size_t>(at - begin());
    if constexpr (is_trivial) {
      memory_.replace(number, 0, 1, bytes_of_one);
      ::new (memory_at(number)) T(element);
    } else {
      emplace_back(std::move(element));
      T last = static_cast<T&&>(back());
      for (std::size_t i = size() - 1; i > number; --i)
        (*this)[i] = static_cast<T&&>((*this)[i - 1]);
      (*this)[number] = static_cast<T&&>(last);
    }
  }

  /// Removes the elements from `first` to before `last`. Returns what follows them.
  T* erase(const T* first, const T* last) noexcept {
    const auto number = static_cast<std::size_t>(first - begin());
    const auto n = static_cast<std::size_t>(last - first);
    if constexpr (is_trivial) {
      memory_.replace(number, n, 0, bytes_of_one);
    } else if (n != 0) {
      for (std::size_t i = number + n; i < size(); ++i) (*this)[i - n] = std::move((*this)[i]);
      cut(size() - n);
    }
    return begin() + number;
  }
  T* erase(const T* element) noexcept { return erase(element, element + 1); }

  /// Erases the elements for which `drop` is true, and keeps the order of the others.
  template <class Drop> void erase_if(const Drop& drop) {
    std::size_t kept = 0;
    for (T& element : *this) {
      if (drop(element)) continue;
      if (&element != &(*this)[kept]) (*this)[kept] = std::move(element);
      ++kept;
    }
    cut(kept);
  }

  /// Cuts the vector to n elements, or adds elements of this value up to n.
  void resize(std::size_t n, const T& value) {
    if (n > memory_.capacity) memory_.grow(n, bytes_of_one, move);
    for (; size() < n; ++memory_.size) ::new (memory_at(size())) T(value);
    cut(n);
  }
  /// Cuts the vector to n elements, or adds elements T{} up to n.
  void resize(std::size_t n) {
    if (n > memory_.capacity) memory_.grow(n, bytes_of_one, move);
    for (; size() < n; ++memory_.size) ::new (memory_at(size())) T{};
    cut(n);
  }

 private:
  static constexpr std::size_t bytes_of_one = sizeof(T);  // NOLINT(bugprone-sizeof-expression)

  [[gnu::cold]] static void move_elements(void* to, void* from, std::size_t n) noexcept {
    static_assert(noexcept(T(static_cast<T&&>(*static_cast<T*>(from)))));
    for (std::size_t i = 0; i < n; ++i) {
      ::new (static_cast<void*>(static_cast<T*>(to) + i))
          T(static_cast<T&&>(static_cast<T*>(from)[i]));
      static_cast<T*>(from)[i].~T();
    }
  }
  static constexpr VectorMemory::Move* move = is_trivial ? nullptr : &move_elements;

  /// Drops all elements from number n on.
  void cut(std::size_t n) noexcept {
    if constexpr (!is_trivial) {
      for (std::size_t i = n; i < size(); ++i) (*this)[i].~T();
    }
    memory_.size = n;
  }

  void* memory_at(std::size_t i) noexcept { return data() + i; }

  VectorMemory memory_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

namespace papcoll::inline PAPCOLL_ABI {

/// First in, first out, in memory that it keeps. Each element is moved at most once on average.
template <class T> class Queue {
 public:
  bool empty() const noexcept { return all_.empty(); }
  T& front() noexcept { return all_[first_]; }

  void push(T element) { all_.push_back(std::move(element)); }

  void pop() noexcept {
    if (++first_ * 2 < all_.size()) return;
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  void clear() noexcept {
    all_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> all_;
  std::size_t first_ = 0;  ///< those before it are gone; less than half of all
};

}  // namespace papcoll::inline PAPCOLL_ABI

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

template <class T> void heap_sort(T* elements, std::size_t n) {
  heap_sort(elements, n, [](const T& a, const T& b) { return a < b; });
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
