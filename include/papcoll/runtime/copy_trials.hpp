#pragma once

#include <papcoll/base/copying.hpp>
#include <papcoll/base/owned.hpp>
#include <papcoll/base/shared.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/buffer_pages.hpp>
#include <papcoll/node/copy_probe.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// When a rank of a team tries how to copy for the others of its node, where its processor does not
/// say which way is fast: at the beginning, and again every few thousand calls, since a host may
/// move the processors of a virtual machine. All decide by what they have agreed on, so that they
/// come to a trial in the same call. Ranks that share processors do not: their times would say
/// nothing, and plain copies are good where writer and reader are on one core.
class CopyTrials {
 public:
  /// Of the looks that ranks take at what happened, one in some 16 calls, those with a trial: these
  /// soon after the beginning, for ranks that did not meet there, and then every `period`-th.
  static constexpr std::array<std::uint32_t, 3> early{2, 8, 32};
  static constexpr std::uint32_t period = 256;
  /// But not without so many calls of more than 1 KB since the last one, of those that are watched:
  /// a trial takes 0.1 ms, and is of no use to shorter ones.
  static constexpr std::uint32_t enough = 64;

  [[gnu::cold]] explicit CopyTrials(const Node& node) : choice_(node.copies) {
    if (!choice_->is_probed() || node.copy_probe == nullptr || node.size < 2) return;
    try {
      reserve(node, node.rank);
      for (int pair = 0; pair < CopyProbe::pairs; ++pair) {
        const int other = CopyProbe::partner(node.rank, node.size, pair);
        if (other >= 0) reserve(node, other);
      }
    } catch (const system_error&) {
      return;  // no room in shared memory: copies stay plain
    }
    probe_ = make_owned<CopyProbe>(node.copy_probe, node.rank, node.size);
  }

  /// All ranks have just met.
  void begin(const Waiter& waiter) noexcept {
    if (probe_) run(waiter);
  }

  /// All ranks have just looked at what happened, for the `looks`-th time, and seen that many calls
  /// so far that were longer than 1 KB.
  void look(const Waiter& waiter, std::uint32_t looks, std::uint32_t longer_calls) noexcept {
    if (!probe_) return;
    const bool is_early = std::find(early.begin(), early.end(), looks) != early.end();
    if (!is_early && looks % period != 0) return;
    if (longer_calls - longer_calls_ < (is_early ? 1 : enough)) return;
    longer_calls_ = longer_calls;
    run(waiter);
  }

 private:
  static void reserve(const Node& node, int rank) {
    if (node.reserve == nullptr) return;
    node.reserve(node.context, node.copy_probe + CopyProbe::offset(rank),
                 CopyProbe::bytes_a_rank());
  }

  [[gnu::noinline, gnu::cold]] void run(const Waiter& waiter) noexcept {
    if (waiter.oversubscribed || waiter.yield_took > waiter.times.given_away) return;
    CopyMethod faster{};
    if (probe_->run(faster)) choice_->found(faster);
  }

  detail::Shared<CopyChoice> choice_;
  Owned<CopyProbe> probe_;          ///< null: nothing is tried
  std::uint32_t longer_calls_ = 0;  ///< before the last trial
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
