// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/trace.hpp>

#include "catch.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace {
using papcoll::pattern::parse_trace;
using papcoll::pattern::trace_error;
using V = std::vector<double>;

V arrivals(const papcoll::pattern::Trace& trace, std::uint64_t call) {
  V times(trace.ranks);
  trace(call, times);
  return times;
}
}  // namespace

TEST_CASE("a trace is read whatever parts its numbers", "[pattern]") {
  for (const std::string_view text : {"0.5,1.5,2.5\n3,2,1\n", "0.5 1.5\t2.5\r\n 3 2 1",
                                      "# rank 0, 1, 2\n0.5; 1.5 ;2.5 # a call\n\n"
                                      "   \n3.0e0,2,1\n"}) {
    const auto trace = parse_trace(text);
    CHECK(trace.ranks == 3);
    CHECK(trace.calls() == 2);
    CHECK(trace.seconds == V{0.5, 1.5, 2.5, 3, 2, 1});
  }
}

TEST_CASE("a trace is played from the earliest arrival on, and over again", "[pattern]") {
  const auto trace = parse_trace("10 11.5\n-4 -5\n");
  CHECK(arrivals(trace, 0) == V{0, 1.5});
  CHECK(arrivals(trace, 1) == V{1, 0});
  CHECK(arrivals(trace, 2) == V{0, 1.5});
  CHECK(trace.spread() == 1.5);
}

TEST_CASE("a trace can be scaled to a spread", "[pattern]") {
  const auto scaled = parse_trace("0 2\n1 0\n").scaled_to(0x1p-10);
  CHECK(scaled.spread() == 0x1p-10);
  CHECK(arrivals(scaled, 1)[0] == 0x1p-11);
  CHECK(parse_trace("7 7").scaled_to(1).spread() == 0);
}

TEST_CASE("a trace may have the mark that editors of Windows put first", "[pattern]") {
  CHECK(parse_trace("\xEF\xBB\xBF"
                    "0 2\r\n1 0\r\n")
            .seconds == parse_trace("0 2\n1 0\n").seconds);
}

TEST_CASE("what is wrong in a trace is named by line and column", "[pattern]") {
  struct Case {
    std::string_view text;
    std::size_t line, column;
    std::string_view says;
  };
  for (const auto& [text, line, column, says] : {
           Case{"1,2\n3,x4\n", 2, 3, "'x4' is not a time"},
           Case{"\x1f\x8b", 1, 1, "there is a control character: it is no text"},
           Case{"rank0,rank1\n", 1, 1, "comments start with #"},
           Case{"1 2\n\n3 4 5\n", 3, 5, "one time too many"},
           Case{"1 2 3\n4 5\n", 2, 4, "the line has 2 times"},
           Case{"1,,2\n", 1, 3, "'' is not a time"},
           Case{"1,2,\n", 1, 5, "missing after the comma"},
           Case{"0,5 0,6\n", 1, 5, "write 0.5 for a half"},
           Case{"1;2\n0,5; 0,6\n", 2, 4, "write 0.5 for a half"},
           Case{"1 inf\n", 1, 3, "'inf' is not a time"},
           Case{"nan\n", 1, 1, "'nan' is not a time"},
           Case{"1e999\n", 1, 1, "out of range"},
           Case{"1.5us\n", 1, 1, "'1.5us' is not a time"},
           Case{"# only a comment\n", 1, 1, "no call"},
           Case{"", 1, 1, "no call"},
       }) {
    CAPTURE(text);
    try {
      parse_trace(text);
      FAIL("accepted");
    } catch (const trace_error& error) {
      CHECK(error.line == line);
      CHECK(error.column == column);
      CHECK(std::string_view(error.what()).find(says) != std::string_view::npos);
      const std::string place =
          "line " + std::to_string(line) + ", column " + std::to_string(column);
      CHECK(std::string_view(error.what()).find(place) != std::string_view::npos);
    }
  }
}
