// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// When ranks that count their calls alike exchange figures, and when they act on them.
///
///     call        …  k    k+1  …  2k   2k+1  …  3k  …
///     exchange       begins ───→  ends
///                                 begins ────→  ends
///     acts on it                  ↑             ↑
///
/// The exchange has k calls of time, in which it is not used; a rank that comes to its end before
/// the messages do waits for them. All ranks act on it at the same call, however far one of them
/// runs ahead: nothing but the number of the call decides.
class ExchangePeriods {
 public:
  /// `least` calls, or more, so that each rank sends at most two messages a call for the exchange.
  static std::uint32_t period_of(int ranks, std::uint32_t least) noexcept {
    return std::max(least, static_cast<std::uint32_t>(ranks) / 2);
  }

  explicit ExchangePeriods(std::uint32_t period) : period_(period) {}

  /// Counts a call. True at every period-th: the exchange under way ends, and the next one begins.
  bool count() noexcept { return ++calls_ % period_ == 0; }

  std::uint32_t calls() const noexcept { return calls_; }
  std::uint32_t period() const noexcept { return period_; }

 private:
  std::uint32_t period_;
  std::uint32_t calls_ = 0;
};

/// Figures of all ranks that all of them will know, by an allgather for which no rank waits.
class BackgroundAllgather {
 public:
  /// Exchanges `width` figures of each rank.
  BackgroundAllgather(int rank, int size, std::size_t width)
      : mine_(width), all_(width * static_cast<std::size_t>(size)), rank_(rank), size_(size) {}

  /// Begins to exchange this rank's figures, equally many from every rank. None may be under way.
  /// `exchange` serves allgather. Where messages may outlive the team, as those of MPI may, it must
  /// have one round: then all is sent, and all receives are posted, when it starts, so that it
  /// needs no progress until it is complete, and leaves nothing behind when the ranks part soon.
  void start(Endpoint& endpoint, bool wakes_receivers, const AnySchedule& exchange,
             PlanCache& plans, std::span<const std::int64_t> mine, std::uint32_t sequence) {
    std::copy(mine.begin(), mine.end(), mine_.begin());
    endpoint_ = &endpoint;
    wakes_receivers_ = wakes_receivers;
    Call call;
    call.collective = Collective::allgather;
    call.in = reinterpret_cast<const std::byte*>(mine_.data());
    call.out = reinterpret_cast<std::byte*>(all_.data());
    call.count = mine_.size();
    call.reducer.size = sizeof(std::int64_t);
    Shape shape;
    shape.collective = call.collective;
    shape.size = size_;
    shape.rank = rank_;
    shape.count = call.count;
    shape.element_size = call.reducer.size;
    const Order order = Order::identity(size_);
    plan_run_.start(endpoint, plans.get(exchange, shape, order).plan, order, call, sequence, 1);
  }

  /// Returns true if an allgather was started and its figures have not been read yet.
  bool is_under_way() const noexcept { return endpoint_ != nullptr; }

  /// Returns true if an allgather was started and is not complete.
  bool is_in_flight() const noexcept { return is_under_way() && !plan_run_.done(); }
  std::uint32_t sequence() const noexcept { return plan_run_.sequence(); }

  /// Moves the one under way. True: it is complete.
  bool progress() {
    if (!plan_run_.done()) endpoint_->progress();
    return plan_run_.done();
  }
  bool wakes_receivers() const noexcept { return wakes_receivers_; }

  /// The figures of rank 0, then of rank 1… of the one under way, which is complete; then none is.
  std::span<const std::int64_t> take() noexcept {
    endpoint_ = nullptr;
    return all_;
  }

  /// After the communicator broke, or when it ends. `is_in_use`: a transport may still write to it.
  void abandon(bool is_in_use) noexcept {
    if (!is_in_flight()) return;
    plan_run_.abandon(is_in_use);
    if (is_in_use) {
      static_cast<void>(new (std::nothrow) detail::Vector<std::int64_t>(std::move(all_)));
      static_cast<void>(new (std::nothrow) detail::Vector<std::int64_t>(std::move(mine_)));
    }
    endpoint_ = nullptr;
  }

 private:
  detail::Vector<std::int64_t> mine_;
  detail::Vector<std::int64_t> all_;
  int rank_;
  int size_;
  Endpoint* endpoint_ = nullptr;
  bool wakes_receivers_ = false;
  PlanRun plan_run_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
