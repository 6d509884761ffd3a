// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Runs the plans of all ranks with real data in one thread, in a random order that respects nothing
// but the dependencies, and compares what comes out with what is computed here. One header, since
// all collectives share the elements and the loop.

#include <papcoll/schedule/make_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace plan_simulation {

using papcoll::AnySchedule;
using papcoll::Collective;
using papcoll::Order;
using papcoll::Shape;

/// An element of a vector that knows where it comes from.
struct Provenance {
  std::uint64_t ranks = 0;   ///< the set of ranks whose contributions are in it
  std::uint64_t digest = 0;  ///< of the tree in which they were combined: stands for the bits
  std::uint32_t element = 0;
  bool sound = false;
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

enum class Operator {
  commutes,    ///< each rank once
  in_order,    ///< each rank once, and only contiguous runs of ranks, the lower one first
  idempotent,  ///< of the barrier
};

inline Provenance combine(const Provenance& low, const Provenance& high, Operator op) {
  Provenance result;
  result.ranks = low.ranks | high.ranks;
  result.digest = (low.digest * 0x9e3779b97f4a7c15U) ^ (high.digest + 0x7f4a7c15U);
  result.digest = (result.digest ^ (result.digest >> 29)) * 0xbf58476d1ce4e5b9U;
  result.element = low.element;
  const std::uint64_t above_low = ~low.ranks & (low.ranks << 1);  // one bit for each run in low
  const bool contiguous = (above_low & (above_low - 1)) == 0 && (high.ranks & above_low) != 0 &&
                          (low.ranks & high.ranks) == 0 && high.ranks > low.ranks;
  const bool allowed = op == Operator::idempotent ||
                       (op == Operator::commutes && (low.ranks & high.ranks) == 0) || contiguous;
  result.sound = low.sound && high.sound && low.element == high.element && allowed;
  return result;
}

/// Small, fast and the same everywhere.
struct Random {
  std::uint64_t state;
  std::size_t below(std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33) % n);
  }
};

/// What `rank` contributes as element `element` of the vector.
inline Provenance contributed(int rank, std::size_t element) {
  return {std::uint64_t{1} << rank, 0x51ed27U * static_cast<std::uint64_t>(rank + 1),
          static_cast<std::uint32_t>(element), true};
}

/// The ranks whose contributions belong in an element of a rank's result.
inline std::uint64_t wanted_ranks(const Shape& shape, int rank, std::size_t element) {
  const auto only = [](std::size_t r) { return std::uint64_t{1} << r; };
  if (!papcoll::has_data(shape.collective) || papcoll::is_reduction(shape.collective)) {
    const int last = papcoll::contributors(shape.collective, rank, shape.size).last;
    return ~std::uint64_t{0} >> (64 - last);
  }
  const auto [in, out] = papcoll::buffers_of(shape.collective, true);
  if (in == papcoll::Holds::vector) return only(static_cast<std::size_t>(shape.root));
  const std::size_t block = element / shape.count;
  return only(in == papcoll::Holds::own_block ? block : block / shape.ranks());
}

enum class Mode {
  eager,       ///< a send is complete at once, its data are kept on the way
  rendezvous,  ///< a send is complete when its data are received
  text,        ///< eager, and each rank runs its steps one after the other, as the schedule says
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Simulation {
 public:
  Simulation(const AnySchedule& schedule, const Shape& shape, const Order& order, Operator op)
      : shape_(shape), order_(order), op_(op) {
    for (int r = 0; r < shape.size; ++r) ranks_.emplace_back(schedule, at_rank(r), order);
    messages_.resize(static_cast<std::size_t>(shape.size * shape.size));
  }

  /// Throws Failure if anything is wrong.
  void run(Mode mode, std::uint64_t seed) {
    mode_ = mode;
    random_ = {seed};
    events_.clear();
    for (int r = 0; r < shape_.size; ++r) of(r).fill(r);
    for (std::size_t block = 0; block < ranks_.front().plan.blocks; ++block) run_block(block);
    for (int r = 0; r < shape_.size; ++r) check(r);
  }

  /// The digests of a rank's result.
  std::vector<std::uint64_t> digests(int rank) const {
    std::vector<std::uint64_t> found;
    for (const Provenance& p : ranks_[static_cast<std::size_t>(rank)].out) {
      found.push_back(p.digest);
    }
    return found;
  }

 private:
  struct Rank {
    Rank(const AnySchedule& schedule, const Shape& shape, const Order& order)
        : layout(papcoll::layout_of(shape)), plan(papcoll::make_plan(schedule, shape, order)) {}

    void fill(int rank) {
      in.assign(layout.input_is_in_out ? 0 : layout.in, {});
      out.assign(layout.out, {});
      scratch.assign(std::max(plan.full.scratch(), plan.last.scratch()), {});
      for (const papcoll::Placement& p : layout.has) {
        for (std::size_t i = 0; i < p.range.size(); ++i) {
          (layout.input_is_in_out ? out : in)[p.offset + i] = contributed(rank, p.first + i);
        }
      }
    }

    papcoll::Layout layout;
    papcoll::BlockedPlan plan;
    std::vector<Provenance> in, out, scratch;
    std::vector<std::uint32_t> waits_for;
    const papcoll::Plan* block = nullptr;
    std::size_t offset = 0;  ///< of the block in in and out
  };

  struct Message {
    int send = -1;  ///< index of the step, once started
    int receive = -1;
    std::vector<Provenance> data;  ///< of an eager message
  };

  struct Event {
    int rank;
    std::uint32_t step;
    bool delivery;  ///< of the message that the receive `step` waits for, else the step's start
  };

  Shape at_rank(int r) const {
    Shape s = shape_;
    s.rank = r;
    return s;
  }

  void run_block(std::size_t index) {
    for (auto& m : messages_) m.clear();
    std::size_t left = 0;
    for (int r = 0; r < shape_.size; ++r) {
      Rank& rank = of(r);
      rank.block = &rank.plan.block(index);
      rank.offset = index * rank.plan.block_elements;
      rank.waits_for.resize(rank.block->size());
      left += rank.block->size();
      for (std::uint32_t s = 0; s < rank.block->size(); ++s) {
        rank.waits_for[s] = rank.block->predecessors(s);
        const bool ready = mode_ == Mode::text ? s == 0 : rank.waits_for[s] == 0;
        if (ready) events_.push_back({r, s, false});
      }
    }
    finished_ = 0;
    while (!events_.empty()) {
      std::swap(events_[random_.below(events_.size())], events_.back());
      const Event e = events_.back();
      events_.pop_back();
      if (e.delivery) {
        deliver(e.rank, e.step);
      } else {
        start(e.rank, e.step);
      }
    }
    if (finished_ != left) throw Failure("deadlock");
    for (const auto& pair : messages_) {
      for (const Message& m : pair) {
        if (m.send < 0 || m.receive < 0) throw Failure("a message that only one side knows");
      }
    }
  }

  void start(int r, std::uint32_t index) {
    const papcoll::Step& s = (*of(r).block)[index];
    switch (s.kind) {
      case papcoll::OpKind::send: {
        Message& m = message(order_.position(r), s.peer, s.number);
        m.send = static_cast<int>(index);
        const auto data = at(r, s.a, s.n);
        if (mode_ != Mode::rendezvous) {
          m.data.assign(data.begin(), data.end());
          finish(r, index);
        }
        if (m.receive >= 0) {
          events_.push_back({order_.rank(s.peer), static_cast<std::uint32_t>(m.receive), true});
        }
        break;
      }
      case papcoll::OpKind::receive: {
        for (Provenance& p : at(r, s.to, s.n)) p = {};
        Message& m = message(s.peer, order_.position(r), s.number);
        m.receive = static_cast<int>(index);
        if (m.send >= 0) events_.push_back({r, index, true});
        break;
      }
      case papcoll::OpKind::reduce: {
        const auto low = at(r, s.a, s.n);
        const auto high = at(r, s.b, s.n);
        const auto to = at(r, s.to, s.n, true);
        for (std::size_t i = 0; i < s.n; ++i) to[i] = combine(low[i], high[i], op_);
        finish(r, index);
        break;
      }
      case papcoll::OpKind::copy: {
        const auto from = at(r, s.a, s.n);
        const std::vector<Provenance> data(from.begin(), from.end());
        std::copy(data.begin(), data.end(), at(r, s.to, s.n, true).begin());
        finish(r, index);
        break;
      }
    }
  }

  void deliver(int r, std::uint32_t index) {
    const papcoll::Step& s = (*of(r).block)[index];
    const Message& m = message(s.peer, order_.position(r), s.number);
    const int sender = order_.rank(s.peer);
    const papcoll::Step& sent = (*of(sender).block)[static_cast<std::size_t>(m.send)];
    if (sent.n != s.n) throw Failure("both sides of a message differ in size");
    const auto to = at(r, s.to, s.n);
    if (mode_ != Mode::rendezvous) {
      std::copy(m.data.begin(), m.data.end(), to.begin());
    } else {
      const auto from = at(sender, sent.a, sent.n);
      std::copy(from.begin(), from.end(), to.begin());
      finish(sender, static_cast<std::uint32_t>(m.send));
    }
    finish(r, index);
  }

  void finish(int r, std::uint32_t index) {
    ++finished_;
    Rank& rank = of(r);
    for (const std::uint32_t next : rank.block->successors(index)) {
      if (--rank.waits_for[next] == 0 && mode_ != Mode::text) events_.push_back({r, next, false});
    }
    const std::uint32_t next = index + 1;
    if (mode_ == Mode::text && next < rank.block->size()) {
      if (rank.waits_for[next] != 0) throw Failure("a step waits for a later one");
      events_.push_back({r, next, false});
    }
  }

  std::span<Provenance> at(int r, papcoll::Operand o, std::size_t n, bool write = false) {
    Rank& rank = of(r);
    std::vector<Provenance>& memory = o.space == papcoll::Space::in    ? rank.in
                                      : o.space == papcoll::Space::out ? rank.out
                                                                       : rank.scratch;
    const std::size_t lo = o.offset + (o.space == papcoll::Space::scratch ? 0 : rank.offset);
    if (lo + n > memory.size()) throw Failure("rank " + std::to_string(r) + ": out of bounds");
    if (write && o.space == papcoll::Space::in) throw Failure("input is written to");
    return {memory.data() + lo, n};
  }

  Message& message(int from, int to, std::uint32_t number) {
    auto& pair = messages_[static_cast<std::size_t>(from * shape_.size + to)];
    if (pair.size() <= number) pair.resize(number + 1);
    return pair[number];
  }

  Rank& of(int r) { return ranks_[static_cast<std::size_t>(r)]; }

  void check(int r) {
    Rank& rank = of(r);
    const papcoll::Layout& l = rank.layout;
    for (const papcoll::Placement& h : l.has) {
      for (std::size_t i = 0; !l.input_is_in_out && i < h.range.size(); ++i) {
        if (rank.in[h.offset + i] != contributed(r, h.first + i)) throw Failure("input is changed");
      }
    }
    for (const papcoll::Placement& m : l.must) {
      for (std::size_t i = 0; i < m.range.size(); ++i) {
        const std::size_t e = m.first + i;
        const Provenance& p = rank.out[m.offset + i];
        if (p.sound && p.element == e && p.ranks == wanted_ranks(shape_, r, e)) continue;
        throw Failure("rank " + std::to_string(r) + " has for element " + std::to_string(e) +
                      (p.sound ? " " : " an unsound ") + "element " + std::to_string(p.element) +
                      " of ranks " + std::to_string(p.ranks));
      }
    }
    const bool all_alike = shape_.collective == Collective::allreduce;
    if (all_alike && digests(r) != digests(0)) {
      throw Failure("rank " + std::to_string(r) + " has other bits than rank 0");
    }
  }

  Shape shape_;
  Order order_;
  Operator op_;
  Mode mode_ = Mode::text;
  Random random_{0};
  std::vector<Rank> ranks_;
  std::vector<std::vector<Message>> messages_;  ///< by sender and receiver, then by number
  std::vector<Event> events_;
  std::size_t finished_ = 0;
};

}  // namespace plan_simulation
