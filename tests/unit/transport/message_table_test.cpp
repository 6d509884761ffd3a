// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/transport/shm/channels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

using papcoll::MessageKey;
using papcoll::MessageTable;

namespace {

/// Counts how often keys are compared.
struct CountedKey {
  MessageKey key;

  std::size_t hash() const noexcept { return key.hash(); }
  friend bool operator==(const CountedKey& a, const CountedKey& b) {
    ++compared;
    return a.key == b.key;
  }
  static inline std::size_t compared = 0;
};

}  // namespace

TEST_CASE("a message is found in a few steps, however many there are", "[transport]") {
  // What a rank waits for that has many requests under way: of each the same messages.
  for (const std::uint32_t calls : {1U, 10U, 1000U, 20'000U}) {
    CountedKey::compared = 0;
    MessageTable<int, CountedKey> table;
    for (std::uint32_t call = 0; call < calls; ++call) {
      for (std::uint32_t block = 0; block < 2; ++block) {
        for (std::uint32_t number = 0; number < 3; ++number) {
          table.add({{2 * call + 1, block, number}}, static_cast<int>(call));
        }
      }
    }
    bool right = true;
    for (std::uint32_t number = 3; number-- > 0;) {
      for (std::uint32_t block = 0; block < 2; ++block) {
        for (std::uint32_t call = calls; call-- > 0;) {
          int found = -1;
          right &=
              table.take({{2 * call + 1, block, number}}, found) && found == static_cast<int>(call);
        }
      }
    }
    CHECK(right);
    CHECK(table.empty());
    CHECK(CountedKey::compared <= std::size_t{6} * calls * 8);
  }
}

TEST_CASE("messages with the same key come in the order in which they were added", "[transport]") {
  MessageTable<const int*> table;
  std::array<int, 100> numbers{};
  for (int i = 0; i < 100; ++i) {
    numbers[static_cast<std::size_t>(i)] = i;
    table.add({static_cast<std::uint32_t>(i % 5), 0, 0}, &numbers[static_cast<std::size_t>(i)]);
  }
  const int* found = nullptr;
  CHECK_FALSE(table.take({5, 0, 0}, found));
  for (int i = 0; i < 100; ++i) {
    REQUIRE(table.take({static_cast<std::uint32_t>(i % 5), 0, 0}, found));
    CHECK(*found == i);
  }
  CHECK_FALSE(table.take({0, 0, 0}, found));
  table.add({1, 2, 3}, nullptr);
  int cleared = 0;
  table.clear([&cleared](const int* number) { cleared += number == nullptr ? 1 : 100; });
  CHECK(cleared == 1);
  CHECK(table.empty());
  CHECK_FALSE(table.take({1, 2, 3}, found));
}
