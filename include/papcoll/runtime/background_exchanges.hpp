// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/arrival/remote_arrival_monitor.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/topology/groups.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <utility>
#include <vector>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank's team agrees on by messages for which no rank waits: the order of arrival that each
/// predictor in use expects and, if no memory is shared, how unevenly the ranks arrive.
class BackgroundExchanges final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::background_exchanges;

  explicit BackgroundExchanges(const TeamContext& team)
      : rank_(team.rank()),
        size_(team.size()),
        common_clock_(team.environment().node != nullptr),
        period_(ExchangePeriods::period_of(team.size(), team.options().agreement_period)) {}

  Predictions& predictions_by(const AnyPredictor& predictor) {
    for (auto& p : predictions_) {
      if (p->predictor() == predictor) return *p;
    }
    return new_predictions(predictor);
  }

  /// The watch over the ranks' arrivals and what their calls cost. `nodes`: the ranks of each; null
  /// if each is on its own.
  RemoteArrivalMonitor& watch(const Groups* nodes) {
    if (watch_ == nullptr) make_watch(nodes);
    return *watch_;
  }
  /// The watch over the costs of the ranks' requests.
  RemoteArrivalMonitor& requests() {
    if (requests_ == nullptr) make_requests();
    return *requests_;
  }
  /// Returns what the watch has seen; null if there is none.
  const Imbalance* watched() const noexcept {
    return watch_ == nullptr ? nullptr : &watch_->view();
  }

  bool blocks(const Endpoint& e, std::uint32_t sequence) noexcept override {
    bool any = false;
    each([&](const BackgroundAllgather& a) {
      any |= a.is_in_flight() && sequence - a.sequence() >= e.sequences_at_once();
    });
    return any;
  }

  /// Exchanges by MPI messages are all on their way, unless a rank is many calls behind.
  bool drain_exchanges() noexcept override {
    constexpr std::chrono::milliseconds patience{100};
    TimeWaited time{patience / 10};
    try {
      bool in_time = true;
      each([&](BackgroundAllgather& a) {
        while (in_time && a.is_in_flight() && !a.wakes_receivers() && !a.progress()) {
          in_time = time.look() <= patience;
          sched_yield();
        }
      });
      return in_time;
    } catch (const std::exception&) {
      return false;
    }
  }

  [[gnu::cold]] void abandon(bool is_in_use) noexcept override {
    each([is_in_use](BackgroundAllgather& a) { a.abandon(is_in_use); });
  }

 private:
  template <class F> void each(F&& f) {
    for (auto& p : predictions_) f(p->allgather());
    if (watch_ != nullptr) f(watch_->allgather());
    if (requests_ != nullptr) f(requests_->allgather());
  }

  [[gnu::noinline, gnu::cold]] void make_watch(const Groups* nodes) {
    std::vector<int> node_of(static_cast<std::size_t>(size_));
    std::iota(node_of.begin(), node_of.end(), 0);
    if (nodes != nullptr) node_of = nodes->of;
    watch_ = detail::make_owned<RemoteArrivalMonitor>(rank_, std::move(node_of), period_);
  }

  [[gnu::noinline, gnu::cold]] void make_requests() {
    requests_ = detail::make_owned<RemoteArrivalMonitor>(
        rank_, std::vector<int>(static_cast<std::size_t>(size_)),
        ExchangePeriods::period_of(size_, RemoteArrivalMonitor::period_of_requests),
        RemoteArrivalMonitor::most_kept);
  }

  [[gnu::noinline, gnu::cold]] Predictions& new_predictions(const AnyPredictor& predictor) {
    predictions_.push_back(
        detail::make_owned<Predictions>(predictor, rank_, size_, common_clock_, period_));
    return *predictions_.back();
  }

  int rank_;
  int size_;
  bool common_clock_;
  std::uint32_t period_;
  detail::Vector<detail::Owned<Predictions>> predictions_;  ///< one for each predictor in use
  detail::Owned<RemoteArrivalMonitor> watch_;
  detail::Owned<RemoteArrivalMonitor> requests_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
