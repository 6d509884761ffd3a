// SPDX-License-Identifier: BSD-3-Clause
#include "simulated.hpp"

#include "candidates/candidates.hpp"
#include "candidates/contents.hpp"
#include "candidates/native.hpp"
#include "timing/arrivals.hpp"
#include "timing/report.hpp"
#include "timing/statistics.hpp"
#include "timing/together.hpp"

#include <papcoll/simulate/smpi/simulated_time.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

/// Buffers so large, all ranks' together, are one for all ranks: what is in them is rubbish then.
constexpr std::size_t most_private_bytes = std::size_t{2} << 30;

Memory allocate(std::size_t bytes, const Options& options, int ranks) {
  if (options.check || bytes * static_cast<std::size_t>(ranks) <= most_private_bytes) {
    return allocate_private(bytes);
  }
  auto* const p = static_cast<std::byte*>(SMPI_SHARED_MALLOC(bytes));
  if (p == nullptr) throw std::runtime_error(fmt::format("there is no memory for {} bytes", bytes));
  return {p, [](std::byte* q) { smpi_shared_free(q); }};
}

class Simulation {
 public:
  Simulation(const Options& options, const Placement& placement)
      : options_(options), placement_(placement), arrivals_(options, placement.comm()) {}

  void set_spread(std::size_t bytes) {
    if (options_.is_balanced()) return;
    alpha_ = one_way(bytes);
    if (options_.mif) arrivals_.set_spread(*options_.mif * alpha_);
    if (options_.spread) arrivals_.set_spread(*options_.spread);
  }

  /// One call. All ranks' delays count from one instant.
  void iterate(const std::function<void()>& call, std::uint64_t iteration) {
    const double delay = static_cast<double>(arrivals_(iteration)) / 1e9;
    double instant = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &instant, 1, MPI_DOUBLE, MPI_MAX, placement_.comm());
    constexpr double margin = 1e-3;  // the allreduce's own time
    papcoll::detail::pass_simulated_time(instant + margin + delay - MPI_Wtime());
    enter_ = MPI_Wtime();
    call();
    exit_ = MPI_Wtime();
    instant_ = instant;
  }

  /// Adds the last call, in microseconds, on rank 0.
  void record(std::array<std::vector<double>, 3>& series) const {
    double in_call = exit_ - enter_;
    std::array<double, 3> latest{exit_ - instant_, enter_ - instant_, instant_ - enter_};
    const bool collects = placement_.rank() == 0;
    MPI_Reduce(collects ? MPI_IN_PLACE : &in_call, &in_call, 1, MPI_DOUBLE, MPI_SUM, 0,
               placement_.comm());
    MPI_Reduce(collects ? MPI_IN_PLACE : latest.data(), latest.data(), 3, MPI_DOUBLE, MPI_MAX, 0,
               placement_.comm());
    series[0].push_back(in_call / placement_.ranks() * 1e6);
    series[1].push_back((latest[0] - latest[1]) * 1e6);
    series[2].push_back((latest[1] + latest[2]) * 1e6);
  }

  double alpha() const { return alpha_; }
  double spread() const { return arrivals_.spread(); }

 private:
  /// Half a round trip between the first and the last rank.
  double one_way(std::size_t bytes) const {
    const int last = placement_.ranks() - 1;
    if (last == 0) return 0;
    std::vector<std::byte> buffer(bytes);
    const int n = static_cast<int>(bytes);
    MPI_Comm comm = placement_.comm();
    const double start = MPI_Wtime();
    if (placement_.rank() == 0) MPI_Send(buffer.data(), n, MPI_BYTE, last, 0, comm);
    if (placement_.rank() == last) {
      MPI_Recv(buffer.data(), n, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
      MPI_Send(buffer.data(), n, MPI_BYTE, 0, 0, comm);
    }
    if (placement_.rank() == 0) {
      MPI_Recv(buffer.data(), n, MPI_BYTE, last, 0, comm, MPI_STATUS_IGNORE);
    }
    double time = (MPI_Wtime() - start) / 2;
    MPI_Bcast(&time, 1, MPI_DOUBLE, 0, comm);
    return time;
  }

  const Options& options_;
  const Placement& placement_;
  Arrivals arrivals_;
  double alpha_ = 0;
  double instant_ = 0;
  double enter_ = 0;
  double exit_ = 0;
};

/// Exact, so that one sample is enough.
Summary summarize_exactly(const std::vector<double>& samples) {
  Summary s = summarize(samples);
  if (samples.size() < 2) s.ci95 = s.median_ci95 = 0;
  return s;
}

}  // namespace

void simulate(const Options& options, const Placement& placement) {
  MPI_Comm comm = placement.comm();
  if (!options.tune.empty()) throw usage_error("--measure tuning: there is no machine to tune for");
  if (!options.fit.empty()) throw usage_error("--measure model: there is no machine to measure");
  if (options.root >= placement.ranks()) {
    throw usage_error(
        fmt::format("--root {}: there are {} ranks", options.root, placement.ranks()));
  }
  const std::size_t iterations = options.iterations.value_or(options.is_balanced() ? 1 : 20);
  const std::size_t warmup = options.warmup.value_or(1);
  std::unique_ptr<Report> report;
  std::unique_ptr<Candidates> candidates;
  together(comm, [&] { candidates = std::make_unique<Candidates>(options, comm); });
  together(comm, [&] { report = std::make_unique<Report>(options, placement, mpi_library()); });
  Simulation simulation(options, placement);

  for (const std::size_t bytes : options.sizes) {
    Problem problem;
    together(comm,
             [&] { problem = problem_of(options, bytes, placement.rank(), placement.ranks()); });
    const Buffers buffers(problem,
                          [&](std::size_t n) { return allocate(n, options, placement.ranks()); });
    simulation.set_spread(problem.bytes());
    std::vector<Result> results;
    for (std::size_t c = 0; c < candidates->size(); ++c) {
      std::function<void()> call;
      together(comm, [&] { call = candidates->call(c, problem, buffers); });
      for (unsigned round = 0; options.check && round < 2; ++round) {
        fill_for_check(problem, buffers, round);
        simulation.iterate(call, round);
        together(comm, [&] {
          if (const auto wrong = check(problem, buffers, round)) {
            throw std::runtime_error(fmt::format("wrong result of {} for {} bytes on rank {}: {}",
                                                 options.algorithms[c], problem.bytes(),
                                                 problem.rank, *wrong));
          }
        });
      }
      fill_for_timing(problem, buffers);
      for (std::size_t i = 0; i < warmup; ++i) simulation.iterate(call, i);
      std::array<std::vector<double>, 3> series;
      for (std::size_t i = 0; i < iterations; ++i) {
        simulation.iterate(call, i);
        simulation.record(series);
      }
      results.push_back(
          {.algorithm = options.algorithms[c],
           .resolved = candidates->resolved(c, problem),
           .bytes = problem.bytes(),
           .mif = simulation.alpha() > 0 ? simulation.spread() / simulation.alpha() : 0,
           .spread = simulation.spread() * 1e6,
           .alpha = simulation.alpha() * 1e6,
           .iterations = iterations,
           .stopped_by = "iterations",
           .in_call = summarize_exactly(series[0]),
           .tail = summarize_exactly(series[1]),
           .skew = summarize_exactly(series[2]),
           .bound = {0, "simulated"},
           .checked = options.check});
    }
    together(comm, [&] { report->add(results); });
  }
}

}  // namespace bench
