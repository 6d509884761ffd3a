#include "../../../benchmarks/quantities.hpp"

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
  CHECK(bench::parse_sizes("24") == Sizes{24});
  CHECK(bench::parse_sizes("8:64") == Sizes{8, 16, 32, 64});
  CHECK(bench::parse_sizes("12:50") == Sizes{12, 24, 48});
  CHECK(bench::parse_sizes("4k:4k") == Sizes{4096});
  CHECK(bench::parse_sizes("0,8:16,1k") == Sizes{0, 8, 16, 1024});
}

TEST_CASE("what is no size is refused", "[bench]") {
  for (const char* text : {"", "k", "-8", "8x", "8kB", "8:", ":8", "8,", "0:8", "16:8", "1:2:3",
                           "99999999999999999999", "17179869184G"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_sizes(text), std::invalid_argument);
  }
  CHECK_THROWS_WITH(bench::parse_sizes("1MB"), "'1MB' is not a size (write 8, 64k, 16M or 1G)");
}

TEST_CASE("durations need a unit", "[bench]") {
  CHECK(bench::parse_duration("250ns") == 250 * 1e-9);
  CHECK(bench::parse_duration("100us") == 100 * 1e-6);
  CHECK(bench::parse_duration("2ms") == 2 * 1e-3);
  CHECK(bench::parse_duration("1.5s") == 1.5);
  CHECK(bench::parse_duration("0") == 0);
  for (const char* text : {"", "100", "us", "-1us", "1min", "infs", "nans", "1 us", "1e999s"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_duration(text), std::invalid_argument);
  }
}

TEST_CASE("sizes are printed as they are read", "[bench]") {
  for (const std::string_view text : {"0", "8", "1000", "1k", "1536", "64k", "16M", "2G", "1025"}) {
    CHECK(bench::format_bytes(bench::parse_bytes(text)) == text);
  }
}
