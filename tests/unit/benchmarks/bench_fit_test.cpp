// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include "fit/fit.hpp"

#include <papcoll/choice/selection/message_costs.hpp>

TEST_CASE("a measured network is what choices by messages go by", "[bench]") {
  papcoll::Thresholds t;
  const auto set = [&](const papcoll::HockneyWithGap& h) {
    for (const bench::ThresholdValue& v : bench::link_thresholds(h))
      t.network.*v.threshold->at = v.value;
    return papcoll::detail::suara_model(t, true).link;
  };
  const auto read = set({{2.5e-6, 8.3e-11, 1.7e-11}, 0.4e-6});
  CHECK(read.alpha == Approx(2.5e-6));
  CHECK(read.gap == Approx(0.4e-6));
  CHECK(read.beta == Approx(8.3e-11));
  CHECK(read.gamma == Approx(1.7e-11));
  CHECK(set({{2e-6, 1e-10, 1e-11}, 3e-6}).gap == Approx(2e-6));
}
