// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Events of this process, to be used again and again.
class EventPool {
 public:
  /// For a device.
  EventPool(gpu::Api& api, int device) : api_(&api), device_(device) {}

  /// Returns an unused event.
  gpu::OwnedEvent take() {
    if (free_.empty()) return {*api_, api_->make_event(device_, false)};
    gpu::OwnedEvent event = std::move(free_.back());
    free_.pop_back();
    return event;
  }
  /// Takes back an event. Requires that every wait for its last record has been called.
  void give_back(gpu::OwnedEvent event) { free_.push_back(std::move(event)); }

 private:
  gpu::Api* api_;
  int device_;
  std::vector<gpu::OwnedEvent> free_;
};

/// Bytes of a device that a step reads or writes.
struct DeviceRange {
  const std::byte* lo = nullptr;
  std::size_t bytes = 0;

  /// Returns true if the two have a byte in common.
  bool overlaps(const DeviceRange& other) const noexcept {
    return std::less<>{}(lo, other.lo + other.bytes) && std::less<>{}(other.lo, lo + bytes);
  }
};

/// The streams in which a rank's steps are performed. Each block of a plan that is in flight has a
/// lane for its local steps, in their order; blocks do not wait for each other. Messages are pulled
/// in other streams. A lane waits for a pull, or for a peer's pull of what it has sent, when a step
/// comes that uses the same bytes and not before: what a plan orders meets in memory.
///
/// Calls are ordered by a stream of their own: a call's lanes begin after what is in the ordering
/// stream when the call begins, which is what the user's stream has by then and what calls that
/// were finished before have done. finish() lets the ordering stream, and by it the user's stream,
/// wait for all lanes.
///
/// No streams wait in a circle: a stream only waits for events that were recorded before the wait
/// was called, so that every operation waits for operations that were called before it.
class StreamPool {
 public:
  static constexpr std::size_t count = 4;             ///< lanes; blocks in flight beyond share them
  static constexpr std::uint32_t calls_at_once = 16;  ///< that may be in flight

  /// What another stream does with bytes of a lane's block.
  enum class Use : unsigned char { reads, writes };

  /// For a device.
  StreamPool(gpu::Api& api, int device)
      : api_(&api),
        events_(api, device),
        order_stream_(api, api.make_stream(device)),
        entered_(api, api.make_event(device, false)),
        left_(api, api.make_event(device, false)) {
    for (Lane& lane : lanes_) {
      lane.stream = {api, api.make_stream(device)};
      lane.end = {api, api.make_event(device, false)};
    }
    for (Begun& call : begun_) call.event = {api, api.make_event(device, false)};
  }

  /// The number of the lane for block slot `slot` of a call, which is ordered after what `user` has
  /// when the call first asks.
  std::size_t of(std::uint32_t sequence, std::uint32_t slot, gpu::Stream user) {
    Begun& call = begun_[sequence % calls_at_once];
    if (!call.any || call.sequence != sequence) begin(call, sequence, user);
    const std::size_t i = slot % count;
    if (!std::exchange(call.joined[i], true)) {
      api_->wait(lanes_[i].stream.get(), call.event.get());
    }
    lanes_[i].used = true;
    return i;
  }

  /// Its stream.
  gpu::Stream stream(std::size_t lane) const noexcept { return lanes_[lane].stream.get(); }

  /// What comes next in the lane uses these bytes: it waits for others that use them.
  void order(std::size_t lane, DeviceRange range, Use use) {
    Lane& l = lanes_[lane];
    std::size_t kept = 0;
    for (Other& other : l.others) {
      const bool meets =
          range.overlaps(other.range) && (use == Use::writes || other.use == Use::writes);
      if (meets) {
        wait_for(l, other);
      } else {
        std::swap(l.others[kept++], other);
      }
    }
    l.others.resize(kept);
  }

  /// Bytes of the lane's block are used by what is in the other stream now.
  void used_by(std::size_t lane, DeviceRange range, Use use, gpu::Stream other) {
    gpu::OwnedEvent event = events_.take();
    api_->record(event.get(), other);
    lanes_[lane].others.push_back({range, use, std::move(event)});
    lanes_[lane].used = true;
  }

  /// What comes later in `user` begins when all that is in the lanes now is complete.
  void finish(gpu::Stream user) {
    for (Lane& lane : lanes_) {
      for (Other& other : lane.others) wait_for(lane, other);
      lane.others.clear();
      if (!std::exchange(lane.used, false)) continue;
      api_->record(lane.end.get(), lane.stream.get());
      api_->wait(order_stream_.get(), lane.end.get());
    }
    api_->record(left_.get(), order_stream_.get());
    api_->wait(user, left_.get());
  }

  /// Returns true if all that was finished has been performed.
  bool is_idle() { return api_->is_complete(left_.get()); }

  /// The stream to which finish() joins all others.
  gpu::Stream order_stream() const noexcept { return order_stream_.get(); }
  /// Events for others.
  EventPool& events() noexcept { return events_; }

 private:
  struct Other {
    DeviceRange range;
    Use use = Use::reads;
    gpu::OwnedEvent event;
  };
  struct Lane {
    gpu::OwnedStream stream;
    gpu::OwnedEvent end;
    bool used = false;  ///< since the ordering stream waited for it
    std::vector<Other> others;
  };
  struct Begun {
    bool any = false;
    std::uint32_t sequence = 0;
    std::array<bool, count> joined{};  ///< lanes that wait for the event already
    gpu::OwnedEvent event;
  };

  void wait_for(Lane& lane, Other& other) {
    api_->wait(lane.stream.get(), other.event.get());
    events_.give_back(std::move(other.event));
  }

  void begin(Begun& call, std::uint32_t sequence, gpu::Stream user) {
    call.any = true;
    call.sequence = sequence;
    call.joined.fill(false);
    api_->record(entered_.get(), user);
    api_->wait(order_stream_.get(), entered_.get());
    api_->record(call.event.get(), order_stream_.get());
  }

  gpu::Api* api_;
  EventPool events_;
  gpu::OwnedStream order_stream_;
  gpu::OwnedEvent entered_;  ///< where the user's stream is when a call begins
  gpu::OwnedEvent left_;     ///< where the ordering stream is when calls were finished
  std::array<Lane, count> lanes_{};
  std::array<Begun, calls_at_once> begun_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
