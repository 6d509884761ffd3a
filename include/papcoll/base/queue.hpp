#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// First in, first out, in memory that it keeps. Each element is moved at most once on average.
template <class T>
class Queue {
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
