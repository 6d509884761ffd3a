// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/layout.hpp"

#include "catch.hpp"

#include <stdexcept>

TEST_CASE("non-contiguous elements are counted without their gaps", "[bench]") {
  const bench::Layout pairs = bench::parse_layout("strided:2:5");
  CHECK(pairs.is_noncontiguous());
  CHECK(pairs.place(0) == 0);
  CHECK(pairs.place(1) == 1);
  CHECK(pairs.place(2) == 5);
  CHECK(pairs.place(5) == 11);
  CHECK(pairs.extent(6) == 15);
  const bench::Layout column = bench::parse_layout("column:9");
  CHECK(column.block == 1);
  CHECK(column.stride == 9);
  CHECK(bench::parse_layout("column").stride == bench::usual_columns);
  const bench::Layout whole;
  CHECK_FALSE(whole.is_noncontiguous());
  CHECK(whole.place(7) == 7);
  CHECK(whole.extent(8) == 8);
}

TEST_CASE("what is no layout is refused", "[bench]") {
  for (const char* text : {"", "strided", "strided:", "strided:2", "strided:2:", "strided::3",
                           "strided:2:3:4", "strided:-1:3", "strided:0:3", "strided:4:3",
                           "column:", "column:0", "column:x", "columns", "strided:1:9999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bench::parse_layout(text), std::invalid_argument);
  }
  CHECK_THROWS_WITH(bench::parse_layout("strided:4:3"),
                    "'strided:4:3' has blocks that overlap: the stride is at least a block");
}
