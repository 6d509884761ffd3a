#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// What a rank says of a call, so that calls can be compared. Of `algorithm` 16 bits count.
inline CallWords words_of(const Call& call, std::uint32_t algorithm) noexcept {
  return CallWords::of(call.count, call.collective, algorithm,
                       static_cast<std::uint32_t>(call.root) ^ call.split, call.types);
}

/// 16 bits that stand for a number of 32.
constexpr std::uint32_t short_id(std::uint32_t id) noexcept { return id * 0x9e3779b1U >> 16; }

/// The same of a call whose algorithm has a number that takes 32 bits.
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

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
