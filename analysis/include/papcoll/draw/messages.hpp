// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/verify/messages.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What the plans of all ranks show of a schedule, found in one pass over them: its messages, what
// they carry, and the rounds in which they go. Nothing here knows schedules.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// One message of a block, or an arrow that stands for several.
struct DrawnMessage {
  int from = 0;  ///< ranks
  int to = 0;
  Range elements;         ///< of the block; of several ranges the first
  bool combined = false;  ///< the receiver combines it with what it has
  std::size_t round = 0;
  std::vector<Range> further{};  ///< the other ranges
  std::size_t messages = 1;
};

/// The pieces in which a schedule moves the vector: the finest that no message divides.
class Pieces {
 public:
  Pieces() = default;
  Pieces(std::size_t vector_size, const std::vector<DrawnMessage>& messages)
      : cuts_{0, vector_size} {
    for (const DrawnMessage& m : messages) {
      cuts_.push_back(m.elements.lo);
      cuts_.push_back(m.elements.hi);
      for (const Range r : m.further) cuts_.insert(cuts_.end(), {r.lo, r.hi});
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  }

  std::size_t size() const noexcept { return cuts_.empty() ? 0 : cuts_.size() - 1; }

  /// Elements of the shortest piece and of the longest.
  std::pair<std::size_t, std::size_t> sizes() const {
    std::pair<std::size_t, std::size_t> found{0, 0};
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t n = cuts_[i + 1] - cuts_[i];
      found = {i == 0 ? n : std::min(found.first, n), std::max(found.second, n)};
    }
    return found;
  }

  /// The numbers of the pieces that make up a message's elements.
  Range of(Range elements) const {
    return {number(elements.lo), std::max(number(elements.hi), number(elements.lo) + 1)};
  }

  /// "3", "0–3", or "all".
  std::string name(Range elements) const {
    const Range r = of(elements);
    if (r.size() == size()) return "all";
    if (r.size() == 1) return std::to_string(r.lo);
    return std::to_string(r.lo) + "–" + std::to_string(r.hi - 1);
  }

  /// The same of a message; "7–8, 0" around the end of the vector, "3, …" of several ranges.
  std::string name(const DrawnMessage& m) const {
    if (m.further.empty()) return name(m.elements);
    const bool around = m.further.size() == 1 && m.further.front().lo == 0;
    return name(m.elements) + ", " + (around ? name(m.further.front()) : "…");
  }

 private:
  std::size_t number(std::size_t cut) const {
    return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), cut) -
                                    cuts_.begin());
  }

  std::vector<std::size_t> cuts_;
};

/// Which elements of the vector stand in the memory of one rank.
class ElementMap {
 public:
  explicit ElementMap(const Shape& shape) {
    const Layout l = layout_of(shape);
    const Space home = l.input_is_in_out ? Space::out : Space::in;
    for (const Placement& p : l.has) write({home, p.offset}, p.range);
  }

  /// From now on these ranges stand there, one after the other.
  void write(Operand at, const std::vector<Range>& elements) {
    for (const Range r : elements) {
      write(at, r);
      at.offset += r.size();
    }
  }

  /// The ranges that stand in n elements of memory.
  std::vector<Range> read(Operand at, std::size_t n) const {
    std::vector<Range> found;
    while (n > 0) {
      const Range r = first_run(at, n);
      if (!found.empty() && found.back().hi == r.lo) {
        found.back().hi = r.hi;
      } else {
        found.push_back(r);
      }
      at.offset += r.size();
      n -= r.size();
    }
    return found;
  }

 private:
  struct Run {
    std::size_t lo, hi, element;
  };

  void write(Operand at, Range elements) {
    auto& runs = runs_[static_cast<std::size_t>(at.space)];
    const std::size_t end = at.offset + elements.size();
    std::vector<Run> next;
    for (const Run& r : runs) {
      if (r.lo < at.offset) next.push_back({r.lo, std::min(r.hi, at.offset), r.element});
      if (r.hi > end) {
        const std::size_t lo = std::max(r.lo, end);
        next.push_back({lo, r.hi, r.element + (lo - r.lo)});
      }
    }
    next.push_back({at.offset, end, elements.lo});
    runs = std::move(next);
  }

  /// Returns what stands there, up to the end of its run. An empty input is as good as any.
  Range first_run(Operand at, std::size_t n) const {
    for (const Run& r : runs_[static_cast<std::size_t>(at.space)]) {
      if (at.offset < r.lo || at.offset >= r.hi) continue;
      const std::size_t lo = r.element + (at.offset - r.lo);
      return {lo, lo + std::min(n, r.hi - at.offset)};
    }
    return {0, n};
  }

  std::array<std::vector<Run>, 3> runs_;
};

/// Runs the plans of all ranks in rounds: in each, a rank sends at most one message and receives at
/// most one, those first that come first in its plan. A message goes in the first round in which
/// both its ends may start and are free. Two count as one that carry a run around the end of the
/// vector.
class Rounds {
 public:
  Rounds(const JointPlan& joint, const Matching& matching, Shape shape)
      : joint_(&joint), matching_(&matching), vector_size_(shape.vector_size()) {
    for (std::size_t r = 0; r < joint.ranks(); ++r) {
      shape.rank = static_cast<int>(r);
      maps_.emplace_back(shape);
    }
  }

  std::vector<DrawnMessage> run() {
    std::vector<StepId> startable;
    waits_for_.reserve(joint_->steps());
    for (std::uint32_t rank = 0; rank < joint_->ranks(); ++rank) {
      const auto counts = joint_->plan(rank).predecessors();
      waits_for_.insert(waits_for_.end(), counts.begin(), counts.end());
      for (std::uint32_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) startable.push_back({rank, i});
      }
    }
    is_startable_.assign(joint_->steps(), false);
    start(std::move(startable));
    for (std::size_t round = 0; !ready_.empty(); ++round) play(round);
    if (completed_ != joint_->steps()) {
      throw error(
          "papcoll: the plans of this schedule wait for each other for ever: `papcoll "
          "verify` says where");
    }
    return std::move(messages_);
  }

 private:
  /// A message whose ends may both start.
  struct Ready {
    StepId send, receive;
    bool is_before(const Ready& o) const noexcept {
      if (send.step != o.send.step) return send.step < o.send.step;
      if (receive.step != o.receive.step) return receive.step < o.receive.step;
      return send.rank != o.send.rank ? send.rank < o.send.rank : receive.rank < o.receive.rank;
    }
  };

  std::size_t number(StepId id) const { return joint_->first[id.rank] + id.step; }
  const Step& step(StepId id) const { return joint_->plan(id.rank)[id.step]; }

  void start(std::vector<StepId> startable) {
    while (!startable.empty()) {
      const StepId id = startable.back();
      startable.pop_back();
      is_startable_[number(id)] = true;
      const Step& s = step(id);
      if (s.peer < 0) {
        ElementMap& map = maps_[id.rank];
        map.write(s.to, map.read(s.a, s.n));
        complete(id, startable);
        continue;
      }
      const StepId other = matching_->partner(number(id));
      if (!is_startable_[number(other)]) continue;
      ready_.push_back(s.kind == OpKind::send ? Ready{id, other} : Ready{other, id});
    }
  }

  void complete(StepId id, std::vector<StepId>& startable) {
    ++completed_;
    for (const std::uint32_t later : joint_->plan(id.rank).successors(id.step)) {
      const StepId next{id.rank, later};
      if (--waits_for_[number(next)] == 0) startable.push_back(next);
    }
  }

  void play(std::size_t round) {
    std::sort(ready_.begin(), ready_.end(),
              [](const Ready& a, const Ready& b) { return a.is_before(b); });
    std::vector<std::size_t> sends(joint_->ranks());  // the message's number, from 1 on; 0: none
    std::vector<bool> receives(joint_->ranks());
    std::vector<Ready> later;
    std::vector<StepId> startable;
    for (const Ready& m : std::exchange(ready_, {})) {
      std::size_t& sent = sends[m.send.rank];
      if (sent != 0 ? !goes_on_around(messages_[sent - 1], m) : receives[m.receive.rank]) {
        later.push_back(m);
        continue;
      }
      receives[m.receive.rank] = true;
      deliver(m, round);
      sent = messages_.size();
      complete(m.send, startable);
      complete(m.receive, startable);
    }
    ready_ = std::move(later);
    start(std::move(startable));
  }

  bool goes_on_around(const DrawnMessage& before, const Ready& m) const {
    const Step& s = step(m.send);
    return before.to == static_cast<int>(m.receive.rank) && before.elements.hi == vector_size_ &&
           maps_[m.send.rank].read(s.a, s.n).front().lo == 0;
  }

  void deliver(const Ready& m, std::size_t round) {
    const Step& s = step(m.send);
    std::vector<Range> elements = maps_[m.send.rank].read(s.a, s.n);
    maps_[m.receive.rank].write(step(m.receive).to, elements);
    const Range first = elements.front();
    elements.erase(elements.begin());
    messages_.push_back({static_cast<int>(m.send.rank), static_cast<int>(m.receive.rank), first,
                         is_combined(m.receive), round, std::move(elements)});
  }

  /// Returns true if what is received is an operand of a reduction, and not its result.
  bool is_combined(StepId receive) const {
    const Step& r = step(receive);
    const auto meets = [&r](Operand at, std::size_t n) {
      return at.space == r.to.space && at.offset < r.to.offset + r.n && r.to.offset < at.offset + n;
    };
    for (const std::uint32_t later : joint_->plan(receive.rank).successors(receive.step)) {
      const Step& s = joint_->plan(receive.rank)[later];
      if (s.kind == OpKind::reduce && (meets(s.a, s.n) || meets(s.b, s.n)) && !meets(s.to, s.n)) {
        return true;
      }
    }
    return false;
  }

  const JointPlan* joint_;
  const Matching* matching_;
  std::size_t vector_size_;
  std::vector<ElementMap> maps_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<bool> is_startable_;
  std::vector<Ready> ready_;
  std::vector<DrawnMessage> messages_;
  std::size_t completed_ = 0;
};

/// A schedule's messages, those of one full block where the vector is cut in several.
struct MessageGraph {
  std::vector<DrawnMessage> messages;  ///< by round
  Pieces pieces;
  std::size_t rounds = 0;
  std::size_t blocks = 1;
  std::size_t block_elements = 0;
};

inline MessageGraph message_graph(const AnySchedule& schedule, Shape shape, const Order& order) {
  std::vector<BlockedPlan> plans;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    plans.push_back(make_plan(schedule, shape, order));
  }
  MessageGraph g;
  g.blocks = plans.front().blocks;
  g.block_elements = plans.front().block_elements;
  if (g.blocks > 1) shape.count = g.block_elements;
  std::vector<const Plan*> blocks;
  blocks.reserve(plans.size());
  for (const BlockedPlan& p : plans) blocks.push_back(&p.full);
  const JointPlan joint{std::move(blocks), order};
  Matching matching;
  if (const Verdict v = matching.match(joint); !v) throw error("papcoll: " + v.sentence);
  g.messages = Rounds{joint, matching, shape}.run();
  g.pieces = Pieces{shape.vector_size(), g.messages};
  if (!g.messages.empty()) g.rounds = g.messages.back().round + 1;
  return g;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
