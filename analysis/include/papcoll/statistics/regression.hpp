// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/statistics/student_t.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a time was measured to be, and what a cost model multiplies its N unknowns by there: for
/// α + βm in a message of m bytes, {1, m}.
template <std::size_t N> struct Observation {
  std::array<double, N> terms{};
  double time = 0;   ///< positive
  double known = 0;  ///< a part of it that the model knows beforehand
};

/// The unknowns of a model that is linear in them, fitted to observations.
template <std::size_t N> struct Regression {
  std::array<double, N> values{};
  /// Each value is known to ± this with 95 % confidence; infinite where there are no more
  /// observations than unknowns and for an unknown that no observation depends on, 0 for one that
  /// was held at 0.
  std::array<double, N> confidence{};
  std::vector<double> errors;  ///< of each observation: predicted / measured − 1
  double median_error = 0;     ///< of their absolute values

  double predict(const std::array<double, N>& terms) const noexcept {
    double time = 0;
    for (std::size_t i = 0; i < N; ++i) time += values[i] * terms[i];
    return time;
  }
};

/// The median of the absolute values; 0 for none.
inline double median_of_absolute(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double e : errors) sizes.push_back(std::fabs(e));
  return median(std::move(sizes));
}

namespace detail {

/// The normal equations of the unknowns that are not held at 0, each in a unit that makes its
/// column one long, solved by Gauss-Jordan elimination; with the inverse, for the confidence.
template <std::size_t N> class NormalEquations {
 public:
  NormalEquations(std::span<const Observation<N>> observations, const std::array<bool, N>& free) {
    for (std::size_t i = 0; i < N; ++i) {
      double squares = 0;
      for (const Observation<N>& o : observations) {
        squares += (o.terms[i] / o.time) * (o.terms[i] / o.time);
      }
      unit_[i] = free[i] && squares > 0 ? 1 / std::sqrt(squares) : 0;
    }
    for (std::size_t i = 0; i < N; ++i) {
      row(i)[N + 1 + i] = 1;
      if (unit_[i] == 0) {
        row(i)[i] = 1;
        continue;
      }
      for (const Observation<N>& o : observations) {
        const double x = unit_[i] * o.terms[i] / o.time;
        for (std::size_t j = 0; j < N; ++j) row(i)[j] += x * unit_[j] * o.terms[j] / o.time;
        row(i)[N] += x * (1 - o.known / o.time);
      }
    }
    solvable_ = eliminate();
  }

  bool solvable() const noexcept { return solvable_; }
  /// Returns true if any observation depends on unknown i.
  bool matters(std::size_t i) const noexcept { return unit_[i] != 0; }
  /// In its own unit, so that it can be compared with the others.
  double scaled(std::size_t i) const noexcept { return row(i)[N]; }
  double value(std::size_t i) const noexcept { return unit_[i] * row(i)[N]; }
  /// Times the variance of the errors it is that of the value.
  double variance(std::size_t i) const noexcept { return unit_[i] * unit_[i] * row(i)[N + 1 + i]; }

 private:
  using Row = std::array<double, 2 * N + 1>;  // matrix, right side, and what becomes the inverse

  Row& row(std::size_t i) noexcept { return rows_[i]; }
  const Row& row(std::size_t i) const noexcept { return rows_[i]; }

  bool eliminate() noexcept {
    for (std::size_t c = 0; c < N; ++c) {
      std::size_t pivot = c;
      for (std::size_t r = c + 1; r < N; ++r) {
        if (std::fabs(row(r)[c]) > std::fabs(row(pivot)[c])) pivot = r;
      }
      // All columns have length one: less than this is nothing but rounding.
      if (std::fabs(row(pivot)[c]) < 1e-10) return false;
      std::swap(row(c), row(pivot));
      const double scale = 1 / row(c)[c];
      for (double& x : row(c)) x *= scale;
      for (std::size_t r = 0; r < N; ++r) {
        const double factor = row(r)[c];
        if (r == c || factor == 0) continue;
        for (std::size_t k = 0; k < row(r).size(); ++k) row(r)[k] -= factor * row(c)[k];
      }
    }
    return true;
  }

  std::array<double, N> unit_{};
  std::array<Row, N> rows_{};
  bool solvable_ = false;
};

}  // namespace detail

/// Least squares of the relative errors, so that short and long times count alike. Costs are not
/// negative: an unknown that would be is held at 0. Throws argument_error if the observations do
/// not determine the unknowns, or a time is not positive.
template <std::size_t N> Regression<N> regress(std::span<const Observation<N>> observations) {
  for (const Observation<N>& o : observations) {
    if (!(o.time > 0)) {
      throw argument_error("papcoll: a regression was given a time of " + std::to_string(o.time) +
                           ": times are positive");
    }
  }
  std::array<bool, N> free{};
  free.fill(true);
  while (true) {
    const detail::NormalEquations<N> equations{observations, free};
    if (!equations.solvable()) {
      throw argument_error("papcoll: " + std::to_string(observations.size()) +
                           " observations do not tell " + std::to_string(N) +
                           " unknowns apart: measure at more, and more different, sizes");
    }
    std::size_t worst = N;
    for (std::size_t i = 0; i < N; ++i) {
      if (equations.scaled(i) < 0 &&
          (worst == N || equations.scaled(i) < equations.scaled(worst))) {
        worst = i;
      }
    }
    if (worst < N) {
      free[worst] = false;
      continue;
    }
    Regression<N> result;
    std::size_t unknowns = 0;
    for (std::size_t i = 0; i < N; ++i) {
      result.values[i] = equations.value(i);
      unknowns += free[i] ? 1 : 0;
    }
    double squares = 0;
    for (const Observation<N>& o : observations) {
      result.errors.push_back((o.known + result.predict(o.terms)) / o.time - 1);
      squares += result.errors.back() * result.errors.back();
    }
    result.median_error = median_of_absolute(result.errors);
    const bool known = observations.size() > unknowns;
    const double spread =
        known ? student_t_95(observations.size() - unknowns) *
                    std::sqrt(squares / static_cast<double>(observations.size() - unknowns))
              : detail::infinity;
    for (std::size_t i = 0; i < N; ++i) {
      if (!free[i]) continue;
      result.confidence[i] =
          equations.matters(i) ? spread * std::sqrt(equations.variance(i)) : detail::infinity;
    }
    return result;
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI
