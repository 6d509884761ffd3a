// SPDX-License-Identifier: BSD-3-Clause
#include "timing/measurement.hpp"

#include "timing/quantities.hpp"
#include "timing/statistics.hpp"

#include <papcoll/pattern/random.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace bench {
namespace {

/// How often a size is measured unless the command line says otherwise. 1000 and 200 are those of
/// OSU's benchmarks and of the thesis; a large message gives as good a mean with fewer.
struct Effort {
  std::size_t iterations;
  std::size_t warmup;
};

Effort effort(const Options& options, std::size_t bytes) {
  const Effort usual = bytes <= 65536     ? Effort{1000, 200}
                       : bytes <= 1048576 ? Effort{200, 20}
                                          : Effort{50, 5};
  return {options.iterations.value_or(usual.iterations), options.warmup.value_or(usual.warmup)};
}

/// Iterations of a block that are not counted: another candidate has used the caches before.
constexpr std::size_t rewarming = 2;

/// Below, a confidence interval says little.
constexpr std::size_t fewest_iterations = 30;

/// Warm-ups take their arrivals from here on, far from any counted iteration.
constexpr std::uint64_t uncounted = std::uint64_t{1} << 62;

}  // namespace

Measurement::Measurement(const Options& options, const Placement& placement, SharedClock& clock,
                         Meeting& meeting, Arrivals& arrivals, const Progress& progress)
    : options_(options),
      placement_(placement),
      clock_(clock),
      meeting_(meeting),
      meter_(placement, meeting),
      arrivals_(arrivals),
      progress_(progress) {
  if (options.start == Start::clock) calibrate();
}

/// The instant is as far ahead as agreeing on it usually takes, doubled.
void Measurement::calibrate() {
  constexpr int calls = 50;
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    const std::int64_t start = local_now();
    meeting_.latest(start);
    times.push_back(static_cast<double>(local_now() - start));
  }
  margin_ = static_cast<std::int64_t>(2 * median(times)) + 1000 + clock_.uncertainty();
  MPI_Allreduce(MPI_IN_PLACE, &margin_, 1, MPI_INT64_T, MPI_MAX, placement_.comm());
}

/// All ranks' earliest moment to begin, on the local clock.
std::int64_t Measurement::common_start() {
  if (options_.start == Start::barrier) {
    meeting_.wait();
    return local_now();
  }
  // Agreeing on the latest clock reading is a barrier, too.
  const std::int64_t instant = meeting_.latest(clock_.now());
  const std::int64_t wait = instant + margin_ - clock_.now();
  ++starts_;
  if (wait < 0) ++late_;
  return local_now() + wait;
}

Measurement::Sample Measurement::iterate(const std::function<void()>& call,
                                         std::uint64_t iteration) {
  const std::int64_t delay = arrivals_(iteration);
  const std::int64_t start = common_start();
  if (options_.start == Start::clock || delay > 0) wait_until(start + delay, options_.delay);
  Sample sample{};
  sample.enter = clock_.now();
  call();
  sample.exit = clock_.now();
  return sample;
}

void Measurement::rehearse(const std::function<void()>& call, std::uint64_t iteration) {
  iterate(call, uncounted + iteration);
}

void Measurement::block(const std::function<void()>& call, std::uint64_t first, std::size_t count,
                        Series& series) {
  clock_.synchronize();
  for (std::size_t i = 0; i < rewarming; ++i) iterate(call, uncounted + first + i);
  samples_.clear();
  samples_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) samples_.push_back(iterate(call, first + i));

  // A rank that left the last call early must not wait in MPI while others are timed.
  meeting_.wait();
  // Times since the block's start, so that doubles keep nanoseconds.
  std::int64_t origin = samples_.front().enter;
  MPI_Bcast(&origin, 1, MPI_INT64_T, 0, placement_.comm());
  std::vector<double> sums(count);
  std::vector<double> largest(3 * count);  // of exit, enter and -enter
  for (std::size_t i = 0; i < count; ++i) {
    const Sample& s = samples_[i];
    sums[i] = static_cast<double>(s.exit - s.enter);
    largest[3 * i] = static_cast<double>(s.exit - origin);
    largest[3 * i + 1] = static_cast<double>(s.enter - origin);
    largest[3 * i + 2] = -largest[3 * i + 1];
  }
  const bool collects = placement_.rank() == 0;
  const auto n = static_cast<int>(count);
  MPI_Reduce(collects ? MPI_IN_PLACE : sums.data(), sums.data(), n, MPI_DOUBLE, MPI_SUM, 0,
             placement_.comm());
  MPI_Reduce(collects ? MPI_IN_PLACE : largest.data(), largest.data(), 3 * n, MPI_DOUBLE, MPI_MAX,
             0, placement_.comm());
  if (!collects) return;
  for (std::size_t i = 0; i < count; ++i) {
    series.in_call.push_back(sums[i] / placement_.ranks() / 1000);
    series.tail.push_back((largest[3 * i] - largest[3 * i + 1]) / 1000);
    series.skew.push_back((largest[3 * i + 1] + largest[3 * i + 2]) / 1000);
  }
}

std::vector<std::size_t> Measurement::shuffled(std::size_t candidates, std::uint64_t size_index,
                                               std::uint64_t round) const {
  std::vector<std::size_t> order(candidates);
  std::iota(order.begin(), order.end(), std::size_t{0});
  papcoll::pattern::Random random(options_.seed, uncounted + (size_index << 32) + round);
  for (std::size_t i = candidates; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

bool Measurement::precise(const std::vector<Series>& series) const {
  return std::all_of(series.begin(), series.end(), [&](const Series& s) {
    return s.in_call.size() >= fewest_iterations &&
           confidence_95(s.in_call) <= options_.precision * mean(s.in_call);
  });
}

Measured Measurement::run(const std::vector<std::function<void()>>& calls, std::size_t bytes,
                          std::size_t size_index) {
  const auto [iterations, warmup] = effort(options_, bytes);
  const std::string size = format_bytes(bytes);
  for (const auto& call : calls) {
    for (std::size_t i = 0; i < warmup; ++i) rehearse(call, i);
  }

  Measured measured{.series = std::vector<Series>(calls.size()),
                    .stopped_by = "iterations",
                    .signals = {meter_.read()}};
  const std::size_t block_length = std::max<std::size_t>(5, iterations / 10);
  const double limit = options_.time_limit * static_cast<double>(calls.size());
  const std::int64_t start = local_now();
  std::size_t done = 0;
  for (std::uint64_t round = 0; done < iterations; ++round) {
    const std::size_t count = std::min(block_length, iterations - done);
    for (const std::size_t candidate : shuffled(calls.size(), size_index, round)) {
      progress_.show("{} bytes: iteration {} of at most {}, {}", size, done, iterations,
                     options_.algorithms[candidate]);
      block(calls[candidate], done, count, measured.series[candidate]);
    }
    done += count;
    measured.signals.push_back(meter_.read());

    int verdict = 0;
    if (placement_.rank() == 0) {
      const bool slow = static_cast<double>(local_now() - start) * 1e-9 > limit;
      verdict = precise(measured.series) ? 1 : slow ? 2 : 0;
    }
    MPI_Bcast(&verdict, 1, MPI_INT, 0, placement_.comm());
    if (verdict != 0 && done < iterations)
      measured.stopped_by = verdict == 1 ? "precision" : "time";
    if (verdict != 0) break;
  }
  return measured;
}

double Measurement::late_starts() const {
  return starts_ == 0 ? 0 : static_cast<double>(late_) / static_cast<double>(starts_);
}

}  // namespace bench
