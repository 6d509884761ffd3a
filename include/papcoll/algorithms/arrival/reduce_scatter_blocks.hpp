#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/schedule/range.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Elements of a reduce_scatter's input, on every rank.
inline std::size_t elements_of_all_blocks(const Call& c, int ranks) noexcept {
  return c.counts != nullptr ? c.count : c.count * static_cast<std::size_t>(ranks);
}

/// The elements of a reduce_scatter that rank r gets.
inline Range block_of(const Call& c, int r) noexcept {
  const auto rank = static_cast<std::size_t>(r);
  if (c.counts == nullptr) return {rank * c.count, (rank + 1) * c.count};
  std::size_t first = 0;
  for (std::size_t i = 0; i < rank; ++i) first += c.counts[i];
  return {first, first + c.counts[rank]};
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
