#pragma once

#include <papcoll/config.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/node/compare_calls.hpp>
#include <papcoll/plan/run.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// What a rank's non-blocking calls begin with where calls are compared: a small allreduce each.
/// Only when that is done, and all ranks have called the same, is the call itself let go.
class Comparisons {
 public:
  struct Comparison {
    ComparedCalls calls;
    PlanRun* run;             ///< of the allreduce
    PlanRun* held = nullptr;  ///< of the call; `run` itself if the call has nothing to do
    bool is_over = false;
  };

  Comparison& begin(const CallWords& words, int rank, PlanRun& run) {
    open_.push_back(std::make_unique<Comparison>(Comparison{{words, rank, {}}, &run}));
    return *open_.back();
  }

  /// Lets the calls go that match, and ends the others.
  void progress() {
    for (std::size_t i = 0; i < open_.size(); ++i) {
      Comparison& c = *open_[i];
      if (c.is_over || c.held == nullptr || !c.run->done()) continue;
      c.is_over = true;
      if (c.held == c.run) continue;
      c.run->claimed = false;
      if (c.calls.differ) {
        c.held->abandon(false);
      } else {
        c.held->go();
      }
    }
  }

  /// Forgets that of a call which is done. How the ranks' calls differ, or nothing.
  std::string end(const PlanRun& call) {
    const auto it =
        std::find_if(open_.begin(), open_.end(), [&](const auto& c) { return c->held == &call; });
    if (it == open_.end()) return {};
    std::string text;
    if ((*it)->calls.differ) text = (*it)->calls.describe();
    open_.erase(it);
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
  std::vector<std::unique_ptr<Comparison>> open_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
