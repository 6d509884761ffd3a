#pragma once

#include <papcoll/model/hockney.hpp>
#include <papcoll/model/regression.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace bench {

/// What a run was measured to take.
struct Run {
  double bytes = 0;
  double segment = 0;  ///< bytes; 0 for schedules that do not cut
  double seconds = 0;
};

/// What a schedule costs by its closed form: bytes of the vector, bytes of a segment.
using Form = std::function<double(const papcoll::Hockney&, double bytes, double segment)>;

/// A schedule's own α and β, and how its costs a byte grow where its buffers are in no cache any
/// more: by `beyond` for each byte above `knee`, relative to β.
struct CostFit {
  papcoll::Hockney parameters;
  double alpha_confidence = 0;  ///< ± with 95 %
  double beta_confidence = 0;
  std::optional<double> knee;  ///< bytes of the vector
  double beyond = 0;
  std::vector<double> errors;  ///< of each run: predicted / measured − 1
  double median_error = 0;     ///< of their absolute values
  double squares = 0;          ///< the sum of the errors' squares

  double predict(const Form& form, double bytes, double segment) const {
    return form(at(bytes), bytes, segment);
  }

 private:
  papcoll::Hockney at(double bytes) const {
    papcoll::Hockney h = parameters;
    if (knee && bytes > *knee) h.beta *= 1 + beyond * (1 - *knee / bytes);
    return h;
  }
};

namespace detail {

/// How the form grows with α, β and γ. A form is linear where none of its maxima changes sides, so
/// these times the parameters are the whole of it.
inline std::array<double, 3> slopes(const Form& form, const papcoll::Hockney& h, const Run& run) {
  constexpr double step = 1e-4;
  const double here = form(h, run.bytes, run.segment);
  const auto slope = [&](double papcoll::Hockney::*parameter) {
    papcoll::Hockney next = h;
    next.*parameter *= 1 + step;
    return (form(next, run.bytes, run.segment) - here) / (step * h.*parameter);
  };
  return {slope(&papcoll::Hockney::alpha), slope(&papcoll::Hockney::beta),
          slope(&papcoll::Hockney::gamma)};
}

/// With the knee at so many bytes, if given.
inline CostFit fit_cost_with_knee(const Form& form, std::span<const Run> runs,
                                  papcoll::Hockney start, std::optional<double> knee) {
  constexpr int rounds = 8;  // forms have few maxima: two or three rounds settle them
  // No machine is quicker, and slopes at less would be lost in rounding.
  constexpr papcoll::Hockney least{1e-9, 1e-13, 0};
  CostFit fit;
  fit.knee = knee;
  for (int round = 0; round < rounds; ++round) {
    std::vector<papcoll::Observation<3>> observations;
    for (const Run& run : runs) {
      papcoll::Hockney here = start;
      const double above = knee ? std::max(0.0, run.bytes - *knee) / run.bytes : 0;
      here.beta *= 1 + fit.beyond * above;
      const auto [alpha, beta, gamma] = slopes(form, here, run);
      observations.push_back({{alpha, beta, beta * above}, run.seconds, gamma * here.gamma});
    }
    double beta_more = 0;
    const auto take = [&](const auto& r) {
      start.alpha = std::max(r.values[0], least.alpha);
      start.beta = std::max(r.values[1], least.beta);
      fit.alpha_confidence = r.confidence[0];
      fit.beta_confidence = r.confidence[1];
      fit.errors = r.errors;
      fit.median_error = r.median_error;
    };
    if (knee) {
      const auto r = papcoll::regress<3>(observations);
      take(r);
      beta_more = r.values[2];
    } else {
      std::vector<papcoll::Observation<2>> two;
      for (const auto& o : observations) two.push_back({{o.terms[0], o.terms[1]}, o.time, o.known});
      take(papcoll::regress<2>(two));
    }
    fit.beyond = beta_more / start.beta;
  }
  fit.parameters = start;
  for (const double e : fit.errors) fit.squares += e * e;
  return fit;
}

}  // namespace detail

/// Fits α and β to runs of at least two sizes; γ is start.gamma. A knee is taken, at one of the
/// sizes, where it halves the sum of the squared errors and at least six runs speak for it. Throws
/// papcoll::argument_error where the runs do not tell α and β apart.
inline CostFit fit_cost(const Form& form, std::span<const Run> runs,
                        const papcoll::Hockney& start) {
  constexpr std::size_t fewest = 6;
  constexpr double good = 0.01;  // nothing is measured better
  constexpr double most = 20;    // no memory is so much slower than a cache: β was lost
  CostFit best = detail::fit_cost_with_knee(form, runs, start, std::nullopt);
  const auto n = static_cast<double>(runs.size());
  if (runs.size() < fewest || best.squares <= good * good * n) return best;
  std::vector<double> sizes;
  for (const Run& run : runs) sizes.push_back(run.bytes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const double wanted = best.squares / 2;
  for (std::size_t i = 1; i + 1 < sizes.size(); ++i) {
    try {
      CostFit fit = detail::fit_cost_with_knee(form, runs, start, sizes[i]);
      if (fit.beyond > most) continue;
      if (fit.squares <= wanted && fit.squares < best.squares) best = std::move(fit);
    } catch (const papcoll::argument_error&) {
      continue;  // with that knee the runs do not tell the parameters apart
    }
  }
  return best;
}

/// In how many chunks a vector is best cut, of 1 to `most`: where `seconds(chunks)` is least; of
/// equals the fewest.
template <class F>
std::size_t best_count(std::size_t most, F&& seconds) {
  std::size_t best = 1;
  double least = seconds(std::size_t{1});
  for (std::size_t n = 2; n <= most; ++n) {
    const double t = seconds(n);
    if (t >= least) continue;
    least = t;
    best = n;
  }
  return best;
}

/// About the same with fewer questions: of 1, 2, 3, 4, 6, 8, 12 … the best, and then of those
/// between its neighbours, if there is one lowest point.
template <class F>
std::size_t best_count_coarsely(std::size_t most, F&& seconds) {
  std::vector<std::size_t> grid;
  for (std::size_t n = 1; n <= most; n *= 2) {
    grid.push_back(n);
    if (n > 1 && n + n / 2 <= most) grid.push_back(n + n / 2);
  }
  if (grid.back() != most) grid.push_back(most);
  std::vector<double> times;
  for (const std::size_t n : grid) times.push_back(seconds(n));
  const auto best =
      static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
  std::size_t lo = grid[best == 0 ? 0 : best - 1];
  std::size_t hi = grid[std::min(best + 1, grid.size() - 1)];
  while (hi - lo > 2) {
    const std::size_t third = (hi - lo) / 3;
    if (seconds(lo + third) <= seconds(hi - third)) {
      hi -= third;
    } else {
      lo += third;
    }
  }
  std::size_t found = grid[best];
  double least = times[best];
  for (std::size_t n = lo; n <= hi; ++n) {
    const double t = seconds(n);
    if (t >= least) continue;
    least = t;
    found = n;
  }
  return found;
}

/// The counts to measure around those that models want: these, and 10 and 20 more and fewer, from 1
/// to `most`, ascending.
inline std::vector<std::size_t> counts_around(std::span<const std::size_t> wanted,
                                              std::size_t most) {
  std::vector<std::size_t> counts;
  for (const std::size_t n : wanted) {
    for (const int more : {-20, -10, 0, 10, 20}) {
      const auto count = static_cast<std::ptrdiff_t>(n) + more;
      if (count < 1) continue;
      counts.push_back(std::min(most, static_cast<std::size_t>(count)));
    }
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace bench
