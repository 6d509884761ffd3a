// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The scratch memory of a run of a plan: as much for each block in flight, on cache lines of its
/// own. It is the rank's, and kept for the next run; or the endpoint's, where a call's buffers are
/// in memory of another kind than the host's.
class PlanScratch {
 public:
  void reserve(std::size_t blocks, std::size_t block_bytes, Endpoint& endpoint, MemoryKind memory) {
    stride_ = (block_bytes + cache_line - 1) / cache_line * cache_line;
    const std::size_t bytes = blocks * stride_;
    lent_ = nullptr;
    if (memory != MemoryKind::host && bytes != 0) lent_ = endpoint.scratch(bytes, memory);
    if (!lent_) own_.get(bytes);
  }

  std::byte* of(std::size_t block) const noexcept {
    return (lent_ ? lent_.get() : own_.data()) + block * stride_;
  }

  /// Never gives the memory back: something may still touch it.
  void leak() noexcept {
    own_.leak();
    if (lent_) static_cast<void>(new (std::nothrow) detail::Shared<std::byte>(std::move(lent_)));
  }

 private:
  detail::KeptMemory own_;
  std::size_t stride_ = 0;
  detail::Shared<std::byte> lent_;
};

/// When a run that was started begins to move.
enum class Launch : unsigned char { at_once, on_go };

/// One run of a plan by one rank: starts each step on the endpoint as soon as the steps before it
/// are complete. Nothing here waits; the caller calls Endpoint::progress() until done(). An object
/// may be used again when done, and then keeps its memory. All that a step needs is in one object,
/// so that run() can be inlined.
class PlanRun : Pinned {
 public:
  /// Starts the call. The call's buffers and operator must stay until done(); `pipeline_depth`
  /// blocks at most are in flight at once. `on_go`: nothing moves, nor is it done, before go().
  void start(Endpoint& endpoint, detail::Shared<const BlockedPlan> plan, const Order& order,
             const Call& call, std::uint32_t sequence, std::size_t pipeline_depth,
             Launch launch = Launch::at_once) {
    known_.clear();
    set_up(endpoint, std::move(plan), order, call, sequence, pipeline_depth);
    if (launch == Launch::on_go) ++blocks_left_;
    if (launch == Launch::at_once) run();
    if (done()) end();
  }

  /// Lets the steps begin, once, after a start with Launch::on_go.
  void go() {
    --blocks_left_;
    run();
    if (done()) end();
  }

  /// As start(), but before it is known which rank plays which position. A step whose peer is
  /// unknown is parked until know() names it.
  void start_before_known(Endpoint& endpoint, detail::Shared<const BlockedPlan> plan, int size,
                          const Call& call, std::uint32_t sequence, std::size_t pipeline_depth) {
    known_.clear();
    known_.resize(static_cast<std::size_t>(size), -1);
    parked_.clear();
    set_up(endpoint, std::move(plan), Order::identity(size), call, sequence, pipeline_depth);
    run();
    if (done()) end();
  }

  /// Sets the rank that plays a position, and starts the steps that waited for it; may be called
  /// again.
  void know(int position, int rank) {
    int& known = known_[static_cast<std::size_t>(position)];
    if (known >= 0) return;
    known = rank;
    std::size_t kept = 0;
    for (const Ready r : parked_) {
      const bool waited = (*slots_[r.slot].plan)[r.step].peer == position;
      if (waited) {
        ready_.push_back(r);
      } else {
        parked_[kept++] = r;
      }
    }
    parked_.resize(kept);
    run();
  }

  /// See the function of this name in endpoint.hpp.
  void for_each_piece(const TransportOp& w, auto&& f) const {
    const Step& step = (*slots_[w.slot].plan)[w.step];
    for (std::size_t done = 0; done < w.n;) {
      TransportOp piece = w;
      piece.is_noncontiguous = false;
      piece.n = w.n - done;
      piece.to = find(w.slot, step.to, done, piece.n);
      piece.a = find(w.slot, step.a, done, piece.n);
      if (step.kind == OpKind::reduce) piece.b = find(w.slot, step.b, done, piece.n);
      f(std::as_const(piece));
      done += piece.n;
    }
  }

  const Call& call() const noexcept { return call_; }

  bool done() const noexcept { return blocks_left_ == 0; }
  std::uint32_t sequence() const noexcept { return sequence_; }

  /// Called by the endpoint when a step that it had in flight is complete.
  void complete(std::uint32_t slot, std::uint32_t step) {
    finish_step(slot, step);
    run();
    if (done()) end();
  }

  /// The call as messages name it.
  std::string describe_call() const { return describe(call_.collective, call_.count, call_.root); }

  /// Returns a text on what is wrong with a message that is not as long as the step that receives
  /// it.
  [[gnu::cold, gnu::noinline]] std::string refuse(int peer, std::size_t bytes,
                                                  const std::string& sent) const {
    return detail::joined({"papcoll: rank ", peer, " sent ", sent, " where a message of ",
                           describe_call(), " on this rank has ", bytes,
                           " bytes: all ranks must pass the same count, type, root and algorithm"});
  }

  /// Called after the communicator broke. Memory that a transport may still touch is leaked on
  /// purpose.
  void abandon(bool is_in_use) noexcept {
    if (is_in_use && !done()) scratch_.leak();
    blocks_left_ = 0;
    ready_.clear();
    next_ready_ = 0;
    parked_.clear();
    plan_.reset();
  }

 private:
  struct Slot {
    std::size_t block = 0;
    std::size_t steps_left = 0;
    const Plan* plan = nullptr;
    std::array<std::byte*, 3> base{};  ///< element 0 of the block in each Space
    /// For each step: how many of its predecessors are not complete; or `followed`.
    std::uint32_t* waits_for = nullptr;
  };
  struct Ready {
    std::uint32_t slot;
    std::uint32_t step;
  };
  static constexpr std::uint32_t followed = ~std::uint32_t{0};  ///< see follow()

  void set_up(Endpoint& endpoint, detail::Shared<const BlockedPlan> plan, const Order& order,
              const Call& call, std::uint32_t sequence, std::size_t pipeline_depth) {
    endpoint_ = &endpoint;
    plan_ = std::move(plan);
    order_ = order;
    call_ = call;
    has_views_ = call.in_view != nullptr || call.out_view != nullptr;
    sequence_ = sequence;
    blocks_left_ = plan_->blocks;
    in_flight_ = std::min(pipeline_depth, plan_->blocks);
    steps_ = std::max(plan_->full.size(), plan_->last.size());
    slots_.resize(in_flight_);
    waits_for_.resize(in_flight_ * steps_);
    scratch_.reserve(in_flight_, plan_->full.scratch() * call.reducer.size, endpoint, call.memory);
    for (std::size_t s = 0; s < in_flight_; ++s) begin_block(static_cast<std::uint32_t>(s), s);
  }

  /// Gives the slot a block, or the next of its blocks that has steps on this rank. Slot s runs
  /// blocks s, s + in_flight_… one after the other, so that a transport may use the tag of a block
  /// again for the one a multiple of in_flight_ later.
  void begin_block(std::uint32_t slot, std::size_t block) {
    Slot& s = slots_[slot];
    for (; block < plan_->blocks; block += in_flight_) {
      s.block = block;
      s.plan = &plan_->block(block);
      s.steps_left = s.plan->size();
      if (s.steps_left == 0) {
        --blocks_left_;
        continue;
      }
      set_bases(s, slot);
      s.waits_for = waits_for_.data() + slot * steps_;
      const auto counts = s.plan->predecessors();
      std::copy(counts.begin(), counts.end(), s.waits_for);
      for (std::uint32_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) ready_.push_back({slot, i});
      }
      return;
    }
  }

  void end() {
    if (call_.memory != MemoryKind::host) endpoint_->finish(call_);
    plan_.reset();  // or the cache would keep it for a run that is over
  }

  void set_bases(Slot& s, std::uint32_t slot) const noexcept {
    const std::size_t shift = s.block * plan_->block_elements * call_.reducer.size;
    const auto shifted = [&](std::byte* p) { return p == nullptr ? nullptr : p + shift; };
    s.base = {shifted(const_cast<std::byte*>(call_.in)), shifted(call_.out), scratch_.of(slot)};
  }

  void run() {
    while (next_ready_ < ready_.size()) {
      const Ready r = ready_[next_ready_++];
      if (next_ready_ == ready_.size()) {
        ready_.clear();
        next_ready_ = 0;
      }
      const Slot& s = slots_[r.slot];
      const Step& step = (*s.plan)[r.step];
      const int peer = step.peer < 0 ? -1 : rank_of(step.peer);
      if (peer < 0 && (step.kind == OpKind::send || step.kind == OpKind::receive)) {
        parked_.push_back(r);
        continue;
      }
      if (endpoint_->start(operation(r, s, step, peer))) {
        finish_step(r.slot, r.step);
      } else if (peer < 0 && endpoint_->in_order(step.kind)) {
        follow(r.slot, r.step);
      }
    }
  }

  /// The local step is under way: what the endpoint runs in order behind it need not wait for it.
  [[gnu::cold, gnu::noinline]] void follow(std::uint32_t slot, std::uint32_t step) {
    const Slot& s = slots_[slot];
    s.waits_for[step] = followed;
    for (const std::uint32_t next : s.plan->successors(step)) {
      if (follows(s, next) && --s.waits_for[next] == 0) ready_.push_back({slot, next});
    }
  }

  bool follows(const Slot& s, std::uint32_t step) const noexcept {
    return (*s.plan)[step].peer < 0 && endpoint_->in_order((*s.plan)[step].kind);
  }

  void finish_step(std::uint32_t slot, std::uint32_t step) {
    Slot& s = slots_[slot];
    std::uint32_t* const waits_for = s.waits_for;
    const bool was_followed = waits_for[step] == followed;
    for (const std::uint32_t next : s.plan->successors(step)) {
      if (was_followed && follows(s, next)) continue;  // it did not wait
      if (--waits_for[next] == 0) ready_.push_back({slot, next});
    }
    if (--s.steps_left == 0) {
      --blocks_left_;
      begin_block(slot, s.block + in_flight_);
    }
  }

  /// Always inline, and each field is written once: it is made for every step.
  [[gnu::always_inline]] TransportOp operation(Ready r, const Slot& s, const Step& step, int peer) {
    const std::size_t size = call_.reducer.size;
    const auto at = [&](Operand o) {
      return s.base[static_cast<std::size_t>(o.space)] + o.offset * size;
    };
    return {.kind = step.kind,
            .peer = peer,
            .sequence = sequence_,
            .block = static_cast<std::uint32_t>(s.block),
            .number = step.number,
            .to = step.kind != OpKind::send ? at(step.to) : nullptr,
            .a = step.kind != OpKind::receive ? at(step.a) : nullptr,
            .b = step.kind == OpKind::reduce ? at(step.b) : nullptr,
            .n = step.n,
            .reducer = &call_.reducer,
            .owner = this,
            .slot = r.slot,
            .step = r.step,
            .is_noncontiguous = has_views_ && is_noncontiguous(step)};
  }

  [[gnu::noinline]] bool is_noncontiguous(const Step& step) const noexcept {
    return step.peer < 0 && (view_of(step.to.space) || view_of(step.a.space) ||
                             (step.kind == OpKind::reduce && view_of(step.b.space)));
  }

  /// −1: that is not known yet.
  int rank_of(int position) const noexcept {
    return known_.empty() ? order_.rank(position) : known_[static_cast<std::size_t>(position)];
  }

  std::byte* address(std::uint32_t slot, Operand o) const noexcept {
    return slots_[slot].base[static_cast<std::size_t>(o.space)] + o.offset * call_.reducer.size;
  }

  const BufferView* view_of(Space space) const noexcept {
    return space == Space::in ? call_.in_view : space == Space::out ? call_.out_view : nullptr;
  }

  /// Returns the address of element `done` of an operand. Reduces n to the number of contiguous
  /// elements from there on, if it is more.
  std::byte* find(std::uint32_t slot, Operand o, std::size_t done, std::size_t& n) const noexcept {
    o.offset += done;
    const BufferView* const view = view_of(o.space);
    if (view == nullptr) return address(slot, o);
    std::byte* const base = o.space == Space::in ? const_cast<std::byte*>(call_.in) : call_.out;
    const std::size_t element = slots_[slot].block * plan_->block_elements + o.offset;
    return base + view->find(element, call_.reducer.size, n);
  }

  Endpoint* endpoint_ = nullptr;
  detail::Shared<const BlockedPlan> plan_;
  Order order_ = Order::identity(1);
  Call call_;
  bool has_views_ = false;  ///< a buffer's elements are not contiguous
  std::uint32_t sequence_ = 0;
  std::size_t blocks_left_ = 0;
  std::size_t in_flight_ = 1;  ///< blocks at once
  std::size_t steps_ = 0;      ///< of a slot in waits_for_
  detail::Vector<Slot> slots_;
  detail::Vector<std::uint32_t> waits_for_;  ///< of all slots
  detail::Vector<Ready> ready_;              ///< a queue, in the order in which they became ready
  std::size_t next_ready_ = 0;
  detail::Vector<int> known_;     ///< the ranks of positions where order_ does not say, or empty
  detail::Vector<Ready> parked_;  ///< steps whose peers are not known yet
  PlanScratch scratch_;
};

void for_each_piece(const TransportOp& w, auto&& f) { w.owner->for_each_piece(w, f); }

[[gnu::cold]] inline void perform_pieces(const TransportOp& w) noexcept {
  for_each_piece(w, [](const TransportOp& piece) { perform_locally(piece); });
}

}  // namespace papcoll::inline PAPCOLL_ABI
