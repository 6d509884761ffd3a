// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <optional>
#include <string>

namespace bench {

/// Fills the buffers with what can be reduced in place again and again without ever growing: 0 for
/// sums, 1 otherwise. Touches every page.
void fill_for_timing(const Problem& problem, const Buffers& buffers);

/// Fills the buffers for a call whose result check() knows: inputs that depend on rank, element and
/// round, small integers whose combination is exact in every type and order; outputs with rubbish.
void fill_for_check(const Problem& problem, const Buffers& buffers, unsigned round);

/// Compares the output with what every rank can compute for itself, and its gaps, which no call may
/// write, with what was in them; what is wrong, if anything is.
std::optional<std::string> check(const Problem& problem, const Buffers& buffers, unsigned round);

}  // namespace bench
