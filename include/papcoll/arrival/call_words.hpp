#pragma once

#include <papcoll/collective.hpp>
#include <papcoll/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank says of its call when it arrives. Equal on all ranks if the calls match.
struct CallWords {
  std::uint64_t count = 0;
  /// From the lowest bit: 4 of the collective, 16 of the algorithm, 20 of the root (of
  /// reduce_scatter: of its counts), 24 of Call::types.
  std::uint64_t what = 0;

  static constexpr CallWords of(std::size_t count, Collective collective, std::uint32_t algorithm,
                                std::uint32_t root, std::uint32_t types) noexcept {
    return {count, static_cast<std::uint64_t>(collective) |
                       static_cast<std::uint64_t>(algorithm & 0xffffU) << 4 |
                       static_cast<std::uint64_t>(root & 0xfffffU) << 20 |
                       static_cast<std::uint64_t>(types) << 40};
  }

  friend bool operator==(const CallWords&, const CallWords&) = default;

  std::uint32_t hash() const noexcept {
    const std::uint64_t mixed = (count * 0x9e3779b97f4a7c15U) ^ what;
    return static_cast<std::uint32_t>((mixed * 0x9e3779b97f4a7c15U) >> 32U);
  }

  static constexpr std::uint64_t invalid = ~std::uint64_t{0};  ///< `what` of a rank that gave up

  /// A sentence part for messages: "reduce of 3 elements with root 1".
  [[gnu::cold]] std::string describe() const {
    return papcoll::describe(collective(), count, static_cast<int>(root()));
  }

  /// How the calls of two ranks differ, and what to do about it.
  [[gnu::cold, gnu::noinline]] static std::string difference(const CallWords& a, int rank_a,
                                                             const CallWords& b, int rank_b) {
    if (rank_b < rank_a) return difference(b, rank_b, a, rank_a);
    return "the ranks' calls do not match: " + contrast(a, rank_a, b, rank_b);
  }

  /// The same, where of the other rank's call only the hash is known.
  [[gnu::cold, gnu::noinline]] std::string difference(int rank, std::uint32_t other_hash, int other,
                                                      int ranks) const {
    CallWords guess = *this;
    for (int r = 0; r < ranks && is_rooted(collective()); ++r) {
      guess.what = (what & ~(std::uint64_t{0xfffff} << 20)) | static_cast<std::uint64_t>(r) << 20;
      if (guess.hash() != other_hash) continue;
      return other < rank ? contrast(guess, other, *this, rank)
                          : contrast(*this, rank, guess, other);
    }
    return "rank " + std::to_string(rank) + " called " + describe() + ", rank " +
           std::to_string(other) +
           " something else: all ranks must make the same calls in the same order";
  }

 private:
  Collective collective() const noexcept { return static_cast<Collective>(what & 0xf); }
  std::uint64_t root() const noexcept { return what >> 20 & 0xfffff; }

  static std::string contrast(const CallWords& a, int rank_a, const CallWords& b, int rank_b) {
    return "rank " + std::to_string(rank_a) + " called " + a.describe() + ", rank " +
           std::to_string(rank_b) + " called " + b.describe() + remedy(a, b);
  }

  static std::string remedy(const CallWords& a, const CallWords& b) {
    const auto differ = [changed = a.what ^ b.what](int from, int bits) {
      return (changed >> from & ((std::uint64_t{1} << bits) - 1)) != 0;
    };
    if (differ(0, 4)) return ": all ranks must call the same collectives in the same order";
    if (a.count != b.count) return ": all ranks must pass the same number of elements";
    if (differ(20, 20)) {
      return is_rooted(a.collective())
                 ? ": all ranks must name the same root"
                 : "; their papcoll::counts differ: all ranks must pass the same ones";
    }
    if (differ(52, 12) && differ(41, 11)) {
      return "; their element types and operators differ: all ranks must pass the same";
    }
    if (differ(52, 12)) {
      return "; their element types differ: all ranks must pass elements of the same type";
    }
    if (differ(41, 11)) return "; their operators differ: all ranks must pass the same one";
    if (differ(40, 1)) {
      return "; only some of their operators commute: all ranks must declare the same";
    }
    return "; their algorithms differ: all ranks must name the same policies";
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
