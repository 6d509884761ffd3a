// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// What a Builder passes one position's steps to: PlanAssembler makes a plan of them, TrafficReader
/// (topology/mapping/read_traffic.hpp) counts who sends how much to whom.
class StepSink : Pinned {
 public:
  static constexpr std::size_t no_flow = ~std::size_t{0};  ///< the number of no flow

  virtual int size() const noexcept = 0;                  ///< how many positions there are
  virtual int position() const noexcept = 0;              ///< whose steps are added
  virtual std::size_t element_size() const noexcept = 0;  ///< bytes
  /// As Builder::lateness().
  virtual std::uint64_t lateness(int position) const noexcept = 0;
  /// Returns true if an empty range is a message, too.
  virtual bool sends_empty() const noexcept { return false; }
  /// As Builder::contribution(), of a position among all.
  virtual Range contribution(int position) const = 0;
  /// As Builder::part(), of positions among all.
  virtual Range part(int from, int to) const = 0;
  /// As Builder::result(), of any range of contributions.
  virtual Range result_of(Range r) const noexcept = 0;

  /// As Builder::send(), in a flow or in none.
  virtual void send(int peer, Range r, std::size_t flow) = 0;
  /// As Builder::receive().
  virtual void receive(int peer, Range r, std::size_t flow) = 0;
  /// Sends several ranges as one message.
  virtual void send(int peer, std::span<const Range> ranges, std::size_t flow) = 0;
  /// Receives one message of several ranges.
  virtual void receive(int peer, std::span<const Range> ranges, std::size_t flow) = 0;
  /// As Builder::reduce(); `also` is empty where there is none.
  virtual void reduce(int peer, Range r, std::size_t flow, Range also) = 0;
  /// Says that this position has no further use for what it holds of these ranges.
  virtual void forget(std::span<const Range> ranges) = 0;
  /// A flow of messages, of which there are at most `in_flight` of a pair and direction at once;
  /// within `outer`, if that is one. The number is what send() and the others take.
  virtual std::size_t add_flow(std::uint32_t in_flight, std::size_t outer) = 0;
  /// Later steps of the flow wait for the earlier ones.
  virtual void end_round(std::size_t flow) = 0;

 protected:
  ~StepSink() = default;  // nobody owns one by this type
};

/// What a schedule writes one position's steps into.
///
/// The text of an emit() is the same for all positions: it asks position() and size(), and names
/// peers by position and data by ranges of the vector. It must be right when each position runs its
/// steps one after the other; what may run at once is derived. The k-th send of a to b matches the
/// k-th receive (or reduce) of b from a, and both name ranges of the same size; empty ranges are
/// dropped on both sides.
///
/// In rooted collectives position 0 is the root.
class Builder {
 public:
  /// For the library: emit() is handed one.
  [[gnu::cold]] Builder(StepSink& sink, Range vector)
      : sink_(&sink), vector_(vector), size_(sink.size()), me_(sink.position()) {}

  /// Returns the number of positions.
  int size() const noexcept { return size_; }
  /// The position whose steps are written.
  int position() const noexcept { return me_; }

  /// All elements of this builder.
  Range whole() const noexcept { return vector_; }
  /// In exscan: what this position ends with of these elements. It stands beside what the position
  /// contributes and passes on, whole(), and is not there at the beginning. Elsewhere the two are
  /// one.
  Range result() const noexcept { return sink_->result_of(vector_); }
  /// Bytes of an element.
  std::size_t element_size() const noexcept { return sink_->element_size(); }

  /// Nanoseconds by which a position is expected after the first of all; 0 if nothing is known.
  std::uint64_t lateness(int position) const { return sink_->lateness(global(position)); }

  /// A position counted around: i modulo size, also for negative i.
  int wrap(int i) const noexcept {
    const int n = size();
    return ((i % n) + n) % n;
  }

  /// Part i (taken modulo size) of size() balanced parts of the vector.
  Range block(int i) const noexcept { return papcoll::part(vector_, wrap(i), size()); }

  /// Parts i, i+1, … i+n−1 as one range; they must not wrap around.
  Range blocks(int i, int n) const noexcept {
    return n == 0 ? Range{vector_.lo, vector_.lo} : Range{block(i).lo, block(i + n - 1).hi};
  }

  /// The elements that belong to a position (taken modulo size) in allgather, gather, scatter and
  /// reduce_scatter.
  Range contribution(int position) const { return sink_->contribution(member(wrap(position))); }

  /// In alltoall: what a position has for another one (both taken modulo size). Where sizes differ,
  /// a position may ask for its own parts only: those that it sends and those that it receives.
  [[gnu::cold]] Range part(int from, int to) const {
    return sink_->part(member(wrap(from)), member(wrap(to)));
  }

  /// Calls f with the contributions of positions first, first+1, … first+n−1 (modulo size), joined
  /// into as few ranges as memory allows. Both ends of a message get the same ranges.
  [[gnu::cold]] void contributions(int first, int n, detail::FunctionRef<void(Range)> f) const {
    const bool empty_ones = sink_->sends_empty();
    Range run{};
    bool any = false;
    for (int i = 0; i < n; ++i) {
      const Range next = contribution(first + i);
      if (next.empty() && !empty_ones) continue;
      if (any && run.hi == next.lo) {
        run.hi = next.hi;
      } else {
        if (any) f(run);
        run = next;
        any = true;
      }
    }
    if (any) f(run);
  }

  /// Sends elements to a position.
  [[gnu::cold]] void send(int to, Range r) { sink_->send(global(to), r, flow_); }
  /// Receives elements from a position, over what is there.
  [[gnu::cold]] void receive(int from, Range r) { sink_->receive(global(from), r, flow_); }
  /// Sends several ranges as one message, in this order; both ends name the same ranges.
  [[gnu::cold]] void send(int to, std::span<const Range> ranges) {
    sink_->send(global(to), ranges, flow_);
  }
  /// Receives several ranges that a position sends as one message.
  [[gnu::cold]] void receive(int from, std::span<const Range> ranges) {
    sink_->receive(global(from), ranges, flow_);
  }
  /// Sends several ranges as one message and gives up their contents: the plan may reuse their
  /// memory.
  [[gnu::cold]] void give(int to, std::span<const Range> ranges) {
    send(to, ranges);
    sink_->forget(ranges);
  }

  /// Receives `from`'s partial result of r and combines it with the own one, the lower
  /// position first.
  [[gnu::cold]] void reduce(int from, Range r) { sink_->reduce(global(from), r, flow_, {}); }
  /// As reduce(from, r), and combines what was received with `also` as well, a range of the same
  /// length apart from r. Where `also` is not there yet, it becomes what was received.
  [[gnu::cold]] void reduce(int from, Range r, Range also) {
    sink_->reduce(global(from), r, flow_, also);
  }

  /// Returns a builder of the same plan for a pipeline: of the messages that are sent through it,
  /// or through a builder made of it, at most `in_flight` per pair and direction are in flight at
  /// once, in the order of the text. Without it there are as many as the data allow, and where they
  /// share a port fairly, all arrive at the end.
  [[gnu::cold]] Builder flow(std::uint32_t in_flight) const {
    Builder b{*this};
    b.flow_ = sink_->add_flow(in_flight, flow_);
    return b;
  }

  /// Ends a round of a flow: its next messages wait until this position's last ones, and the
  /// combinations they are for, are complete. Nothing happens outside of a flow.
  void end_round() { sink_->end_round(flow_); }

  /// Returns a builder of the same plan whose positions are the n positions first, first+stride, …
  /// of this one; this position is one of them.
  Builder among(int first, int stride, int n) const {
    return among(n, [=](int i) { return first + i * stride; });
  }

  /// Returns a builder of the same plan whose positions are member_of(0), … member_of(n−1) of this
  /// one, in ascending order; this position is one of them.
  [[gnu::cold]] Builder among(int n, detail::FunctionRef<int(int)> member_of) const {
    Builder b{*this};
    b.group_.clear();
    b.size_ = n;
    b.me_ = -1;
    for (int i = 0; i < n; ++i) {
      const int p = member_of(i);
      if (p == me_) b.me_ = i;
      b.group_.push_back(global(p));
    }
    if (b.me_ < 0) {
      detail::throw_error<error>(
          {"papcoll: among(): position ", me_,
           " is not in the group it asks for: only members may speak for a group"});
    }
    return b;
  }

  /// Returns a builder of the same plan and positions whose vector is a part of this one's.
  [[gnu::cold]] Builder within(Range r) const {
    Builder b{*this};
    b.vector_ = r;
    return b;
  }

  /// Calls f with the same plan on each n ≥ 1 elements of the vector, one after the other.
  [[gnu::cold]] void in_segments(std::size_t n, detail::FunctionRef<void(Builder&)> f) const {
    for (std::size_t lo = vector_.lo; lo < vector_.hi; lo += n) {
      Builder segment = within({lo, n < vector_.hi - lo ? lo + n : vector_.hi});
      f(segment);
    }
  }

 private:
  [[gnu::cold]] int global(int position) const {
    if (position < 0 || position >= size()) {
      detail::throw_error<argument_error>({"papcoll: a schedule names position ", position,
                                           ", but there are only 0…", size() - 1,
                                           ": wrap() counts around"});
    }
    return member(position);
  }

  int member(int position) const noexcept {
    return group_.empty() ? position : group_[static_cast<std::size_t>(position)];
  }

  StepSink* sink_;
  Range vector_;
  detail::Vector<int> group_;  ///< my positions as positions of the whole plan; empty: the same
  int size_;
  int me_;
  std::size_t flow_ = StepSink::no_flow;
};

}  // namespace papcoll::inline PAPCOLL_ABI
