#pragma once

#include <papcoll/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/queues.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

// Events of the model: one object, which several processes may have, with its last record.

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace gpu {
namespace detail {

/// What all processes that have an event share.
struct SharedEvent {
  std::size_t number = 0;        ///< of all events
  int device = 0;                ///< whose streams may record it
  bool alive = true;             ///< its maker has not destroyed it
  std::shared_ptr<Record> last;  ///< null: never recorded
};

/// An event as one process has it.
struct EventOfProcess {
  int process = 0;                      ///< whose it is
  bool between_processes = false;       ///< may be exported
  bool imported = false;                ///< from another process
  bool alive = true;                    ///< not destroyed
  std::shared_ptr<SharedEvent> shared;  ///< the event
};

/// What stands in a handle: a word that tells what it is of, and a number.
template <class Handle>
Handle make_handle(std::uint64_t kind, std::size_t number) {
  Handle handle;
  const std::array<std::uint64_t, 2> words{kind, number};
  static_assert(sizeof words <= sizeof handle.bytes);
  std::memcpy(handle.bytes.data(), words.data(), sizeof words);
  return handle;
}

/// The number in a handle; 0 if it is of another kind.
template <class Handle>
std::size_t number_in(std::uint64_t kind, const Handle& handle) {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), handle.bytes.data(), sizeof words);
  return words[0] == kind ? words[1] : 0;
}

inline constexpr std::uint64_t handle_of_memory = 0x6d656d6f7279;  ///< kind of a MemoryHandle
inline constexpr std::uint64_t handle_of_event = 0x6576656e74;     ///< kind of an EventHandle

}  // namespace detail
}  // namespace gpu
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
