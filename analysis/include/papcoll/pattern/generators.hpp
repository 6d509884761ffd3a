// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/pattern/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::pattern {

/// The shape of an arrival pattern: when each of P ranks arrives, in parts of the spread.
enum class Shape : unsigned char {
  balanced,    ///< all at 0
  uniform,     ///< each anywhere in [0, 1), independently
  normal,      ///< each about 1/2, standard deviation 1/6, clamped to [0, 1]
  one_late,    ///< all at 0, but one at 1; which one is drawn anew for each call
  one_early,   ///< all at 1, but one at 0; which one is drawn anew for each call
  ascending,   ///< rank r at r / (P-1)
  descending,  ///< rank r at (P-1-r) / (P-1)
  two_groups,  ///< the lower half of the ranks (with the middle one) at 0, the upper half at 1
  same_late,   ///< all at 0, but one at 1, which is the same in all calls; the seed says which
};

/// Every shape, with the name it has on command lines.
struct NamedShape {
  Shape shape;            ///< the pattern's shape
  std::string_view name;  ///< as on command lines
};
/// All of them.
inline constexpr std::array<NamedShape, 9> shapes{{
    {Shape::balanced, "balanced"},
    {Shape::uniform, "uniform"},
    {Shape::normal, "normal"},
    {Shape::one_late, "one-late"},
    {Shape::one_early, "one-early"},
    {Shape::ascending, "ascending"},
    {Shape::descending, "descending"},
    {Shape::two_groups, "two-groups"},
    {Shape::same_late, "same-late"},
}};

/// The shape's name.
constexpr std::string_view name(Shape shape) noexcept {
  return shapes[static_cast<std::size_t>(shape)].name;
}

/// The shape of that name; throws argument_error that lists all names.
inline Shape shape_named(std::string_view wanted) {
  for (const auto& entry : shapes) {
    if (entry.name == wanted) return entry.shape;
  }
  std::string text = "no arrival pattern is called '" + std::string(wanted) + "', choose one of";
  for (const auto& entry : shapes) text.append(" ").append(entry.name);
  throw argument_error(text);
}

/// Arrival patterns by rule: a pure function of (shape, spread, seed, call), so that every rank
/// computes the whole pattern for itself and a run can be repeated on any machine.
struct Generator {
  Shape shape = Shape::balanced;  ///< the pattern's shape
  double spread = 0;              ///< seconds; MIF·α for a given maximum imbalance factor
  std::uint64_t seed = 1;         ///< of the shapes that draw random numbers

  /// Writes arrivals[r], the arrival time of rank r in call number `call`: seconds after a common
  /// start, in [0, spread].
  constexpr void operator()(std::uint64_t call, std::span<double> arrivals) const noexcept {
    const std::size_t ranks = arrivals.size();
    if (ranks == 0) return;
    Random random(seed, call);
    const std::size_t chosen = chosen_rank(ranks, random);
    for (std::size_t r = 0; r < ranks; ++r) arrivals[r] = spread * part(r, ranks, chosen, random);
  }

 private:
  constexpr std::size_t chosen_rank(std::size_t ranks, Random& random) const noexcept {
    if (shape == Shape::same_late) return Random(seed, 0).below(ranks);
    return shape == Shape::one_late || shape == Shape::one_early ? random.below(ranks) : 0;
  }

  constexpr double part(std::size_t r, std::size_t ranks, std::size_t chosen,
                        Random& random) const noexcept {
    const auto ramp = [ranks](std::size_t position) {
      return ranks == 1 ? 0.0 : static_cast<double>(position) / static_cast<double>(ranks - 1);
    };
    switch (shape) {
      case Shape::balanced: return 0;
      case Shape::uniform: return random.fraction();
      case Shape::normal: return random.clamped_normal();
      case Shape::one_late:
      case Shape::same_late: return r == chosen ? 1 : 0;
      case Shape::one_early: return r == chosen ? 0 : 1;
      case Shape::ascending: return ramp(r);
      case Shape::descending: return ramp(ranks - 1 - r);
      case Shape::two_groups: return r < (ranks + 1) / 2 ? 0 : 1;
    }
    return 0;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::pattern
