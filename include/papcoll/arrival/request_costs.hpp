#pragma once

#include <papcoll/arrival/agreement.hpp>
#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/base/call.hpp>
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

namespace papcoll::inline PAPCOLL_ABI {

/// What non-blocking calls cost, as ranks that share no memory tell each other: how long each was
/// under way, as the rank sees it, from its start until it was found complete.
///
/// Only starts count, and only those for which a learner was asked. All ranks start the same ones
/// in the same order, and a rank that alone starts none, because its call is invalid, breaks the
/// team; so all count alike. At every period-th start, and nowhere else, what the last exchange
/// has told takes effect, and the next one begins. Hence it takes effect at the same place of the
/// common order of calls on all ranks, blocking ones included: every call before it, and none
/// after it, is chosen without it.
///
/// A start may have to wait there, for the exchange that began a period before: for ranks that are
/// 1,024 requests behind. These wait for nothing in the starts between, and an exchange over MPI
/// messages has one round, so that it asks for nobody's attention once all have begun it.
class RequestCosts {
 public:
  static constexpr std::uint32_t period = 1024;

  RequestCosts(int rank, int size)
      : size_(size), turns_(Turns::period_of(size, period)), agreement_(rank, size, kept) {
    mine_.fill(unknown);
  }

  Agreement& agreement() noexcept { return agreement_; }

  /// Counts a start, before it. True: if an exchange is under way, it is to be completed and
  /// adopted; then the next one is to begin, if anything is to be told.
  bool count() noexcept { return turns_.count(); }
  bool has_any() const noexcept { return count_ != 0; }

  /// A request that was counted is timed. Returns what end() wants to know of it.
  std::uint32_t begin(const CallTrial& trial) noexcept {
    std::size_t i = count_++;
    if (i >= kept) i = (turns_.calls() * 0x9e3779b9U >> 8U) % count_;
    if (i >= kept) return 0;
    requests_[i] = {trial, turns_.calls() + 1};
    mine_[i] = unknown;
    return requests_[i].number;
  }
  /// It was found complete; it may have been long ago that it began.
  void end(std::uint32_t number, std::chrono::nanoseconds took) noexcept {
    for (std::size_t i = 0; i < std::min(count_, kept); ++i) {
      if (requests_[i].number == number) mine_[i] = took.count();
    }
  }

  /// As Agreement::start().
  void begin(Endpoint& endpoint, bool rings, const AnySchedule& exchange, PlanCache& plans,
             std::uint32_t sequence) {
    agreement_.start(endpoint, rings, exchange, plans, tell(), sequence);
  }
  void adopt(CostListener* costs) noexcept { hear(agreement_.take(), costs); }

  /// What this rank has to tell, as all ranks do at the same start.
  std::span<const std::int64_t> tell() noexcept {
    told_ = requests_;
    told_count_ = std::min(count_, kept);
    count_ = 0;
    return mine_;
  }
  /// What all ranks told last, rank by rank: of a request that one of them has not found complete
  /// nothing is known.
  void hear(std::span<const std::int64_t> all, CostListener* costs) noexcept {
    if (costs == nullptr) return;
    for (std::size_t i = 0; i < told_count_; ++i) {
      std::int64_t least = all[i];
      std::int64_t most = least;
      for (std::size_t at = i; at < kept * static_cast<std::size_t>(size_); at += kept) {
        least = std::min(least, all[at]);
        most = std::max(most, all[at]);
      }
      if (least == unknown) continue;
      const auto cost = static_cast<std::uint64_t>(most);
      costs->add({told_[i].trial, cost, cost});
    }
    costs->settle();
  }

 private:
  static constexpr std::size_t kept = 16;  // no more than a learner can take between two settle()
  static constexpr std::int64_t unknown = -1;

  struct Timed {
    CallTrial trial;
    std::uint32_t number = 0;  ///< among the starts that count
  };

  int size_;
  Turns turns_;
  Agreement agreement_;
  std::size_t count_ = 0;  ///< requests that were timed since the last exchange began
  std::array<std::int64_t, kept> mine_{};
  std::array<Timed, kept> requests_{};
  std::array<Timed, kept> told_{};  ///< that the exchange is about
  std::size_t told_count_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
