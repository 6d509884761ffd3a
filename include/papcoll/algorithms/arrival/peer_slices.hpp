// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/direct_copies.hpp>
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/grouped.hpp>
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by PeerSlices: each rank works on its slice, straight from its peers'
/// buffers.
///
/// Phases: 1. Each rank announces where its buffers are, and waits until all have arrived.
///   2. Where all lie in memory that all see (shared_vector, threads), each rank combines its
///      slice of all inputs and writes it to all outputs that it sees. Where that is asked
///      for (PeerReach) the kernel copies what is not seen (cross-memory attach): inputs
///      while they are combined, and slices of the result afterwards. Of a reduce_scatter
///      the slice is the rank's block, which no other rank wants.
///   3. No rank leaves before all have read what they need of it.
///   Where the call context says which ranks share a cache, an allreduce of what all
///   see is combined in two levels: GroupedPeers. Reduce and reduce_scatter stay in one:
///   ranks other than the root have no output for partial results, and of a reduce_scatter
///   every block is wanted by one rank alone.
///   A bcast and an allgather do not wait for all: see DirectCopies.
///   Where buffers cannot be reached, staged chunks do: MultiLeader for allreduce,
///   DynamicLeader for reduce and bcast, Exchange for allgather and reduce_scatter.
/// Cost: Two flags each way. Allreduce, seen by all: a rank reads n bytes and writes n, the least
///   there is. By copies of the kernel: n·(P−1)/P bytes of inputs and as many of results are
///   copied once each. Reduce_scatter: a rank reads n bytes and writes n/P.
/// Prefer: Balanced arrivals, from a few KB in the arena. Elsewhere it is the algorithm named
///   above: staged chunks are quicker than the kernel's copies.
/// Limits: One node. Nothing is combined before the last has arrived: SplitTail, where ranks are
///   late.
/// Contract: Reproducible: every element is combined in rank order; in two levels, by groups.
///
///              slice 0              slice 1              slice 2
///     inputs   a0 b0 c0             a1 b1 c1             a2 b2 c2
///     rank 0   a0∘b0∘c0 to all      rank 1 …             rank 2 …
///
/// Source: J. M. Hashmi et al., "Designing efficient shared address space reduction collectives for
///   multi-/many-cores", IPDPS 2018, where the address space is shared by XPMEM.
///
/// The same phases serve all collectives, each with its own slices.
class PeerSlices::Run {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    if (way_ == Way::copies) {
      if (without_slices_.copies.step(ctx, c)) return true;
      if (!without_slices_.copies.unreachable()) return false;
      stage(c);
    }
    if (way_ == Way::unknown && !choose_way(ctx, c)) return false;
    if (way_ == Way::staged) return run_staged(ctx, c);
    if (grouped_) return grouped_->step(ctx, c);
    return c.collective == Collective::reduce_scatter ? scatter(ctx, c) : reduce(ctx, c);
  }

 private:
  enum class Way { unknown, direct, copies, staged };

  /// With its inputs a block stays in a nearest cache of 32 KB until it is copied to the other
  /// outputs. The kernel's copies cost the more the shorter they are, and those past the caches
  /// wait at the end of each.
  static constexpr std::size_t block_bytes = 8192;

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    const bool scatters = c.collective == Collective::reduce_scatter;
    bytes_in_ =
        scatters ? detail::elements_of_all_blocks(c, ctx.size()) * c.reducer.size : c.bytes();
    if (bytes_in_ <= NodeControlBlock::inline_bytes && ctx.size() > 1) {
      return stage(c);  // it travels with the flag
    }
    may_copy_ = pulls_first(ctx, c);
    if (!is_reduction(c.collective)) {
      way_ = Way::copies;
      new (&without_slices_.copies) detail::DirectCopies;
      return without_slices_.copies.begin(ctx, c, may_copy_);
    }
    mine_ = buffers_to_expose(ctx, c);
    ctx.expose(mine_, 0);
    if (ctx.size() == 1) {
      way_ = Way::direct;
    } else if (!good(c, ctx.rank(), mine_)) {
      stage(c);  // whatever the others expose
    }
  }

  /// Returns what peers may need of this rank. A buffer that no rank reaches for counts as seen by
  /// all.
  BufferDescriptor buffers_to_expose(CallContext auto& ctx, const Call& c) const {
    BufferDescriptor o{ctx.peers().place(c.in, bytes_in_), {0, 1}};
    if (c.collective == Collective::reduce && ctx.rank() != c.root) {
      const std::size_t n = slice(ctx, c, ctx.rank()).size();
      o.out = ctx.peers().place(ctx.pool(n), n);
    } else if (c.collective != Collective::reduce_scatter) {
      o.out = ctx.peers().place(c.out, c.bytes());
    }
    return o;
  }

  /// Returns true if all ranks can reach what they need of rank r.
  bool good(const Call& c, int r, const BufferDescriptor& o) const {
    if (may_copy_) return true;
    const bool copies_itself = c.collective == Collective::reduce && r == c.root;
    return o.in.mapped != 0 && (o.out.mapped != 0 || copies_itself);
  }

  /// Returns true if every rank's buffers are reached in place; all ranks get the same answer.
  /// Returns false until all have arrived, and if the call has failed.
  bool choose_way(CallContext auto& ctx, const Call& c) {
    const bool all_came = detail::all_pass(next_, ctx.size(), [&](int r) {
      if (r == ctx.rank()) return true;
      if (!ctx.arrived(r, 0) || !detail::matched(ctx, r)) return false;
      all_good_ = all_good_ && good(c, r, ctx.exposed_by(r));
      return true;
    });
    if (!all_came) return false;
    ctx.note_all_arrived();
    if (!all_good_) {
      stage(c);
      return true;
    }
    way_ = Way::direct;
    // Not where the kernel may copy, even if there is nothing for it to copy: the bits of a
    // result must not depend on where buffers lie.
    if (c.collective == Collective::allreduce && !may_copy_) {
      if (const Groups* const groups = detail::groups_of_two_levels(ctx, c)) {
        grouped_.emplace(*groups, ctx, c);
      }
    }
    return true;
  }

  /// Stages chunks from here on.
  void stage(const Call& c) noexcept {
    way_ = Way::staged;
    switch (c.collective) {
      case Collective::allreduce: new (&without_slices_.multi_leader) MultiLeader::Run; return;
      case Collective::bcast: new (&without_slices_.fan_out) detail::FanOut; return;
      case Collective::allgather:
      case Collective::reduce_scatter: new (&without_slices_.exchange) Exchange::Run; return;
      default: new (&without_slices_.leader) detail::LeaderFanRun{true};
    }
  }

  bool run_staged(CallContext auto& ctx, const Call& c) {
    switch (c.collective) {
      case Collective::allreduce: return without_slices_.multi_leader.step(ctx, c);
      case Collective::bcast: return without_slices_.fan_out.step(ctx, c);
      case Collective::allgather:
      case Collective::reduce_scatter: return without_slices_.exchange.step(ctx, c);
      default: return without_slices_.leader.step(ctx, c);
    }
  }

  /// Waits until all ranks' second counter shows n.
  bool all_at(CallContext auto& ctx, std::uint32_t n) {
    return detail::all_pass(next_, ctx.size(),
                            [&](int r) { return r == ctx.rank() || ctx.stage_reached(r, n); });
  }

  // --- reduce_scatter: each its block

  bool scatter(CallContext auto& ctx, const Call& c) {
    const Range elements = detail::block_of(c, ctx.rank());
    const Range own{elements.lo * c.reducer.size, elements.hi * c.reducer.size};
    if (ctx.size() == 1) {
      if (c.in != c.out) ctx.read(c.out, c.in, own.size());
      return true;
    }
    // In place, the block is written to where others may still read another.
    std::byte* const home = c.in_place() ? ctx.pool(own.size()) : c.out;
    if (stage_ == 0) {
      if (c.in_place() && !ctx.use_pool()) return false;
      if (!ctx.begin_reading()) return false;
      combine(ctx, c, own, home);
      if (!ctx.end_reading()) return false;
      ctx.publish_stage(++stage_);
    }
    if (!all_at(ctx, 1)) return false;
    if (home != c.out) ctx.read(c.out, home, own.size());
    return true;
  }

  // --- allreduce and reduce: a slice each

  bool reduce(CallContext auto& ctx, const Call& c) {
    const bool to_root = c.collective == Collective::reduce;
    if (ctx.size() == 1) {
      if (c.in != c.out) ctx.read(c.out, c.in, c.bytes());
      return true;
    }
    if (stage_ == 0) {
      // The root copies slices from its peers' pools where they do not see its output.
      pooled_ = to_root && ctx.rank() != c.root && ctx.exposed_by(c.root).out.mapped == 0;
      if (pooled_ && !ctx.use_pool()) return false;
      if (!combine_slice(ctx, c)) return false;
      ctx.publish_stage(++stage_);
    }
    if (stage_ == 1) {
      if (!all_at(ctx, 1)) return false;
      const bool takes = !to_root || ctx.rank() == c.root;
      if (takes && mine_.out.mapped == 0 && !take_slices(ctx, c)) return false;
      ctx.publish_stage(++stage_);
    }
    // Others may still be copying from this rank's output.
    if (to_root) return true;
    return detail::all_pass(next_, ctx.size(), [&](int r) {
      return r == ctx.rank() || ctx.exposed_by(r).out.mapped != 0 || ctx.stage_reached(r, 2);
    });
  }

  /// Rank r's slice in bytes.
  static Range slice(const CallContext auto& ctx, const Call& c, int r) {
    const std::size_t size = c.reducer.size;
    const Range own = detail::slice_of(c.count, size, r, ctx.size());
    return {own.lo * size, own.hi * size};
  }

  bool combine_slice(CallContext auto& ctx, const Call& c) {
    if (!ctx.begin_reading()) return false;
    const Range own = slice(ctx, c, ctx.rank());
    combine(ctx, c, own, home_of_slice(ctx, c, own));
    return ctx.end_reading();
  }

  /// Combines the slice `own`, written to `home` and, of an allreduce, to the outputs it sees.
  void combine(CallContext auto& ctx, const Call& c, const Range& own, std::byte* home) {
    const bool to_all = c.collective == Collective::allreduce;
    // In place, outputs are inputs that this rank has just read.
    const bool streams = to_all && !c.in_place() && ctx.streams(2 * c.bytes());
    const std::size_t most = may_copy_ || streams ? ctx.scratch_bytes() : block_bytes;
    const std::size_t block = std::max(most / c.reducer.size, std::size_t{1}) * c.reducer.size;
    for (std::size_t at = own.lo; at < own.hi; at += block) {
      const std::size_t n = std::min(block, own.hi - at);
      std::byte* const to = streams ? ctx.scratch(0) : home + (at - own.lo);
      combine_block(ctx, c, to, at, n);
      if (streams) ctx.stream(home + (at - own.lo), to, n);
      for (int r = 0; to_all && r < ctx.size(); ++r) {
        const BufferPlace out = ctx.exposed_by(r).out;
        if (r == ctx.rank() || out.mapped == 0) continue;
        std::byte* const theirs = ctx.peers().see(out) + at;
        streams ? ctx.stream(theirs, to, n) : ctx.write(theirs, to, n);
      }
    }
  }

  /// Returns where this rank writes its slice: its output, the root's, or its pool.
  std::byte* home_of_slice(CallContext auto& ctx, const Call& c, const Range& own) {
    if (c.collective != Collective::reduce || ctx.rank() == c.root) return c.out + own.lo;
    return pooled_ ? ctx.pool(own.size()) : ctx.peers().see(ctx.exposed_by(c.root).out) + own.lo;
  }

  /// Combines n bytes, `at` bytes into the message, in rank order. Only the last combination
  /// writes to `to`, which in place is one of the inputs.
  void combine_block(CallContext auto& ctx, const Call& c, std::byte* to, std::size_t at,
                     std::size_t n) {
    detail::combine_in_order(ctx, to, ctx.size(), n / c.reducer.size, [&](int r) {
      std::byte* const scratch = ctx.scratch(r == 0 ? 0 : 1);
      return r == ctx.rank() ? c.in + at
                             : detail::reach(ctx, r, ctx.exposed_by(r).in, at, n, scratch);
    });
  }

  /// Copies the others' slices to this rank's output, which they do not see.
  bool take_slices(CallContext auto& ctx, const Call& c) {
    if (!ctx.begin_reading()) return false;
    for (int i = 1; i < ctx.size(); ++i) {
      const int r = (ctx.rank() + i) % ctx.size();
      const Range theirs = slice(ctx, c, r);
      const std::size_t at = c.collective == Collective::reduce ? 0 : theirs.lo;
      detail::fetch(ctx, c.out + theirs.lo, r, ctx.exposed_by(r).out, at, theirs.size());
    }
    return ctx.end_reading();
  }

  /// What runs if ranks have no slices, which depends on the way and the collective: constructed
  /// when these are known. Not an optional of each, which makes short calls slower.
  union WithoutSlices {
    WithoutSlices() noexcept {}  // NOLINT(modernize-use-equals-default): it would be deleted
    detail::DirectCopies copies;
    MultiLeader::Run multi_leader;
    detail::LeaderFanRun leader;
    detail::FanOut fan_out;
    Exchange::Run exchange;
  };
  static_assert(std::is_trivially_destructible_v<WithoutSlices>);

  WithoutSlices without_slices_;
  BufferDescriptor mine_;
  std::size_t bytes_in_ = 0;
  Way way_ = Way::unknown;
  std::uint32_t stage_ = 0;
  int next_ = 0;
  bool all_good_ = true;
  bool may_copy_ = false;
  bool pooled_ = false;  ///< this rank's slice goes to its pool
  bool begun_ = false;
  std::optional<detail::GroupedPeers> grouped_;  ///< in two levels
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(StaticOrder, PeerSlices)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
