// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// As f(n), where a compiler knows n if it is that of a short run: the copy is a load and a store.
template <class F> void with_known_bytes(std::size_t n, F&& f) {
  switch (n) {
    case 4: return f(std::size_t{4});
    case 8: return f(std::size_t{8});
    case 16: return f(std::size_t{16});
    default: return f(n);
  }
}

}  // namespace detail

/// Where the elements of a buffer are if they are not contiguous: in runs of contiguous elements. A
/// call counts the elements in the order of the runs, whatever lies between these in memory; what
/// lies between is never written.
class BufferView {
 public:
  /// The most dimensions of a buffer that is not contiguous.
  static constexpr std::size_t most_dimensions = 8;

  struct Run {
    std::size_t first;  ///< number of its first element; it ends where the next run begins
    std::ptrdiff_t at;  ///< bytes from the buffer's address to that element
    friend bool operator==(const Run&, const Run&) = default;
  };
  /// A dimension of runs.
  struct Step {
    std::size_t count;      ///< runs, or groups of runs of the dimensions before it
    std::ptrdiff_t stride;  ///< bytes from one to the next
    friend bool operator==(const Step&, const Step&) = default;
  };

  BufferView() = default;

  /// Runs of `length` elements, `stride` bytes from one to the next; as a vector datatype of MPI.
  static BufferView strided(std::size_t length, std::ptrdiff_t stride) noexcept {
    const Step step{1, stride};
    return nested(length, {&step, 1});
  }

  /// Runs of `length` elements, not 0, in 1 to most_dimensions steps: the first goes from run to
  /// run, the next from one group of them to the next. The last has no end.
  static BufferView nested(std::size_t length, std::span<const Step> steps) noexcept {
    BufferView v{uses};
    v.length_ = length;
    v.dimensions_ = steps.size();
    std::copy(steps.begin(), steps.end(), v.steps_.begin());
    return v;
  }

  /// Any runs, at least one; the first begins with element 0, and none is empty.
  static BufferView of_runs(detail::Vector<Run> runs) noexcept {
    BufferView v{uses};
    v.runs_ = std::move(runs);
    return v;
  }

  /// The runs of a list, whose memory may serve another; empty if there is none.
  detail::Vector<Run> take_runs() noexcept { return std::exchange(runs_, {}); }
  /// The runs of a list.
  const detail::Vector<Run>& runs() const noexcept { return runs_; }
  /// Elements of each run that goes in steps; 0: of a list.
  std::size_t length() const noexcept { return length_; }
  /// The steps from run to run, as passed to nested().
  std::span<const Step> steps() const noexcept { return {steps_.data(), dimensions_}; }
  /// Returns true if both place elements alike.
  friend bool operator==(const BufferView& a, const BufferView& b) noexcept {
    return a.length_ == b.length_ && a.steps_ == b.steps_ && a.runs_ == b.runs_;
  }

  /// Returns the bytes from the buffer's address to element i, for elements of `size` bytes.
  /// Reduces n to the number of contiguous elements from there on, if it is more.
  std::ptrdiff_t find(std::size_t i, std::size_t size, std::size_t& n) const noexcept {
    return uses_->find(*this, i, size, n);
  }
  /// See the functions of these names below.
  void pack(std::byte* to, const std::byte* from, std::size_t first, std::size_t count,
            std::size_t size) const noexcept {
    uses_->pack(*this, to, from, first, count, size);
  }
  void unpack(std::byte* to, const std::byte* from, std::size_t count,
              std::size_t size) const noexcept {
    uses_->unpack(*this, to, from, count, size);
  }

  /// Calls f(at, n) for each run of `count` elements from `first` on, of `size` bytes: n contiguous
  /// elements, the first `at` bytes from the buffer's address.
  template <class F>
  void for_each_run(std::size_t first, std::size_t count, std::size_t size, F&& f) const {
    const std::size_t end = first + count;
    const auto one = [&](std::size_t from) {
      std::size_t n = end - from;
      const std::ptrdiff_t at = find_element(from, size, n);
      f(at, n);
      return n;
    };
    if (length_ == 0) {
      while (first < end) first += one(first);
      return;
    }
    if (first < end && first % length_ != 0) first += one(first);
    while (first < end) {  // a row of runs at a time
      const std::size_t run = first / length_;
      std::size_t runs = (end - first) / length_;
      if (dimensions_ > 1) runs = std::min(runs, steps_[0].count - run % steps_[0].count);
      if (runs == 0) {
        one(first);
        return;
      }
      std::ptrdiff_t at = place_of_run(run);
      for (std::size_t r = 0; r < runs; ++r, at += steps_[0].stride) f(at, length_);
      first += runs * length_;
    }
  }

 private:
  /// What the functions of these names do: pointers, so that a program that makes no view does not
  /// compile it.
  struct Uses {
    std::ptrdiff_t (*find)(const BufferView&, std::size_t i, std::size_t size, std::size_t& n);
    void (*pack)(const BufferView&, std::byte* to, const std::byte* from, std::size_t first,
                 std::size_t count, std::size_t size);
    void (*unpack)(const BufferView&, std::byte* to, const std::byte* from, std::size_t count,
                   std::size_t size);
  };
  static const Uses uses;

  explicit BufferView(const Uses& what) noexcept : uses_(&what) {}

  std::ptrdiff_t find_element(std::size_t i, std::size_t size, std::size_t& n) const noexcept {
    if (length_ != 0) {
      const std::size_t in_run = i % length_;
      n = std::min(n, length_ - in_run);
      return place_of_run(i / length_) + static_cast<std::ptrdiff_t>(in_run * size);
    }
    auto run = std::partition_point(runs_.begin(), runs_.end(),
                                    [i](const Run& r) { return r.first <= i; });
    if (run != runs_.end()) n = std::min(n, run->first - i);
    --run;
    return run->at + static_cast<std::ptrdiff_t>((i - run->first) * size);
  }

  std::ptrdiff_t place_of_run(std::size_t run) const noexcept {
    std::ptrdiff_t at = 0;
    std::size_t d = 0;
    for (; d + 1 < dimensions_; ++d) {
      at += static_cast<std::ptrdiff_t>(run % steps_[d].count) * steps_[d].stride;
      run /= steps_[d].count;
    }
    return at + static_cast<std::ptrdiff_t>(run) * steps_[d].stride;
  }

  const Uses* uses_ = nullptr;
  std::size_t length_ = 0;  ///< 0: runs_ says where the elements are
  std::size_t dimensions_ = 0;
  std::array<Step, most_dimensions> steps_{};
  detail::Vector<Run> runs_;
};

inline constexpr BufferView::Uses BufferView::uses{
    [](const BufferView& v, std::size_t i, std::size_t size, std::size_t& n) {
      return v.find_element(i, size, n);
    },
    [](const BufferView& v, std::byte* to, const std::byte* from, std::size_t first,
       std::size_t count, std::size_t size) {
      v.for_each_run(first, count, size, [&](std::ptrdiff_t at, std::size_t n) {
        detail::with_known_bytes(n * size, [&](std::size_t bytes) {
          std::memcpy(to, from + at, bytes);
          to += bytes;
        });
      });
    },
    [](const BufferView& v, std::byte* to, const std::byte* from, std::size_t count,
       std::size_t size) {
      v.for_each_run(0, count, size, [&](std::ptrdiff_t at, std::size_t n) {
        detail::with_known_bytes(n * size, [&](std::size_t bytes) {
          std::memcpy(to + at, from, bytes);
          from += bytes;
        });
      });
    }};

namespace detail {

/// Copies `count` elements of `size` bytes, from number `first` on, from where they are; a null
/// view: they are contiguous.
inline void pack(std::byte* to, const std::byte* from, const BufferView* view, std::size_t first,
                 std::size_t count, std::size_t size) {
  if (count == 0) return;
  if (view == nullptr) {
    std::memcpy(to, from + first * size, count * size);
  } else {
    view->pack(to, from, first, count, size);
  }
}

/// The other way, for the first `count` elements; what lies between them is not written.
inline void unpack(std::byte* to, const BufferView* view, const std::byte* from, std::size_t count,
                   std::size_t size) {
  if (count == 0) return;
  if (view == nullptr) {
    std::memcpy(to, from, count * size);
  } else {
    view->unpack(to, from, count, size);
  }
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
