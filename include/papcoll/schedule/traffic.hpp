#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// How much the positions of a schedule send each other in one call, as shares of the whole vector.
class Traffic {
 public:
  /// What one position sends another.
  struct Arc {
    int from;     ///< the sender
    int to;       ///< the receiver
    float share;  ///< of the whole vector; above 1 if parts of it go several times
  };

  /// Nothing is sent among so many positions.
  explicit Traffic(int size) : size_(size) {}

  /// How many positions there are.
  int size() const noexcept { return size_; }
  /// Adds to what `from` sends `to`. Successive calls for the same pair are one arc.
  [[gnu::cold]] void add(int from, int to, double share) {
    if (from == to || share == 0) return;
    if (!arcs_.empty() && arcs_.back().from == from && arcs_.back().to == to) {
      arcs_.back().share += static_cast<float>(share);
    } else {
      arcs_.push_back({from, to, static_cast<float>(share)});
    }
  }
  /// In the order of add(); there may be several from one position to another.
  std::span<const Arc> arcs() const noexcept { return {arcs_.data(), arcs_.size()}; }

 private:
  int size_;
  detail::Vector<Arc> arcs_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
