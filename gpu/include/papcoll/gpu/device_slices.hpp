// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/gpu/device_algorithm.hpp>
#include <papcoll/gpu/device_call_context.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Allreduce and reduce of ranks on several devices: each combines its slice of all buffers.
///
/// Phases: 1. Each rank copies its contribution, but for its own slice, to memory that peers may
///      map, announces where that is, and records an event.
///   2. When its device is idle, or all have arrived, its stream waits for the events of
///      those that have arrived, and a kernel combines its slice of their contributions with
///      what it has. In the order of arrival if the operator commutes, else in rank order:
///      what has come of the ranks that are next.
///   3. Each rank pulls the other slices of the result, each as soon as its event is
///      recorded, from several ranks at once. Of a reduce only the root does.
///   4. Its stream waits until all have pulled.
/// Cost: n bytes in each rank's vector. n(P−1)/P are copied on the device, unless the buffer's
///   memory is shared (gpu::shared_buffer); as many are read from the peers, and as many
///   pulled.
///   That is what a ring moves, in 2 steps instead of 2(P−1). After the last arrival: one
///   kernel on each device, over what was not combined before, and the pulls. Three signals
///   for each rank, no messages.
/// Prefer: GPUs that all reach each other at once, from middle sizes on; ranks that arrive late one
///   after the other. 4 GPUs, 16 MB, 72 GB/s for each pair: 168 µs, and Ring 440 (by the
///   model, tests/unit/gpu/device_node_context_times_test.cpp). One GPU for all ranks:
///   SharedDevice.
/// Limits: One node. Where links are shared, Ring or ThreeStage use them better. With P ranks each
///   maps the memory of P − 1. The host knows of arrivals, and not how late a stream is.
/// Contract: Reproducible under that contract, and where the operator does not commute: every
/// element
///   is combined in rank order. Else all ranks get the same bits.
///
///              slice 0             slice 1             slice 2
///     inputs   a0 b0 c0            a1 b1 c1            a2 b2 c2
///     combined a0∘b0∘c0 on rank 0  a1∘b1∘c1 on rank 1  a2∘b2∘c2 on rank 2
///     then     ranks 1, 2 pull     ranks 0, 2 pull     ranks 0, 1 pull
///
/// Source: As PeerSlices (J. M. Hashmi et al., "Designing efficient shared address space reduction
///   collectives for multi-/many-cores", IPDPS 2018), by the mapped memory of CUDA's IPC.
struct DeviceSlices {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "DeviceSlices";
  static constexpr std::string_view sentence =
      "Each rank's device combines its slice of all ranks' memory, and pulls the other slices.";
  static constexpr unsigned needs = capability::tickets | capability::device_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  friend bool operator==(const DeviceSlices&, const DeviceSlices&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// The elements that a rank combines. Slices begin where 16 bytes do, as kernels load them.
  static constexpr Range slice(std::size_t n, std::size_t element_size, int rank,
                               int ranks) noexcept {
    std::size_t pack = 16;  // elements whose bytes are a multiple of 16
    for (std::size_t size = element_size; pack > 1 && size % 2 == 0; size /= 2) pack /= 2;
    const Range packs = part({0, (n + pack - 1) / pack}, rank, ranks);
    return {std::min(n, packs.lo * pack), std::min(n, packs.hi * pack)};
  }

  /// One call of one rank.
  class Run {
   public:
    bool step(DeviceCallContext auto& ctx, const Call& c) {
      if (ctx.size() == 1) {
        if (!c.in_place()) ctx.copy(c.out, c.in, c.bytes());
        return true;
      }
      if (phase_ == Phase::begins) begin(ctx, c);
      if (phase_ == Phase::combines && combine(ctx, c)) phase_ = Phase::pulls;
      if (phase_ == Phase::pulls && pull(ctx, c)) phase_ = Phase::ends;
      return phase_ == Phase::ends && end(ctx);
    }

   private:
    struct Arrived {
      int rank;
      const std::byte* contribution;
    };
    enum class Phase : unsigned char { begins, combines, pulls, ends };

    static Range slice_of(auto& ctx, const Call& c, int rank) noexcept {
      return slice(c.count, c.reducer.size, rank, ctx.size());
    }
    static bool wants_result(const Call& c, int rank) noexcept {
      return c.collective == Collective::allreduce || rank == c.root;
    }

    void begin(auto& ctx, const Call& c) {
      const std::size_t size = c.reducer.size;
      mine_ = slice_of(ctx, c, ctx.rank());
      done_.assign(static_cast<std::size_t>(ctx.size()), false);
      const std::byte* in = c.in;
      if (!ctx.is_shown(in)) {
        std::byte* const copied = ctx.take(c.bytes());
        const std::size_t lo = mine_.lo * size;
        const std::size_t hi = mine_.hi * size;
        if (lo != 0) ctx.copy(copied, c.in, lo);
        if (hi != c.bytes()) ctx.copy(copied + hi, c.in + hi, c.bytes() - hi);
        in = copied;
      }
      if (!mine_.empty()) result_ = ctx.take(mine_.size() * size);
      ctx.announce(in, result_);
      ctx.signal(DeviceSignal::given);
      phase_ = Phase::combines;
    }

    /// Combines what has come, if the device has nothing else to do, so that what comes at the same
    /// time is read at once, over several links; true: all has been combined.
    bool combine(auto& ctx, const Call& c) {
      look(ctx, c);
      const bool all = combined_ + arrived_.size() == done_.size();
      const std::size_t operands = arrived_.size() + (combined_ != 0 ? 1 : 0);
      if (!all && (operands < 2 || !ctx.is_idle())) return false;
      launch(ctx, c);
      if (!all) return false;
      ctx.signal(DeviceSignal::ready);
      done_.assign(done_.size(), false);
      return true;
    }

    /// Collects the ranks that have arrived since the last look.
    void look(auto& ctx, const Call& c) {
      for (int r = 0; r < ctx.size(); ++r) {
        if (is_done(r)) continue;
        const bool has_come = r == ctx.rank() || ctx.has_signalled(r, DeviceSignal::given);
        if (!has_come && c.rank_order) return;
        if (!has_come) continue;
        mark_done(r);
        const bool reads = !mine_.empty();
        arrived_.push_back({r, r == ctx.rank() ? c.in : reads ? ctx.contribution_of(r) : nullptr});
      }
    }

    /// Combines what those have given with what there is.
    void launch(auto& ctx, const Call& c) {
      for (std::size_t k = 0; k < arrived_.size() && !mine_.empty();) {
        gpu::Operands o;
        if (combined_ + k != 0) o.in[o.inputs++] = result_;
        for (; k < arrived_.size() && o.inputs < gpu::most_operands; ++k) {
          if (arrived_[k].rank != ctx.rank()) ctx.wait(arrived_[k].rank, DeviceSignal::given);
          o.in[o.inputs++] = arrived_[k].contribution + mine_.lo * c.reducer.size;
        }
        o.out[o.outputs++] = result_;
        ctx.combine(o, mine_.size());
      }
      combined_ += arrived_.size();
      arrived_.clear();
    }

    /// Pulls what is ready; true: all is, and under way.
    bool pull(auto& ctx, const Call& c) {
      const std::size_t size = c.reducer.size;
      bool all = true;
      for (int r = 0; r < ctx.size() && wants_result(c, ctx.rank()); ++r) {
        const Range of_r = slice_of(ctx, c, r);
        if (is_done(r) || of_r.empty()) continue;
        std::byte* const to = c.out + of_r.lo * size;
        if (r == ctx.rank()) {
          ctx.copy(to, result_, of_r.size() * size);
        } else if (ctx.has_signalled(r, DeviceSignal::ready)) {
          ctx.pull(r, to, ctx.result_of(r), of_r.size() * size);
        } else {
          all = false;
          continue;
        }
        mark_done(r);
      }
      if (!all) return false;
      if (wants_result(c, ctx.rank())) ctx.join(c.out, c.bytes());
      ctx.signal(DeviceSignal::taken);
      return true;
    }

    bool end(auto& ctx) {
      for (; left_ < ctx.size(); ++left_) {
        if (left_ == ctx.rank()) continue;
        if (!ctx.has_signalled(left_, DeviceSignal::taken)) return false;
        ctx.wait(left_, DeviceSignal::taken);
      }
      return true;
    }

    bool is_done(int r) const { return done_[static_cast<std::size_t>(r)]; }
    void mark_done(int r) { done_[static_cast<std::size_t>(r)] = true; }

    Phase phase_ = Phase::begins;
    Range mine_;                    ///< the elements that this rank combines
    std::byte* result_ = nullptr;   ///< of them
    std::size_t combined_ = 0;      ///< ranks whose contributions are in the result
    std::vector<Arrived> arrived_;  ///< those that are next
    int left_ = 0;                  ///< the first rank that may still pull
    std::vector<bool> done_;        ///< per rank: combined, then pulled
  };
};
static_assert(DeviceAlgorithm<DeviceSlices>);

}  // namespace papcoll::inline PAPCOLL_ABI
