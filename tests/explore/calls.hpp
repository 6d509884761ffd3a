#pragma once

// Makes the calls of a script on a site, whoever schedules its rank.

#include "script.hpp"

#include <papcoll/algorithms/arrival/arrival_chain.hpp>
#include <papcoll/algorithms/arrival/combining_tree.hpp>
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/algorithms/arrival/split_tail.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/node/board.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace explore {

inline papcoll::CallWords words_of(const CallSpec& s) {
  if (s.invalid) return {0, papcoll::CallWords::invalid};
  return papcoll::CallWords::of(
      s.count, s.collective, static_cast<std::uint32_t>(s.algorithm),
      static_cast<std::uint32_t>(s.root),
      static_cast<std::uint32_t>(s.rank_order) | static_cast<std::uint32_t>(s.uneven) << 1);
}

namespace detail {

template <class Run, class SiteType, class Wait>
bool run_to_end(SiteType& site, const papcoll::Call& call, bool compares, Wait&& wait) {
  Run run;
  bool failed = false;
  wait([&] {
    if (run.step(site, call)) return true;
    if (!compares) return false;
    site.compare_calls();
    failed = site.failed();
    return failed;
  });
  return !failed;
}

}  // namespace detail

/// Makes a call, as a team does; wait(f) returns when f() is true. `compares`: looks for calls that
/// do not match while it waits. Returns false if there are any, or were any in the call that used
/// the frame before.
template <class SiteType, class Wait>
bool make_call(SiteType& site, const CallSpec& spec, const papcoll::Call& call, bool compares,
               Wait&& wait) {
  site.begin(words_of(spec), call.reducer);
  wait([&] { return site.enter(); });
  bool complete = false;
  if (!spec.invalid && !site.last_in_frame_matched()) {
    site.announce(nullptr, 0, 0);
    wait([&] { return site.failed(); });  // another may say so first
    site.failure_text();
  } else if (spec.invalid) {
    site.fail_with("a call of rank " + std::to_string(site.rank()) + " is invalid");
    site.announce(nullptr, 0, 0);
  } else if (spec.algorithm == Algorithm::dynamic_leader) {
    complete = detail::run_to_end<papcoll::LeaderFan::Run<true>>(site, call, compares, wait);
  } else if (spec.algorithm == Algorithm::static_leader) {
    complete = detail::run_to_end<papcoll::LeaderFan::Run<false>>(site, call, compares, wait);
  } else if (spec.algorithm == Algorithm::exchange) {
    complete = detail::run_to_end<papcoll::Exchange::Run>(site, call, compares, wait);
  } else if (spec.algorithm == Algorithm::multi_leader) {
    complete = detail::run_to_end<papcoll::MultiLeader::Run>(site, call, compares, wait);
  } else if (spec.algorithm == Algorithm::peer_slices) {
    complete = detail::run_to_end<papcoll::PeerSlices::Run>(site, call, compares, wait);
  } else if (spec.algorithm == Algorithm::split_tail) {
    complete = detail::run_to_end<papcoll::SplitTail::Run>(site, call, compares, wait);
  } else if (spec.algorithm == Algorithm::chain) {
    complete = detail::run_to_end<papcoll::ArrivalChain::Run>(site, call, compares, wait);
  } else {
    complete = detail::run_to_end<papcoll::CombiningTree::Run>(site, call, compares, wait);
  }
  site.leave();
  return complete;
}

/// What is wrong with a rank after call i of a script; empty if nothing is. `complete`: the call
/// was; `before`: the one that used its frame before, on a board of so many `frames`, was.
inline std::string problem_of(const Script& script, std::size_t i, int rank, const Buffers& buffers,
                              bool complete, bool before, std::size_t frames) {
  const CallSpec& spec = script.call_of(rank, i);
  const std::string call = "call " + std::to_string(i) + " (" + spec.describe() + ")";
  if (complete && before && i >= frames && !script.all_call(i - frames, words_of)) {
    return call + " came to an end, and the rank never heard that calls did not match before";
  }
  if (!complete) {
    if (!script.may_fail(i, frames)) return call + " failed, though all calls match";
    // A bcast of several chunks may have given some of them.
    const bool chunked = spec.count * reducer_of(spec).size > chunk_bytes;
    const bool partly =
        (spec.collective == Collective::bcast && chunked) || lends_buffers(spec.algorithm);
    if (partly ? buffers.confined() : buffers.untouched()) return {};
    return call + " failed, but wrote to its memory";
  }
  if (!buffers.confined()) return call + " wrote outside of its output";
  if (!buffers.complete()) return call + " has a wrong result";
  if (!script.deviates(i) || buffers.writes_nothing()) return {};
  const bool from_root = spec.collective == Collective::bcast && rank != spec.root &&
                         script.call_of(spec.root, i) == spec;
  return from_root ? "" : call + " came to an end, though the calls do not match";
}

}  // namespace explore
