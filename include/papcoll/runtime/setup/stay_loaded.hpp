#pragma once

#include <papcoll/base/config.hpp>

#include <atomic>

#include <dlfcn.h>
#include <link.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Has stay_loaded() been called in this object? Hidden, so that each has its own. Relaxed: nothing
/// follows from it, and twice does no harm.
[[gnu::visibility("hidden")]] inline std::atomic<bool> stays_loaded{false};

/// Keeps the object whose code this is, such as a plug-in, loaded until the process ends. For
/// functions that are given to MPI: it calls them in MPI_Comm_free and MPI_Finalize.
[[gnu::visibility("hidden")]] inline void stay_loaded() noexcept {
  if (stays_loaded.exchange(true, std::memory_order_relaxed)) return;
  Dl_info found{};
  void* map = nullptr;
  // Nobody unloads the program itself, whose name is empty, nor what the loader does not know.
  if (dladdr1(&stays_loaded, &found, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return;
  const char* const name = static_cast<const link_map*>(map)->l_name;
  if (*name == '\0') return;
  // The handle is never closed. If there is none, the object only has to be kept by who loaded it.
  static_cast<void>(dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
