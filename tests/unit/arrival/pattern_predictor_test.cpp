// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/arrival/predictor.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace papcoll;

namespace {

double predicted(const AnyPredictor& p, const std::vector<double>& seen) {
  const auto h = p.new_history();
  for (const double s : seen) h->observe(s);
  return h->predict();
}

}  // namespace

TEST_CASE("predictions from what was seen", "[predictor]") {
  CHECK(predicted(LastValue{}, {4, 1, 2}) == 2);
  CHECK(predicted(MovingAverage{.window = 3}, {6}) == 6);
  CHECK(predicted(MovingAverage{.window = 3}, {1, 2, 3}) == 2);
  CHECK(predicted(MovingAverage{.window = 3}, {100, 100, 1, 2, 3}) == 2);
  CHECK(predicted(MovingAverage{.window = 1}, {7, 8}) == 8);
  CHECK(predicted(Exponential{.weight = 0.5}, {8}) == 8);
  CHECK(predicted(Exponential{.weight = 0.5}, {8, 4, 2}) == 4);
  CHECK(predicted(Exponential{.weight = 1}, {8, 4}) == 4);
}

TEST_CASE("what all ranks have in common drops out", "[predictor]") {
  for (const AnyPredictor& p : {AnyPredictor{LastValue{}}, AnyPredictor{MovingAverage{.window = 4}},
                                AnyPredictor{Exponential{}}}) {
    INFO(p.name());
    std::vector<double> early;
    std::vector<double> late;
    for (int call = 0; call < 40; ++call) {
      const double common = 1e6 + 0.37 * call * call;
      early.push_back(common);
      late.push_back(common + 0.002);
    }
    CHECK(predicted(p, late) - predicted(p, early) == Approx(0.002).epsilon(1e-4));
  }
}

TEST_CASE("a predictor's name can be read back", "[predictor]") {
  for (const char* name :
       {"MovingAverage", "MovingAverage:16", "Exponential", "Exponential:0.5", "LastValue"}) {
    CHECK(AnyPredictor::parse(name).name() == name);
  }
  CHECK(AnyPredictor::parse("MovingAverage:8") == AnyPredictor::of<MovingAverage>());
  CHECK(AnyPredictor::parse("MovingAverage:8").name() == "MovingAverage");
  CHECK(AnyPredictor::parse("Exponential:0.5") == AnyPredictor{Exponential{.weight = 0.5}});
  CHECK(AnyPredictor::parse("Exponential:0.5") != AnyPredictor::of<Exponential>());
  CHECK(AnyPredictor::parse("LastValue") != AnyPredictor::of<MovingAverage>());
  for (const char* bad :
       {"", "Oracle", "MovingAverage:", "MovingAverage:0", "MovingAverage:-1", "MovingAverage:2x",
        "Exponential:0", "Exponential:1.5", "Exponential:nan", "LastValue:3", "LastValue:"}) {
    INFO(bad);
    CHECK_THROWS_AS(AnyPredictor::parse(bad), argument_error);
  }
  CHECK_FALSE(AnyPredictor{});
  CHECK(AnyPredictor{} == AnyPredictor{});
}
