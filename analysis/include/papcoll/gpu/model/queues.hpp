// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/model/clock.hpp>
#include <papcoll/gpu/model/flow.hpp>
#include <papcoll/gpu/model/record.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

// Streams in virtual time: what is next in each begins when its turn comes, and the first
// operation that is complete moves the time on.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// An operation that takes time.
struct Work {
  double latency = 0;           ///< seconds until bytes flow
  double bytes = 0;             ///< of payload
  std::vector<Load> loads;      ///< what its payload uses
  std::function<void()> begin;  ///< called when its turn has come, unless empty
  std::function<void()> end;    ///< called when it is complete, unless empty
};

/// A stream.
struct Queue {
  /// What stands in it: work, or a record that is made, or one that is waited for.
  struct Entry {
    /// Which of them.
    enum class Kind : unsigned char { work, record, wait };
    Kind kind = Kind::work;          ///< which
    std::unique_ptr<Work> work;      ///< or null
    std::shared_ptr<Record> record;  ///< or null
  };

  int process = 0;            ///< whose it is
  int device = 0;             ///< which performs it
  std::size_t number = 0;     ///< of all streams
  bool alive = true;          ///< not destroyed
  bool is_null = false;       ///< the stream that everyone has
  bool capturing = false;     ///< recorded as a graph
  Clock clock;                ///< what comes before the next operation
  std::size_t pushed = 0;     ///< operations so far
  std::deque<Entry> entries;  ///< whose turn has not come
  bool busy = false;          ///< an operation is under way
};

/// All streams of a model, and its time.
class Queues {
 public:
  /// `rates`: bytes a second of each resource.
  explicit Queues(std::vector<double> rates) : rates_(std::move(rates)) {}

  /// A new stream, which stays until the model ends.
  Queue& make(int process, int device) {
    queues_.push_back(std::make_unique<Queue>());
    Queue& made = *queues_.back();
    made.process = process;
    made.device = device;
    made.number = queues_.size() - 1;
    return made;
  }

  /// Appends an operation.
  void push(Queue& queue, Work work) {
    append(queue, {Queue::Entry::Kind::work, std::make_unique<Work>(std::move(work)), nullptr});
  }
  /// The record is done when all before it is.
  void record(Queue& queue, std::shared_ptr<Record> record) {
    append(queue, {Queue::Entry::Kind::record, nullptr, std::move(record)});
  }
  /// What comes later waits for the record.
  void wait(Queue& queue, std::shared_ptr<Record> record) {
    if (record->elsewhere != nullptr) elsewhere_.push_back(record);
    append(queue, {Queue::Entry::Kind::wait, nullptr, std::move(record)});
  }

  /// Seconds.
  double now() const noexcept { return now_; }

  /// Begins all whose turn has come; no time passes.
  void begin_ready() {
    if (!elsewhere_.empty()) look_elsewhere();
    for (; !ready_.empty(); ready_.pop_front()) proceed(*ready_.front());
  }

  /// Time passes until an operation is complete; false if none is under way.
  bool step() {
    begin_ready();
    if (under_way_.empty()) return false;
    while (!pass()) {
    }
    begin_ready();
    return true;
  }

  /// Marks a record of another process as done if it is.
  void look_at(Record& record) {
    if (record.elsewhere->load(std::memory_order_acquire) >= record.number) record.done = true;
  }

  /// Returns true if something waits for a record of another process that is not done.
  bool waits_elsewhere() const noexcept { return !elsewhere_.empty(); }

  /// Returns true if nothing is under way, and yet something waits.
  bool stuck() {
    begin_ready();
    return under_way_.empty() && std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) {
             return !queue->entries.empty();
           });
  }

  /// Returns true if the device has failed.
  bool is_lost(int device) const {
    const auto found = left_.find(device);
    return found != left_.end() && found->second == 0;
  }

  /// The device fails: nothing of its streams will ever be complete.
  void lose(int device) {
    left_[device] = 0;
    std::erase_if(under_way_, [device](const auto& u) { return u->queue->device == device; });
    for (const auto& queue : queues_) {
      if (queue->device != device) continue;
      for (const Queue::Entry& entry : queue->entries) {
        if (entry.kind == Queue::Entry::Kind::record) entry.record->lost = true;
      }
      queue->entries.clear();
    }
    share();
  }

  /// The device fails once so many more of its operations are complete.
  void lose_after(int device, std::size_t operations) {
    left_[device] = operations;
    if (operations == 0) lose(device);
  }

  /// Calls f(queue) for each stream that was ever made.
  template <class F> void for_each(F f) const {
    for (const auto& queue : queues_) f(*queue);
  }

 private:
  /// An operation between its turn and its end.
  struct UnderWay {
    Queue* queue = nullptr;
    std::unique_ptr<Work> work;
    double begins = 0;     ///< when bytes flow
    bool flowing = false;  ///< they do
    Flow flow;
    double ends = 0;  ///< when they all have, if nothing changes
  };

  /// Moments that are so close are one.
  static constexpr double instant = 1e-13;

  void append(Queue& queue, Queue::Entry entry) {
    queue.entries.push_back(std::move(entry));
    if (queue.entries.size() == 1 && !queue.busy) ready_.push_back(&queue);
  }

  /// What is next in a stream.
  void proceed(Queue& queue) {
    while (!queue.busy && !queue.entries.empty()) {
      Queue::Entry& next = queue.entries.front();
      if (next.kind == Queue::Entry::Kind::wait && !next.record->done) {
        next.record->waiters.push_back(&queue);
        return;
      }
      if (next.kind == Queue::Entry::Kind::record) {
        end(*next.record);
      }
      if (next.kind == Queue::Entry::Kind::work) begin(queue, std::move(next.work));
      queue.entries.pop_front();
    }
  }

  /// The record is done.
  void end(Record& record) {
    record.done = true;
    const std::vector<Queue*> waiters = std::exchange(record.waiters, {});
    ready_.insert(ready_.end(), waiters.begin(), waiters.end());
    if (record.observer != nullptr) record.observer->done();
  }

  /// Ends what is done of other processes' records.
  void look_elsewhere() {
    std::erase_if(elsewhere_, [this](const std::shared_ptr<Record>& record) {
      look_at(*record);
      if (record->done) end(*record);
      return record->done;
    });
  }

  void begin(Queue& queue, std::unique_ptr<Work> work) {
    if (work->begin) work->begin();
    auto made = std::make_unique<UnderWay>();
    made->queue = &queue;
    made->begins = now_ + work->latency;
    made->flow.loads = work->loads;
    made->flow.left = work->bytes;
    made->work = std::move(work);
    queue.busy = true;
    under_way_.push_back(std::move(made));
  }

  /// Goes to the next moment at which anything changes. Returns true if an operation is complete.
  bool pass() {
    double next = std::numeric_limits<double>::max();
    for (const auto& u : under_way_) next = std::min(next, u->flowing ? u->ends : u->begins);
    const double elapsed = std::max(0.0, next - now_);
    now_ += elapsed;
    for (const auto& u : under_way_) {
      if (u->flowing) u->flow.left = std::max(0.0, u->flow.left - elapsed * u->flow.rate);
    }
    std::vector<std::unique_ptr<UnderWay>> ended;
    for (auto& u : under_way_) {
      const bool was_flowing = u->flowing;
      if (!was_flowing) u->flowing = u->begins <= now_ + instant;
      const bool empty = u->flowing && u->work->bytes == 0;
      if (empty || (was_flowing && u->ends <= now_ + instant)) ended.push_back(std::move(u));
    }
    std::erase_if(under_way_, [](const auto& u) { return u == nullptr; });
    for (const auto& u : ended) end(*u);
    share();
    return !ended.empty();
  }

  void end(UnderWay& u) {
    const int device = u.queue->device;
    if (is_lost(device)) return;
    if (u.work->end) u.work->end();
    u.queue->busy = false;
    ready_.push_back(u.queue);
    const auto left = left_.find(device);
    if (left == left_.end() || --left->second > 0) return;
    begin_ready();  // what has just become complete is
    lose(device);
  }

  void share() {
    std::vector<Flow*> flows;
    for (const auto& u : under_way_) {
      if (u->flowing) flows.push_back(&u->flow);
    }
    share_fairly(flows, rates_);
    for (const auto& u : under_way_) {
      if (u->flowing) u->ends = now_ + u->flow.left / u->flow.rate;
    }
  }

  std::vector<double> rates_;
  double now_ = 0;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::deque<Queue*> ready_;                        ///< something may begin in these
  std::vector<std::shared_ptr<Record>> elsewhere_;  ///< of other processes, that streams wait for
  std::vector<std::unique_ptr<UnderWay>> under_way_;
  std::map<int, std::size_t> left_;  ///< operations until a device fails
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
