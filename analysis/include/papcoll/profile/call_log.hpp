// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/rank_file.hpp>
#include <papcoll/profile/sites.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// What a collective call is about, beside its communicator.
struct Message {
  std::uint64_t bytes = 0;
  std::uint16_t type = 0;
  std::uint16_t op = 0;
  std::int32_t root = -1;
  std::uint32_t flags = 0;
};

/// What a thread keeps from call to call.
struct ThreadState {
  static constexpr std::size_t cached = 32;
  struct CachedTotal {
    std::uint64_t key;
    Total* total;
  };
  const void* recorder;  ///< that `totals` and `number` belong to
  std::array<CachedTotal, cached> totals;
  std::uint64_t fortran_site;   ///< where Fortran called what now calls C, or 0
  std::uint64_t fortran_frame;  ///< of that call; what it calls lies below
  std::uint64_t inside;         ///< frame of the recorded call that this thread is in, or 0
  std::uint16_t number;         ///< of this thread
};

/// Returns the calling thread's state, which is all zero at first.
inline ThreadState& this_thread() noexcept {
  static thread_local ThreadState state;
  return state;
}

/// Writes the records, sums and sites of one rank. A call costs two readings of the clock (46 ns)
/// and the stores of a record; it makes no system call and takes no lock, except at the first sight
/// of a site or a sum.
class CallLog {
 public:
  /// `library`: path of the MPI library, for Sites; `multiple`: several threads may be in
  /// collective calls at the same time.
  CallLog(std::string path, const TableSizes& sizes, std::string library, bool multiple)
      : file_(std::move(path), sizes),
        sites_(file_, std::move(library)),
        records_(file_.records()),
        last_record_(file_.header().records - 1),
        multiple_(multiple) {}

  RankFile& file() noexcept { return file_; }
  const RankFile& file() const noexcept { return file_; }
  Sites& sites() noexcept { return sites_; }

  /// While paused, calls are counted on their communicators, where those of other ranks may be
  /// recorded, and in no record or sum.
  void pause(bool is_paused) noexcept { is_paused_.store(is_paused, std::memory_order_relaxed); }

  /// A call that has begun: where its record is.
  struct Begun {
    std::uint64_t index;  ///< of the record, from 1; 0: it has none
    std::uint64_t arrival;
    std::uint64_t bytes;
    std::uint64_t key;  ///< of its sums
  };

  /// Writes the record of a call that arrived at `arrival`; `calls` counts those on the
  /// communicator with this entry.
  Begun begin(std::uint64_t arrival, std::uint32_t site, std::uint32_t communicator,
              std::uint64_t& calls, MpiCollective collective, const Message& message) noexcept {
    ThreadState& thread = this_thread();
    if (thread.recorder != this) {
      thread.recorder = this;
      thread.totals = {};
      const std::uint64_t n = add(file_.header().threads_used, 1);
      thread.number = static_cast<std::uint16_t>(std::min<std::uint64_t>(n, 0xffff));
    }
    // One thread at a time is in collective calls on a communicator.
    const std::atomic_ref count(calls);
    const std::uint64_t number = count.load(std::memory_order_relaxed);
    count.store(number + 1, std::memory_order_relaxed);
    if (is_paused_.load(std::memory_order_relaxed)) return {};

    const std::uint64_t index = counted(file_.header().records_begun, 1) + 1;
    Record& r = records_[(index - 1) & last_record_];
    // A reader (of another process, at any time) takes a record only if `index` is the same before
    // and after it has read the rest. All stores of put() are releases: who has seen a new field
    // sees being_written or what came after it, and who sees the new index sees all fields.
    if (take_for(r, index)) {
      put(r.arrival, arrival);
      put(r.exit, std::uint64_t{0});
      put(r.bytes, message.bytes);
      put(r.number, number);
      put(r.site, site);
      put(r.communicator, communicator);
      put(r.root, message.root);
      put(r.collective, static_cast<std::uint16_t>(collective));
      put(r.type, message.type);
      put(r.op, message.op);
      put(r.thread, thread.number);
      put(r.flags, message.flags);
      put(r.index, index);
    }

    return {index, arrival, message.bytes,
            packed({site, collective, message.flags & (record_nonblocking | record_persistent),
                    size_class_of(message.bytes)})};
  }

  /// The call has come back.
  void end(const Begun& begun, std::uint64_t exit) noexcept {
    if (begun.index == 0) return;
    Record& r = records_[(begun.index - 1) & last_record_];
    if (take_of(r, begun.index)) {
      put(r.exit, exit);
      put(r.index, begun.index);
    }
    Total* const total = total_of(begun.key);
    if (total == nullptr) {
      add(file_.header().totals_lost, 1);
      return;
    }
    const std::uint64_t time = exit - begun.arrival;
    counted(total->calls, 1);
    counted(total->time, time);
    counted(total->bytes, begun.bytes);
    const std::atomic_ref longest(total->longest);
    std::uint64_t seen = longest.load(std::memory_order_relaxed);
    while (time > seen && !longest.compare_exchange_weak(seen, time, std::memory_order_relaxed)) {
    }
  }

  /// The largest message of all calls up to now, rounded up to a power of two.
  std::uint64_t largest_message() const noexcept {
    std::uint64_t largest = 0;
    const FileHeader& h = file_.header();
    for (std::uint64_t i = 0; i < h.totals; ++i) {
      const std::uint64_t key =
          std::atomic_ref(file_.totals()[i].key).load(std::memory_order_relaxed);
      if (key == 0) continue;
      const unsigned bits = unpacked(key).size_class;
      largest = std::max(largest, bits == 0 ? 0 : std::uint64_t{1} << std::min(bits, 63U));
    }
    return largest;
  }

 private:
  /// Instead of a record's index: a thread is writing it.
  static constexpr std::uint64_t being_written = std::numeric_limits<std::uint64_t>::max();

  /// Before call `index` writes the record. Not where a thread that lost its processor is still
  /// writing it, or a later call has: others may have gone round the ring meanwhile, and the record
  /// of this call is dropped.
  bool take_for(Record& r, std::uint64_t index) const noexcept {
    const std::atomic_ref tag(r.index);
    if (!multiple_) {
      tag.store(being_written, std::memory_order_relaxed);
      return true;
    }
    std::uint64_t seen = tag.load(std::memory_order_relaxed);
    // Acquire: of two that write the record, the second one's fields come after the first one's.
    return seen < index &&
           tag.compare_exchange_strong(seen, being_written, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }

  /// Claims the record to write the end of call `index`. Returns false if another call has taken
  /// the record since.
  bool take_of(Record& r, std::uint64_t index) const noexcept {
    const std::atomic_ref tag(r.index);
    if (!multiple_) return tag.load(std::memory_order_relaxed) == index;
    return tag.compare_exchange_strong(index, being_written, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }

  template <class T> static void put(T& word, T value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }

  /// Adds; relaxed, as add(). Without a locked instruction where one thread at a time calls.
  std::uint64_t counted(std::uint64_t& word, std::uint64_t n) const noexcept {
    if (multiple_) return add(word, n);
    const std::uint64_t before = std::atomic_ref(word).load(std::memory_order_relaxed);
    std::atomic_ref(word).store(before + n, std::memory_order_relaxed);
    return before;
  }

  Total* total_of(std::uint64_t key) noexcept {
    auto& cached = this_thread().totals[hashed(key) % ThreadState::cached];
    if (cached.key == key) return cached.total;
    Total* const found = total_in_table(key);
    if (found != nullptr) cached = {key, found};
    return found;
  }

  static std::size_t hashed(std::uint64_t key) noexcept {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 32U);
  }

  Total* total_in_table(std::uint64_t key) noexcept {
    const std::uint64_t last = file_.header().totals - 1;
    // A long search means a table that is nearly full.
    constexpr std::size_t longest_search = 64;
    for (std::size_t i = 0; i < longest_search; ++i) {
      Total& total = file_.totals()[(hashed(key) + i) & last];
      const std::atomic_ref there(total.key);
      std::uint64_t seen = there.load(std::memory_order_relaxed);
      // Relaxed: an entry is all zero until it has a key, and no thread depends on another's sums.
      if (seen == 0 && there.compare_exchange_strong(seen, key, std::memory_order_relaxed)) {
        return &total;
      }
      if (seen == key) return &total;
    }
    return nullptr;
  }

  RankFile file_;
  Sites sites_;
  Record* const records_;
  const std::uint64_t last_record_;
  const bool multiple_;
  std::atomic<bool> is_paused_{false};
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
