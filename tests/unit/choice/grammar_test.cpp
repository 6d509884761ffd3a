// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/name_parser.hpp>

#include <string>
#include <string_view>

#include "../../../tools/preload/settings.hpp"
#include "catch.hpp"

using namespace papcoll;

namespace {

std::string canonical(std::string_view text) { return parse_name(text, catalogue()).text(); }

std::string complaint(std::string_view text) {
  try {
    parse_name(text, catalogue());
  } catch (const unknown_algorithm& e) {
    return e.what();
  }
  return "";
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a name gives its policies") {
  const ParsedName n = parse_name("KNomial:8+MpiTransport+Fast", catalogue());
  CHECK(n.arrival == "StaticOrder");
  CHECK(n.schedule == "KNomial:8");
  CHECK(n.transport == "MpiTransport");
  CHECK(n.contract == NumericalContract::fast);
  REQUIRE(n.row != nullptr);
  CHECK(n.row->name == "KNomial");
  CHECK(n.plan == AnySchedule{KNomial{.radix = 8}});
}

TEST_CASE("any order is read, the canonical one is written") {
  CHECK(canonical("Ring") == "Ring");
  CHECK(canonical("Reproducible+MpiTransport+Ring") == "Ring+MpiTransport+Reproducible");
  CHECK(canonical("ShmTransport+DynamicLeader") == "DynamicLeader+ShmTransport");
  CHECK(canonical("MpiTransport+ReduceThenBcast:Binomial,Chain+Fast") ==
        "ReduceThenBcast:Binomial,Chain+MpiTransport+Fast");
}

TEST_CASE("defaults are left out") {
  CHECK(canonical("StaticOrder+Ring+RankConsistent") == "Ring");
  CHECK(canonical("DynamicLeader+LeaderFan") == "DynamicLeader");
  CHECK(canonical("LeaderFan+StaticLeader") == "StaticLeader");
  CHECK(canonical("LeaderFan") == "DynamicLeader");
  CHECK(canonical("StaticOrder+Exchange") == "Exchange");
  CHECK(canonical("KNomial:4") == "KNomial");
  CHECK(canonical("SegmentedRing:65536") == "SegmentedRing");
  CHECK(canonical("SegmentedRing:4096") == "SegmentedRing:4096");
}

TEST_CASE("a name of any length and depth is read, or refused in a sentence") {
  const auto nested = [](int levels) {
    std::string name = "Ring";
    for (int i = 0; i < levels; ++i) name = "Suara:" + (i == 0 ? name : "(" + name + ")") + ",Ring";
    return name;
  };
  CHECK(canonical(nested(78)) == nested(78));
  CHECK(complaint(nested(9000)) ==
        "papcoll: the name of an algorithm that begins with 'Suara:(Suara:(Suara:(Suara:(Suar' has "
        "117002 characters: at most 1024");
  CHECK_THROWS_WITH(
      (preload::RuleParser{"bcast=Ring; allreduce=" + nested(9000), "Reproducible"}.parse()),
      "PAPCOLL_RUN_ALGORITHM: the name of an algorithm that begins with "
      "'Suara:(Suara:(Suara:(Suara:(Suar' has 117002 characters: at most 1024");
  for (const auto& [rule, says] :
       {std::pair{"alltoall=Ring",
                  "'alltoall' is no collective that papcoll takes over; those are"},
        {"allreduce[4k,1M]=Ring", "write a range of bytes as [4k..1M]"},
        {"allreduce=Ring,Chain", "write ';' between rules"},
        {"MPI_Allreduce Ring", "write MPI_Allreduce=NAME"},
        {"bcast:Ring", "write bcast=NAME"}}) {
    CHECK_THROWS_WITH((preload::RuleParser{rule, "Reproducible"}.parse()), Catch::Contains(says));
  }
  std::string colons;
  for (int i = 0; i < 170; ++i) colons += "Suara:";
  CHECK(contains(complaint(colons + "Ring"), "Suara needs a schedule for each"));
  CHECK(contains(complaint(std::string(1000, '(')), "is no policy"));
}

TEST_CASE("a name may leave the algorithm open") {
  for (const char* text : {"ShmTransport", "StaticOrder+ShmTransport"}) {
    const ParsedName n = parse_name(text, catalogue());
    CHECK(n.row == nullptr);
    CHECK_FALSE(n.plan);
    CHECK(n.text() == "ShmTransport");
  }
  CHECK(canonical("Reproducible") == "Reproducible");
}

TEST_CASE("auto leaves it open in so many words") {
  const Algorithm any = algorithm("auto");
  CHECK(any.spec().is_automatic());
  CHECK(any.name().empty());
  CHECK(canonical("auto+MpiTransport") == "MpiTransport");
  CHECK(canonical("Reproducible+auto") == "Reproducible");
  CHECK(canonical("DynamicLeader+auto") == "DynamicLeader");
  CHECK(contains(complaint("auto+Ring"), "two schedules, auto and Ring"));
  CHECK(contains(complaint("auto:3"), "auto takes no parameters"));
  CHECK(contains(complaint("automatic"), "auto"));
  CHECK(contains(complaint("Auto"), "did you mean auto?"));
}

TEST_CASE("schedules as parameters") {
  CHECK(canonical("ReduceThenBcast:KNomial:8,Chain") == "ReduceThenBcast:KNomial:8,Chain");
  CHECK(canonical("ReduceThenBcast:(KNomial:4),(PipelinedChain:4096)") ==
        "ReduceThenBcast:KNomial,PipelinedChain:4096");
}

TEST_CASE("levels") {
  const std::string two = "Hierarchical:DynamicLeader+ShmTransport,Rabenseifner+MpiTransport";
  CHECK(canonical(two) == two);
  CHECK(canonical("Hierarchical:ShmTransport+DynamicLeader,(Rabenseifner+MpiTransport)") == two);
  CHECK(canonical(two + "+Reproducible") == two + "+Reproducible");
  CHECK(canonical("Reproducible+" + two) == two + "+Reproducible");
  CHECK(canonical(two + "+RankConsistent") == two);
  CHECK(canonical("Hierarchical") == "Hierarchical");
  CHECK(canonical("Hierarchical:auto,auto+Reproducible") == "Hierarchical+Reproducible");
  CHECK(canonical("Hierarchical:auto+ShmTransport,Ring") == "Hierarchical:ShmTransport,Ring");
  CHECK(canonical("Hierarchical:Exchange,auto") == "Hierarchical:Exchange,auto");
  CHECK(canonical("Hierarchical:Exchange,KNomial:8,Ring") ==
        "Hierarchical:Exchange,KNomial:8,Ring");
  CHECK(canonical("Hierarchical:(ReduceThenBcast:Chain,Chain+ShmTransport),Ring") ==
        "Hierarchical:(ReduceThenBcast:Chain,Chain+ShmTransport),Ring");

  const ParsedName n = parse_name(two, catalogue());
  REQUIRE(n.parts.size() == 2);
  CHECK(n.parts[0].text() == "DynamicLeader+ShmTransport");
  CHECK(n.parts[1].plan.name() == "Rabenseifner");
  CHECK(contains(complaint("Hierarchical:Ring"), "an algorithm for each level"));
  CHECK(contains(complaint("Hierarchical:"), "an algorithm for each level"));
  CHECK(contains(complaint("Hierarchical+ShmTransport"), "only a contract stands beside"));
  CHECK(contains(complaint("StaticOrder+" + two), "only a contract stands beside"));
  CHECK(contains(complaint("Hierarchical:Rinf,Ring"), "papcoll: 'Rinf' is no policy"));
  CHECK(contains(complaint("Hierarchical:(Ring,Ring"), "parentheses"));
  CHECK(contains(complaint("Hierarchical:Ring,(Ring+Fast)"), "that of the whole call"));
  CHECK(contains(complaint("Hierarchical:Ring,(" + two + ")"), "levels within a level"));
  CHECK(contains(complaint("Hierarchical:Ring,DynamicLeader+MpiTransport"), "reads its peers'"));
  CHECK(contains(complaint("Hierarchial"), "did you mean Hierarchical?"));
  CHECK(contains(complaint("Fast+MyHierarchical"), "'MyHierarchical' is no policy"));
}

TEST_CASE("predicted order") {
  CHECK(canonical("Chain+PredictedOrder") == "PredictedOrder+Chain");
  CHECK(canonical("PredictedOrder:MovingAverage:8+KNomial:8+MpiTransport") ==
        "PredictedOrder+KNomial:8+MpiTransport");
  CHECK(canonical("MpiTransport+Chain+PredictedOrder:Exponential:0.5") ==
        "PredictedOrder:Exponential:0.5+Chain+MpiTransport");
  CHECK(canonical("PredictedOrder+PreReducedRing") == "PreReducedRing");
  CHECK(canonical("PreReducedRing:700,100+PredictedOrder:LastValue") ==
        "PredictedOrder:LastValue+PreReducedRing:700,100");
  CHECK(canonical("SortedLinearTree:65536") == "SortedLinearTree");
  CHECK(canonical("PredictedOrder") == "PredictedOrder");
  CHECK(canonical("ShmTransport+PredictedOrder:LastValue") ==
        "PredictedOrder:LastValue+ShmTransport");
  const ParsedName n = parse_name("PredictedOrder+Chain", catalogue());
  CHECK(n.arrival == "PredictedOrder");
  CHECK(n.order == AnyPredictor::of<MovingAverage>());
  REQUIRE(n.row != nullptr);
  CHECK(n.row->name == "Chain");
  CHECK_FALSE(parse_name("Chain", catalogue()).order);
  CHECK(contains(complaint("PredictedOrder:Oracle+Chain"), "there is no predictor 'Oracle'"));
  CHECK(contains(complaint("PredictedOrder:MovingAverage:0+Chain"), "a window of 1 to 65536"));
  CHECK(contains(complaint("PredictedOrder+LeaderFan"), "does not run under PredictedOrder"));
  CHECK(contains(complaint("PredictedOrder+Exchange"), "does not run under PredictedOrder"));
  CHECK(contains(complaint("StaticOrder+PreReducedRing"), "take PredictedOrder"));
  CHECK(contains(complaint("DynamicLeader+Ring"), "take StaticOrder or PredictedOrder"));
  CHECK(contains(complaint("PredictdOrder+Ring"), "did you mean PredictedOrder?"));
  CHECK(contains(complaint("PreReducedRing:5"), "two numbers"));
}

TEST_CASE("every row's name is its own, and comes back") {
  for (const CatalogueRow& row : catalogue()) {
    const ParsedName n = parse_name(row.name, catalogue());
    CHECK(n.row == &row);
    CHECK(parse_name(n.text(), catalogue()).text() == n.text());
    if (row.is_hierarchical) continue;
    const std::string both = std::string(row.schedule) + "+" + std::string(row.arrival);
    CHECK(parse_name(both, catalogue()).row == &row);
  }
}

TEST_CASE("tickets over messages") {
  const Algorithm tickets = algorithm("RmaTransport+Chain+ArrivalOrder");
  CHECK(tickets.name() == "ArrivalOrder+Chain+RmaTransport");
  CHECK(tickets.spec().tickets != nullptr);
  CHECK(tickets.spec().arrival == nullptr);
  const Algorithm in_memory = algorithm("ArrivalOrder+Chain+ShmTransport");
  CHECK(in_memory.spec().tickets == nullptr);
  CHECK(in_memory.spec().arrival != nullptr);
  CHECK(algorithm("Ring+RmaTransport").spec().tickets == nullptr);
}

TEST_CASE("a program's own transports are left to its teams") {
  CHECK(parse_name("Ring+TcpTransport", catalogue()).transport == "TcpTransport");
  CHECK(contains(complaint("Ring+SchmTransport"), "did you mean ShmTransport"));
  CHECK(contains(complaint("Ring+Transport"), "is no policy"));
  for (const std::string several : {"Ring;Binomial", "Ring,auto", "Ring Binomial"}) {
    CHECK(complaint(several) == "papcoll: '" + several +
                                    "' is no policy: it looks like several names, which are "
                                    "written apart");
  }
}

TEST_CASE("blanks around policies do not count") {
  const auto parsed = parse_name(" Ring + MpiTransport ", catalogue());
  CHECK(parsed.schedule == "Ring");
  CHECK(parsed.transport == "MpiTransport");
  CHECK(parse_name("Hierarchical:Exchange,Ring + Reproducible", catalogue()).contract ==
        papcoll::NumericalContract::reproducible);
}

TEST_CASE("what is wrong is said") {
  CHECK(contains(complaint("Rabenseifer"), "did you mean Rabenseifner?"));
  CHECK(contains(complaint("ring"), "did you mean Ring?"));
  CHECK(complaint("Rabenseifer") ==
        "papcoll: 'Rabenseifer' is no policy: did you mean Rabenseifner?");
  CHECK(contains(complaint("mpi"), "'mpi' is no policy: only papcoll-bench knows it"));
  CHECK(contains(complaint("Recursive"), "did you mean RecursiveDoubling or RecursiveHalving?"));
  CHECK(contains(complaint("Dynamicleader+ShmTransport"), "did you mean DynamicLeader?"));
  CHECK(contains(complaint("Quicksort"), "there are Accumulator"));
  CHECK(contains(complaint(""), "a policy is missing"));
  CHECK(contains(complaint("Ring+"), "a policy is missing"));
  CHECK(contains(complaint("+Ring"), "a policy is missing"));
  CHECK(contains(complaint("Ring+Chain"), "two schedules, Ring and Chain"));
  CHECK(contains(complaint("DynamicLeader+StaticLeader"), "two arrival policies"));
  CHECK(contains(complaint("Ring+MpiTransport+ShmTransport"), "two transports"));
  CHECK(contains(complaint("Ring+Fast+Fast"), "two numerical contracts"));
  CHECK(contains(complaint("DynamicLeader+Ring"), "Ring does not run under DynamicLeader"));
  CHECK(contains(complaint("DynamicLeader+Ring"), "take StaticOrder"));
  CHECK(contains(complaint("StaticOrder+LeaderFan"), "take DynamicLeader or StaticLeader"));
  CHECK(contains(complaint("Exchange+MpiTransport"), "only passes messages"));
  CHECK(contains(complaint("SplitTail+RmaTransport"), "only passes messages"));
  CHECK(contains(complaint("ArrivalOrder+Chain+MpiTransport"), "only passes messages"));
  CHECK(contains(complaint("ArrivalOrder+Chain+RmaTransport+Reproducible"),
                 "bits must not depend on arrivals"));
  CHECK(contains(complaint("Hierarchical:DynamicLeader,ArrivalOrder+Chain+RmaTransport"),
                 "is for whole communicators"));
}

TEST_CASE("schedules that need predictions do not run along the machine") {
  for (const std::string name :
       {"StragglAR", "SortedLinearTree", "ClairvoyantTree", "PreReducedRing"}) {
    INFO(complaint("OnTopology+" + name));
    CHECK(contains(complaint("OnTopology+" + name),
                   name + " needs to know how late each rank will be, and OnTopology does not "
                          "predict it: take PredictedOrder"));
    CHECK(parse_name("PredictedOrder+" + name, catalogue()).order);
  }
  CHECK_THROWS_AS(algorithm(StragglAR{}, OrderSource::machine()), argument_error);
  CHECK(algorithm(Ring{}, OrderSource::machine()).name() == "OnTopology+Ring");
}

TEST_CASE("parameters in bytes take units") {
  CHECK(parse_name("SegmentedRing:64k", catalogue()).text() == "SegmentedRing");
  CHECK(parse_name("PipelinedChain:1M", catalogue()).text() == "PipelinedChain:1048576");
  CHECK(parse_name("TwoTreeSanders:4K,rounds", catalogue()).text() == "TwoTreeSanders:4096,rounds");
  CHECK(parse_name("TwoTreeComplete:1G", catalogue()).text() == "TwoTreeComplete:1073741824");
  CHECK(parse_name("StragglAR:2k", catalogue()).text() == "StragglAR:2048");
  CHECK(parse_name("SortedLinearTree:8k", catalogue()).text() == "SortedLinearTree:8192");
  CHECK(parse_name("ReorderedTwoTree:0", catalogue()).text() == "ReorderedTwoTree");
  for (const char* bad :
       {"64q", "k", "64kB", "0k", "-1k", "99999999999999999999", "17179869184G"}) {
    CHECK(contains(complaint("SegmentedRing:" + std::string(bad)),
                   "a number of bytes of at least 1 as its bytes of a segment, but was given '" +
                       std::string(bad) + "': write SegmentedRing:65536 or SegmentedRing:64k"));
  }
}

TEST_CASE("bad parameters are said to be so") {
  CHECK(contains(complaint("KNomial:"), "leave the colon out"));
  CHECK(contains(complaint("KNomial:one"), "'one'"));
  CHECK(contains(complaint("KNomial:1"), "at least 2"));
  CHECK(contains(complaint("KNomial:1"), "write 4, for example"));
  CHECK(contains(complaint("Ring:3"), "takes no arguments"));
  CHECK(contains(complaint("Exchange:3"), "takes no parameters"));
  CHECK(contains(complaint("DynamicLeader:3"), "takes no parameters"));
  CHECK(contains(complaint("Ring+MpiTransport:1"), "takes no parameters"));
  CHECK(contains(complaint("ReduceThenBcast:Chain"), "two schedules"));
  CHECK(contains(complaint("ReduceThenBcast:Chain,Brukc"), "did you mean Bruck?"));
  CHECK(contains(complaint("ReduceThenBcast:Ring,Chain"), "Ring does not serve reduce"));
  CHECK(contains(complaint("ReduceThenBcast:Ring,Chain"), "write ReduceThenBcast:Binomial,Chain"));
  CHECK(contains(complaint("TwoTreeSanders:free"), "write TwoTreeSanders:0,free"));
  CHECK(contains(complaint("PreReducedRing:5"), "write PreReducedRing:500,200"));
  CHECK(contains(complaint("ReduceThenBcast:Chain,KNomial:0"), "at least 2"));
  CHECK(contains(complaint("ReduceThenBcast:(Chain,Chain"), "parentheses"));
}

TEST_CASE("edit distance") {
  CHECK(detail::edit_distance("", "") == 0);
  CHECK(detail::edit_distance("", "abc") == 3);
  CHECK(detail::edit_distance("kitten", "sitting") == 3);
  CHECK(detail::edit_distance("RING", "ring") == 0);
}

TEST_CASE("an algorithm by name") {
  const Algorithm ring = algorithm("MpiTransport+Ring");
  CHECK(ring.name() == "Ring+MpiTransport");
  CHECK(ring.spec().schedule == AnySchedule::of<Ring>());
  CHECK(ring.spec().arrival == nullptr);
  CHECK(ring.spec().transport_name == "MpiTransport");
  const Algorithm leader = algorithm("DynamicLeader+Reproducible");
  CHECK(leader.spec().arrival == &arrival_algorithm<DynamicLeader, LeaderFan>);
  CHECK(leader.spec().contract == NumericalContract::reproducible);
  CHECK(algorithm("ShmTransport").spec().is_automatic());
  CHECK_THROWS_AS(algorithm("nonsense"), unknown_algorithm);
  CHECK(algorithm("Chain+PredictedOrder").spec().order == AnyPredictor::of<MovingAverage>());
}

TEST_CASE("an algorithm by value") {
  const Algorithm wide = algorithm(KNomial{8});
  CHECK(wide.name() == "KNomial:8");
  CHECK(wide.spec().schedule == AnySchedule{KNomial{8}});
  CHECK(wide.spec().transport_name.empty());
  CHECK(algorithm(Ring{}).name() == algorithm("Ring").name());
  const AnyReduceThenBcast both{KNomial{8}, Chain{}};
  CHECK(algorithm(both).name() == "ReduceThenBcast:KNomial:8,Chain");
  CHECK(algorithm(AnySchedule{}).spec().is_automatic());
  CHECK(algorithm(Chain{}, LastValue{}).name() == "PredictedOrder:LastValue+Chain");
  CHECK(algorithm(Chain{}, MovingAverage{}).name() == "PredictedOrder+Chain");
  CHECK(algorithm(PreReducedRing{}).name() == algorithm("PreReducedRing").name());
  CHECK(algorithm(PreReducedRing{}).spec().order == PredictedOrder<>::predictor());
}
