// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/model/clock.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

// Records of events, which streams wait for.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

struct Queue;

/// Hears of records that are done.
class RecordObserver : Pinned {
 public:
  virtual ~RecordObserver() = default;
  /// One of its records is.
  virtual void done() = 0;
};

/// One record of an event: what waits refer to.
struct Record {
  bool done = false;                   ///< all before it is complete
  bool lost = false;                   ///< it never will be: its device failed
  Clock clock;                         ///< what comes before it
  std::vector<Queue*> waiters;         ///< whose turn it is once that is done
  RecordObserver* observer = nullptr;  ///< is notified of it, or null
  /// Of another process: how many records of the event are complete there. This one is done when
  /// the reader's acquire finds `number`.
  const std::atomic<std::uint64_t>* elsewhere = nullptr;
  std::uint64_t number = 0;  ///< there
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
