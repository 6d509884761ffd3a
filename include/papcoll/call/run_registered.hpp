#pragma once

#include <papcoll/call/argument_checks.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Runs a call that has registered buffers by `run`, with their places in the arena, and says so.
/// False: it has none. Asked only where something was ever registered. Takes the call by value, so
/// that a compiler still knows afterwards what the caller's is.
template <class Run>
[[gnu::noinline]] bool run_in_arena(const Caller& caller, Call call, const Run& run) {
  CallInArena moved{*caller.core.registrations(), call, caller.rank(), caller.size()};
  if (!moved.any()) return false;
  run(moved.call());
  moved.finish();
  return true;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
