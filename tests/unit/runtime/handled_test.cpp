// SPDX-License-Identifier: BSD-3-Clause
// Which kind an exception is of, told without RTTI.

#include "catch.hpp"

#include <papcoll/error.hpp>
#include <papcoll/transport/transport.hpp>

#include <exception>
#include <new>
#include <string>

using papcoll::detail::handled_as;
using papcoll::detail::lost_rank;

TEST_CASE("what a handler handles is found by its type, and is the exception itself", "[handled]") {
  try {
    throw lost_rank("rank 3 died", 3);
  } catch (const std::exception& problem) {
    const auto* const lost = handled_as<lost_rank>();
    REQUIRE(lost != nullptr);
    CHECK(lost->rank == 3);
    CHECK(static_cast<const std::exception*>(lost) == &problem);
    CHECK(handled_as<papcoll::error>() == lost);
    CHECK(handled_as<papcoll::deadline_exceeded>() == nullptr);
    try {
      throw std::bad_alloc{};
    } catch (const std::exception&) {
      CHECK(handled_as<lost_rank>() == nullptr);
    }
    CHECK(handled_as<lost_rank>() == lost);
    CHECK(std::string{problem.what()} == "rank 3 died");
  }
}
