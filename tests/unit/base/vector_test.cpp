// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

using namespace papcoll;
using papcoll::detail::Vector;

namespace {

struct Record {
  char c = 'x';
  std::uint64_t n = 0;
  friend bool operator==(const Record&, const Record&) = default;
};

bool same(const Vector<Record>& found, const std::vector<Record>& expected) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
}

}  // namespace

TEST_CASE("a Vector holds what a std::vector holds", "[base]") {
  std::uint64_t state = 3;
  const auto below = [&state](std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33U) % n);
  };
  Vector<Record> found;
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
        found.insert(found.begin() + at, r);
        expected.insert(place, r);
        break;
      case 2: {
        const std::size_t last = at + below(expected.size() - at + 1) / 4;
        found.erase(found.begin() + at, found.begin() + last);
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
      default: found.resize(at); expected.resize(at);
    }
    REQUIRE(same(found, expected));
    REQUIRE(found.empty() == expected.empty());
  }
}

TEST_CASE("a Vector of elements with memory of their own holds what a std::vector holds",
          "[base]") {
  std::uint64_t state = 5;
  const auto below = [&state](std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33U) % n);
  };
  Vector<std::string> found;
  std::vector<std::string> expected;
  for (int i = 1; i < 5000; ++i) {
    const std::size_t at = below(expected.size() + 1);
    const auto place = expected.begin() + static_cast<std::ptrdiff_t>(at);
    const std::string text = std::string(below(40), 'a') + std::to_string(i);
    switch (below(8)) {
      case 0:
        found.emplace_back(text);
        expected.push_back(text);
        break;
      case 1:
        found.insert(found.begin() + at, text);
        expected.insert(place, text);
        break;
      case 2: {
        const std::size_t last = at + below(expected.size() - at + 1) / 4;
        found.erase(found.begin() + at, found.begin() + last);
        expected.erase(place, expected.begin() + static_cast<std::ptrdiff_t>(last));
        break;
      }
      case 3:
        found.resize(at + 2, text);
        expected.resize(at + 2, text);
        break;
      case 4:
        found.erase_if([](const std::string& s) { return s.size() % 7 == 0; });
        std::erase_if(expected, [](const std::string& s) { return s.size() % 7 == 0; });
        break;
      case 5: {
        Vector<std::string> copy = found;
        CHECK(copy == found);
        copy.push_back(text);
        CHECK(!(copy == found));
        found = std::move(copy);
        expected.push_back(text);
        break;
      }
      case 6:
        if (expected.empty()) break;
        found.pop_back();
        expected.pop_back();
        break;
      default:
        found.reserve(at);
        found.resize(at);
        expected.resize(at);
    }
    REQUIRE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  }
  found.assign(3, "x");
  CHECK(found == Vector<std::string>{"x", "x", "x"});
}

TEST_CASE("elements are sorted in place", "[base]") {
  std::uint64_t state = 9;
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      all.push_back(std::to_string((state >> 33U) % 50));
    }
    std::vector<std::string> expected = all;
    std::sort(expected.begin(), expected.end());
    papcoll::detail::heap_sort(all.data(), all.size());
    CHECK(all == expected);
  }
}

TEST_CASE("a Vector is copied and moved", "[base]") {
  Vector<Record> a(3);
  a[1].n = 7;
  const Vector<Record> copy = a;
  CHECK(same(copy, {{}, {'x', 7}, {}}));
  a.front().n = 1;
  CHECK(copy.front().n == 0);
  Vector<Record> moved = std::move(a);
  CHECK(same(moved, {{'x', 1}, {'x', 7}, {}}));
  moved = copy;
  CHECK(same(moved, {{}, {'x', 7}, {}}));
  moved = Vector<Record>{};
  CHECK(moved.empty());
  CHECK(copy.back() == Record{});
}

TEST_CASE("a Vector without memory throws and stays as it was", "[base]") {
  Vector<Record> v(2);
  CHECK_THROWS_AS(v.resize(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
  CHECK(same(v, {{}, {}}));
}
