// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// A vector clock: of each stream, how many of its operations certainly come before. Operations of
/// a stream are numbered from 1.
class Clock {
 public:
  /// Returns how many operations of the stream certainly come before.
  std::size_t of(std::size_t stream) const noexcept {
    return stream < counts_.size() ? counts_[stream] : 0;
  }

  /// Operation `number` of `stream` and all that it is behind come before, too.
  void add(std::size_t stream, std::size_t number) {
    if (counts_.size() <= stream) counts_.resize(stream + 1);
    counts_[stream] = std::max(counts_[stream], number);
  }

  /// All that comes before `other` comes before, too.
  void join(const Clock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t s = 0; s < other.counts_.size(); ++s) {
      counts_[s] = std::max(counts_[s], other.counts_[s]);
    }
  }

 private:
  std::vector<std::size_t> counts_;
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
