// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <class T> struct DeleteOwned {
  [[gnu::cold]] void operator()(T* object) const noexcept {
    // NOLINTNEXTLINE(bugprone-sizeof-expression)
    static_assert(sizeof(T) > 0, "the type is known where its object is deleted");
    delete object;
  }
};

template <class T> struct DeleteOwned<T[]> {
  void operator()(T* elements) const noexcept { delete[] elements; }
};

/// Owns an object, or an array T[], as std::unique_ptr does, which compiles a tuple and some
/// hundred traits for each T.
template <class T, class Delete = DeleteOwned<T>> class Owned {
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

/// Counts who shares an object and who only watches it. Its functions know no type, so that a
/// program has them once.
class SharedCount : Pinned {
 public:
  /// Destroys the object, or, with `whole`, frees the memory of the count and of the object.
  using End = void(SharedCount& count, bool whole) noexcept;

  explicit SharedCount(End* end) noexcept : end_(end) {}

  // The caller holds a reference already, which keeps the count above 0: relaxed.
  void share() noexcept { sharers_.fetch_add(1, std::memory_order_relaxed); }
  void watch() noexcept { watchers_.fetch_add(1, std::memory_order_relaxed); }

  [[gnu::noinline]] void unshare() noexcept {
    if (sharers_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    end_(*this, false);
    unwatch();
  }

  [[gnu::noinline]] void unwatch() noexcept {
    if (watchers_.fetch_sub(1, std::memory_order_acq_rel) == 1) end_(*this, true);
  }

  /// Shares the object if it is still shared. Returns true if it was.
  bool try_share() noexcept {
    int n = sharers_.load(std::memory_order_relaxed);
    while (n != 0) {
      if (sharers_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel,
                                         std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  int sharers() const noexcept { return sharers_.load(std::memory_order_acquire); }

 private:
  /// How many Shared refer to the object, which lives until the last one leaves. Each leaves with
  /// release, after its last use of the object, and the last one's acquire sees all these uses.
  std::atomic<int> sharers_{1};
  /// How many Weak refer to this count, and 1 for all Shared together. Released and acquired in the
  /// same way before the memory is freed.
  std::atomic<int> watchers_{1};
  End* end_;
};

template <class T> class Weak;

/// Shares an object, as std::shared_ptr does, which compiles a class with a table of virtual
/// functions for each T. A Shared may be copied, dropped and locked by several threads at a time,
/// one and the same Shared only by one.
template <class T> class Shared {
 public:
  Shared() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Shared(std::nullptr_t) noexcept {}
  /// Takes over one share of a count.
  Shared(SharedCount* count, T* object) noexcept : object_(object), count_(count) {}
  /// Shares what `owner` shares and refers to `object`, which lives as long.
  template <class U>
  Shared(Shared<U> owner, T* object) noexcept : Shared(owner.release_count(), object) {}
  Shared(const Shared& other) noexcept : object_(other.object_), count_(other.count_) {
    if (count_ != nullptr) count_->share();
  }
  Shared(Shared&& other) noexcept : object_(other.object_), count_(other.release_count()) {}
  template <class U>
  requires std::is_convertible_v<U*, T*>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Shared(Shared<U> other)
  noexcept : object_(other.get()), count_(other.release_count()) {}
  Shared& operator=(Shared other) noexcept {
    T* const object = other.object_;
    SharedCount* const count = other.release_count();
    other.object_ = object_;
    other.count_ = count_;
    object_ = object;
    count_ = count;
    return *this;
  }
  ~Shared() {
    if (count_ != nullptr) count_->unshare();
  }

  [[gnu::always_inline]] T* get() const noexcept { return object_; }
  [[gnu::always_inline]] std::add_lvalue_reference_t<T> operator*() const noexcept {
    return *object_;
  }
  [[gnu::always_inline]] T* operator->() const noexcept { return object_; }
  [[gnu::always_inline]] explicit operator bool() const noexcept { return object_ != nullptr; }
  [[gnu::always_inline]] bool operator==(std::nullptr_t) const noexcept {
    return object_ == nullptr;
  }
  [[gnu::always_inline]] bool operator==(const Shared& other) const noexcept {
    return object_ == other.object_;
  }

  void reset() noexcept { *this = Shared{}; }
  /// Returns true if this is the only share of the object.
  bool is_only() const noexcept { return count_ != nullptr && count_->sharers() == 1; }
  SharedCount* count() const noexcept { return count_; }
  SharedCount* release_count() noexcept {
    SharedCount* const count = count_;
    object_ = nullptr;
    count_ = nullptr;
    return count;
  }

 private:
  T* object_ = nullptr;
  SharedCount* count_ = nullptr;
};

/// Refers to an object that others share, as std::weak_ptr does.
template <class T> class Weak {
 public:
  Weak() = default;
  template <class U>
  requires std::is_convertible_v<U*, T*>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Weak(const Shared<U>& shared)
  noexcept : object_(shared.get()), count_(shared.count()) {
    if (count_ != nullptr) count_->watch();
  }
  Weak(const Weak& other) noexcept : object_(other.object_), count_(other.count_) {
    if (count_ != nullptr) count_->watch();
  }
  Weak(Weak&& other) noexcept : object_(other.object_), count_(other.count_) {
    other.count_ = nullptr;
  }
  Weak& operator=(Weak other) noexcept {
    SharedCount* const count = other.count_;
    object_ = other.object_;
    other.count_ = count_;
    count_ = count;
    return *this;
  }
  ~Weak() {
    if (count_ != nullptr) count_->unwatch();
  }

  /// Returns the object; null if it is not shared any more.
  Shared<T> lock() const noexcept {
    return count_ != nullptr && count_->try_share() ? Shared<T>{count_, object_} : Shared<T>{};
  }
  bool expired() const noexcept { return count_ == nullptr || count_->sharers() == 0; }

 private:
  T* object_ = nullptr;
  SharedCount* count_ = nullptr;
};

/// An object and who shares it, in one piece of memory.
template <class T> class CountedObject : public SharedCount {
 public:
  template <class... As>
  explicit CountedObject(As&&... arguments)
      : SharedCount(&end), object(std::forward<As>(arguments)...) {}
  CountedObject(const CountedObject&) = delete;
  CountedObject& operator=(const CountedObject&) = delete;
  ~CountedObject() {}  // NOLINT(modernize-use-equals-default): the object has ended before

  union {
    T object;
  };

 private:
  [[gnu::cold]] static void end(SharedCount& count, bool whole) noexcept {
    auto* const self = static_cast<CountedObject*>(&count);
    if (whole)
      delete self;
    else
      self->object.~T();
  }
};

/// Makes an object that may be shared.
template <class T, class... As> [[gnu::cold]] Shared<T> make_shared(As&&... arguments) {
  auto* const made = new CountedObject<std::remove_const_t<T>>(std::forward<As>(arguments)...);
  return {made, &made->object};
}

/// Returns a share of the same object, by a derived class that the object has.
template <class T, class U> Shared<T> static_shared_cast(Shared<U> from) noexcept {
  T* const object = static_cast<T*>(from.get());
  return {std::move(from), object};
}

/// Memory, from a cache line on, that one use keeps for the next.
class KeptMemory {
 public:
  /// At least n bytes, whose contents do not matter. Throws std::bad_alloc.
  std::byte* get(std::size_t n) {
    if (n > bytes_) {
      free();
      data_.reset(static_cast<std::byte*>(::operator new[](n, std::align_val_t{cache_line})));
      bytes_ = n;
    }
    return data_.get();
  }
  /// Returns what get() returned last.
  std::byte* data() const noexcept { return data_.get(); }

  /// Never gives the memory back: something may still touch it.
  void leak() noexcept {
    static_cast<void>(data_.release());
    bytes_ = 0;
  }
  void free() noexcept {
    data_.reset();
    bytes_ = 0;
  }

 private:
  struct AlignedDelete {
    void operator()(std::byte* p) const noexcept {
      ::operator delete[](p, std::align_val_t{cache_line});
    }
  };

  Owned<std::byte[], AlignedDelete> data_;
  std::size_t bytes_ = 0;
};

/// Calls f where its scope is left, also by an exception.
template <class F> struct OnExit {
  F f;
  ~OnExit() { f(); }
};
template <class F> OnExit(F) -> OnExit<F>;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
