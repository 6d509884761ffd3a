// SPDX-License-Identifier: BSD-3-Clause
#include "timing/quantities.hpp"

#include "catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using Sizes = std::vector<std::size_t>;

TEST_CASE("sizes are written with suffixes, as ranges and lists", "[bench]") {
  CHECK(bench::parse_bytes("0") == 0);
  CHECK(bench::parse_bytes("1000") == 1000);
  CHECK(bench::parse_bytes("64k") == 65536);
  CHECK(bench::parse_bytes("16M") == 1u << 24);
  CHECK(bench::parse_bytes("3G") == 3ull << 30);
  CHECK(bench::parse_bytes("1.5M") == 3u << 19);
  CHECK(bench::parse_bytes("1e6") == 1'000'000);
  CHECK(bench::parse_bytes("2.5e2k") == 256'000);
  for (const char* text : {"8k", "8K", "8kB", "8KiB", "8 KB", "8192b"}) {
    CAPTURE(text);
    CHECK(bench::parse_bytes(text) == 8192);
  }
  CHECK(bench::parse_sizes("24") == Sizes{24});
  CHECK(bench::parse_sizes("8:64") == Sizes{8, 16, 32, 64});
  CHECK(bench::parse_sizes("12:50") == Sizes{12, 24, 48});
  CHECK(bench::parse_sizes("4k:4k") == Sizes{4096});
  CHECK(bench::parse_sizes("0,8:16,1k") == Sizes{0, 8, 16, 1024});
}

TEST_CASE("what is no size is refused", "[bench]") {
  for (const char* text : {"", "k", "-8", "8x", "8:", ":8", "8,", "0:8", "16:8", "1:2:3"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_sizes(text), std::invalid_argument);
  }
  for (const char* text : {"8Bk", "8i", "8ib", "8km", "0x8", "inf", "nan", "0.3k", "16E"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_sizes(text), std::invalid_argument);
  }
  for (const char* text : {"99999999999999999999", "17179869184G", "1e999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_sizes(text), std::invalid_argument);
  }
  CHECK_THROWS_WITH(bench::parse_sizes("1MX"),
                    "'1MX' is not a number of bytes: write 8, 64k, 1.5M or 1e6");
  CHECK_THROWS_WITH(bench::parse_sizes("1.3k"),
                    "'1.3k' is no whole number of bytes: write 8, 64k, 1.5M or 1e6");
}

TEST_CASE("durations need a unit", "[bench]") {
  CHECK(bench::parse_duration("250ns") == 250 * 1e-9);
  CHECK(bench::parse_duration("100us") == 100 * 1e-6);
  CHECK(bench::parse_duration("2ms") == 2 * 1e-3);
  CHECK(bench::parse_duration("1.5s") == 1.5);
  CHECK(bench::parse_duration("200\u00b5s") == 200 * 1e-6);   // the sign of micro
  CHECK(bench::parse_duration("200 \u03bcs") == 200 * 1e-6);  // the Greek letter
  CHECK(bench::parse_duration("0") == 0);
  for (const char* text :
       {"", "100", "us", "-1us", "1min", "infs", "nans", "1 m", "1\u00b5", "1e999s"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_duration(text), std::invalid_argument);
  }
}

TEST_CASE("sizes are printed as they are read", "[bench]") {
  for (const std::string_view text : {"0", "8", "1000", "1k", "1536", "64k", "16M", "2G", "1025"}) {
    CHECK(bench::format_bytes(bench::parse_bytes(text)) == text);
  }
}
