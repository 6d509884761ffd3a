// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Something that happens at a moment of virtual time.
struct Event {
  enum class Kind : unsigned char {
    arrival,    ///< rank `subject` enters the call
    processor,  ///< rank `subject` is through with what it did
    head,       ///< the first byte of message `subject` has come to the receiver's port
    sent,       ///< the last byte of message `subject` has left the sender's port
    delivered,  ///< message `subject` is all there
    flow,       ///< message `subject` begins to use bandwidth
    flow_end,   ///< the same as delivered, unless the flow's share changed since
  };
  double time;
  std::uint64_t number;  ///< of events at the same time, those foreseen first come first
  std::uint32_t subject;
  std::uint32_t version;
  Kind kind;
};

/// What will happen, in order.
class Events {
 public:
  void add(double time, Event::Kind kind, std::uint32_t subject, std::uint32_t version = 0) {
    heap_.push_back({time, next_++, subject, version, kind});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  bool empty() const noexcept { return heap_.empty(); }
  double next_time() const noexcept { return heap_.front().time; }

  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event e = heap_.back();
    heap_.pop_back();
    return e;
  }

 private:
  static bool later(const Event& a, const Event& b) noexcept {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  std::vector<Event> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
