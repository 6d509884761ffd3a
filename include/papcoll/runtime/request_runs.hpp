#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

struct Comparison;

/// A run of a request, and its neighbours among those under way.
class RequestRun final : public PlanRun {
 public:
  Comparison* comparison = nullptr;  ///< that it waits or has waited for, see there; or null

  std::uint32_t timed = 0;  ///< as RemoteArrivalMonitor::begin() said; 0: its cost is not noted
  std::chrono::nanoseconds started{};  ///< when it was, if it is timed

 private:
  friend class RequestRuns;
  RequestRun* older_ = nullptr;
  RequestRun* newer_ = nullptr;
  bool under_way_ = false;
};

/// The runs of a rank's requests, used again and again. Whatever their number, each function but
/// abandon() takes the same time; oldest() drops those that are done, each of them once.
///
/// Invariant: the list of those under way has every run that was begun and is not done, in the
/// order in which they were begun, which is that of their sequence numbers; and some that are done.
class RequestRuns {
 public:
  /// One that no other request has. give_back() must follow.
  RequestRun& take() {
    if (idle_.empty()) make_one();
    ++taken_;
    RequestRun* const run = idle_.back();
    idle_.pop_back();
    return *run;
  }

  /// It has begun, with a higher sequence number than all before.
  void begun(RequestRun& run) noexcept {
    run.under_way_ = true;
    run.older_ = newest_;
    run.newer_ = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer_) = &run;
    newest_ = &run;
  }

  /// It is done, and the request does not look at it any more.
  void give_back(RequestRun& run) noexcept {
    if (run.under_way_) unlink(run);
    --taken_;
    idle_.push_back(&run);  // make_one() has reserved the room
  }

  /// That with the lowest sequence number of those that are not done; null if all are.
  const RequestRun* oldest() noexcept {
    while (oldest_ != nullptr && oldest_->done()) unlink(*oldest_);
    return oldest_;
  }

  /// Has a request one?
  bool any_taken() const noexcept { return taken_ != 0; }

  /// After the team broke. `leak`: something may still use their memory.
  [[gnu::cold]] void abandon(bool leak) noexcept {
    for (auto& run : all_) run->abandon(leak);
  }

 private:
  [[gnu::cold]] void make_one() {
    if (idle_.capacity() <= all_.size()) idle_.reserve(std::max<std::size_t>(8, 2 * all_.size()));
    all_.push_back(detail::make_owned<RequestRun>());
    idle_.push_back(all_.back().get());
  }

  void unlink(RequestRun& run) noexcept {
    (run.older_ == nullptr ? oldest_ : run.older_->newer_) = run.newer_;
    (run.newer_ == nullptr ? newest_ : run.newer_->older_) = run.older_;
    run.under_way_ = false;
  }

  detail::Vector<detail::Owned<RequestRun>> all_;
  detail::Vector<RequestRun*>
      idle_;  ///< the last one given back, whose memory is in the caches, last
  RequestRun* oldest_ = nullptr;
  RequestRun* newest_ = nullptr;
  std::size_t taken_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
