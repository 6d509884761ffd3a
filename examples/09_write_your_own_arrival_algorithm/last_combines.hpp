// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/node/call_context.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// LastCombines: whoever arrives last does all the work
// --------------------------------------------------
// Phases   1. Each rank writes its contribution to its chunk buffers, announces itself and draws a
//             ticket.
//          2. The rank with the last ticket combines all contributions in rank order, chunk by
//             chunk, and releases the others, who copy the result.
// Cost     After the last arrival: P·n bytes combined by one rank, then n bytes copied by each.
//          Nobody does anything but its own copy before.
// Prefer   Never over the library's: DynamicLeader has combined all but one by then. It is short.
// Limits   One node. Allreduce and barrier. Small messages go through chunk buffers like all
//          others.
// Contract Reproducible: one rank combines, in rank order.
//
//        ticket    0    1    2               ticket 2 is the last of three ranks:
//        rank      c    a    b       →       b: a∘b∘c       →       a and c copy it

struct LastCombines {
  using policy_kind = papcoll::SchedulePolicyKind;
  static constexpr std::string_view name = "LastCombines";
  static constexpr std::string_view sentence = "Whoever arrives last combines all contributions.";
  // What the arrival policy and the transport have to offer.
  static constexpr unsigned needs = papcoll::capability::tickets | papcoll::capability::node_memory;
  static constexpr auto contract = papcoll::NumericalContract::reproducible;
  friend bool operator==(const LastCombines&, const LastCombines&) = default;

  static constexpr bool serves(papcoll::Collective c) noexcept {
    return c == papcoll::Collective::allreduce || c == papcoll::Collective::barrier;
  }

  // One call of one rank. step() is called again and again until it returns true. It must not wait,
  // and remembers in members how far it has come. CallContext lists what it may ask of the node.
  class Run {
   public:
    template <papcoll::CallContext Context> bool step(Context& ctx, const papcoll::Call& c) {
      if (!begun_) begin(ctx, c);
      for (;;) {
        const bool moved = is_last_ ? combine_next(ctx, c) : follow(ctx, c);
        if (done_ == chunks_.count) return true;
        if (!moved) return false;
      }
    }

   private:
    template <papcoll::CallContext Context> void begin(Context& ctx, const papcoll::Call& c) {
      begun_ = true;
      chunks_ = papcoll::Chunks{c.count, c.reducer.size, ctx.chunk_bytes()};
      while (has_room(ctx)) write_next(ctx, c);
      ctx.announce(nullptr, 0, written_);
      is_last_ = ctx.draw_ticket() == ctx.size() - 1;
    }

    // A rank has buffers() chunk buffers. What a new one overwrites was combined: it is released.
    template <papcoll::CallContext Context> bool has_room(Context& ctx) const {
      return written_ < chunks_.count && written_ < done_ + ctx.buffers();
    }
    template <papcoll::CallContext Context> void write_next(Context& ctx, const papcoll::Call& c) {
      const std::size_t n = chunks_.bytes(written_);
      if (n != 0)
        ctx.write(ctx.chunk_buffer(ctx.rank(), written_), c.in + chunks_.offset(written_), n);
      ++written_;
    }

    template <papcoll::CallContext Context>
    bool combine_next(Context& ctx, const papcoll::Call& c) {
      for (; met_ < ctx.size(); ++met_) {
        // That a rank has published the chunk says, too, that it has copied the result whose buffer
        // this one is written over.
        if (met_ != ctx.rank() && !ctx.arrived(met_, done_ + 1)) return false;
        if (done_ != 0 || ctx.matches(met_)) continue;
        ctx.fail(met_);  // its call is another one: all throw
        return false;
      }
      met_ = 0;
      ctx.note_all_arrived();
      const std::size_t n = chunks_.length(done_);
      std::byte* const sum = ctx.result_buffer(done_);
      if (n != 0) {
        if (ctx.size() == 1) ctx.write(sum, ctx.chunk_buffer(0, done_), chunks_.bytes(done_));
        for (int r = 1; r < ctx.size(); ++r) {
          ctx.reduce(sum, r == 1 ? ctx.chunk_buffer(0, done_) : sum, ctx.chunk_buffer(r, done_), n);
        }
      }
      ctx.release(done_ + 1, nullptr, 0);
      take_next(ctx, c);
      if (has_room(ctx)) write_next(ctx, c);
      return true;
    }

    template <papcoll::CallContext Context> bool follow(Context& ctx, const papcoll::Call& c) {
      if (!ctx.released(done_ + 1)) return false;
      ctx.note_all_arrived();  // says the one who arrived last
      take_next(ctx, c);
      if (has_room(ctx)) {
        write_next(ctx, c);
        ctx.publish(written_, papcoll::everyone);
      }
      return true;
    }

    template <papcoll::CallContext Context> void take_next(Context& ctx, const papcoll::Call& c) {
      if (chunks_.bytes(done_) != 0) {
        ctx.read(c.out + chunks_.offset(done_), ctx.result_buffer(done_), chunks_.bytes(done_));
      }
      ++done_;
    }

    papcoll::Chunks chunks_;
    std::uint32_t written_ = 0;  // chunks that have been in this rank's chunk buffers
    std::uint32_t done_ = 0;     // chunks of which this rank has the result
    int met_ = 0;                // the last: ranks below have published the next chunk
    bool begun_ = false;
    bool is_last_ = false;
  };
};

// What makes it an algorithm: under which arrival policy it runs, and what is known of it.
template <> struct papcoll::ArrivalDriven<papcoll::ArrivalOrder, LastCombines> {
  using Schedule = LastCombines;
  using Run = LastCombines::Run;
  static constexpr std::string_view name = "LastCombines";
  static constexpr bool keeps_order_on_request = true;
};
static_assert(papcoll::arrival_driven<papcoll::ArrivalOrder, LastCombines>);
