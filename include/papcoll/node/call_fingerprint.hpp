// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// The fingerprint of a rank's call, published when it arrives. Equal on all ranks if the calls
/// match.
struct CallFingerprint {
  /// 48 bits of the number of elements, which is as many as memory holds, and the upper 16 of
  /// Call::types.
  std::uint64_t count = 0;
  /// From the lowest bit: 4 of the collective, 16 of the algorithm, 20 of the root (of
  /// reduce_scatter: of its counts), the lower 24 of Call::types.
  std::uint64_t packed = 0;

  static constexpr CallFingerprint of(std::size_t count, Collective collective,
                                      std::uint32_t algorithm, std::uint32_t root,
                                      std::uint64_t types) noexcept {
    return {(count & all_elements) | types >> 24 << 48,
            static_cast<std::uint64_t>(collective) |
                static_cast<std::uint64_t>(algorithm & 0xffffU) << 4 |
                static_cast<std::uint64_t>(root & 0xfffffU) << 20 | types << 40};
  }

  friend bool operator==(const CallFingerprint&, const CallFingerprint&) = default;

  /// Even.
  std::uint32_t hash() const noexcept {
    const std::uint64_t mixed = (count * 0x9e3779b97f4a7c15U) ^ packed;
    return static_cast<std::uint32_t>((mixed * 0x9e3779b97f4a7c15U) >> 33U) << 1U;
  }

  /// `count` of a call whose ranks know the counts of their own blocks only.
  static constexpr std::size_t local_counts = (std::size_t{1} << 48) - 1;
  static constexpr std::uint64_t invalid = ~std::uint64_t{0};  ///< `packed` of a rank that gave up

  /// A sentence part for messages: "reduce of 3 elements with root 1".
  [[gnu::cold]] std::string describe() const {
    if (elements() == local_counts) {
      const std::string name = detail::joined({name_of(collective()), "v"});
      return is_rooted(collective()) ? detail::joined({name, " with root ", root()}) : name;
    }
    return papcoll::describe(collective(), elements(), static_cast<int>(root()));
  }

  /// Returns a text on how the calls of two ranks differ, and what to do about it.
  [[gnu::cold, gnu::noinline]] static std::string difference(const CallFingerprint& a, int rank_a,
                                                             const CallFingerprint& b, int rank_b) {
    if (rank_b < rank_a) return difference(b, rank_b, a, rank_a);
    return detail::joined(
        {"the ranks' calls do not match: ", describe_difference(a, rank_a, b, rank_b)});
  }

  /// As difference() above, for a rank of whose call only the hash is known.
  [[gnu::cold, gnu::noinline]] std::string difference(int rank, std::uint32_t other_hash, int other,
                                                      int ranks) const {
    if (other_hash == CallFingerprint{0, invalid}.hash()) {
      return detail::joined({"rank ", other, "'s call was invalid; its exception said why"});
    }
    CallFingerprint guess = *this;
    for (int r = 0; r < ranks && is_rooted(collective()); ++r) {
      guess.packed = (packed & ~(std::uint64_t{0xfffff} << 20)) | static_cast<std::uint64_t>(r)
                                                                      << 20;
      if (guess.hash() != other_hash) continue;
      return other < rank ? describe_difference(guess, other, *this, rank)
                          : describe_difference(*this, rank, guess, other);
    }
    return detail::joined(
        {"rank ", rank, " called ", describe(), ", rank ", other,
         " something else: all ranks must make the same calls in the same order, of the same type, "
         "operator and policies"});
  }

  /// Returns true if each rank knows the counts of its own blocks only.
  bool has_own_counts() const noexcept { return elements() == local_counts; }

 private:
  static constexpr std::uint64_t all_elements = (std::uint64_t{1} << 48) - 1;

  std::uint64_t elements() const noexcept { return count & all_elements; }
  std::uint64_t types() const noexcept { return packed >> 40 | count >> 48 << 24; }
  Collective collective() const noexcept { return static_cast<Collective>(packed & 0xf); }
  std::uint64_t root() const noexcept { return packed >> 20 & 0xfffff; }

  [[gnu::cold]] static std::string describe_difference(const CallFingerprint& a, int rank_a,
                                                       const CallFingerprint& b, int rank_b) {
    return detail::joined({"rank ", rank_a, " called ", a.describe(), ", rank ", rank_b, " called ",
                           b.describe(), remedy(a, b)});
  }

  [[gnu::cold]] static std::string remedy(const CallFingerprint& a, const CallFingerprint& b) {
    if (a.collective() != b.collective()) {
      return ": all ranks must call the same collectives in the same order";
    }
    if (a.elements() != b.elements()) {
      return a.elements() == local_counts || b.elements() == local_counts
                 ? ": all ranks must call the same collectives in the same order"
                 : ": all ranks must pass the same number of elements";
    }
    if (a.root() != b.root()) {
      return is_rooted(a.collective())
                 ? ": all ranks must name the same root"
                 : "; their papcoll::counts differ: all ranks must pass the same ones";
    }
    const std::uint64_t types = a.types() ^ b.types();
    if ((types & types_on_device) != 0) {
      return "; the buffers of one are in memory of a device: all ranks must call the collective "
             "of "
             "papcoll::gpu, or none";
    }
    const bool operators = (types >> 1 & 0x1ffff) != 0;
    if (types >> 18 != 0) {
      return operators ? "; their element types and operators differ: all ranks must pass the same"
                       : "; their element types differ: all ranks must pass elements of the same "
                         "type";
    }
    if (operators) return "; their operators differ: all ranks must pass the same one";
    if (types != 0) {
      return "; only some of their operators commute: all ranks must declare the same";
    }
    return "; their algorithms differ: all ranks must name the same policies";
  }
};

/// What ranks that share no memory find out when they compare their calls: the element of an
/// allreduce. Each begins with its own call; afterwards all have the same, which names the first
/// two consecutive ranks whose calls differ, if any do.
struct ComparedCalls {
  ComparedCalls(const CallFingerprint& fingerprint, int rank, std::string_view refusal) noexcept
      : first{fingerprint, rank},
        last{first},
        differ(fingerprint.packed == CallFingerprint::invalid) {
    const std::size_t n = std::min(refusal.size(), sizeof text - 1);
    std::copy_n(refusal.data(), n, text);
  }

  /// The allreduce that compares; `*this` is its buffer and must outlive it.
  Call call() noexcept {
    Call c;
    c.collective = Collective::allreduce;
    c.out = reinterpret_cast<std::byte*>(this);
    c.in = c.out;
    c.count = 1;
    c.reducer = {&combine, nullptr, sizeof *this, false};
    return c;
  }

  /// Returns a text on what is wrong; asked only if `differ`.
  std::string describe() const {
    if (text[0] != '\0') return text;
    return CallFingerprint::difference(first.fingerprint, first.rank, last.fingerprint, last.rank);
  }

  struct RankCall {
    CallFingerprint fingerprint;
    int rank;
  };
  RankCall first;  ///< of the ranks compared; if they differ, of the two
  RankCall last;
  bool differ;
  char text[240] = {};  ///< what a rank whose call was invalid says of it

 private:
  static void combine(std::byte* out, const std::byte* low, const std::byte* high, std::size_t,
                      const void*) noexcept {
    const auto& a = *reinterpret_cast<const ComparedCalls*>(low);
    const auto& b = *reinterpret_cast<const ComparedCalls*>(high);
    ComparedCalls both = b.differ && !a.differ ? b : a;
    if (!both.differ && a.last.fingerprint == b.first.fingerprint) {
      both.last = b.last;
    } else if (!both.differ) {
      both.first = a.last;
      both.last = b.first;
      both.differ = true;
    }
    *reinterpret_cast<ComparedCalls*>(out) = both;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
