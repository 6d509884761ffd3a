#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/runtime/request_runs.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// What one call begins with: an allreduce, of one element.
struct Comparison {
  /// The call waits for it; `run` itself is the call's if that has nothing to do.
  void hold(RequestRun& call) noexcept {
    held = &call;
    call.comparison = this;
  }

  ComparedCalls calls;
  RequestRun* run;             ///< of the allreduce
  std::size_t at;              ///< in the list of all
  RequestRun* held = nullptr;  ///< of the call
  bool is_over = false;
};

/// What a rank's non-blocking calls begin with where calls are compared: a small allreduce each.
/// Only when that is done, and all ranks have called the same, is the call itself let go.
class NonblockingCallChecks {
 public:
  Comparison& begin(const CallWords& words, int rank, RequestRun& run) {
    open_.push_back(
        detail::make_owned<Comparison>(Comparison{{words, rank, {}}, &run, open_.size()}));
    return *open_.back();
  }

  /// Lets the calls go that match, and ends the others. Looks at a few, the next time at the next.
  void progress(RequestRuns& runs) {
    constexpr std::size_t looks = 64;
    for (std::size_t i = std::min(looks, open_.size()); i != 0; --i) {
      next_ = next_ + 1 < open_.size() ? next_ + 1 : 0;
      Comparison& c = *open_[next_];
      if (c.is_over || c.held == nullptr || !c.run->done()) continue;
      c.is_over = true;
      if (c.held == c.run) continue;
      runs.give_back(*c.run);
      if (c.calls.differ) {
        c.held->abandon(false);
      } else {
        c.held->go();
      }
    }
  }

  /// Forgets that of a call which is done. How the ranks' calls differ, or nothing.
  std::string end(RequestRun& call) {
    Comparison* const c = std::exchange(call.comparison, nullptr);
    if (c == nullptr) return {};
    std::string text;
    if (c->calls.differ) text = c->calls.describe();
    open_.back()->at = c->at;
    std::swap(open_[c->at], open_.back());
    open_.pop_back();
    return text;
  }

  /// Before the executions are. `leak`: something may still use their memory.
  void abandon(bool leak) noexcept {
    for (auto& c : open_) {
      if (leak && !c->run->done()) static_cast<void>(c.release());
    }
    open_.clear();
  }

 private:
  detail::Vector<detail::Owned<Comparison>> open_;
  std::size_t next_ = 0;  ///< of those, the last one looked at
};

}  // namespace papcoll::inline PAPCOLL_ABI
