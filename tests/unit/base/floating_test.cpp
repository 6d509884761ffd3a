// SPDX-License-Identifier: BSD-3-Clause
// What comes from outside is checked and read alike by every standard library and compiler.

#include "catch.hpp"

#include <papcoll/base/floating_order.hpp>

#include <charconv>
#include <clocale>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

using papcoll::detail::is_finite;

namespace {

/// Where there is one.
template <class T>
std::from_chars_result read_by_standard_library(const char* begin, const char* end, T& value) {
  if constexpr (requires { std::from_chars(begin, end, value); }) {
    return std::from_chars(begin, end, value);
  } else {
    return papcoll::detail::from_chars(begin, end, value);
  }
}

}  // namespace

TEST_CASE("what is finite is seen by its bits", "[floating]") {
  const auto agrees = []<class T>(T largest) {
    using Limits = std::numeric_limits<T>;
    for (const T x : {T{0}, T{1}, largest, Limits::min(), Limits::denorm_min(), Limits::infinity(),
                      Limits::quiet_NaN(), Limits::signaling_NaN()}) {
      CAPTURE(x);
      CHECK(is_finite(x) == std::isfinite(x));
      CHECK(is_finite(-x) == std::isfinite(x));
    }
  };
  agrees(std::numeric_limits<double>::max());
  agrees(std::numeric_limits<float>::max());
}

TEST_CASE("numbers are read without std::from_chars as with it", "[floating]") {
  const auto same = [](const std::string& text) {
    CAPTURE(text);
    const char* const end = text.data() + text.size();
    double wanted = -7;
    double found = -7;
    const auto [stop, problem] = read_by_standard_library(text.data(), end, wanted);
    const auto [found_stop, found_problem] = papcoll::detail::from_chars(text.data(), end, found);
    CHECK(found == wanted);
    CHECK(found_stop - text.data() == stop - text.data());
    CHECK(found_problem == problem);
  };
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* const language :
       {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {  // of those that are there
    std::setlocale(LC_NUMERIC, language);
    for (const char* const text : {"0",
                                   "0.22",
                                   "-0.5",
                                   ".5",
                                   "5.",
                                   "1e-3",
                                   "1E+3",
                                   "1e",
                                   "1e+",
                                   "1.5,",
                                   "0,5",
                                   "0x10",
                                   "1-2",
                                   "2.2250738585072014e-308",
                                   "1.7976931348623157e308",
                                   "0.1000000000000000055511151231257827",
                                   "",
                                   "-",
                                   ".",
                                   "e5",
                                   "+1",
                                   " 1",
                                   "-+1",
                                   "x",
                                   "1e999",
                                   "-1e999",
                                   "1e-999"}) {
      same(text);
    }
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}
