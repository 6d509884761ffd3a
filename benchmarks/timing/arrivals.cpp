// SPDX-License-Identifier: BSD-3-Clause
#include "timing/arrivals.hpp"

#include "timing/clock.hpp"
#include "timing/together.hpp"

#include <papcoll/tools/files/json_file.hpp>

#include <fmt/format.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <limits>
#include <string>

namespace bench {
namespace {

papcoll::pattern::Trace read_trace(const std::string& name, MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::string text;
  together(comm, [&] {
    if (rank != 0) return;
    text = papcoll::tool::read_text(name, "trace of arrivals");
    if (text.size() > std::numeric_limits<int>::max())
      throw usage_error(name + " has 2 GiB or more");
  });
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm);
  papcoll::pattern::Trace trace;
  together(comm, [&] {
    try {
      trace = papcoll::pattern::parse_trace(text);
    } catch (const papcoll::pattern::trace_error& error) {
      throw usage_error(fmt::format("{}: {}", name, error.what()));
    }
    if (trace.ranks != static_cast<std::size_t>(ranks)) {
      throw usage_error(fmt::format("{} has {} columns, a column a rank, but there are {} ranks",
                                    name, trace.ranks, ranks));
    }
  });
  return trace;
}

}  // namespace

Arrivals::Arrivals(const Options& options, MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  rank_ = static_cast<std::size_t>(rank);
  seconds_.resize(static_cast<std::size_t>(ranks));
  if (options.is_trace()) {
    pattern_ = read_trace(options.trace_file(), comm);
  } else {
    pattern_ = papcoll::pattern::Generator{
        .shape = papcoll::pattern::shape_named(options.arrival), .spread = 0, .seed = options.seed};
  }
  // The kernel may otherwise wake a sleeper 50 µs late, to save power.
  if (options.delay == Delay::sleep) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void Arrivals::set_spread(double seconds) {
  if (auto* trace = std::get_if<papcoll::pattern::Trace>(&pattern_)) {
    *trace = trace->scaled_to(seconds);
  } else {
    std::get<papcoll::pattern::Generator>(pattern_).spread = seconds;
  }
}

double Arrivals::spread() const {
  if (const auto* trace = std::get_if<papcoll::pattern::Trace>(&pattern_)) return trace->spread();
  return std::get<papcoll::pattern::Generator>(pattern_).spread;
}

std::int64_t Arrivals::operator()(std::uint64_t iteration) {
  std::visit([&](const auto& pattern) { pattern(iteration, seconds_); }, pattern_);
  return std::llround(seconds_[rank_] * 1e9);
}

void wait_until(std::int64_t instant, Delay delay) {
  if (delay == Delay::sleep) {
    const timespec until{.tv_sec = instant / 1'000'000'000, .tv_nsec = instant % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
  while (local_now() < instant) {
  }
}

}  // namespace bench
