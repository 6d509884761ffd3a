// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/statistics/regression.hpp>

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
  Form form;
  papcoll::Hockney parameters;
  double alpha_confidence = 0;  ///< ± with 95 %
  double beta_confidence = 0;
  std::optional<double> knee;  ///< bytes of the vector
  double beyond = 0;
  std::vector<double> errors;  ///< of each run fitted: predicted / measured − 1
  double median_error = 0;     ///< of their absolute values
  double squares = 0;          ///< the sum of the errors' squares

  double predict(double bytes, double segment) const { return form(at(bytes), bytes, segment); }

  /// Of each run: predicted / measured − 1.
  std::vector<double> errors_of(std::span<const Run> runs) const {
    std::vector<double> found;
    for (const Run& run : runs) found.push_back(predict(run.bytes, run.segment) / run.seconds - 1);
    return found;
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
  fit.form = form;
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

/// Fits α and β of a form to runs of at least two sizes or segments; γ is start.gamma. A knee is
/// taken, at one of the sizes, where it halves the sum of the squared errors and at least six runs
/// speak for it. Throws papcoll::argument_error where the runs do not tell α and β apart.
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

}  // namespace bench
