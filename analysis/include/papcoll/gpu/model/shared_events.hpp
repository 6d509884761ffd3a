// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/handle.hpp>
#include <papcoll/gpu/model/record.hpp>
#include <papcoll/gpu/model/shared_file.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

// Events between processes that have a model each: what a process says of its records stands in a
// table that the others map.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// What the maker of an event says of it; the others only read. A place in the table is used again
/// when its event is destroyed, and its counts go on: they never go down.
struct alignas(cache_line) EventWords {
  /// The number of records that were asked for. Relaxed: a thread that waits was notified of the
  /// record in other memory, by release and acquire, and so reads at least its number. A later
  /// number only waits longer.
  std::atomic<std::uint64_t> recorded{0};
  /// The number of records that are complete; at most `recorded`. Stored with release: a thread
  /// that acquires it sees the bytes that the operations before these records have written.
  std::atomic<std::uint64_t> completed{0};
  /// The number of the event that has the place, or 0. Relaxed: it only finds misuse.
  std::atomic<std::uint64_t> event{0};
};
static_assert(std::is_trivially_destructible_v<EventWords>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The events of one process that others may have: its own table, or another's.
class EventTable : Pinned {
 public:
  static constexpr std::size_t places = std::size_t{1} << 16U;  ///< events at once

  /// An empty one of this process.
  EventTable() : EventTable(SharedFile{places * sizeof(EventWords)}) {}
  /// That of another process.
  explicit EventTable(SharedFile file) : file_(std::move(file)), base_(file_.map()) {}
  ~EventTable() { munmap(base_, file_.bytes()); }

  /// The words of a place. Zeros are their beginning.
  EventWords& at(std::size_t place) const noexcept {
    return *std::launder(reinterpret_cast<EventWords*>(base_ + place * sizeof(EventWords)));
  }
  /// Returns where other processes find the file.
  FilePlace file() const noexcept { return file_.place(); }

 private:
  SharedFile file_;
  std::byte* base_;
};

/// A place of the own table, as its event's maker keeps it.
class PublishedEvent final : public RecordObserver {
 public:
  /// There, of that table.
  PublishedEvent(EventWords& words, std::size_t place) : words_(words), place_(place) {}

  /// A record is asked for; it says when it is done.
  void record(const std::shared_ptr<Record>& record) {
    record->observer = this;
    pending_.push_back(record);
    words_.recorded.store(++recorded_, std::memory_order_relaxed);
  }

  /// Others are notified of records in their order: each of them has waited for all up to the
  /// number that it has read.
  void done() override {
    while (!pending_.empty() && pending_.front()->done) {
      pending_.pop_front();
      words_.completed.store(++completed_, std::memory_order_release);
    }
  }

  /// Returns the words that other processes read.
  EventWords& words() noexcept { return words_; }
  /// Its number in the table.
  std::size_t place() const noexcept { return place_; }

 private:
  EventWords& words_;
  std::size_t place_;
  std::deque<std::shared_ptr<Record>> pending_;  ///< in their order
  std::uint64_t recorded_ = 0;                   ///< as words_ says
  std::uint64_t completed_ = 0;                  ///< as words_ says
};

/// What a model shares of events with those of other processes.
class SharedEvents {
 public:
  /// A place for an event of that number. Throws device_error if all are taken.
  PublishedEvent& publish(std::uint64_t event) {
    if (own_ == nullptr) own_ = std::make_unique<EventTable>();
    if (free_.empty()) {
      if (published_.size() == EventTable::places) {
        throw device_error(Fault::out_of_memory,
                           "papcoll: the model of GPUs has no place for one more event between "
                           "processes: destroy some");
      }
      const std::size_t place = published_.size();
      free_.push_back(place);
      published_.push_back(std::make_unique<PublishedEvent>(own_->at(place), place));
    }
    PublishedEvent& found = *published_[free_.back()];
    free_.pop_back();
    found.words().event.store(event, std::memory_order_relaxed);
    return found;
  }

  /// The event is destroyed.
  void retire(PublishedEvent& published) {
    published.words().event.store(0, std::memory_order_relaxed);
    free_.push_back(published.place());
  }

  /// As others import it.
  EventHandle handle_of(PublishedEvent& published, std::uint64_t event, int device) const {
    HandleWords words{handle_of_event, event, device, published.place(), own_->file()};
    return make_handle<EventHandle>(words);
  }

  /// The words of an event of another process. Throws device_error.
  const EventWords& import(const HandleWords& handle) {
    for (const auto& [place, table] : tables_) {
      if (place.process == handle.file.process && place.inode == handle.file.inode) {
        return table->at(handle.place);
      }
    }
    tables_.emplace_back(handle.file, std::make_unique<EventTable>(SharedFile{handle.file}));
    return tables_.back().second->at(handle.place);
  }

 private:
  std::unique_ptr<EventTable> own_;                         ///< null: nothing is published yet
  std::vector<std::unique_ptr<PublishedEvent>> published_;  ///< by place
  std::vector<std::size_t> free_;                           ///< places without an event
  std::vector<std::pair<FilePlace, std::unique_ptr<EventTable>>> tables_;  ///< of others
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
