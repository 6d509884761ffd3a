#pragma once

#include <papcoll/base/config.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What a collective promises about the bits of its result, weakest first.
enum class NumericalContract : unsigned char {
  fast,             ///< ranks may differ in the last bits
  rank_consistent,  ///< all ranks get the same bits
  reproducible,  ///< bits depend only on inputs, operator, type, count and placement of the ranks
};

/// The names of contracts, by their values.
inline constexpr std::array<std::string_view, 3> contract_names{"Fast", "RankConsistent",
                                                                "Reproducible"};

/// The name as in algorithms' names.
constexpr std::string_view name_of(NumericalContract c) noexcept {
  return contract_names[static_cast<std::size_t>(c)];
}

/// The contract of that name, or nothing.
constexpr std::optional<NumericalContract> contract_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < contract_names.size(); ++i) {
    if (contract_names[i] == name) return static_cast<NumericalContract>(i);
  }
  return {};
}

/// The weakest contract: ranks may get results that differ in the last bits. A permission for
/// algorithms to come; all that papcoll has give RankConsistent at least.
struct Fast;
/// The default contract: all ranks get the same bits, run by run they may differ.
struct RankConsistent;
/// The strongest contract: bits never depend on who arrived when.
struct Reproducible;

}  // namespace papcoll::inline PAPCOLL_ABI
