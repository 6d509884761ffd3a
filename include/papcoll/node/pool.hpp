#pragma once

#include <papcoll/error.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/peer_memory.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A rank's memory for what peers may read even after it has left the call: its part of the node's
/// memory, and where that is too small, memory of its own, which only threads or the kernel reach.
///
/// Who reads it, and until when, its owner knows.
class Pool {
 public:
  explicit Pool(const Node* node) noexcept : node_(node) {}

  /// A call begins: get() may give other memory.
  void begin_call() noexcept { at_ = nullptr; }

  /// n bytes, the same in all of a call that asks for no more than at first.
  std::byte* get(std::size_t n) {
    if (at_ != nullptr && n <= at_bytes_) return at_;
    at_bytes_ = n;
    return at_ = back(n) ? node_->pool : own(n);
  }

  /// get() where that is memory of the node, else null: a matter of this rank alone.
  std::byte* get_shared(std::size_t n) { return back(n) ? get(n) : nullptr; }

  /// Are there n bytes of the node's memory, with pages behind them? Takes the pages.
  bool back(std::size_t n) {
    if (node_ == nullptr) return false;
    if (n <= backed()) return true;
    const std::size_t kilobytes = (n + 1023) / 1024;
    if (kilobytes * 1024 > node_->pool_bytes || kilobytes >= refused_) return false;
    try {
      if (node_->reserve != nullptr) {
        node_->reserve(node_->context, node_->pool + backed(), kilobytes * 1024 - backed());
      }
    } catch (const system_error&) {
      refused_ = kilobytes;  // whoever has filled the memory has other use for it
      return false;
    }
    backed_ = kilobytes;
    return true;
  }
  std::size_t backed() const noexcept { return backed_ * 1024; }

  /// Nobody reads what former calls left here.
  void forget_former() noexcept { former_.clear(); }

  /// Late peers may read it for ever.
  void leak() noexcept {
    static_cast<void>(own_.release());
    own_bytes_ = 0;
    for (auto& memory : former_) static_cast<void>(memory.release());
  }

 private:
  std::byte* own(std::size_t n) {
    if (own_bytes_ < n) {
      former_.push_back(std::move(own_));
      own_.reset(new std::byte[n]);
      own_bytes_ = n;
    }
    return own_.get();
  }

  const Node* node_;
  std::byte* at_ = nullptr;  ///< in this call, once it has asked
  std::size_t at_bytes_ = 0;
  std::size_t backed_ = 0;  ///< kilobytes of the node's memory that have pages
  std::size_t refused_ = std::numeric_limits<std::size_t>::max();  ///< for so many there is no room
  std::unique_ptr<std::byte[]> own_;
  std::size_t own_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> former_;  ///< smaller ones, which peers may still read
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
