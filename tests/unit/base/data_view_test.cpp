// SPDX-License-Identifier: BSD-3-Clause
// Where the elements of a buffer lie that is not contiguous.

#include "catch.hpp"

#include <papcoll/base/buffer_view.hpp>

#include <array>
#include <cstddef>
#include <vector>

using papcoll::BufferView;

TEST_CASE("nested steps are found element by element and run by run", "[base]") {
  // Of 2 bytes each: runs of 3, in rows of 4, 20 bytes apart and backwards, in planes 200 apart.
  const std::array<BufferView::Step, 2> steps{{{4, -20}, {3, 200}}};
  const BufferView view = BufferView::nested(3, steps);
  std::vector<std::ptrdiff_t> places;
  for (std::ptrdiff_t plane = 0; plane < 3; ++plane) {
    for (std::ptrdiff_t row = 0; row < 4; ++row) {
      for (std::ptrdiff_t i = 0; i < 3; ++i) places.push_back(200 * plane - 20 * row + 2 * i);
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::size_t n = 100;
    CHECK(view.find(i, 2, n) == places[i]);
    CHECK(n == 3 - i % 3);
  }
  for (std::size_t first = 0; first < places.size(); ++first) {
    for (std::size_t count = 0; first + count <= places.size(); ++count) {
      std::vector<std::ptrdiff_t> found;
      view.for_each_run(first, count, 2, [&](std::ptrdiff_t at, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
          found.push_back(at + 2 * static_cast<std::ptrdiff_t>(i));
      });
      const auto from = places.begin() + static_cast<std::ptrdiff_t>(first);
      const std::vector<std::ptrdiff_t> right(from, from + static_cast<std::ptrdiff_t>(count));
      CHECK(found == right);
    }
  }
}
