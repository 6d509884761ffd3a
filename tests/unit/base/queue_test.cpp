// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/vector.hpp>

#include <cstddef>

namespace {

/// Counts how often one is moved.
struct Counted {
  explicit Counted(int n) noexcept : number(n) {}
  Counted(Counted&& o) noexcept : number(o.number) { ++moved; }
  Counted& operator=(Counted&& o) noexcept {
    number = o.number;
    ++moved;
    return *this;
  }
  int number;
  static inline std::size_t moved = 0;
};

}  // namespace

TEST_CASE("a queue gives its elements in order, and moves each a few times", "[base]") {
  constexpr int many = 20'000;
  papcoll::Queue<Counted> queue;
  bool right = true;
  int next = 0;
  for (int i = 0; i < many; ++i) queue.push(Counted{i});
  const std::size_t before = Counted::moved;
  for (int i = many; i < 2 * many; ++i) {  // as many go as come
    queue.push(Counted{i});
    right &= queue.front().number == next++;
    queue.pop();
  }
  while (!queue.empty()) {
    right &= queue.front().number == next++;
    queue.pop();
  }
  CHECK(right);
  CHECK(next == 2 * many);
  CHECK(Counted::moved - before <= std::size_t{5} * many);
}
