// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace papcoll;

TEST_CASE("a schedule's name has its parameters unless they are the defaults", "[schedule]") {
  CHECK(AnySchedule(Ring{}).name() == "Ring");
  CHECK(AnySchedule(KNomial{}).name() == "KNomial");
  CHECK(AnySchedule(KNomial{.radix = 8}).name() == "KNomial:8");
  CHECK(AnySchedule(SegmentedRing{.segment_bytes = 4096}).name() == "SegmentedRing:4096");
  CHECK(AnySchedule(PipelinedChain{}).name() == "PipelinedChain");
  CHECK(AnySchedule(Bruck{}).name() == "Bruck");
  CHECK(AnySchedule(Bruck{.radix = 3}).name() == "Bruck:3");
  CHECK(AnySchedule(SpreadOut{.window = 8}).name() == "SpreadOut:8");
  CHECK(AnySchedule(PipelinedBinaryTree{.segment_bytes = 1}).name() == "PipelinedBinaryTree:1");
  CHECK(AnySchedule(ScatterAllgather{}).name() == "ScatterAllgather");
  CHECK(AnySchedule(ScatterAllgather{ScatterAllgather::Gathering::bruck}).name() ==
        "ScatterAllgather:Bruck");
}

TEST_CASE("a combination's name has its parts' names", "[schedule]") {
  using Inner = ReduceThenBcast<Binomial, Chain>;
  CHECK(AnySchedule(Inner{}).name() == "ReduceThenBcast:Binomial,Chain");
  CHECK(AnySchedule(GatherThenBcast<Binomial, KNomial>{}).name() ==
        "GatherThenBcast:Binomial,KNomial");
  CHECK(AnySchedule(Inner{}) == AnySchedule(AnyReduceThenBcast{Binomial{}, Chain{}}));
  const AnyReduceThenBcast with_radix{KNomial{.radix = 8}, Chain{}};
  CHECK(AnySchedule(with_radix).name() == "ReduceThenBcast:KNomial:8,Chain");
  CHECK(AnySchedule(AnyReduceThenBcast{Inner{}, Chain{}}).name() ==
        "ReduceThenBcast:(ReduceThenBcast:Binomial,Chain),Chain");
}

TEST_CASE("arguments are split at outer commas only", "[schedule]") {
  using Parts = std::vector<std::string_view>;
  CHECK(split_arguments("") == Parts{""});
  CHECK(split_arguments("4") == Parts{"4"});
  CHECK(split_arguments("KNomial:8,Chain") == Parts{"KNomial:8", "Chain"});
  CHECK(split_arguments("(Suara:Ring,Rabenseifner,8),Chain") ==
        Parts{"Suara:Ring,Rabenseifner,8", "Chain"});
  CHECK(split_arguments("((a,b),c),d") == Parts{"(a,b),c", "d"});
  CHECK(split_arguments("(a),X:(b,c)") == Parts{"a", "X:(b,c)"});
  for (const auto* bad : {"(a,b", "a,b)", ")(", "(a)),(b"}) {
    CHECK_THROWS_AS(split_arguments(bad), argument_error);
  }
  const std::vector<std::string> parts{"Suara:(A:1,2),B,8", "Chain", ""};
  std::string joined;
  for (const std::string& part : parts) add_argument(joined, part);
  const auto again = split_arguments(joined);
  CHECK(std::vector<std::string>(again.begin(), again.end()) == parts);
}

TEST_CASE("parameters are read from the text that names them", "[schedule]") {
  const auto radix = AnySchedule::of<KNomial>();
  CHECK(radix.with_arguments("8") == AnySchedule(KNomial{.radix = 8}));
  CHECK(AnySchedule::of<SegmentedRing>().with_arguments("4096").name() == "SegmentedRing:4096");
  CHECK(AnySchedule::of<ScatterAllgather>().with_arguments("Bruck").name() ==
        "ScatterAllgather:Bruck");
  CHECK(AnySchedule::of<ScatterAllgather>().with_arguments("Ring") ==
        AnySchedule::of<ScatterAllgather>());
  for (const auto* bad : {"", "1", "-4", "four", "4 ", " 4", "4,5", "99999999999"}) {
    CHECK_THROWS_AS(radix.with_arguments(bad), argument_error);
  }
  CHECK(AnySchedule::of<Bruck>().with_arguments("4") == AnySchedule(Bruck{.radix = 4}));
  CHECK_THROWS_AS(AnySchedule::of<Bruck>().with_arguments("1"), argument_error);
  CHECK_THROWS_AS(AnySchedule::of<SpreadOut>().with_arguments("0"), argument_error);
  CHECK_THROWS_AS(AnySchedule::of<PipelinedChain>().with_arguments("0"), argument_error);
  CHECK_THROWS_AS(AnySchedule::of<PipelinedChain>().with_arguments("-1"), argument_error);
  CHECK_THROWS_AS(AnySchedule::of<ScatterAllgather>().with_arguments("bruck"), argument_error);
  CHECK_THROWS_AS(AnySchedule::of<Ring>().with_arguments("4"), argument_error);
}

TEST_CASE("schedules are equal if type and parameters are", "[schedule]") {
  CHECK(AnySchedule(KNomial{}) == AnySchedule::of<KNomial>());
  CHECK(AnySchedule(KNomial{.radix = 8}) != AnySchedule::of<KNomial>());
  CHECK(AnySchedule(KNomial{.radix = 2}) != AnySchedule(Binomial{}));
  CHECK(AnySchedule(PipelinedChain{}) != AnySchedule(SegmentedRing{}));
}

TEST_CASE("operators that do not commute are for schedules that keep rank order", "[schedule]") {
  CHECK(AnySchedule(Ring{}).commutative_only());
  CHECK(AnySchedule(SegmentedRing{}).commutative_only());
  CHECK(!AnySchedule(Rabenseifner{}).commutative_only());
  CHECK(!AnySchedule(PipelinedBinaryTree{}).commutative_only());
  CHECK(!AnySchedule(AnyReduceThenBcast{Binomial{}, Chain{}}).commutative_only());
}

TEST_CASE("segments are whole elements, and blocks what the positions work on at once",
          "[schedule]") {
  const PipelinedChain chain{.segment_bytes = 100};
  CHECK(chain.segment(7, 8) == 12);
  CHECK(chain.segment(7, 1000) == 1);
  CHECK(SegmentedRing{.segment_bytes = 100}.segment(7, 8) == 7 * 12);
  CHECK(AnySchedule(Chain{}).segment(7, 8) == 0);
  using Both = ReduceThenBcast<PipelinedChain, PipelinedBinaryTree>;
  CHECK(AnySchedule(Both{{80}, {160}}).segment(7, 8) == 20);
  CHECK(AnySchedule(ReduceThenBcast<PipelinedChain, Binomial>{{80}, {}}).segment(7, 8) == 0);
  const AnyReduceThenBcast any{PipelinedChain{80}, PipelinedBinaryTree{160}};
  CHECK(any.segment(7, 8) == 20);
}
