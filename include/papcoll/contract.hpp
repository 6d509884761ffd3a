#pragma once

#include <papcoll/config.hpp>

#include <compare>

namespace papcoll::inline PAPCOLL_ABI {

/// What a collective promises about the bits of its result, weakest first.
enum class NumericalContract : unsigned char {
  fast,             ///< ranks may differ in the last bits
  rank_consistent,  ///< all ranks get the same bits
  reproducible,  ///< bits depend only on inputs, operator, type, count and placement of the ranks
};

/// The weakest contract: whatever is quickest.
struct Fast;
/// The default contract: all ranks get the same bits, run by run they may differ.
struct RankConsistent;
/// The strongest contract: bits never depend on who arrived when.
struct Reproducible;

}  // namespace papcoll::inline PAPCOLL_ABI
