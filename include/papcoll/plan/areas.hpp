#pragma once

#include <papcoll/config.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Pieces of scratch memory that a plan takes and gives back while it is made. Steps that use a
/// piece again wait for those that used it before: StepDependencies goes by addresses.
class Areas {
 public:
  /// The offset of n elements in a row, the first that are free.
  [[gnu::cold]] std::size_t take(std::size_t n) {
    for (auto f = free_.begin(); f != free_.end(); ++f) {
      if (f->n < n) continue;
      const std::size_t at = f->at;
      f->at += n;
      f->n -= n;
      if (f->n == 0) free_.erase(f);
      return at;
    }
    std::size_t at = size_;
    if (!free_.empty() && free_.back().at + free_.back().n == size_) {  // grows by what is missing
      at = free_.back().at;
      free_.pop_back();
    }
    size_ = at + n;
    return at;
  }

  /// The elements can be taken again after settle(). Not before: what is received in the round in
  /// which they were sent would wait for that send, and where all ranks do so, they wait for each
  /// other in a circle.
  [[gnu::cold]] void give_back(std::size_t at, std::size_t n) {
    if (n != 0) resting_.push_back({at, n});
  }

  /// To be called after each receive.
  [[gnu::cold]] void settle() {
    for (const Piece& p : resting_) free_again(p);
    resting_.clear();
  }

  std::size_t size() const noexcept { return size_; }  ///< elements in use at once, at most

 private:
  struct Piece {
    std::size_t at;
    std::size_t n;
  };

  [[gnu::cold]] void free_again(Piece p) {
    auto f = std::partition_point(free_.begin(), free_.end(),
                                  [&](const Piece& x) { return x.at < p.at; });
    f = free_.insert(f, p);
    if (f + 1 != free_.end() && f->at + f->n == f[1].at) {
      f->n += f[1].n;
      free_.erase(f + 1);
    }
    if (f != free_.begin() && f[-1].at + f[-1].n == f->at) {
      f[-1].n += f->n;
      free_.erase(f);
    }
  }

  std::vector<Piece> resting_;
  std::vector<Piece> free_;  ///< sorted, no two of them neighbours
  std::size_t size_ = 0;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
