// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/dependencies.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_memory.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// Takes one position's steps in terms of the vector, and finds out where each element lives at
/// that moment; StepDependencies derives from that which steps wait for which.
///
/// Input is copied only where it must be: an element stays in Space::in until something is written
/// over it, and what is still there at the end and belongs in the output is copied then.
class PlanAssembler final : public StepSink {
 public:
  /// Both outlive it.
  [[gnu::cold]] PlanAssembler(const Shape& shape, const Order& order)
      : shape_(shape),
        order_(order),
        position_(order.position(shape.rank)),
        blocks_(shape, order),
        memory_(shape, order, blocks_),
        flows_(dependencies_, shape.size) {}

  int size() const noexcept override { return shape_.size; }
  int position() const noexcept override { return position_; }  ///< of the shape's rank
  std::size_t element_size() const noexcept override { return shape_.element_size; }
  bool sends_empty() const noexcept override { return shape_.sends_empty; }
  std::uint64_t lateness(int position) const noexcept override { return order_.lateness(position); }
  Range contribution(int position) const override { return blocks_[position]; }
  [[gnu::cold]] Range part(int from, int to) const override {
    return shape_.part(order_.rank(from), order_.rank(to));
  }
  Range result_of(Range r) const noexcept override { return shape_.result_of(r); }

  [[gnu::cold]] std::size_t add_flow(std::uint32_t in_flight, std::size_t outer) override {
    return flows_.add(in_flight, outer);
  }
  static_assert(no_flow == Flows::none);

  [[gnu::cold]] void end_round(std::size_t flow) override {
    if (flow == no_flow) return;
    flows_.end_round(flow, [this] {
      steps_.push_back({OpKind::copy, -1, 0, 0, {Space::scratch, 0}, {Space::scratch, 0}, {}});
      return static_cast<std::uint32_t>(steps_.size() - 1);
    });
  }

  [[gnu::cold]] void send(int peer, Range r, std::size_t flow = no_flow) override {
    if (r.empty()) return send_nothing(peer, flow);
    require_inside(r);
    const ElementLocation location = gather(r);
    append_send(peer, memory_.operand(location, r.lo), r.size(), flow);
  }

  [[gnu::cold]] void receive(int peer, Range r, std::size_t flow = no_flow) override {
    if (r.empty()) return receive_nothing(peer, flow);
    require_inside(r);
    const ElementLocation location = memory_.writable(r);
    append_receive(peer, memory_.operand(location, r.lo), r.size(), flow);
    memory_.place(r, location);
    memory_.free_resting();
  }

  /// Sends several ranges as one message. They need not be contiguous, in the vector or in memory:
  /// if they are not, they are copied together first.
  [[gnu::cold]] void send(int peer, std::span<const Range> ranges,
                          std::size_t flow = no_flow) override {
    Pieces pieces;
    for (const Range r : ranges) {
      if (r.empty()) continue;
      require_inside(r);
      memory_.locations().each(r, [&](const Piece& p) {
        require_present(p);
        pieces.push_back(p);
      });
    }
    const std::size_t n = elements_of(pieces);
    if (n == 0) return send_nothing(peer, flow);
    if (are_contiguous(pieces) && memory_.is_direct(pieces.front().location)) {
      append_send(peer, operand(pieces.front()), n, flow);
      return;
    }
    const std::size_t area = memory_.take_area(n);
    std::size_t at = area;
    for (const Piece& p : pieces) {
      copy(PlanMemory::area(at), operand(p), p.range.size());
      at += p.range.size();
    }
    append_send(peer, PlanMemory::area(area), n, flow);
    memory_.give_area_back(area, n);  // who takes it next waits for the send
  }

  [[gnu::cold]] void receive(int peer, std::span<const Range> ranges,
                             std::size_t flow = no_flow) override {
    Pieces pieces;
    for (const Range r : ranges) {
      if (r.empty()) continue;
      require_inside(r);
      pieces.push_back({r, memory_.place_in_output(r)});
    }
    const std::size_t n = elements_of(pieces);
    if (n == 0) return receive_nothing(peer, flow);
    if (pieces.front().location.where == ElementLocation::absent || !are_contiguous(pieces)) {
      std::size_t at = memory_.take_area(n);
      for (Piece& p : pieces) {
        p.location = PlanMemory::in_area(p.range, at);
        at += p.range.size();
      }
    }
    append_receive(peer, operand(pieces.front()), n, flow);
    for (const Piece& p : pieces) memory_.place(p.range, p.location);
    memory_.free_resting();
  }

  [[gnu::cold]] void forget(std::span<const Range> ranges) override {
    for (const Range r : ranges) {
      if (!r.empty()) memory_.place(r, {});
    }
  }

  /// Receives the peer's partial result of r and combines it with this position's: op(lower, higher
  /// position). An operator that does not commute comes with rank order; for all others positions
  /// decide, not ranks, so that in any order all pairs between two groups of neighbouring positions
  /// decide alike, and ranks that should hold the same value hold the same bits.
  ///
  /// What also becomes of it where that is not there yet is received where it belongs.
  [[gnu::cold]] void reduce(int peer, Range r, std::size_t flow = no_flow,
                            Range also = {}) override {
    if (r.empty()) return;
    require_inside(r);
    if (!also.empty() && is_absent(also)) {
      receive(peer, also, flow);
      combine(peer, operand(memory_.locations().piece(also)), r, flow);
      return;
    }
    const bool is_short = r.size() * shape_.element_size <= most_held_often;
    const std::size_t in_turn = flow != no_flow && is_short ? flows_.temporaries(flow) : 2;
    const Space space = memory_.temporary(next_temporary_++ % in_turn, r.size());
    append_receive(peer, {space, 0}, r.size(), flow);
    combine(peer, {space, 0}, r, flow);
    combine(peer, {space, 0}, also, flow);
  }

  /// Adds the final copies into the output and gives the finished plan.
  [[gnu::cold]] Plan finish() && {
    save_what_is_overwritten();
    for (const Placement& m : memory_.layout().must) {
      memory_.locations().each(m.range, [&](const Piece& p) {
        require_present(p);
        const Operand to{Space::out, m.offset + (p.range.lo - m.range.lo)};
        if (operand(p) != to) copy(to, operand(p), p.range.size());
      });
    }
    const std::size_t scratch = memory_.fix_scratch(steps_);
    const auto& all = dependencies_.all();
    return Plan{std::move(steps_), {all.data(), all.size()}, scratch, shape_.vector_size()};
  }

 private:
  using Piece = PlanMemory::Piece;
  using Pieces = detail::Vector<Piece>;

  [[gnu::cold]] void append_send(int peer, Operand from, std::size_t n, std::size_t flow) {
    append({OpKind::send, peer, flows_.next_number(peer, OpKind::send), n, {}, from, {}}, flow);
  }
  [[gnu::cold]] void append_receive(int peer, Operand to, std::size_t n, std::size_t flow) {
    append({OpKind::receive, peer, flows_.next_number(peer, OpKind::receive), n, to, {}, {}}, flow);
  }
  /// Where lengths may differ between the two ends, a message without elements shows it.
  [[gnu::cold]] void send_nothing(int peer, std::size_t flow) {
    if (shape_.sends_empty) append_send(peer, {Space::scratch, 0}, 0, flow);
  }
  [[gnu::cold]] void receive_nothing(int peer, std::size_t flow) {
    if (shape_.sends_empty) append_receive(peer, {Space::scratch, 0}, 0, flow);
  }
  [[gnu::cold]] void copy(Operand to, Operand from, std::size_t n) {
    append({OpKind::copy, -1, 0, n, to, from, {}});
  }

  /// r becomes itself and what the peer sent, which stands at `theirs`, the lower position first.
  [[gnu::cold]] void combine(int peer, Operand theirs, Range r, std::size_t flow) {
    const bool received_low = peer < position_;
    const std::size_t first = theirs.offset;
    memory_.locations().each(r, [&](const Piece& p) {
      require_present(p);
      const Operand mine = operand(p);
      theirs.offset = first + (p.range.lo - r.lo);
      const ElementLocation location =
          memory_.is_writable(p.location) ? p.location : memory_.writable(p.range);
      append({OpKind::reduce, -1, 0, p.range.size(), memory_.operand(location, p.range.lo),
              received_low ? theirs : mine, received_low ? mine : theirs},
             flow);
      memory_.place(p.range, location);
    });
  }

  [[gnu::cold]] bool is_absent(Range r) const {
    const Piece first = memory_.locations().piece(r);
    return first.range == r && first.location.where == ElementLocation::absent;
  }

  static std::size_t elements_of(const Pieces& pieces) noexcept {
    std::size_t n = 0;
    for (const Piece& p : pieces) n += p.range.size();
    return n;
  }

  Operand operand(const Piece& p) const noexcept { return memory_.operand(p.location, p.range.lo); }

  /// Returns true if the pieces are contiguous in memory.
  [[gnu::cold]] bool are_contiguous(const Pieces& pieces) const noexcept {
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const Piece& a = pieces[i - 1];
      const Piece& b = pieces[i];
      const Operand end = memory_.operand(a.location, a.range.hi);
      if (a.location.where != b.location.where || end != operand(b)) return false;
    }
    return true;
  }

  /// In place, what stands in the output may lie where something else is copied to first.
  [[gnu::cold]] void save_what_is_overwritten() {
    const Layout& layout = memory_.layout();
    if (!layout.input_is_in_out || layout.must.size() < 2) return;
    for (const Placement& m : layout.must) {
      memory_.locations().each(m.range, [&](const Piece& p) {
        const Operand from = operand(p);
        if (from.space != Space::out || from.offset == m.offset + (p.range.lo - m.range.lo)) {
          return;
        }
        const std::size_t area = memory_.take_area(p.range.size());
        copy(PlanMemory::area(area), from, p.range.size());
        memory_.place(p.range, PlanMemory::in_area(p.range, area));
      });
    }
  }

  [[gnu::cold]] void require_inside(Range r) const {
    if (r.lo < r.hi && r.hi <= shape_.named_size()) return;
    throw argument_error(
        detail::joined({"papcoll: a schedule of ", name_of(shape_.collective), " names elements [",
                        r.lo, ", ", r.hi, ") of a vector of ", shape_.named_size()}));
  }

  [[gnu::cold]] void require_present(const Piece& p) const {
    if (p.location.where != ElementLocation::absent) return;
    throw error(detail::joined(
        {"papcoll: a schedule of ", name_of(shape_.collective), " reads elements [", p.range.lo,
         ", ", p.range.hi, ") on rank ", shape_.rank, " of ", shape_.size,
         " before they are there: receive them first, or send something else"}));
  }

  /// Brings r together in one piece of memory that can be sent from, and returns where.
  [[gnu::cold]] ElementLocation gather(Range r) {
    memory_.locations().each(r, [this](const Piece& p) { require_present(p); });
    const Piece whole = memory_.locations().piece(r);
    if (whole.range == r && memory_.is_direct(whole.location)) return whole.location;
    const ElementLocation location = memory_.writable(r);
    memory_.locations().each(r, [&](const Piece& p) {
      if (p.location == location) return;
      copy(memory_.operand(location, p.range.lo), operand(p), p.range.size());
    });
    memory_.place(r, location);
    return location;
  }

  /// Bytes of a message of which a flow keeps more than two before they are combined.
  static constexpr std::size_t most_held_often = std::size_t{256} << 10;

  [[gnu::cold]] void append(const Step& s, std::size_t flow = no_flow) {
    const auto index = static_cast<std::uint32_t>(steps_.size());
    steps_.push_back(s);
    const bool any = s.n != 0;
    if (any && s.kind != OpKind::receive) dependencies_.read(s.a, s.n, index);
    if (any && s.kind == OpKind::reduce) dependencies_.read(s.b, s.n, index);
    if (any && s.kind != OpKind::send) dependencies_.write(s.to, s.n, index);
    if (s.peer >= 0) {
      flows_.message(flow, s.peer, s.kind, index);
    } else {
      flows_.combination(flow, index);
    }
  }

  const Shape& shape_;
  const Order& order_;
  int position_;
  BlockOrder blocks_;
  PlanMemory memory_;
  detail::Vector<Step> steps_;
  StepDependencies dependencies_;
  Flows flows_;
  std::size_t next_temporary_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
