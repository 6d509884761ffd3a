// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "catch.hpp"
#include "explorer.hpp"

namespace explore {

/// No run failed.
inline void require_fine(const Report& report) {
  INFO(report.explanation);
  REQUIRE(report.fine());
}
/// And all schedules within the bound were run.
inline void require_complete(const Report& report) {
  require_fine(report);
  REQUIRE(report.complete);
}

}  // namespace explore
