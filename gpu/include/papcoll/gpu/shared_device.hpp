// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/gpu/device_algorithm.hpp>
#include <papcoll/gpu/device_call_context.hpp>
#include <papcoll/gpu/device_reducer.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Allreduce and reduce of ranks on one device: the last to arrive launches one kernel.
///
/// Phases: 1. Each rank draws a ticket. All but the last copy their contribution to memory that
///      peers may map, announce where it is, and record an event.
///   2. The last one maps what the others announced. Its stream waits for their events, and
///      one kernel reads all contributions and writes the result to all of them. It records
///      an event, for which all streams wait.
///   3. The others copy the result to where the caller wants it. Of a reduce only the root
///      does.
/// Cost: n bytes in each rank's vector. Last arrival: Pn bytes are read and Pn written by one
///   kernel, then n are copied on every other rank. Before it, the n bytes of a rank that is
///   early are copied once. No copies where the buffers' memory is shared
///   (gpu::shared_buffer): 2Pn bytes moved in all, the least there is. One signal of each
///   rank, no messages.
/// Prefer: Ranks on one GPU, which runs the kernels of one process at a time: one kernel spares
///   P − 1 switches between processes, and the ranks that came early have done their part.
///   Short vectors between GPUs with a link for each pair: 4 GPUs, 64 KB, 72 GB/s, 19 µs, and
///   RecursiveDoubling 30 (by the model, tests/unit/gpu/device_node_context_times_test.cpp).
/// Limits: One node. A kernel takes 16 inputs and 16 outputs; beyond 16 ranks there is one kernel
///   more for each 15 inputs and for each 16 outputs. Between GPUs one of them does all the
///   work and all bytes pass its links: DeviceSlices. The host knows of arrivals, and not how
///   late a stream is.
/// Contract: Reproducible: every element is combined in rank order.
///
///     rank 0        rank 1 (last)             rank 2
///     a             b                         c
///     copies a      waits for events 0, 2     copies c         before: event 0, event 2
///     |             a∘b∘c → copy of a, b, copy of c            one kernel, then event 1
///     takes it                                takes it         both wait for event 1
///
/// Source: papcoll's own. In LeaderFan (P. Alizadeh's thesis, chapter 4) the first to arrive leads,
///   and combines what comes; here one kernel of the last one reads all of it.
struct SharedDevice {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "SharedDevice";
  static constexpr std::string_view sentence =
      "The last rank to arrive combines the memory of all, with one kernel.";
  static constexpr unsigned needs = capability::tickets | capability::device_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  friend bool operator==(const SharedDevice&, const SharedDevice&) = default;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// One call of one rank.
  class Run {
   public:
    bool step(DeviceCallContext auto& ctx, const Call& c) {
      if (!begun_) begin(ctx, c);
      return leads_ ? lead(ctx, c) : follow(ctx, c);
    }

   private:
    static bool wants_result(const Call& c, int rank) noexcept {
      return c.collective == Collective::allreduce || rank == c.root;
    }

    void begin(auto& ctx, const Call& c) {
      begun_ = true;
      leads_ = ctx.draw_ticket() == ctx.size() - 1;
      if (leads_) return;  // its kernel reaches the caller's buffers
      const std::byte* in = c.in;
      std::byte* copied = nullptr;
      if (!ctx.is_shown(in)) {
        copied = ctx.take(c.bytes());
        ctx.copy(copied, c.in, c.bytes());
        in = copied;
      }
      if (wants_result(c, ctx.rank())) {
        // A kernel reads all inputs before it writes there.
        result_ = ctx.is_shown(c.out) ? c.out : copied != nullptr ? copied : ctx.take(c.bytes());
      }
      ctx.announce(in, result_);
      ctx.signal(DeviceSignal::given);
    }

    bool lead(auto& ctx, const Call& c) {
      for (; next_ < ctx.size(); ++next_) {
        const bool own = next_ == ctx.rank();
        if (!own && !ctx.has_signalled(next_, DeviceSignal::given)) return false;
        if (!own) ctx.wait(next_, DeviceSignal::given);
        in_.push_back(own ? c.in : ctx.contribution_of(next_));
        if (wants_result(c, next_)) out_.push_back(own ? c.out : ctx.result_of(next_));
      }
      combine(ctx, c);
      ctx.signal(DeviceSignal::ready);
      return true;
    }

    void combine(auto& ctx, const Call& c) {
      constexpr std::size_t most = gpu::most_operands;
      if (in_.size() == 1) {
        if (out_[0] != in_[0]) ctx.copy(out_[0], in_[0], c.bytes());
        return;
      }
      std::byte* const partial = in_.size() > most ? ctx.take(c.bytes()) : nullptr;
      for (std::size_t k = 0; k < in_.size();) {
        gpu::Operands o;
        if (k != 0) o.in[o.inputs++] = partial;
        while (k < in_.size() && o.inputs < gpu::most_operands) o.in[o.inputs++] = in_[k++];
        if (k < in_.size()) {
          o.out[o.outputs++] = partial;
        } else {
          add_outputs(o, 0);
        }
        ctx.combine(o, c.count);
      }
      for (std::size_t done = most; done < out_.size(); done += most) {
        gpu::Operands o;
        o.in[o.inputs++] = out_[0];
        add_outputs(o, done);
        ctx.combine(o, c.count);
      }
    }

    void add_outputs(gpu::Operands& o, std::size_t first) const {
      const std::size_t end = std::min(out_.size(), first + std::size_t{gpu::most_operands});
      for (std::size_t k = first; k < end; ++k) o.out[o.outputs++] = out_[k];
    }

    bool follow(auto& ctx, const Call& c) {
      for (int leader = 0; leader < ctx.size(); ++leader) {
        if (leader == ctx.rank() || !ctx.has_signalled(leader, DeviceSignal::ready)) continue;
        ctx.wait(leader, DeviceSignal::ready);
        if (result_ != nullptr && result_ != c.out) ctx.copy(c.out, result_, c.bytes());
        return true;
      }
      return false;
    }

    bool begun_ = false;
    bool leads_ = false;
    int next_ = 0;                 ///< the first rank whose contribution is not mapped yet
    std::byte* result_ = nullptr;  ///< where the leader writes this rank's
    std::vector<const std::byte*> in_;
    std::vector<std::byte*> out_;
  };
};
static_assert(DeviceAlgorithm<SharedDevice>);

}  // namespace papcoll::inline PAPCOLL_ABI
