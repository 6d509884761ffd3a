// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/make_plan.hpp>
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

/// Watches ranks that share no memory, in the calls that all of them count: how unevenly they
/// arrive, and what calls cost. How long each was in some of the calls is exchanged as Turns says,
/// by an allgather for which no rank waits. Which calls these are, and what was tried in them, all
/// ranks know: only times are sent.
///
/// Arrivals are watched in calls that no rank leaves before all have arrived: all leave them at
/// about the same time, so how long a rank was in the call says when it came, and the shortest time
/// is the call's own. A call costs what it costs the rank that is in it for the longest.
///
/// Another one is for non-blocking calls: how long each was under way, as the rank sees it, from
/// its start until it was found complete. Only starts count, and only those for which a learner was
/// asked. All ranks start the same ones in the same order, and a rank that alone starts none,
/// because its call is invalid, breaks the team; so all count alike. At every period-th start, and
/// nowhere else, what the last exchange has brought takes effect, and the next one begins. Hence it
/// takes effect at the same place of the common order of calls on all ranks, blocking ones
/// included: every call before it, and none after it, is chosen without it. A start may have to
/// wait there, for the exchange that began a period before: for ranks that are 1,024 requests
/// behind. These wait for nothing in the starts between, and an exchange over MPI messages has one
/// round, so that it asks for nobody's attention once all have begun it.
class RemoteArrivalMonitor {
 public:
  static constexpr std::size_t most_kept = 16;  ///< what a learner can take between two evaluate()
  static constexpr std::uint32_t period_of_requests = 1024;

  /// `node_of`: the node, or group, of each rank, counted from 0. `kept`: the most calls whose
  /// times are in an exchange.
  RemoteArrivalMonitor(int rank, std::vector<int> node_of, std::uint32_t period,
                       std::size_t kept = 8)
      : size_(static_cast<int>(node_of.size())),
        kept_(kept),
        node_of_(std::move(node_of)),
        nodes_(static_cast<std::size_t>(*std::max_element(node_of_.begin(), node_of_.end())) + 1),
        turns_(period),
        allgather_(rank, size_, kept) {
    mine_.fill(unknown);
  }

  BackgroundAllgather& allgather() noexcept { return allgather_; }
  const Imbalance& view() const noexcept { return recent_.agreed(); }

  /// Records how long this rank was in the present call. All ranks record the same calls. Of more
  /// than are kept, their numbers draw which are.
  void note(const Call& call, const CallTrial& trial, bool follows_arrivals,
            std::chrono::nanoseconds in_call) noexcept {
    const std::size_t i = next_place();
    if (i >= kept_) return;
    const bool synchronizes = traits_of(call.collective).is(CollectiveTraits::synchronizes);
    calls_[i] = {trial, call.bytes(), 0, follows_arrivals, synchronizes};
    mine_[i] = in_call.count();
  }
  /// A request that was counted is timed. Returns what end() wants to know of it.
  std::uint32_t begin(const CallTrial& trial) noexcept {
    const std::size_t i = next_place();
    if (i >= kept_) return 0;
    calls_[i] = {trial, 0, turns_.calls() + 1};
    mine_[i] = unknown;
    return calls_[i].request;
  }
  /// Records that a request was found complete; it may have been long ago that it began.
  void end(std::uint32_t request, std::chrono::nanoseconds took) noexcept {
    for (std::size_t i = 0; i < std::min(noted_, kept_); ++i) {
      if (calls_[i].request == request) mine_[i] = took.count();
    }
  }

  /// Counts a call, a request before it starts. True: if an exchange is under way, it is to be
  /// completed and adopted; then the next one is to begin, if anything was noted.
  bool count() noexcept { return turns_.count(); }
  bool has_noted() const noexcept { return noted_ != 0; }

  /// As BackgroundAllgather::start().
  void begin(Endpoint& endpoint, bool wakes_receivers, const AnySchedule& exchange,
             PlanCache& plans, std::uint32_t sequence) {
    allgather_.start(endpoint, wakes_receivers, exchange, plans, take_notes(), sequence);
  }
  /// From here on the times just exchanged are in force. `costs`, unless null, is notified of what
  /// calls cost.
  void adopt(CostListener* costs) noexcept { learn_from_all(allgather_.take(), costs); }

  /// Returns what this rank sends, as all ranks do at the same call.
  std::span<const std::int64_t> take_notes() noexcept {
    exchanged_ = calls_;
    exchanged_count_ = std::min(noted_, kept_);
    noted_ = 0;
    return {mine_.data(), kept_};
  }
  /// Reads what all ranks sent last, rank by rank. Nothing is known of a request that one of them
  /// has not found complete.
  void learn_from_all(std::span<const std::int64_t> all, CostListener* costs) noexcept {
    for (std::size_t i = 0; i < exchanged_count_; ++i) {
      const auto in_call = [&](int r) { return all[static_cast<std::size_t>(r) * kept_ + i]; };
      std::int64_t least = in_call(0);
      std::int64_t most = least;
      for (int r = 1; r < size_; ++r) {
        least = std::min(least, in_call(r));
        most = std::max(most, in_call(r));
      }
      if (least == unknown) continue;
      const NotedCall& noted = exchanged_[i];
      if (costs != nullptr && noted.trial.kind != 0) {
        const std::int64_t after_last = noted.synchronizes ? least : most;
        costs->add({noted.trial, static_cast<std::uint64_t>(most),
                    static_cast<std::uint64_t>(after_last)});
      }
      if (!noted.follows_arrivals) continue;
      Imbalance call = detail::imbalance_of(size_, [&](int r) { return -in_call(r); });
      call.own = static_cast<std::uint64_t>(least);
      call.own_ps_a_byte = call.own * 1000 / std::max<std::size_t>(noted.bytes, 1);
      detail::find_late_node(call, node_of_, nodes_, [&](int r) { return -in_call(r); });
      recent_.add(call);
    }
    recent_.update();
  }

 private:
  static constexpr std::int64_t unknown = -1;

  /// A call whose times are exchanged.
  struct NotedCall {
    CallTrial trial;
    std::size_t bytes = 0;
    std::uint32_t request = 0;  ///< its number among those that count
    bool follows_arrivals = false;
    bool synchronizes = false;  ///< no rank leaves it before all have arrived
  };

  /// Returns the place at which the call under way is noted.
  std::size_t next_place() noexcept {
    const std::size_t i = noted_++;
    return i < kept_ ? i : (turns_.calls() * 0x9e3779b9U >> 8U) % noted_;
  }

  int size_;
  std::size_t kept_;
  std::vector<int> node_of_;
  detail::Vector<std::int64_t> nodes_;  ///< when each came
  ExchangePeriods turns_;
  BackgroundAllgather allgather_;
  std::size_t noted_ = 0;  ///< calls since the last exchange began
  std::array<std::int64_t, most_kept> mine_{};
  std::array<NotedCall, most_kept> calls_{};
  std::array<NotedCall, most_kept> exchanged_{};  ///< that the exchange is about
  std::size_t exchanged_count_ = 0;
  detail::RecentCalls recent_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
