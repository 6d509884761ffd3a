#pragma once

#include <papcoll/arrival/agreement.hpp>
#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/config.hpp>
#include <papcoll/plan/cache.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Watches the arrivals of ranks that share no memory, in calls that nobody leaves before all have
/// come: all leave them at about the same time, so how long a rank was in the call says when it
/// came, and the shortest time is the call's own. These times are exchanged as Turns says, by an
/// allgather that nobody waits for; only calls whose algorithm depends on them count.
class ExchangedImbalance {
 public:
  ExchangedImbalance(int rank, int size, std::uint32_t period)
      : size_(size), turns_(period), agreement_(rank, size, kept) {}

  Agreement& agreement() noexcept { return agreement_; }
  const Imbalance& view() const noexcept { return recent_.agreed(); }

  /// This rank was in a call for so long. All ranks say so of the same calls. True: if an exchange
  /// is under way, it is to be completed and adopted; then the next one is to begin.
  bool left(std::chrono::nanoseconds in_call) noexcept {
    mine_[turns_.calls() % kept] = in_call.count();
    return turns_.count();
  }

  /// As Agreement::start().
  void begin(Endpoint& endpoint, bool rings, const AnySchedule& exchange, PlanCache& plans,
             std::uint32_t sequence) {
    agreement_.start(endpoint, rings, exchange, plans, mine_, sequence);
  }

  /// From here on the times just exchanged are in force.
  void adopt() noexcept {
    const std::span<const std::int64_t> all = agreement_.take();
    for (std::size_t i = 0; i < kept; ++i) {
      const auto in_call = [&](int r) { return all[static_cast<std::size_t>(r) * kept + i]; };
      Imbalance call = detail::imbalance_of(size_, [&](int r) { return -in_call(r); });
      std::int64_t own = in_call(0);
      for (int r = 1; r < size_; ++r) own = std::min(own, in_call(r));
      call.own = static_cast<std::uint64_t>(own);
      recent_.add(call);
    }
    recent_.settle();
  }

 private:
  static constexpr std::size_t kept = 3;  // as many as one median is of

  int size_;
  Turns turns_;
  Agreement agreement_;
  std::array<std::int64_t, kept> mine_{};
  detail::RecentCalls recent_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
