#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank says of a call, so that calls can be compared. Of `algorithm` 16 bits count; whether
/// its bits must not depend on arrivals is part of it, since some go other ways then.
inline CallWords words_of(const Call& call, std::uint32_t algorithm) noexcept {
  const std::uint32_t contract = call.by_arrivals() ? 0U : 0x6a5dU;
  const std::uint32_t reach = static_cast<std::uint32_t>(call.reach) << 8U;
  return CallWords::of(call.own_counts ? CallWords::own_counts : call.count, call.collective,
                       algorithm ^ contract ^ reach,
                       static_cast<std::uint32_t>(call.root) ^ call.split, call.types);
}

/// 16 bits that stand for a number of 32.
constexpr std::uint32_t short_id(std::uint32_t id) noexcept { return id * 0x9e3779b1U >> 16; }

/// The same of a call by an algorithm whose number takes 32 bits.
inline CallWords words_of_long(const Call& call, std::uint32_t id) noexcept {
  return words_of(call, short_id(id));
}

/// Numbers of schedules, with their parameters, on transports. Remembers the one asked for last.
class PlanIds {
 public:
  std::uint32_t of(const AnySchedule& schedule, const TransportTable& transport) {
    if (transport_ != &transport || !(schedule_ == schedule)) {
      schedule_ = schedule;
      transport_ = &transport;
      id_ = 0;
      for (const char c : detail::joined({schedule.name(), "+", transport.name})) {
        id_ = id_ * 31 + static_cast<unsigned char>(c);
      }
    }
    return id_;
  }

 private:
  AnySchedule schedule_;
  const TransportTable* transport_ = nullptr;
  std::uint32_t id_ = 0;
};

/// What blocking calls by schedules are compared by, and those that do not block.
class PlanFingerprints {
 public:
  CallWords of(const Call& call, const AnySchedule& schedule, const TransportTable& transport) {
    return words_of_long(call, ids_.of(schedule, transport));
  }
  CallWords of(const Call& call, const AnySchedule& schedule, const TransportTable& transport,
               const PlayedOrder& played, bool by_ticket = false) {
    return words_of_long(call,
                         ids_.of(schedule, transport) + order_id(played) + (by_ticket ? 1 : 0));
  }

 private:
  /// Tells orders that were agreed on apart, from each other and from those that need no agreement.
  static std::uint32_t order_id(const PlayedOrder& played) noexcept {
    if (played.along.map != nullptr) return 0x85ebca6bU;
    const Predictions* const p = played.predictions;
    return p == nullptr ? 0 : 0x9e3779b9U * (p->generation() + 1);
  }

  PlanIds ids_;
};

/// How many calls this rank has made on a team. A message is known by the number of its call, its
/// sequence: twice that of a blocking call, or one more than twice that of a non-blocking one. All
/// ranks count alike.
class CallCounter {
 public:
  explicit CallCounter(std::uint32_t first) noexcept : blocking_(first), requests_(first) {}

  const std::uint32_t& blocking() const noexcept { return blocking_; }
  std::uint32_t requests() const noexcept { return requests_; }
  /// The number of the next call, whichever it is.
  std::uint32_t next() const noexcept { return blocking_ + requests_; }

  void count_blocking() noexcept { ++blocking_; }
  /// The number of the last of them.
  std::uint32_t count_requests(std::uint32_t n = 1) noexcept { return requests_ += n; }

  /// Of the blocking call under way.
  std::uint32_t sequence() const noexcept { return 2 * blocking_; }
  static std::uint32_t sequence_of_request(std::uint32_t number) noexcept { return 2 * number + 1; }

 private:
  std::uint32_t blocking_;
  std::uint32_t requests_;
};

/// Has a call nothing to do?
inline bool is_empty(const Call& c) noexcept {
  return c.count == 0 && c.counts == nullptr && c.collective != Collective::barrier;
}

}  // namespace papcoll::inline PAPCOLL_ABI
