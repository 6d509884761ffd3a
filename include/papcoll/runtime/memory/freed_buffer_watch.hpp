#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace papcoll::inline PAPCOLL_ABI {

/// The buffers of one prepared call, which is not to be made any more when one of them has gone.
class WatchedBuffers : Pinned {
 public:
  /// Null: this rank has no such buffer.
  WatchedBuffers(const void* in, const void* out) noexcept
      : in_(reinterpret_cast<std::uintptr_t>(in)), out_(reinterpret_cast<std::uintptr_t>(out)) {}

  /// Was the memory of one of them freed?
  bool freed() const noexcept { return freed_.load(std::memory_order_relaxed); }

  /// So many bytes were freed. A buffer lies in one block of them, or in none.
  void free(std::uintptr_t begin, std::size_t bytes) noexcept {
    for (const std::uintptr_t buffer : {in_, out_}) {
      if (buffer != 0 && begin <= buffer && buffer - begin < bytes) {
        freed_.store(true, std::memory_order_relaxed);
      }
    }
  }

 private:
  friend class BufferWatch;

  std::uintptr_t in_;
  std::uintptr_t out_;
  std::size_t at_ = 0;              ///< its place among all
  std::atomic<bool> freed_{false};  ///< a thread that allocates may set it; nothing follows from it
};

/// Those of all prepared calls of a rank, which its arena tells what is freed. Several threads may
/// use it.
class BufferWatch {
 public:
  void add(WatchedBuffers& buffers) {
    const std::lock_guard lock{mutex_};
    all_.push_back(&buffers);
    buffers.at_ = all_.size() - 1;
  }
  void remove(const WatchedBuffers& buffers) noexcept {
    const std::lock_guard lock{mutex_};
    all_[buffers.at_] = all_.back();
    all_[buffers.at_]->at_ = buffers.at_;
    all_.pop_back();
  }
  void free(const void* begin, std::size_t bytes) noexcept {
    const std::lock_guard lock{mutex_};
    for (WatchedBuffers* const b : all_) b->free(reinterpret_cast<std::uintptr_t>(begin), bytes);
  }

 private:
  std::mutex mutex_;
  detail::Vector<WatchedBuffers*> all_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
