#pragma once

#include <papcoll/entry/arguments.hpp>
#include <papcoll/runtime/registrations.hpp>
#include <papcoll/runtime/team.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Takes the call by value, so that a compiler still knows afterwards what the caller's is.
template <class Run>
[[gnu::noinline]] bool run_in_arena(const Caller& caller, Call call, const Run& run) {
  CallInArena moved{*caller.core.registrations(), call, caller.rank(), caller.size()};
  if (!moved.any()) return false;
  run(moved.call());
  moved.finish();
  return true;
}

/// Runs a call that has registered buffers by `run`, with their places in the arena, and says so.
/// False: it has none. Where nothing was ever registered, that costs a load and a comparison.
template <class Run>
[[gnu::always_inline]] inline bool is_run_in_arena(const Caller& caller, const Call& call,
                                                   const Run& run) {
  return caller.core.registrations() != nullptr && run_in_arena(caller, call, run);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
