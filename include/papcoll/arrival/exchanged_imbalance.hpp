#pragma once

#include <papcoll/arrival/agreement.hpp>
#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/config.hpp>
#include <papcoll/plan/cache.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Watches the arrivals of ranks that share no memory, in calls that nobody leaves before all have
/// come: all leave them at about the same time, so how long a rank was in the call says when it
/// came, and the shortest time is the call's own. These times are exchanged as Turns says, by an
/// allgather that nobody waits for; only calls whose algorithm depends on them count.
class ExchangedImbalance {
 public:
  /// `node_of`: the node, or group, of each rank, counted from 0.
  ExchangedImbalance(int rank, std::vector<int> node_of, std::uint32_t period)
      : size_(static_cast<int>(node_of.size())),
        node_of_(std::move(node_of)),
        nodes_(static_cast<std::size_t>(*std::max_element(node_of_.begin(), node_of_.end())) + 1),
        turns_(period),
        agreement_(rank, size_, kept) {}

  Agreement& agreement() noexcept { return agreement_; }
  const Imbalance& view() const noexcept { return recent_.agreed(); }

  /// This rank was in a call of so many bytes for so long. All ranks say so of the same ones. True:
  /// if an exchange is under way, it is to be completed and adopted; then the next one is to begin.
  bool left(std::size_t bytes, std::chrono::nanoseconds in_call) noexcept {
    const std::size_t i = turns_.calls() % kept;
    bytes_[i] = bytes;
    mine_[i] = in_call.count();
    return turns_.count();
  }

  /// As Agreement::start().
  void begin(Endpoint& endpoint, bool rings, const AnySchedule& exchange, PlanCache& plans,
             std::uint32_t sequence) {
    exchanged_bytes_ = bytes_;
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
      call.own_ps_a_byte = call.own * 1000 / std::max<std::size_t>(exchanged_bytes_[i], 1);
      detail::find_late_node(call, node_of_, nodes_, [&](int r) { return -in_call(r); });
      recent_.add(call);
    }
    recent_.settle();
  }

 private:
  static constexpr std::size_t kept = 3;  // as many as one median is of

  int size_;
  std::vector<int> node_of_;
  detail::Vector<std::int64_t> nodes_;  ///< when each came
  Turns turns_;
  Agreement agreement_;
  std::array<std::int64_t, kept> mine_{};
  std::array<std::size_t, kept> bytes_{};
  std::array<std::size_t, kept> exchanged_bytes_{};  ///< of the calls that the exchange is about
  detail::RecentCalls recent_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
