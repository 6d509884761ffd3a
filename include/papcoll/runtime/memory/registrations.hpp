// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace papcoll::inline PAPCOLL_ABI {

/// Addresses from begin to before end.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool empty() const noexcept { return begin >= end; }
  std::size_t bytes() const noexcept { return empty() ? 0 : end - begin; }
  bool contains(const AddressRange& r) const noexcept { return begin <= r.begin && r.end <= end; }
  bool meets(const AddressRange& r) const noexcept { return begin < r.end && r.begin < end; }
  AddressRange common_with(const AddressRange& r) const noexcept {
    return {std::max(begin, r.begin), std::min(end, r.end)};
  }

  /// The pages of which it has every byte; empty if there are none. `page` is a power of two.
  AddressRange whole_pages(std::size_t page) const noexcept {
    const AddressRange whole{(begin + page - 1) & ~(page - 1), end & ~(page - 1)};
    return whole.empty() ? AddressRange{} : whole;
  }
  /// The pages of which it has a byte.
  AddressRange all_pages(std::size_t page) const noexcept {
    return {begin & ~(page - 1), (end + page - 1) & ~(page - 1)};
  }

  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// A registered buffer. Its whole pages are memory of the arena, which this rank's peers see at
/// other addresses. Of the pages that it shares with other data, at its two ends, there are only
/// copies there:
///
///     the user's    | other | head |   pages    | tail | other |
///                              | copied   | the same  | copied
///     arena         |       | head |   pages    | tail |       |
struct RegisteredMemory {
  AddressRange data;   ///< the user's bytes
  AddressRange pages;  ///< of them, those in the arena
  /// Where the arena has the byte at data.begin; the others follow.
  std::byte* seen = nullptr;

  std::byte* seen_at(std::uintptr_t address) const noexcept {
    return seen + (address - data.begin);
  }

  /// Copies a range's bytes that are not in the pages: to the arena or, as its peers left them
  /// there, back.
  enum class EndsGo : unsigned char { in, out };
  void copy_ends(const AddressRange& range, EndsGo go) const noexcept {
    for (const AddressRange& end :
         {AddressRange{data.begin, pages.begin}, AddressRange{pages.end, data.end}}) {
      const AddressRange part = range.common_with(end);
      if (part.empty()) continue;
      auto* const here =
          reinterpret_cast<std::byte*>(part.begin);  // NOLINT(performance-no-int-to-ptr)
      std::byte* const there = seen_at(part.begin);
      std::memcpy(go == EndsGo::in ? there : here, go == EndsGo::in ? here : there, part.bytes());
    }
  }
};

/// The registered buffers of a rank in one communicator, in which every call looks its own up. One
/// thread at a time, as in calls.
class Registrations {
 public:
  /// The one that has all of the range; null: none. No two have a byte in common.
  const RegisteredMemory* find(const AddressRange& range) noexcept {
    if (last_ < all_.size() && all_[last_].data.contains(range)) return &all_[last_];
    const auto next = after(range.begin);
    if (next == all_.begin() || !(next - 1)->data.contains(range)) return nullptr;
    last_ = static_cast<std::size_t>(next - 1 - all_.begin());
    return &all_[last_];
  }

  bool any_meets(const AddressRange& range) const noexcept {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const RegisteredMemory& m) { return m.data.meets(range); });
  }

  std::size_t size() const noexcept { return all_.size(); }
  /// Returns how often one was added or removed.
  std::uint32_t changes() const noexcept { return changes_; }

  /// Makes sure that the next add() needs no memory. Throws std::bad_alloc.
  void prepare() { all_.reserve(all_.size() + 1); }
  void add(const RegisteredMemory& memory) noexcept {
    ++changes_;
    all_.insert(after(memory.data.begin), memory);
  }
  void remove(const RegisteredMemory& memory) noexcept {
    ++changes_;
    all_.erase_if([&](const RegisteredMemory& m) { return m.data == memory.data; });
  }

 private:
  detail::Vector<RegisteredMemory>::iterator after(std::uintptr_t address) noexcept {
    return std::upper_bound(
        all_.begin(), all_.end(), address,
        [](std::uintptr_t a, const RegisteredMemory& m) { return a < m.data.begin; });
  }

  detail::Vector<RegisteredMemory> all_;  ///< by their addresses
  std::size_t last_ = 0;                  ///< found last
  std::uint32_t changes_ = 0;
};

/// A blocking call, whose registered buffers are replaced by where the arena has them. Then
/// algorithms find them as they find any memory of the arena.
class CallInArena {
 public:
  CallInArena(Registrations& known, const Call& given, int rank, int size) noexcept : call_(given) {
    // Static schedules read and write only buffers of their own rank.
    if (given.count == 0 || !has_data(given.collective) || given.is_noncontiguous ||
        given.counts != nullptr || given.in_view != nullptr || given.out_view != nullptr ||
        given.memory != MemoryKind::host) {
      return;
    }
    const auto [holds_in, holds_out] = buffers_of(given.collective, rank == given.root);
    const AddressRange in = range_of(given.in, holds_in, size);
    const AddressRange out = range_of(given.out, holds_out, size);
    if (given.in != nullptr && given.out != nullptr && given.in_place()) {
      // Both or neither: one lies in the other.
      const AddressRange both{std::min(in.begin, out.begin), std::max(in.end, out.end)};
      const RegisteredMemory* const memory = find(known, both);
      if (memory == nullptr) return;
      memory->copy_ends(both, RegisteredMemory::EndsGo::in);
      call_.in = memory->seen_at(in.begin);
      replace_output(*memory, out);
    } else {
      if (const RegisteredMemory* const memory = find(known, in)) {
        memory->copy_ends(in, RegisteredMemory::EndsGo::in);
        call_.in = memory->seen_at(in.begin);
        any_ = true;
      }
      if (const RegisteredMemory* const memory = find(known, out)) {
        // What the call leaves as it is comes back, too.
        memory->copy_ends(out, RegisteredMemory::EndsGo::in);
        replace_output(*memory, out);
      }
    }
    if (any_) meet_other_addresses();
  }

  /// Returns true if any registered buffer is in the arena now.
  bool any() const noexcept { return any_; }
  Call& call() noexcept { return call_; }

  /// Ends the call in the arena; called if the call did not fail.
  void finish() const noexcept {
    meet_other_addresses();
    if (output_in_ != nullptr) output_in_->copy_ends(output_, RegisteredMemory::EndsGo::out);
  }

 private:
  /// The compiler does not know that the two addresses are of one memory.
  static void meet_other_addresses() noexcept { asm volatile("" ::: "memory"); }

  AddressRange range_of(const void* buffer, Holds holds, int size) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer);
    if (holds == Holds::nothing) return {begin, begin};
    const bool one =
        holds == Holds::own_block || traits_of(call_.collective).vector == VectorOf::one_block;
    return {begin, begin + call_.bytes() * (one ? 1 : static_cast<std::size_t>(size))};
  }

  /// What lies in none of the pages is better off where it is.
  static const RegisteredMemory* find(Registrations& known, const AddressRange& range) noexcept {
    const RegisteredMemory* const memory = range.begin == 0 ? nullptr : known.find(range);
    if (memory == nullptr) return nullptr;
    const bool in_pages = range.begin < memory->pages.end && range.end > memory->pages.begin;
    return in_pages ? memory : nullptr;
  }

  void replace_output(const RegisteredMemory& memory, const AddressRange& out) noexcept {
    call_.out = memory.seen_at(out.begin);
    output_in_ = &memory;
    output_ = out;
    any_ = true;
  }

  Call call_;
  bool any_ = false;
  const RegisteredMemory* output_in_ = nullptr;
  AddressRange output_{};
};

/// The buffers of one prepared call, which must not be made any more once one of them has gone.
class WatchedBuffers : Pinned {
 public:
  /// Null: this rank has no such buffer.
  WatchedBuffers(const void* in, const void* out) noexcept
      : in_(reinterpret_cast<std::uintptr_t>(in)), out_(reinterpret_cast<std::uintptr_t>(out)) {}

  /// Returns true if the memory of one of them was freed.
  bool freed() const noexcept { return freed_.load(std::memory_order_relaxed); }

  /// Records that so many bytes were freed. A buffer is in one such block, or in none.
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

/// The watched buffers of all prepared calls of a rank, which its arena notifies of what is freed.
/// Several threads may use it.
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
