// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a thread remembers of the handle that it was given last. Handles that were freed come again
// for other objects: the functions that MPI calls when an object ends make all such memories void.

#include <atomic>
#include <cstdint>

namespace preload {

/// Counts the ends of objects of one kind.
class Generation {
 public:
  std::uint64_t now() const noexcept { return ends_.load(std::memory_order_acquire); }
  void end_one() noexcept { ends_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  std::atomic<std::uint64_t> ends_{1};
};

/// The last handle, and what belongs to it.
template <class Handle, class Found> struct Remembered {
  Handle handle{};
  Found* found = nullptr;
  std::uint64_t generation = 0;

  bool is(Handle h, std::uint64_t now) const noexcept {
    return handle == h && generation == now && found != nullptr;
  }
};

}  // namespace preload
