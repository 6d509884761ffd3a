#pragma once

#include <papcoll/arrival/board.hpp>
#include <papcoll/call.hpp>
#include <papcoll/plan/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank says of a call, so that calls can be compared. `details` tell apart what has one
/// `algorithm`.
inline CallWords words_of(const Call& call, std::uint8_t algorithm,
                          std::uint32_t details = 0) noexcept {
  return {call.count, static_cast<std::uint64_t>(call.collective) |
                          static_cast<std::uint64_t>(algorithm) << 4 |
                          static_cast<std::uint64_t>(call.root) << 12 |
                          static_cast<std::uint64_t>(call.types ^ details) << 32};
}

/// The same of a call whose algorithm has a number that takes 32 bits.
inline CallWords words_of_long(const Call& call, std::uint32_t id) noexcept {
  return words_of(call, static_cast<std::uint8_t>(id % 251), id);
}

/// Numbers of schedules, with their parameters, on transports. Remembers the one asked for last.
class PlanIds {
 public:
  std::uint32_t of(const AnySchedule& schedule, const TransportTable& transport) {
    if (transport_ != &transport || !(schedule_ == schedule)) {
      schedule_ = schedule;
      transport_ = &transport;
      id_ = 0;
      for (const char c : schedule.name() + "+" + std::string(transport.name)) {
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

}  // namespace papcoll::inline PAPCOLL_ABI
