// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Counts what one position after the other sends, in rank order, of a vector with so many bytes
/// for each position, or each pair of them.
class TrafficReader final : public StepSink {
 public:
  TrafficReader(Collective c, int size, std::size_t bytes_each = 1) : traffic(size) {
    shape_.collective = c;
    shape_.size = size;
    const bool one_vector = traits_of(c).vector == VectorOf::one_block;
    shape_.count = bytes_each * (one_vector ? static_cast<std::size_t>(size) : 1);
    bytes_ = static_cast<double>(shape_.vector_size());
  }

  Range vector() const noexcept { return {0, shape_.vector_size()}; }
  void read(int position) noexcept { position_ = position; }
  std::size_t steps() const noexcept { return steps_; }

  int size() const noexcept override { return shape_.size; }
  int position() const noexcept override { return position_; }
  std::size_t element_size() const noexcept override { return 1; }
  std::uint64_t lateness(int /*position*/) const noexcept override { return 0; }
  Range contribution(int position) const override { return shape_.contribution(position); }
  Range part(int from, int to) const override { return shape_.part(from, to); }
  Range result_of(Range r) const noexcept override { return shape_.result_of(r); }

  void send(int peer, Range r, std::size_t /*flow*/) override {
    ++steps_;
    traffic.add(position_, peer, static_cast<double>(r.size()) / bytes_);
  }
  void send(int peer, std::span<const Range> ranges, std::size_t flow) override {
    std::size_t all = 0;
    for (const Range r : ranges) all += r.size();
    send(peer, Range{0, all}, flow);
    steps_ += ranges.size();
  }
  void receive(int /*peer*/, Range /*r*/, std::size_t /*flow*/) override { ++steps_; }
  void receive(int /*peer*/, std::span<const Range> ranges, std::size_t /*flow*/) override {
    steps_ += ranges.size();
  }
  void reduce(int /*peer*/, Range /*r*/, std::size_t /*flow*/, Range /*also*/) override {
    ++steps_;
  }
  void forget(std::span<const Range> /*ranges*/) override {}
  std::size_t add_flow(std::uint32_t /*in_flight*/, std::size_t /*outer*/) override { return 0; }
  void end_round(std::size_t /*flow*/) override {}

  Traffic traffic;

 private:
  Shape shape_;
  int position_ = 0;
  double bytes_;
  std::size_t steps_ = 0;
};

}  // namespace detail

/// Who sends how much to whom in a call of a schedule among `size` positions, by the schedule's
/// traffic() or else by its emit() for all positions. Empty if that has more than 64 steps a
/// position on average, as if every position sends to every other: no order of the positions is
/// worth the time it would take to find.
[[gnu::cold]] inline std::optional<Traffic> traffic_of(const AnySchedule& schedule, Collective c,
                                                       int size) {
  Traffic known{size};
  if (schedule.add_traffic(c, known)) return known;
  constexpr std::size_t most_steps = 64;
  detail::TrafficReader reader{c, size};
  for (int p = 0; p < size; ++p) {
    reader.read(p);
    Builder builder{reader, reader.vector()};
    schedule.emit(c, builder);
    if (reader.steps() > most_steps * static_cast<std::size_t>(size)) return std::nullopt;
  }
  return std::move(reader.traffic);
}

}  // namespace papcoll::inline PAPCOLL_ABI
