// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/explain_choice.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/message_costs.hpp>

#include <cstddef>
#include <string>
#include <vector>

// Alltoall, scan and exscan by messages. What is the best in simulation:
// benchmarks/results/alltoall/comparison.md.

namespace {

using papcoll::AnySchedule;
using papcoll::Call;
using papcoll::Collective;
using papcoll::SelectionInputs;
using papcoll::Thresholds;

struct ChoosingByMessages {
  Thresholds thresholds{};
  SelectionInputs inputs{};
  papcoll::TransportTable messages{papcoll::transport_names[0].name,
                                   papcoll::transport_names[0].offers, false, nullptr, nullptr};

  explicit ChoosingByMessages(int ranks) { inputs.size = ranks; }

  Call call(Collective c, std::size_t bytes) {
    inputs.thresholds = &thresholds;
    Call made;
    made.collective = c;
    made.reducer.size = 8;
    made.count = bytes / 8;
    return made;
  }
  std::string chosen(Call made) {
    papcoll::AlgorithmSpec s;
    s.transport = &messages;
    choose(s, made, inputs, papcoll::detail::chooser_of(made.collective));
    return s.schedule.name();
  }
  std::string alltoall(std::size_t bytes) { return chosen(call(Collective::alltoall, bytes)); }
  std::string scan(std::size_t bytes) { return chosen(call(Collective::scan, bytes)); }
  std::string exscan(std::size_t bytes) { return chosen(call(Collective::exscan, bytes)); }
  std::string reason(Collective c, std::size_t bytes) {
    const Call made = call(c, bytes);
    papcoll::TeamFacts facts;
    facts.transport = &messages;
    facts.inputs = inputs;
    papcoll::Explanation e;
    papcoll::detail::explain_automatic(e, facts, made);
    return e.candidates;
  }
};

int distances_with_digit(int ranks, int radix, int weight) {
  int found = 0;
  for (int distance = 1; distance < ranks; ++distance) {
    if (distance / weight % radix != 0) ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("what travels in a round of Bruck's alltoall is counted without a loop", "[select]") {
  int wrong = 0;
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (const int radix : {2, 3, 4, 8, 64}) {
      for (int weight = 1; weight < ranks; weight *= radix) {
        if (papcoll::detail::with_digit(ranks, radix, weight) !=
            distances_with_digit(ranks, radix, weight)) {
          ++wrong;
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("alltoall by messages: Bruck for short blocks, then each by itself", "[select]") {
  ChoosingByMessages few{4};
  CHECK(few.alltoall(8) == "Linear");
  CHECK(few.alltoall(1 << 20) == "Pairwise");
  ChoosingByMessages many{64};
  CHECK(many.alltoall(8) == "Bruck:8");
  CHECK(many.alltoall(256) == "Bruck:8");
  CHECK(many.alltoall(8192) == "Linear");
  CHECK(many.alltoall(32768) == "SpreadOut");
  CHECK(many.alltoall(131072) == "SpreadOut:8");
  CHECK(many.alltoall(1 << 20) == "Pairwise");
  ChoosingByMessages one{1};
  CHECK(one.alltoall(8) == "Linear");
  ChoosingByMessages two{2};
  CHECK(two.alltoall(8) == "Linear");
}

TEST_CASE("alltoall by messages goes by the network", "[select]") {
  ChoosingByMessages ranks{64};
  ranks.thresholds.network.gap_ns = 0;  // messages cost nothing but bytes: then one hop is best
  CHECK(ranks.alltoall(8) == "Linear");
  ranks.thresholds.network.beta_as = 0;  // nor bytes
  CHECK(ranks.alltoall(1 << 20) == "Linear");
  ranks.thresholds = {};
  ranks.thresholds.network.gap_ns = ranks.thresholds.network.alpha_ns;  // one message at a time
  CHECK(ranks.alltoall(8) == "Bruck");
  CHECK(ranks.alltoall(1 << 20) == "Pairwise");
}

TEST_CASE("alltoall by messages whose blocks differ does not go by their lengths", "[select]") {
  const std::vector<std::size_t> sent(64, 3);
  ChoosingByMessages ranks{64};
  Call call = ranks.call(Collective::alltoall, 8);
  call.counts = sent.data();
  CHECK(ranks.chosen(call) == "SpreadOut");
}

TEST_CASE("a choice among alltoalls makes no schedule anew", "[select]") {
  const AnySchedule first = papcoll::detail::bruck_of_bits(3);
  const AnySchedule second = papcoll::detail::bruck_of_bits(3);
  CHECK(first.target<papcoll::Bruck>() == second.target<papcoll::Bruck>());
  CHECK(first.target<papcoll::Bruck>()->radix == 8);
  CHECK(papcoll::detail::spread_out_of_bits(10).target<papcoll::SpreadOut>()->window == 1024);
}

TEST_CASE("scan by messages: RecursiveDoubling, and a chain of segments for long vectors",
          "[select]") {
  ChoosingByMessages ranks{64};
  CHECK(ranks.scan(8) == "RecursiveDoubling");
  CHECK(ranks.scan(32768) == "RecursiveDoubling");
  CHECK(ranks.scan(1 << 21) == "PipelinedChain:8192");
  CHECK(ranks.exscan(8) == "RecursiveDoubling");
  CHECK(ranks.exscan(1 << 21) == "PipelinedChain:8192");
  ChoosingByMessages two{2};
  CHECK(two.scan(8) == "RecursiveDoubling");
  ChoosingByMessages one{1};
  CHECK(one.scan(1 << 21) == "RecursiveDoubling");
}

TEST_CASE("a network that takes no time leaves a choice, too", "[select]") {
  for (const int count : {1, 2, 3, 64}) {
    ChoosingByMessages ranks{count};
    ranks.thresholds.network.alpha_ns = 0;
    ranks.thresholds.network.gap_ns = 0;
    ranks.thresholds.network.beta_as = 0;
    ranks.thresholds.network.gamma_as = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{1} << 40U}) {
      CHECK(ranks.alltoall(bytes) == "Linear");
      CHECK(ranks.scan(bytes) == "RecursiveDoubling");
      CHECK(ranks.exscan(bytes) == "RecursiveDoubling");
    }
  }
}

TEST_CASE("explain tells what alltoall and scan are weighed by", "[select]") {
  ChoosingByMessages ranks{64};
  CHECK_THAT(ranks.reason(Collective::alltoall, 8),
             Catch::Matchers::Contains("Bruck:8: expected 4.80 µs; Linear: expected 18.90 µs") &&
                 Catch::Matchers::Contains("network.gap_ns (300)"));
  CHECK_THAT(ranks.reason(Collective::scan, 8),
             Catch::Matchers::Contains("RecursiveDoubling: expected "));
}
