// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Makes the calls of a script on a call context, whoever schedules its rank.

#include "algorithms.hpp"
#include "script.hpp"

#include <papcoll/base/call.hpp>
#include <papcoll/node/control_block.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace explore {

inline papcoll::CallFingerprint fingerprint_of(const CallSpec& s) {
  if (s.invalid) return {0, papcoll::CallFingerprint::invalid};
  return papcoll::CallFingerprint::of(
      s.count, s.collective, s.algorithm.id(), static_cast<std::uint32_t>(s.root),
      static_cast<std::uint32_t>(s.rank_order) | static_cast<std::uint32_t>(s.irregular) << 1 |
          static_cast<std::uint32_t>(s.reproducible) << 2);
}

namespace detail {

template <class Run, class Context, class Wait>
bool run_to_end(Context& context, const papcoll::Call& call, bool compares, Wait&& wait) {
  Run run;
  bool failed = false;
  wait([&] {
    if (run.step(context, call)) return true;
    if (!compares) return false;
    context.compare_calls();
    failed = context.failed();
    if (failed)
      context.failure_text();  // it has heard: another rank may have to tell it again later
    return failed;
  });
  return !failed;
}

}  // namespace detail

/// Makes a call, as a team does; wait(f) returns when f() is true. `compares`: looks for calls that
/// do not match while it waits. Returns false if there are any, or were any in the call that used
/// the epoch slot before.
template <class Context, class Wait>
bool make_call(Context& context, const CallSpec& spec, const papcoll::Call& call, bool compares,
               Wait&& wait) {
  context.begin(fingerprint_of(spec), call.reducer);
  wait([&] { return context.enter(); });
  bool complete = false;
  if (!spec.invalid && !context.earlier_call_matched()) {
    context.announce(nullptr, 0, 0);
    wait([&] { return context.failed(); });  // another may say so first
    context.failure_text();
  } else if (spec.invalid) {
    context.fail_with("a call of rank " + std::to_string(context.rank()) + " is invalid");
    context.announce(nullptr, 0, 0);
  } else {
    with_run_of(spec.algorithm, [&]<class Run>() {
      complete = detail::run_to_end<Run>(context, call, compares, wait);
    });
  }
  context.leave();
  return complete;
}

/// What is wrong with a rank after call i of a script; empty if nothing is. `complete`: the call
/// was; `before`: the one that used its epoch slot before, in a control block of so many
/// `epoch_slots`, was.
inline std::string problem_of(const Script& script, std::size_t i, int rank, const Buffers& buffers,
                              bool complete, bool before, std::size_t epoch_slots) {
  const CallSpec& spec = script.call_of(rank, i);
  const std::string call = "call " + std::to_string(i) + " (" + spec.describe() + ")";
  if (complete && before && i >= epoch_slots && !script.all_call(i - epoch_slots, fingerprint_of)) {
    return call + " came to an end, and the rank never heard that calls did not match before";
  }
  if (!complete) {
    if (!script.may_fail(i, epoch_slots)) return call + " failed, though all calls match";
    // A bcast or scatter of several chunks may have given some of them.
    const bool of_root =
        spec.collective == Collective::bcast || spec.collective == Collective::scatter;
    const std::size_t blocks =
        spec.collective == Collective::scatter ? static_cast<std::size_t>(script.ranks) : 1;
    const bool chunked = blocks * spec.count * reducer_of(spec).size > script.chunk;
    const bool partly = (of_root && chunked) || spec.algorithm.exposes_buffers();
    if (partly ? buffers.confined() : buffers.untouched()) return {};
    return call + " failed, but wrote to its memory";
  }
  if (!buffers.confined()) return call + " wrote outside of its output";
  if (!buffers.complete()) return call + " has a wrong result";
  if (!script.deviates(i) || buffers.writes_nothing()) return {};
  // So may whoever needs nobody but the root, or is that of a scatter.
  const bool scatters = spec.collective == Collective::scatter;
  const bool from_root =
      (scatters || (spec.collective == Collective::bcast && rank != spec.root)) &&
      script.call_of(spec.root, i) == spec;
  // Who is above does not matter to a prefix reduction.
  bool from_below = papcoll::is_prefix_reduction(spec.collective);
  for (int r = 0; r < rank; ++r) from_below = from_below && script.call_of(r, i) == spec;
  return from_root || from_below ? "" : call + " came to an end, though the calls do not match";
}

}  // namespace explore
