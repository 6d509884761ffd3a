// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

// The contents of selection files.

namespace detail {

/// What files name, as explain() writes it: rules and what was learned have them by their places.
inline constexpr std::array<std::string_view, 32> kept_algorithms{
    "Accumulator",
    "ArrivalOrder+Chain",
    "Binomial",
    "BlockCopies",
    "BlockCopies by the kernel",
    "BlockCopies in pieces",
    "Bruck",
    "CombiningTree",
    "Dissemination",
    "DynamicLeader",
    "Exchange",
    "Hierarchical",
    "Hierarchical of Ring",
    "Hierarchical of StragglAR",
    "Linear",
    "MultiLeader",
    "Pairwise",
    "PeerSlices",
    "PeerSlices by the kernel",
    "PipelinedChain",
    "PrefixRuns",
    "PrefixRuns by the kernel",
    "Rabenseifner",
    "RecursiveDoubling",
    "RecursiveHalving",
    "ReduceScatterGather",
    "Ring",
    "ScatterAllgather",
    "SplitTail",
    "SpreadOut",
    "Suara",
    "TwoTreeComplete",
};

static_assert(kept_algorithms.size() <= 64);

/// The place of a name there; their number: there is none.
inline std::size_t kept_algorithm(std::string_view name) noexcept {
  return static_cast<std::size_t>(std::find(kept_algorithms.begin(), kept_algorithms.end(), name) -
                                  kept_algorithms.begin());
}

}  // namespace detail

/// Whole numbers, both ends included.
struct RuleRange {
  std::size_t from = 0;
  std::size_t to = SIZE_MAX;

  bool has(std::size_t n) const noexcept { return from <= n && n <= to; }
};

/// By what calls run that it fits.
struct SelectionRule {
  Collective collective = Collective::barrier;
  RuleRange ranks;
  RuleRange ranks_per_node;
  RuleRange bytes;
  std::size_t algorithm = 0;  ///< in kept_algorithms

  bool fits(const Call& call, int size, int on_node) const noexcept {
    return call.collective == collective && ranks.has(static_cast<std::size_t>(size)) &&
           ranks_per_node.has(static_cast<std::size_t>(on_node)) && bytes.has(call.bytes());
  }
};

/// Teams to which it is of use what one of them has learned.
struct TeamLikeness {
  std::size_t ranks = 0;
  std::size_t ranks_per_node = 0;
  std::size_t processors = 0;  ///< that the ranks of a node could run on; 0: unknown

  friend bool operator==(const TeamLikeness&, const TeamLikeness&) = default;
};

/// What was the quickest for calls of a kind.
struct LearnedCall {
  TeamLikeness team;
  std::uint16_t kind = 0;       ///< as CallKind::key()
  std::size_t best = 0;         ///< in kept_algorithms
  std::uint32_t ns = 0;         ///< what it cost
  std::uint64_t very_slow = 0;  ///< bit i: that at place i is not to be tried soon
};

/// What things cost between the ranks of a team.
struct LearnedCosts {
  TeamLikeness team;
  PeerCosts costs;
};

/// The maker of a file: version and machine.
struct MadeBy {
  std::string papcoll;    ///< its version
  std::string processor;  ///< the machine's, the model
  std::string kernel;     ///< the release
  std::size_t processors = 0;

  friend bool operator==(const MadeBy&, const MadeBy&) = default;

  /// Returns this papcoll, on the machine that add_machine() has described.
  [[gnu::cold]] static MadeBy of_machine(std::string_view texts) {
    const auto plain = [](std::string_view text) {  // without what JSON would have to escape
      std::string s;
      for (const char c : text) {
        if (c != '"' && c != '\\' && c >= ' ' && c <= '~') s += c;
      }
      return s;
    };
    MadeBy m;
    m.papcoll = detail::joined(
        {PAPCOLL_VERSION_MAJOR, ".", PAPCOLL_VERSION_MINOR, ".", PAPCOLL_VERSION_PATCH});
    const std::string_view model = detail::next_text(texts);
    m.processor = plain(model.substr(std::min(model.find(": ") + 2, model.size())));
    const std::string number{detail::next_text(texts)};
    m.processors = std::strtoull(number.c_str(), nullptr, 10);
    m.kernel = plain(detail::next_text(texts));
    return m;
  }
  [[gnu::cold]] static MadeBy here() {
    std::string texts;
    detail::add_machine(texts);
    return of_machine(texts);
  }
};

struct SelectionFile {
  MadeBy made_by;
  Thresholds thresholds;
  detail::Vector<SelectionRule> rules;
  detail::Vector<LearnedCosts> costs;
  detail::Vector<LearnedCall> calls;
};

}  // namespace papcoll::inline PAPCOLL_ABI
