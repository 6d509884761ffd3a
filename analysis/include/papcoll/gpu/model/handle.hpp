// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/model/shared_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <unistd.h>

// What stands in handles of the model.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

inline constexpr std::uint64_t handle_of_memory = 0x6d656d6f7279;  ///< kind of a MemoryHandle
inline constexpr std::uint64_t handle_of_event = 0x6576656e74;     ///< kind of an EventHandle

/// A handle's words: those of the process's own model, and where other processes find it.
struct HandleWords {
  std::uint64_t kind = 0;    ///< what it is of
  std::uint64_t number = 0;  ///< in the model that has made it
  std::int64_t device = 0;   ///< whose memory, or whose streams record it
  std::uint64_t place = 0;   ///< of an event, in the file; of memory, how many bytes it has
  FilePlace file{};          ///< where it is, if processes have a model each

  /// Returns true if another process made it.
  bool is_elsewhere() const noexcept {
    return file.process != 0 && file.process != static_cast<std::int32_t>(getpid());
  }
};
static_assert(std::is_trivially_copyable_v<HandleWords>);

/// The handle with those words.
template <class Handle> Handle make_handle(const HandleWords& words) {
  Handle handle;
  static_assert(sizeof words <= sizeof handle.bytes);
  std::memcpy(handle.bytes.data(), &words, sizeof words);
  return handle;
}

/// The words in a handle; its number is 0 if it is of another kind.
template <class Handle> HandleWords words_in(std::uint64_t kind, const Handle& handle) {
  HandleWords words;
  std::memcpy(&words, handle.bytes.data(), sizeof words);
  return words.kind == kind ? words : HandleWords{};
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
