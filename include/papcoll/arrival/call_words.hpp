#pragma once

#include <papcoll/collective.hpp>
#include <papcoll/config.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank says of its call when it arrives. Equal on all ranks if the calls match.
struct CallWords {
  std::uint64_t count = 0;
  /// From the lowest bit: 4 of the collective, 8 of the algorithm, 20 of the root, 32 of types,
  /// operator and whatever else must be the same.
  std::uint64_t what = 0;

  friend bool operator==(const CallWords&, const CallWords&) = default;

  std::uint32_t hash() const noexcept {
    const std::uint64_t mixed = (count * 0x9e3779b97f4a7c15U) ^ what;
    return static_cast<std::uint32_t>((mixed * 0x9e3779b97f4a7c15U) >> 32U);
  }

  static constexpr std::uint64_t invalid = ~std::uint64_t{0};  ///< `what` of a rank that gave up

  /// A sentence part for messages: "reduce of 3 elements with root 1".
  std::string describe() const {
    const auto collective = static_cast<Collective>(what & 0xf);
    std::string text{name_of(collective)};
    if (collective == Collective::barrier) return text;
    text += " of " + std::to_string(count) + " elements";
    if (is_rooted(collective)) text += " with root " + std::to_string((what >> 12) & 0xfffff);
    return text;
  }

  /// How the calls of two ranks differ.
  static std::string difference(const CallWords& a, int rank_a, const CallWords& b, int rank_b) {
    std::string text = "the ranks' calls do not match: rank " + std::to_string(rank_a) +
                       " called " + a.describe() + ", rank " + std::to_string(rank_b) + " called " +
                       b.describe();
    if (a.describe() == b.describe()) {
      text += (a.what >> 32) != (b.what >> 32) ? "; element types, operators or algorithms differ"
                                               : "; their algorithms differ";
    }
    return text;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
