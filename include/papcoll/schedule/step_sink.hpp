#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// What a Builder tells one position's steps to: PlanAssembler makes a plan of them, TrafficReader
/// (topology/mapping/read_traffic.hpp) counts who sends how much to whom.
class StepSink : Pinned {
 public:
  static constexpr std::size_t no_flow = ~std::size_t{0};  ///< the number of no flow

  virtual int size() const noexcept = 0;                  ///< how many positions there are
  virtual int position() const noexcept = 0;              ///< whose steps are told
  virtual std::size_t element_size() const noexcept = 0;  ///< bytes
  /// As Builder::lateness().
  virtual std::uint64_t lateness(int position) const noexcept = 0;
  /// Is an empty range a message, too?
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
  /// Several ranges as one message.
  virtual void send(int peer, std::span<const Range> ranges, std::size_t flow) = 0;
  /// The other end of it.
  virtual void receive(int peer, std::span<const Range> ranges, std::size_t flow) = 0;
  /// As Builder::reduce(); `also` is empty where there is none.
  virtual void reduce(int peer, Range r, std::size_t flow, Range also) = 0;
  /// This position has no further use for what it holds of these ranges.
  virtual void forget(std::span<const Range> ranges) = 0;
  /// A flow of messages, of which there are at most `in_flight` of a pair and direction at once;
  /// within `outer`, if that is one. The number is what send() and the others take.
  virtual std::size_t add_flow(std::uint32_t in_flight, std::size_t outer) = 0;
  /// What is told of the flow from now on waits for what was told before.
  virtual void end_round(std::size_t flow) = 0;

 protected:
  ~StepSink() = default;  // nobody owns one by this type
};

}  // namespace papcoll::inline PAPCOLL_ABI
