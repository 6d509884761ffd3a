#pragma once

#include <papcoll/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// The memory of a TrivialVector. Its functions know no type, so that a program has them once.
struct TrivialMemory {
  void* data = nullptr;
  std::size_t size = 0;      ///< elements
  std::size_t capacity = 0;  ///< elements

  /// Makes room for `least` elements of `bytes` bytes at least. Throws std::bad_alloc.
  [[gnu::cold, gnu::noinline]] void grow(std::size_t least, std::size_t bytes) {
    constexpr std::size_t first_bytes = 512;
    const std::size_t wanted = std::max({least, 2 * capacity, first_bytes / bytes});
    void* const grown = wanted > static_cast<std::size_t>(-1) / bytes
                            ? nullptr
                            : std::realloc(data, wanted * bytes);
    if (grown == nullptr) throw std::bad_alloc{};
    data = grown;
    capacity = wanted;
  }

  /// Replaces `removed` elements from number `at` on by n elements whose values are not set.
  [[gnu::cold, gnu::noinline]] void replace(std::size_t at, std::size_t removed, std::size_t n,
                                            std::size_t bytes) {
    const std::size_t behind = size - at - removed;
    const std::size_t new_size = size - removed + n;
    if (new_size > capacity) grow(new_size, bytes);
    size = new_size;
    auto* const from = static_cast<std::byte*>(data) + at * bytes;
    if (behind != 0) std::memmove(from + n * bytes, from + removed * bytes, behind * bytes);
  }
};

/// A vector of elements that may be copied byte by byte: std::vector at a fraction of its code. No
/// argument may refer to an element of the vector itself.
template <class T>
class TrivialVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  using value_type = T;

  TrivialVector() = default;
  explicit TrivialVector(std::size_t n) { resize(n); }
  TrivialVector(const TrivialVector& other) { append(other.data(), other.size()); }
  TrivialVector(TrivialVector&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  TrivialVector& operator=(TrivialVector other) noexcept {
    swap(other);
    return *this;
  }
  ~TrivialVector() { std::free(memory_.data); }

  T* data() noexcept { return static_cast<T*>(memory_.data); }
  const T* data() const noexcept { return static_cast<const T*>(memory_.data); }
  std::size_t size() const noexcept { return memory_.size; }
  bool empty() const noexcept { return memory_.size == 0; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size(); }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size(); }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  T& front() noexcept { return *begin(); }
  const T& front() const noexcept { return *begin(); }
  T& back() noexcept { return end()[-1]; }
  const T& back() const noexcept { return end()[-1]; }

  void swap(TrivialVector& other) noexcept { std::swap(memory_, other.memory_); }
  void clear() noexcept { memory_.size = 0; }
  void pop_back() noexcept { --memory_.size; }

  void push_back(const T& element) {
    if (memory_.size == memory_.capacity) [[unlikely]]
      memory_.grow(memory_.size + 1, bytes_of_one);
    ::new (static_cast<void*>(end())) T(element);
    ++memory_.size;
  }

  /// Adds n elements of an array.
  void append(const T* elements, std::size_t n) {
    if (n == 0) return;
    const std::size_t at = size();
    memory_.replace(at, 0, n, bytes_of_one);
    std::memcpy(memory_at(at), elements, n * bytes_of_one);
  }

  /// Inserts an element before number `at`.
  void insert(std::size_t at, const T& element) {
    memory_.replace(at, 0, 1, bytes_of_one);
    ::new (memory_at(at)) T(element);
  }

  /// Removes the elements from number `first` to before number `last`.
  void erase(std::size_t first, std::size_t last) noexcept {
    memory_.replace(first, last - first, 0, bytes_of_one);
  }

  /// Cuts the vector to n elements, or adds elements of this value up to n.
  void resize(std::size_t n, const T& value = T{}) {
    if (n > memory_.capacity) memory_.grow(n, bytes_of_one);
    for (std::size_t i = size(); i < n; ++i) ::new (memory_at(i)) T(value);
    memory_.size = n;
  }

 private:
  static constexpr std::size_t bytes_of_one = sizeof(T);  // NOLINT(bugprone-sizeof-expression)

  void* memory_at(std::size_t i) noexcept { return data() + i; }

  TrivialMemory memory_;
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
