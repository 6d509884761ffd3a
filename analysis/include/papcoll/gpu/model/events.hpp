// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/model/queues.hpp>
#include <papcoll/gpu/model/shared_events.hpp>

#include <cstddef>
#include <memory>

// Events of the model: one object, which several processes may have, with its last record.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// What all processes that have an event share.
struct SharedEvent {
  std::size_t number = 0;                 ///< of all events
  int device = 0;                         ///< whose streams may record it
  bool alive = true;                      ///< its maker has not destroyed it
  std::shared_ptr<Record> last;           ///< null: never recorded
  PublishedEvent* published = nullptr;    ///< what other processes' models see of it, or null
  const EventWords* elsewhere = nullptr;  ///< of another process's model, or null
};

/// An event as one process has it.
struct EventOfProcess {
  int process = 0;                      ///< whose it is
  bool between_processes = false;       ///< may be exported
  bool imported = false;                ///< from another process
  bool alive = true;                    ///< not destroyed
  std::shared_ptr<SharedEvent> shared;  ///< the event
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
