#pragma once

#include <papcoll/entry/arguments.hpp>
#include <papcoll/policies/algorithm.hpp>
#include <papcoll/runtime/registrations.hpp>
#include <papcoll/runtime/team.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// What runs a blocking call.
using RunCall = void(const Caller&, const AlgorithmSpec&, Call&);

/// Takes the call by value, so that a compiler still knows afterwards what the caller's is.
[[gnu::noinline]] inline bool run_in_arena(RunCall& run, const Caller& caller,
                                           const AlgorithmSpec& spec, Call call) {
  CallInArena moved{*caller.core.registrations(), call, caller.rank(), caller.size()};
  if (!moved.any()) return false;
  run(caller, spec, moved.call());
  moved.finish();
  return true;
}

/// Runs a call that has registered buffers by `run`, with their places in the arena, and says so.
/// False: it has none. Where nothing was ever registered, that costs a load and a comparison.
[[gnu::always_inline]] inline bool is_run_in_arena(RunCall& run, const Caller& caller,
                                                   const AlgorithmSpec& spec, const Call& call) {
  return caller.core.registrations() != nullptr && run_in_arena(run, caller, spec, call);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
