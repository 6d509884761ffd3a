#include "catch.hpp"

#include <papcoll/base/trivial_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

using namespace papcoll;
using papcoll::detail::TrivialVector;

namespace {

struct Record {
  char c = 'x';
  std::uint64_t n = 0;
  friend bool operator==(const Record&, const Record&) = default;
};

bool same(const TrivialVector<Record>& found, const std::vector<Record>& expected) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
}

}  // namespace

TEST_CASE("a trivial vector holds what a std::vector holds", "[base]") {
  std::uint64_t state = 3;
  const auto below = [&state](std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33U) % n);
  };
  TrivialVector<Record> found;
  std::vector<Record> expected;
  for (std::uint64_t i = 1; i < 5000; ++i) {
    const std::size_t at = below(expected.size() + 1);
    const auto place = expected.begin() + static_cast<std::ptrdiff_t>(at);
    const Record r{static_cast<char>(i), i};
    const Record several[3] = {r, {'y', 1}, {'z', 2}};
    switch (below(7)) {
      case 0:
        found.push_back(r);
        expected.push_back(r);
        break;
      case 1:
        found.insert(at, r);
        expected.insert(place, r);
        break;
      case 2: {
        const std::size_t last = at + below(expected.size() - at + 1) / 4;
        found.erase(at, last);
        expected.erase(place, expected.begin() + static_cast<std::ptrdiff_t>(last));
        break;
      }
      case 3: {
        const std::size_t n = below(4);
        found.append(several, n);
        expected.insert(expected.end(), several, several + n);
        break;
      }
      case 4:
        found.resize(at + 2, r);
        expected.resize(at + 2, r);
        break;
      case 5:
        if (expected.empty()) break;
        found.pop_back();
        expected.pop_back();
        break;
      default:
        found.resize(at);
        expected.resize(at);
    }
    REQUIRE(same(found, expected));
    REQUIRE(found.empty() == expected.empty());
  }
}

TEST_CASE("a trivial vector is copied and moved", "[base]") {
  TrivialVector<Record> a(3);
  a[1].n = 7;
  const TrivialVector<Record> copy = a;
  CHECK(same(copy, {{}, {'x', 7}, {}}));
  a.front().n = 1;
  CHECK(copy.front().n == 0);
  TrivialVector<Record> moved = std::move(a);
  CHECK(same(moved, {{'x', 1}, {'x', 7}, {}}));
  moved = copy;
  CHECK(same(moved, {{}, {'x', 7}, {}}));
  moved = TrivialVector<Record>{};
  CHECK(moved.empty());
  CHECK(copy.back() == Record{});
}

TEST_CASE("a trivial vector without memory throws and stays as it was", "[base]") {
  TrivialVector<Record> v(2);
  CHECK_THROWS_AS(v.resize(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
  CHECK(same(v, {{}, {}}));
}
