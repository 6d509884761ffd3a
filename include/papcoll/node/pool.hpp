// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What one communicator has of a rank's heap of pools.
class TakenPools {
 public:
  explicit TakenPools(ArenaHeap* heap) noexcept : heap_(heap) {}

  /// Takes memory with pages behind it. Throws system_error.
  std::byte* take(std::size_t bytes) {
    places_.reserve(places_.size() + 1);
    give_back_ = &TakenPools::give_back_to;
    places_.push_back(heap_->take(bytes, page_bytes(), "the library's part of the arena",
                                  "make the communicator with a larger Options::arena_bytes"));
    return places_.back();
  }

  void give_back(std::byte* at) noexcept {
    *std::find(places_.begin(), places_.end(), at) = places_.back();
    places_.pop_back();
    heap_->give_back(at);
  }

  void give_all_back() noexcept {
    for (std::byte* const p : places_) give_back_(*heap_, p);
    places_.clear();
  }

  std::span<std::byte* const> places() const noexcept { return places_; }

 private:
  static void give_back_to(ArenaHeap& heap, std::byte* at) noexcept { heap.give_back(at); }

  ArenaHeap* heap_;  ///< null: there are no arenas
  Vector<std::byte*> places_;
  /// Known once something was taken, so that a program that takes nothing does not compile it.
  void (*give_back_)(ArenaHeap&, std::byte*) noexcept = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

namespace papcoll::inline PAPCOLL_ABI {

/// A rank's memory for what peers may read even after it has left the call: its part of the node's
/// memory, and where that is too small, memory of its own, which only threads or the kernel reach.
///
/// Who reads it, and until when, its owner knows.
class Pool {
 public:
  explicit Pool(const Node* node) noexcept
      : node_(node), base_(node != nullptr ? node->pool : nullptr) {}

  /// A call ends: in the next get() may give other memory.
  void end_call() noexcept { at_ = nullptr; }

  /// Returns what the call under way has of the pool, once it has asked.
  std::span<const std::byte> taken() const noexcept {
    return at_ == nullptr ? std::span<const std::byte>{} : std::span{at_, at_bytes_};
  }

  /// n bytes, the same in all of a call that asks for no more than at first.
  std::byte* get(std::size_t n) {
    if (at_ != nullptr && n <= at_bytes_) return at_;
    at_bytes_ = n;
    return at_ = back(n) ? base_ : own(n);
  }

  /// As get(), but null if the node has no memory for it, which is decided by this rank alone.
  /// Calls get the memory in turns, see window().
  std::byte* get_shared(std::size_t n) {
    if (!back(n)) return nullptr;
    if (at_ != nullptr && n <= at_bytes_) return at_;
    at_bytes_ = n;
    const std::size_t place = next_place(n);  // may move it
    return at_ = base_ + place;
  }

  /// Returns true if n bytes of the node's memory have pages; takes the pages.
  bool back(std::size_t n) {
    if (node_ == nullptr) return false;
    if (n <= backed()) return true;
    const std::size_t kilobytes = (n + 1023) / 1024;
    if (kilobytes * 1024 > node_->pool_bytes || kilobytes >= refused_) return false;
    try {
      if (node_->taken_pools != nullptr) {
        move(kilobytes);
        return true;
      }
      node_->reserve(base_ + backed(), kilobytes * 1024 - backed());
    } catch (const system_error&) {
      refused_ = kilobytes;  // whoever has filled the memory has other use for it
      return false;
    }
    backed_ = kilobytes;
    return true;
  }
  std::size_t backed() const noexcept { return backed_ * 1024; }

  /// Nobody reads what former calls left here.
  void forget_former() noexcept {
    former_.clear();
    for (std::byte* const place : former_places_) node_->taken_pools->give_back(place);
    former_places_.clear();
  }

  /// Late peers may read it for ever.
  void leak() noexcept {
    static_cast<void>(own_.release());
    own_bytes_ = 0;
    for (auto& memory : former_) static_cast<void>(memory.release());
  }

 private:
  /// Calls use so many bytes of the pool in turns, twice what a core's own cache holds, so that a
  /// line is written again only when the caches of those who have read it hold it no more. Such a
  /// line has to be fetched from there, which takes longer than from a cache that all share, or
  /// from memory.
  ///
  /// One of more than half such a cache drives out by itself what was read before, and two places
  /// of it would only take room in the cache that all share.
  static std::size_t window() noexcept {
    static const std::size_t bytes = [] {
      const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
      constexpr std::size_t least = std::size_t{1} << 20U;
      return std::clamp(2 * static_cast<std::size_t>(std::max(0L, cache)), least, 4 * least);
    }();
    return bytes;
  }
  /// Shorter ones stay at the beginning.
  static constexpr std::size_t turns_from = 4096;
  static constexpr std::size_t most_line = 256;

  /// Returns where in the pool the n bytes of the next call begin.
  std::size_t next_place(std::size_t n) {
    if (n < turns_from || n > window() / 4 || !take_window()) return 0;
    const std::size_t at = next_ + n <= window() ? next_ : 0;
    next_ = at + (n + most_line - 1) / most_line * most_line;
    return at;
  }

  /// Moves to another place with more room: twice as much, so that it seldom moves. What is exposed
  /// of the former place stays there.
  void move(std::size_t kilobytes) {
    constexpr std::size_t least = 64;
    const std::size_t most = node_->pool_bytes / 1024;
    const std::size_t plenty = std::min(std::max(std::bit_ceil(kilobytes), least), most);
    former_places_.reserve(former_places_.size() + 1);
    std::byte* place = nullptr;
    try {
      place = node_->taken_pools->take(plenty * 1024);
      kilobytes = plenty;
    } catch (const system_error&) {
      place = node_->taken_pools->take(kilobytes * 1024);
    }
    if (backed_ != 0) former_places_.push_back(base_);
    base_ = place;
    backed_ = kilobytes;
    next_ = 0;
    has_window_ = false;
  }

  /// Makes all pages of the window present, so that no call touches a page for the first time.
  /// Memory that was there before is not written: peers may still be reading it.
  bool take_window() {
    if (has_window_) return true;
    const std::byte* const former = base_;
    const std::size_t had = backed();
    if (!back(window())) return false;
    const std::size_t from = base_ == former ? had : 0;
    for (std::size_t at = from; at < window(); at += detail::page_bytes()) {
      base_[at] = std::byte{0};
    }
    return has_window_ = true;
  }

  std::byte* own(std::size_t n) {
    if (own_bytes_ < n) {
      former_.push_back(std::move(own_));
      own_.reset(new std::byte[n]);
      own_bytes_ = n;
    }
    return own_.get();
  }

  const Node* node_;
  std::byte* base_;  ///< where it is in the node's memory, as far as there is room
  bool has_window_ = false;
  std::size_t next_ = 0;     ///< where the next call's begins, if there is room
  std::byte* at_ = nullptr;  ///< in this call, once it has asked
  std::size_t at_bytes_ = 0;
  std::size_t backed_ = 0;  ///< kilobytes of the node's memory that have pages
  std::size_t refused_ = std::numeric_limits<std::size_t>::max();  ///< for so many there is no room
  detail::Owned<std::byte[]> own_;
  std::size_t own_bytes_ = 0;
  detail::Vector<detail::Owned<std::byte[]>> former_;  ///< smaller ones, which peers may still read
  detail::Vector<std::byte*> former_places_;           ///< those in the node's memory
};

/// The pool of one of a node's ranks, and what its calls have had of it: nothing is written there
/// until all have left the call.
template <class ControlBlock> class LentPool : public Pool {
 public:
  LentPool(const Node* node, std::uint32_t first_epoch) noexcept
      : Pool(node), used_(first_epoch - 1) {}

  /// Returns true if every rank had n bytes with pages when it left the call that used this epoch
  /// slot before. All ranks get the same answer.
  bool is_held_by_all(std::size_t n, const ControlBlock& control, std::uint32_t epoch) {
    back(n);  // for calls to come, if it is new
    const std::uint32_t record = (epoch - ControlBlock::epoch_slots) % ControlBlock::records;
    for (int r = 0; r < control.ranks(); ++r) {
      const std::uint32_t kilobytes =
          control.left(r).pooled[record].load(std::memory_order_relaxed);
      if (n > std::size_t{kilobytes} * 1024) return false;
    }
    return true;
  }

  /// Returns true if the call in progress may write to its memory of the pool: no peer still reads
  /// what a former call had there.
  bool use(const ControlBlock& control, std::uint32_t epoch) {
    if (used_ == epoch) return true;
    const std::span<const std::byte> wanted = taken();
    bool any = false;
    for (const Use& u : uses_) {
      if (!has_readers(u, control, epoch)) continue;
      any = true;
      if (u.bytes.data() < wanted.data() + wanted.size() &&
          wanted.data() < u.bytes.data() + u.bytes.size()) {
        return false;
      }
    }
    if (!any) forget_former();
    uses_[epoch % ControlBlock::epoch_slots] = {epoch, wanted};
    used_ = epoch;
    return true;
  }

  /// Called before this rank's memory goes: what late peers may still read stays for ever.
  void leak_pools_in_use(const ControlBlock& control, std::uint32_t epoch) noexcept {
    for (const Use& u : uses_) {
      if (has_readers(u, control, epoch)) return leak();
    }
  }

 private:
  /// What a call had.
  struct Use {
    std::uint32_t epoch = 0;
    std::span<const std::byte> bytes;
  };

  /// Returns true if a rank is still in that call.
  static bool has_readers(const Use& use, const ControlBlock& control,
                          std::uint32_t epoch) noexcept {
    // Calls are entered only when all have left those of `epoch_slots` calls before; and epochs
    // that lie 2^31 apart cannot be compared.
    if (use.bytes.empty() ||
        epoch - use.epoch > static_cast<std::uint32_t>(ControlBlock::epoch_slots)) {
      return false;
    }
    // Sequentially consistent: it may be the last look before this rank sleeps.
    for (int r = 0; r < control.ranks(); ++r) {
      if (!epoch_reached(control.left(r).epoch.load(std::memory_order_seq_cst), use.epoch)) {
        return true;
      }
    }
    return false;
  }

  std::uint32_t used_;  ///< the last epoch in which this rank used its pool
  std::array<Use, ControlBlock::epoch_slots> uses_{};  ///< call e in number e mod epoch_slots
};

}  // namespace papcoll::inline PAPCOLL_ABI
