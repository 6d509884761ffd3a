// SPDX-License-Identifier: BSD-3-Clause
#include "timing/contest.hpp"

#include "candidates/candidates.hpp"
#include "candidates/contents.hpp"
#include "timing/arrivals.hpp"
#include "timing/measurement.hpp"
#include "timing/statistics.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace bench {

std::vector<Times> Contest::run(const Problem& wanted) {
  Options options = options_;
  options.collective = wanted.collective;
  options.algorithms = wanted.algorithms;
  options.in_place = papcoll::has_one_buffer(wanted.collective);
  options.group_size = 0;
  options.arrival = wanted.spread > 0 ? "one-late" : "balanced";
  options.start = placement_.oversubscribed() ? Start::barrier : Start::clock;
  Arrivals arrivals(options, placement_.comm());
  arrivals.set_spread(wanted.spread);
  std::unique_ptr<Candidates> candidates;
  std::unique_ptr<Buffers> buffers;
  std::vector<std::function<void()>> calls;
  const bench::Problem problem{.collective = wanted.collective,
                               .type = options.type,
                               .op = options.op,
                               .count = wanted.bytes / size_of(options.type),
                               .root = 0,
                               .in_place = options.in_place,
                               .rank = placement_.rank(),
                               .ranks = placement_.ranks()};
  together(placement_.comm(), [&] {
    candidates = std::make_unique<Candidates>(options, placement_.comm());
    buffers = std::make_unique<Buffers>(
        problem, [&](std::size_t n) { return candidates->allocate(wanted.buffers, n); });
    fill_for_timing(problem, *buffers);
  });
  for (std::size_t c = 0; c < candidates->size(); ++c) {
    together(placement_.comm(), [&] {
      calls.push_back(candidates->call(c, problem, *buffers));
      calls.back()();
    });
  }
  Measurement measurement(options, placement_, clock_, meeting_, arrivals, progress_);
  const Measured measured = measurement.run(calls, wanted.bytes, runs_++);
  constexpr double microsecond = 1e-6;
  std::vector<double> numbers;
  for (const Series& s : measured.series) {
    numbers.push_back(microsecond * mean(s.in_call));
    numbers.push_back(microsecond * median(s.tail));
  }
  numbers.resize(2 * wanted.algorithms.size());
  MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, 0, placement_.comm());
  progress_.clear();
  std::vector<Times> times;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    times.push_back({.in_call = numbers[i], .tail = numbers[i + 1]});
  }
  return times;
}

std::string described(const Placement& placement) {
  return fmt::format("{} ranks on {} processors{}{}", placement.ranks(), placement.processors(),
                     placement.pinned() ? ", pinned" : "",
                     placement.nodes() > 1 ? fmt::format(", {} nodes", placement.nodes()) : "");
}

std::string announced(std::string_view option, double limits, const Options& options) {
  constexpr double minute = 60;
  constexpr double hour = 60 * minute;
  const double seconds = limits * options.time_limit;
  const auto [unit, name] = seconds < 2 * minute ? std::pair{1.0, "second"}
                            : seconds < 2 * hour ? std::pair{minute, "minute"}
                                                 : std::pair{hour, "hour"};
  const double units = std::fmax(1, std::ceil(seconds / unit));
  return fmt::format(
      "{} takes up to about {:.0f} {}{}, {:g} s a size and candidate beside the warm-up: --bytes "
      "and --time-limit make it less",
      option, units, name, units > 1 ? "s" : "", options.time_limit);
}

void require_writable(const std::string& name) {
  std::error_code unknown;
  const std::filesystem::file_status before = std::filesystem::symlink_status(name, unknown);
  const bool existed = std::filesystem::exists(before);
  // Whoever reads from a pipe would take this for the end.
  if (std::filesystem::is_fifo(std::filesystem::status(name, unknown))) return;
  std::FILE* const out = std::fopen(name.c_str(), "a");
  if (out == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + name);
  }
  static_cast<void>(std::fclose(out));
  if (!existed) std::filesystem::remove(name, unknown);
}

void write_file(const std::string& name, const std::string& text) {
  // Who reads the file meanwhile, as programs read a tuning file, has all of the old or of the new
  // one. A pipe or a link stays one.
  std::error_code unknown;
  const std::filesystem::file_type kind = std::filesystem::symlink_status(name, unknown).type();
  const bool replaces = kind == std::filesystem::file_type::regular;
  std::string written = replaces ? name + ".part" : name;
  std::FILE* out = std::fopen(written.c_str(), "w");
  if (out == nullptr && replaces) out = std::fopen((written = name).c_str(), "w");
  const bool is_whole =
      out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool is_closed = out != nullptr && std::fclose(out) == 0;
  if (is_whole && is_closed &&
      (written == name || std::rename(written.c_str(), name.c_str()) == 0)) {
    return;
  }
  const int why = errno;
  if (written != name) std::filesystem::remove(written, unknown);
  throw std::system_error(why, std::generic_category(), "cannot write " + name);
}

}  // namespace bench
