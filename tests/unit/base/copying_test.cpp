// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/copying.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using papcoll::CopyMethod;
using papcoll::CopyThresholds;
using papcoll::detail::CopyRule;

TEST_CASE("a copy for others is a copy, wherever it begins and ends, by every method") {
  constexpr CopyThresholds from{};
  std::vector<std::size_t> sizes{0, 1, 63, 3 * from.streamed + 17};
  for (const std::size_t edge : {from.string, from.streamed}) {
    for (const std::size_t n : {edge - 1, edge, edge + 1, edge + 63, edge + 64}) sizes.push_back(n);
  }
  std::vector<std::byte> source(4 * from.streamed);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<std::byte>(i * 7 % 251 + 1);
  for (const CopyMethod method : {CopyMethod::plain, CopyMethod::string, CopyMethod::streamed}) {
    const CopyRule rule = CopyRule::by(method);
    for (const std::size_t n : sizes) {
      for (const std::size_t at : {0U, 1U, 8U, 40U, 63U}) {
        CAPTURE(papcoll::name_of(method), n, at);
        const std::size_t first = 64 - at;
        std::vector<std::byte> to(5 * from.streamed, std::byte{0});
        papcoll::detail::copy_for_others(rule, to.data() + at, source.data() + first, n);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= at && i - at < n;
          wrong += to[i] != (inside ? source[first + i - at] : std::byte{0});
        }
        CHECK(wrong == 0);
        std::vector<std::byte> past(5 * from.streamed, std::byte{0});
        papcoll::detail::copy_past_caches(past.data() + at, source.data() + first, n);
        CHECK(std::equal(past.begin() + static_cast<std::ptrdiff_t>(at),
                         past.begin() + static_cast<std::ptrdiff_t>(at + n),
                         source.begin() + static_cast<std::ptrdiff_t>(first)));
      }
    }
  }
}

TEST_CASE("the best method is the string instruction where that is fast, else what a probe finds") {
  papcoll::detail::CopyChoice choice{CopyMethod::best, 1U << 20U};
  if (papcoll::detail::has_fast_string_copies()) {
    CHECK(choice.rule().method == CopyMethod::string);
    CHECK(choice.rule().from == CopyThresholds{}.string);
    CHECK_FALSE(choice.is_probed());
  } else {  // not on x86-64, or as sanitizers have it, there is but one way
    CHECK(choice.rule().method == CopyMethod::plain);
    CHECK(choice.is_probed() == (PAPCOLL_COPIES_BY_INSTRUCTION != 0));
  }
}

TEST_CASE("what a probe found is how copies are made, but for outputs that caches would hold") {
  papcoll::detail::CopyChoice choice{CopyMethod::probed, 1U << 20U};
  const std::size_t beyond = CopyRule::by(CopyMethod::plain, 1U << 20U).beyond_caches;
  CHECK(choice.is_probed());
  CHECK_FALSE(choice.is_found());
  CHECK(choice.rule().method == CopyMethod::plain);
  choice.found(CopyMethod::streamed);
  CHECK(choice.is_found());
  CHECK(choice.rule().method == CopyMethod::streamed);
  CHECK(choice.rule().from == CopyThresholds{}.streamed);
  CHECK(choice.rule().beyond_caches == beyond);
  choice.found(CopyMethod::plain);
  CHECK(choice.rule().method == CopyMethod::plain);
  CHECK(choice.rule().beyond_caches == beyond);
}

TEST_CASE("outputs go past the caches where a rank's share of them is known and too small") {
  CHECK(CopyRule::by(CopyMethod::plain).beyond_caches == CopyRule::never);
  CHECK(CopyRule::by(CopyMethod::string, 1U << 20U).beyond_caches ==
        (1U << 20U) / 100 * CopyThresholds{}.beyond_percent);
  CHECK(CopyRule::by(CopyMethod::streamed).beyond_caches == CopyThresholds{}.streamed);
}
