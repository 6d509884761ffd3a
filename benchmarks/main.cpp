// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/candidates.hpp"
#include "candidates/contents.hpp"
#include "candidates/native.hpp"
#include "fit/model_fit.hpp"
#include "machine/links.hpp"
#include "machine/node_costs.hpp"
#include "machine/probes.hpp"
#include "machine/tune.hpp"
#include "machine/tune_quick.hpp"
#include "options.hpp"
#include "simulated.hpp"
#include "timing/arrivals.hpp"
#include "timing/measurement.hpp"
#include "timing/meeting.hpp"
#include "timing/progress.hpp"
#include "timing/quantities.hpp"
#include "timing/report.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace bench;

/// A candidate computed something else than it should: exit status 1. Thrown on all ranks.
struct wrong_result : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs every candidate and compares its results, under the arrivals that will be timed.
void check_all(const std::vector<std::function<void()>>& calls, const Options& options,
               const Problem& problem, const Buffers& buffers, const Placement& placement,
               Measurement& measurement) {
  constexpr unsigned rounds = 3;  // so that what is left over from the round before shows
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (unsigned round = 0; round < rounds; ++round) {
      fill_for_check(problem, buffers, round);
      measurement.rehearse(calls[c], round);
      try {
        together(placement.comm(), [&] {
          if (const auto wrong = check(problem, buffers, round)) {
            throw std::runtime_error(
                fmt::format("wrong result of {} for {} bytes on rank {}, call {}: {}",
                            options.algorithms[c], problem.bytes(), problem.rank, round, *wrong));
          }
        });
      } catch (const usage_error& error) {
        throw wrong_result(error.what());
      }
    }
  }
}

Workload workload(const Options& options, const Problem& problem, const Placement& placement) {
  std::vector<double> blocks;
  if (problem.irregular != nullptr) {
    for (const std::size_t n : problem.irregular->lengths) {
      blocks.push_back(static_cast<double>(n * size_of(problem.type)));
    }
  }
  return {.collective = problem.collective,
          .bytes = static_cast<double>(problem.bytes()),
          .ranks = static_cast<double>(placement.ranks()),
          .processors = static_cast<double>(placement.processors()),
          .nodes = static_cast<double>(placement.nodes()),
          .fullest_node = static_cast<double>(placement.most_node_ranks()),
          .in_place = problem.in_place,
          .root = problem.root,
          .blocks = std::move(blocks),
          .together = options.is_balanced() && !placement.oversubscribed()};
}

double largest_of_ranks(double value, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

[[maybe_unused]] void measure_all(const Options& options, const Placement& placement) {
  MPI_Comm comm = placement.comm();
  const Progress progress(placement.rank());
  if (options.root >= placement.ranks()) {
    throw usage_error(
        placement.ranks() == 1
            ? fmt::format("--root {}: there is 1 rank", options.root)
            : fmt::format("--root {}: there are {} ranks", options.root, placement.ranks()));
  }
  Arrivals arrivals(options, comm);
  std::unique_ptr<Report> report;
  std::unique_ptr<Candidates> candidates;
  together(comm, [&] { candidates = std::make_unique<Candidates>(options, comm); });
  together(comm, [&] { report = std::make_unique<Report>(options, placement, mpi_library()); });

  Meeting meeting(placement);
  progress.show("measuring the machine");
  Machine machine{
      .signal = probe_signal(placement), .network = probe_network(placement), .memory = {}};
  SharedClock clock(placement);
  Measurement measurement(options, placement, clock, meeting, arrivals, progress);

  for (std::size_t s = 0; s < options.sizes.size(); ++s) {
    Problem problem;
    std::unique_ptr<Buffers> buffers;
    std::vector<std::function<void()>> calls;
    together(comm, [&] {
      problem = problem_of(options, options.sizes[s], placement.rank(), placement.ranks());
      buffers = std::make_unique<Buffers>(
          problem, [&](std::size_t bytes) { return candidates->allocate(options.buffers, bytes); });
      fill_for_timing(problem, *buffers);
    });
    for (std::size_t c = 0; c < candidates->size(); ++c) {
      // The first call is where a candidate refuses what it cannot serve.
      together(comm, [&] {
        calls.push_back(candidates->call(c, problem, *buffers));
        calls.back()();
      });
    }

    progress.show("{} bytes: measuring the machine", format_bytes(problem.bytes()));
    // Without the gaps of a layout, which no call need touch.
    std::size_t footprint =
        std::max(problem.input_count(), problem.output_count()) * size_of(problem.type);
    MPI_Allreduce(MPI_IN_PLACE, &footprint, 1, MPI_UNSIGNED_LONG, MPI_MAX, comm);
    // A virtual machine's processors move about its host, so the quickest signal so far counts.
    machine.signal = std::min(machine.signal, probe_signal(placement));
    machine.memory = probe_memory(placement, meeting, footprint, problem.in_place);
    const Bound bound = lower_bound(workload(options, problem, placement), machine);
    double alpha = 0;
    if (!options.is_balanced()) {
      alpha = probe_one_way(placement, problem.bytes());
      if (options.mif) arrivals.set_spread(*options.mif * alpha);
      if (options.spread) arrivals.set_spread(*options.spread);
    }

    if (options.check) {
      check_all(calls, options, problem, *buffers, placement, measurement);
      fill_for_timing(problem, *buffers);
    }
    const Measured measured = measurement.run(calls, problem.bytes(), s);
    const double late = largest_of_ranks(measurement.late_starts(), comm);

    const Signal signal = signal_of(measured.signals);
    std::vector<Result> results;
    for (std::size_t c = 0; c < candidates->size(); ++c) {
      const Series& series = measured.series[c];
      results.push_back({.algorithm = options.algorithms[c],
                         .resolved = candidates->resolved(c, problem),
                         .bytes = problem.bytes(),
                         .mif = alpha > 0 ? arrivals.spread() / alpha : 0,
                         .spread = arrivals.spread() * 1e6,
                         .alpha = alpha * 1e6,
                         .iterations = series.in_call.size(),
                         .stopped_by = measured.stopped_by,
                         .in_call = summarize(series.in_call),
                         .tail = summarize(series.tail),
                         .skew = summarize(series.skew),
                         .bound = bound,
                         .signal = signal,
                         .clock_uncertainty = static_cast<double>(clock.uncertainty()) / 1000,
                         .late_starts = late,
                         .checked = options.check});
    }
    progress.clear();
    together(comm, [&] { report->add(results); });
  }
}

/// Throws usage_error if something that was printed is lost.
void require_written() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw usage_error("cannot write all of the output: is the disk full?");
}

int run(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto parsed = parse_options(argc, argv);
  const auto say = [rank](const std::exception& error) {
    if (rank == 0) fmt::print(stderr, "papcoll-bench: {}\n", papcoll::detail::bare(error.what()));
  };
  try {
    if (const auto* early = std::get_if<EarlyExit>(&parsed)) {
      if (early->status != 0) throw usage_error(early->text);
      if (rank == 0) std::fputs(early->text.c_str(), stdout);
      require_written();
      return 0;
    }
    const Placement placement(MPI_COMM_WORLD);
    const auto& options = std::get<Options>(parsed);
    if constexpr (papcoll::detail::simulated) {
      simulate(options, placement);
    } else if (options.measures_links) {
      measure_links(options, placement);
    } else if (!options.node_costs.empty()) {
      measure_node_costs(options, placement);
    } else if (options.quick) {
      tune_quick(options, placement);
    } else if (!options.tune.empty()) {
      tune(options, placement);
    } else if (!options.fit.empty()) {
      fit_models(options, placement);
    } else {
      measure_all(options, placement);
    }
    require_written();
    return 0;
  } catch (const usage_error& error) {
    say(error);
    return 2;
  } catch (const wrong_result& error) {
    say(error);
    return 1;
  } catch (const std::exception& error) {
    // Of this rank alone: the others may be waiting for it.
    fmt::print(stderr, "papcoll-bench: rank {}: {}\n", rank, papcoll::detail::bare(error.what()));
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run(argc, argv);
  MPI_Finalize();
  return status;
}
