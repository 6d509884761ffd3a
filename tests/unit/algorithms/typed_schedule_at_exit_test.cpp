// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstdlib>

namespace exiting {

using Typed = papcoll::Suara<papcoll::Ring, papcoll::Ring>;

/// Ends after what the tests make, as a team may that a program keeps in static storage.
struct UsesItAtTheEnd {
  ~UsesItAtTheEnd() {
    const auto schedule = papcoll::AnySchedule::of<Typed>();
    if (!(schedule == papcoll::AnySchedule{Typed{}})) std::abort();
  }
};

const UsesItAtTheEnd at_the_end;

}  // namespace exiting

TEST_CASE("a schedule of types lives as long as the program") {
  CHECK(papcoll::AnySchedule::of<exiting::Typed>() == papcoll::AnySchedule{exiting::Typed{}});
}
