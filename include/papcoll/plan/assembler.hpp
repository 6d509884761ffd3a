#pragma once

#include <papcoll/error.hpp>
#include <papcoll/plan/dependencies.hpp>
#include <papcoll/plan/flow.hpp>
#include <papcoll/plan/layout.hpp>
#include <papcoll/plan/locations.hpp>
#include <papcoll/plan/plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Takes one position's steps in terms of the vector, and finds out where each element lives at
/// that moment; StepDependencies derives from that which steps wait for which.
///
/// Input is copied only where it must be: an element stays in Space::in until something is written
/// over it, and what is still there at the end and belongs in the output is copied then.
class PlanAssembler {
 public:
  PlanAssembler(const Shape& shape, Order order)
      : shape_(shape),
        order_(std::move(order)),
        position_(order_.position(shape_.rank)),
        layout_(layout_of(shape)),
        locations_(shape.vector_size()) {
    if (!layout_.in.empty()) {
      locations_.place(layout_.in,
                       layout_.input_is_in_out ? ElementLocation::out : ElementLocation::in);
    }
  }

  const Shape& shape() const noexcept { return shape_; }
  const Order& order() const noexcept { return order_; }
  int position() const noexcept { return position_; }  ///< of shape().rank

  /// A flow of messages, of which there are at most `in_flight` of a pair and direction at once;
  /// within `outer`, if that is one. The number is for send(), receive(), reduce() and end_round().
  std::size_t add_flow(std::uint32_t in_flight, std::size_t outer) {
    flows_.emplace_back(std::max(in_flight, 1U), outer);
    return flows_.size() - 1;
  }
  static constexpr std::size_t no_flow = Flow::none;

  /// What is told of the flow from now on waits for what was told before.
  void end_round(std::size_t flow) {
    if (flow == no_flow) return;
    flows_[flow].end_round([this](const std::vector<std::uint32_t>& round) {
      const auto join = static_cast<std::uint32_t>(steps_.size());
      steps_.push_back({OpKind::copy, -1, 0, 0, {Space::scratch, 0}, {Space::scratch, 0}, {}});
      dependencies_.depend_on_all(join, round);
      return join;
    });
  }

  void send(int peer, Range r, std::size_t flow = no_flow) {
    if (r.empty()) return;
    require_inside(r);
    const ElementLocation location = gather(r);
    append({OpKind::send, peer, number(peer, 0), r.size(), {}, operand(location, r.lo), {}}, flow);
  }

  void receive(int peer, Range r, std::size_t flow = no_flow) {
    if (r.empty()) return;
    require_inside(r);
    const ElementLocation location = writable_location(r);
    append({OpKind::receive, peer, number(peer, 1), r.size(), operand(location, r.lo), {}, {}},
           flow);
    locations_.place(r, location);
  }

  /// Receives the peer's partial result of r and combines it with this position's: op(lower, higher
  /// position). An operator that does not commute comes with rank order; for all others positions
  /// decide, not ranks, so that in any order all pairs between two groups of neighbouring positions
  /// decide alike, and ranks that should hold the same value hold the same bits.
  void reduce(int peer, Range r, std::size_t flow = no_flow) {
    if (r.empty()) return;
    require_inside(r);
    const bool is_short = r.size() * shape_.element_size <= most_held_often;
    const std::size_t in_turn = flow != no_flow && is_short ? flows_[flow].temporaries() : 2;
    const std::size_t temporary = next_temporary_++ % in_turn;
    temporaries_[temporary] = std::max(temporaries_[temporary], r.size());
    const Space space = temporary_space(temporary);
    append({OpKind::receive, peer, number(peer, 1), r.size(), {space, 0}, {}, {}}, flow);
    const bool received_low = peer < position_;
    for (const Piece& p : locations_.in(r)) {
      require_present(p);
      const Operand mine = operand(p.location, p.range.lo);
      const Operand theirs{space, p.range.lo - r.lo};
      const ElementLocation location =
          p.location == ElementLocation::in ? writable_location(p.range) : p.location;
      append({OpKind::reduce, -1, 0, p.range.size(), operand(location, p.range.lo),
              received_low ? theirs : mine, received_low ? mine : theirs},
             flow);
      locations_.place(p.range, location);
    }
  }

  /// Adds the final copies into the output and gives the finished plan.
  Plan finish() && {
    for (const Piece& p : locations_.in(layout_.required)) {
      require_present(p);
      const Operand to{Space::out, layout_.required_at + (p.range.lo - layout_.required.lo)};
      const Operand from = operand(p.location, p.range.lo);
      if (from != to) append({OpKind::copy, -1, 0, p.range.size(), to, from, {}});
    }
    const std::size_t scratch = fix_scratch();
    return Plan{std::move(steps_), dependencies_.all(), scratch, shape_.vector_size()};
  }

 private:
  using Piece = ElementLocations::Piece;

  // While a plan is being made, the vector's own scratch and each temporary are spaces of their
  // own; fix_scratch() lays them out one after the other.
  static Space temporary_space(std::size_t i) noexcept { return static_cast<Space>(3 + i); }

  // A message number that comes round again in a transport's tag space must not meet its
  // predecessor in flight: no more than this many messages of one pair and direction are.
  static constexpr std::uint32_t messages_in_flight = 256;

  ElementLocation writable_location(Range r) const noexcept {
    return layout_.out.contains(r) ? ElementLocation::out : ElementLocation::scratch;
  }

  Operand operand(ElementLocation location, std::size_t element) const noexcept {
    switch (location) {
      case ElementLocation::in:
        return {Space::in, element - layout_.in.lo};
      case ElementLocation::out:
        return {Space::out, element - layout_.out.lo};
      default:
        return {Space::scratch, element};
    }
  }

  void require_inside(Range r) const {
    if (r.lo < r.hi && r.hi <= shape_.vector_size()) return;
    throw argument_error("papcoll: a schedule of " + std::string(name_of(shape_.collective)) +
                         " names elements [" + std::to_string(r.lo) + ", " + std::to_string(r.hi) +
                         ") of a vector of " + std::to_string(shape_.vector_size()));
  }

  void require_present(const Piece& p) const {
    if (p.location != ElementLocation::absent) return;
    throw error("papcoll: a schedule of " + std::string(name_of(shape_.collective)) +
                " reads elements [" + std::to_string(p.range.lo) + ", " +
                std::to_string(p.range.hi) + ") on rank " + std::to_string(shape_.rank) + " of " +
                std::to_string(shape_.size) +
                " before they are there: receive them first, or send something else");
  }

  /// Makes r stand in one piece of memory, and says where.
  ElementLocation gather(Range r) {
    const std::vector<Piece> parts = locations_.in(r);
    for (const Piece& p : parts) require_present(p);
    if (parts.size() == 1) return parts.front().location;
    const ElementLocation location = writable_location(r);
    for (const Piece& p : parts) {
      if (p.location == location) continue;
      append({OpKind::copy,
              -1,
              0,
              p.range.size(),
              operand(location, p.range.lo),
              operand(p.location, p.range.lo),
              {}});
    }
    locations_.place(r, location);
    return location;
  }

  std::uint32_t number(int peer, std::size_t direction) {
    if (pairs_.empty()) pairs_.resize(2 * static_cast<std::size_t>(shape_.size));
    const std::size_t pair = 2 * static_cast<std::size_t>(peer) + direction;
    return static_cast<std::uint32_t>(pairs_[pair].size());
  }

  /// Bytes of a message of which a flow keeps more than two before they are combined.
  static constexpr std::size_t most_held_often = std::size_t{256} << 10;

  void append(const Step& s, std::size_t flow = no_flow) {
    const auto index = static_cast<std::uint32_t>(steps_.size());
    steps_.push_back(s);
    if (s.kind != OpKind::receive) dependencies_.read(s.a, s.n, index);
    if (s.kind == OpKind::reduce) dependencies_.read(s.b, s.n, index);
    if (s.kind != OpKind::send) dependencies_.write(s.to, s.n, index);
    if (s.peer >= 0) throttle(s, index);
    const auto wait_for = [&](std::uint32_t earlier) { dependencies_.depend(index, earlier); };
    for (std::size_t f = flow; f != no_flow; f = flows_[f].outer()) {
      if (s.peer < 0) {
        flows_[f].combination(index);
      } else if (f == flow) {
        flows_[f].message(s.peer, s.kind == OpKind::receive, index, wait_for);
      } else {
        flows_[f].message_of_part(index, wait_for);
      }
    }
  }

  void throttle(const Step& s, std::uint32_t index) {
    auto& pair = pairs_[2 * static_cast<std::size_t>(s.peer) + (s.kind == OpKind::receive ? 1 : 0)];
    if (pair.empty()) pair.reserve(8);
    if (s.number >= messages_in_flight) {
      dependencies_.depend(index, pair[s.number - messages_in_flight]);
    }
    pair.push_back(index);
  }

  /// Lays out the scratch space and gives its size.
  std::size_t fix_scratch() {
    std::size_t lo = shape_.vector_size();
    std::size_t hi = 0;
    auto operands = [this](auto&& visit) {
      for (Step& s : steps_) {
        if (s.kind != OpKind::receive) visit(s.a, s.n);
        if (s.kind == OpKind::reduce) visit(s.b, s.n);
        if (s.kind != OpKind::send) visit(s.to, s.n);
      }
    };
    operands([&](const Operand& o, std::size_t n) {
      if (o.space != Space::scratch || n == 0) return;
      lo = std::min(lo, o.offset);
      hi = std::max(hi, o.offset + n);
    });
    const std::size_t own = hi > lo ? hi - lo : 0;
    std::array<std::size_t, Flow::most_temporaries + 1> first{own};
    for (std::size_t i = 0; i < temporaries_.size(); ++i) first[i + 1] = first[i] + temporaries_[i];
    operands([&](Operand& o, std::size_t n) {
      if (n == 0) return;
      if (o.space == Space::scratch) {
        o.offset -= lo;
      } else if (o.space >= temporary_space(0)) {
        o.offset += first[static_cast<std::size_t>(o.space) - 3];
        o.space = Space::scratch;
      }
    });
    return first.back();
  }

  Shape shape_;
  Order order_;
  int position_;
  Layout layout_;
  std::vector<Step> steps_;
  ElementLocations locations_;
  StepDependencies dependencies_;
  /// The steps of the messages of each peer and direction, by number.
  std::vector<std::vector<std::uint32_t>> pairs_;
  std::vector<Flow> flows_;
  std::array<std::size_t, Flow::most_temporaries> temporaries_{};  ///< elements of each
  std::size_t next_temporary_ = 0;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
