// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Which of many messages in flight MPI is asked for, so that asking takes the same time however
/// many there are: the newest, since a rank with many in flight often waits for one that was just
/// begun, and some of the others, all of them in turn.
class AskedInTurn {
 public:
  static constexpr std::size_t at_once = 64;
  struct Range {
    std::size_t first;
    std::size_t count;
  };

  static Range newest(std::size_t all) noexcept {
    const std::size_t count = std::min(all, at_once);
    return {all - count, count};
  }
  Range next(std::size_t all) noexcept {
    const std::size_t first = next_ < all ? next_ : 0;
    next_ = first + at_once;
    return {first, std::min(all - first, at_once)};
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
