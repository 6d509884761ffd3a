#pragma once

#include <papcoll/config.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Where the elements of a buffer lie if they are not all neighbours: in runs of elements that are.
/// A call counts the elements in the order of the runs, whatever lies between these in memory; what
/// lies between is never written.
class DataView {
 public:
  struct Run {
    std::size_t first;  ///< number of its first element; it ends where the next run begins
    std::ptrdiff_t at;  ///< bytes from the buffer's address to that element
  };

  DataView() = default;

  /// Runs of `length` elements, `stride` bytes from one to the next; as a vector datatype of MPI.
  static DataView strided(std::size_t length, std::ptrdiff_t stride) noexcept {
    DataView v;
    v.length_ = length;
    v.stride_ = stride;
    return v;
  }

  /// Any runs, at least one; the first begins with element 0, and none is empty.
  static DataView of_runs(std::vector<Run> runs) noexcept {
    DataView v;
    v.runs_ = std::move(runs);
    return v;
  }

  /// Bytes from the buffer's address to element i, for elements of `size` bytes. Reduces n to the
  /// number of elements from there on that are neighbours, if it is more.
  std::ptrdiff_t find(std::size_t i, std::size_t size, std::size_t& n) const noexcept {
    if (length_ != 0) {
      const std::size_t in_run = i % length_;
      n = std::min(n, length_ - in_run);
      return static_cast<std::ptrdiff_t>(i / length_) * stride_ +
             static_cast<std::ptrdiff_t>(in_run * size);
    }
    auto run = std::partition_point(runs_.begin(), runs_.end(),
                                    [i](const Run& r) { return r.first <= i; });
    if (run != runs_.end()) n = std::min(n, run->first - i);
    --run;
    return run->at + static_cast<std::ptrdiff_t>((i - run->first) * size);
  }

  /// Calls f(at, n) for each run of the first `count` elements, of `size` bytes: n neighbours, the
  /// first one `at` bytes from the buffer's address.
  template <class F>
  void for_each_run(std::size_t count, std::size_t size, F&& f) const {
    if (length_ != 0) {
      std::ptrdiff_t at = 0;
      for (; count > length_; count -= length_, at += stride_) f(at, length_);
      if (count != 0) f(at, count);
      return;
    }
    for (std::size_t i = 0; i < count;) {
      std::size_t n = count - i;
      const std::ptrdiff_t at = find(i, size, n);
      f(at, n);
      i += n;
    }
  }

 private:
  std::size_t length_ = 0;  ///< 0: runs_ says where the elements are
  std::ptrdiff_t stride_ = 0;
  std::vector<Run> runs_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
