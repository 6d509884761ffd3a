#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <class T>
struct DeleteOwned {
  [[gnu::cold]] void operator()(T* object) const noexcept {
    // NOLINTNEXTLINE(bugprone-sizeof-expression)
    static_assert(sizeof(T) > 0, "the type is known where its object is deleted");
    delete object;
  }
};

template <class T>
struct DeleteOwned<T[]> {
  void operator()(T* elements) const noexcept { delete[] elements; }
};

/// Owns an object, or an array T[], as std::unique_ptr does, which compiles a tuple and some
/// hundred traits for each T.
template <class T, class Delete = DeleteOwned<T>>
class Owned {
 public:
  using Element = std::remove_extent_t<T>;

  Owned() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Owned(std::nullptr_t) noexcept {}
  explicit Owned(Element* object) noexcept : object_(object) {}
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  /// From an object of a derived class.
  template <class U>
  requires std::is_convertible_v<U*, Element*>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Owned(Owned<U>&& other)
  noexcept : object_(other.release()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned& operator=(Owned&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Owned() { reset(); }

  [[gnu::always_inline]] Element* get() const noexcept { return object_; }
  [[gnu::always_inline]] Element& operator*() const noexcept { return *object_; }
  [[gnu::always_inline]] Element* operator->() const noexcept { return object_; }
  [[gnu::always_inline]] Element& operator[](std::size_t i) const noexcept { return object_[i]; }
  [[gnu::always_inline]] explicit operator bool() const noexcept { return object_ != nullptr; }
  [[gnu::always_inline]] bool operator==(std::nullptr_t) const noexcept {
    return object_ == nullptr;
  }

  Element* release() noexcept {
    Element* const object = object_;
    object_ = nullptr;
    return object;
  }
  void reset(Element* object = nullptr) noexcept {
    Element* const former = object_;
    object_ = object;
    if (former != nullptr) Delete{}(former);
  }

 private:
  Element* object_ = nullptr;
};

template <class T, class... As>
requires(!std::is_array_v<T>) [[gnu::cold]] Owned<T> make_owned(As&&... arguments) {
  return Owned<T>{new T(std::forward<As>(arguments)...)};
}

/// An array of n elements with zeroes or the default constructor's values.
template <class T>
requires std::is_array_v<T> Owned<T> make_owned(std::size_t n) {
  return Owned<T>{new std::remove_extent_t<T>[n]()};
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
