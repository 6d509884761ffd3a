// SPDX-License-Identifier: BSD-3-Clause
#include "automatic.hpp"

#include "catch.hpp"
#include "thread_problems.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace papcoll;
using Rank = ThreadTeam::Rank;

namespace {

constexpr std::chrono::seconds patience{30};

}  // namespace

TEST_CASE("threads that arrive unevenly choose alike", "[automatic]") {
  std::uint32_t seed = 3;
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const PeerAccess access : {PeerAccess::best, PeerAccess::staged}) {
      const std::uint32_t first = ranks % 2 == 0 ? 1U : 0xffffff00U;
      ThreadTeam team{ranks, {.deadline = patience, .peer_access = access, .first_epoch = first}};
      INFO(ranks << " ranks, seed " << ++seed);
      std::size_t chosen = 0;
      CHECK(problems(team, [&](Rank& comm) {
              automatic::set_costs(comm.core(), automatic::nervous());
              std::size_t mine = 0;
              std::string text = automatic::calls_that_agree(comm, 600, seed, mine);
              if (comm.rank() == 0) chosen = mine;
              return text;
            }) == "");
      if (ranks > 1) CHECK(chosen > 8);  // else this shows little
    }
  }
}

TEST_CASE("auto follows a change of the arrivals within 50 calls", "[automatic]") {
  ThreadTeam team{3, {.deadline = patience, .selection = Selection::by_arrivals}};
  CHECK(problems(team, [](Rank& comm) {
          automatic::set_costs(comm.core(), automatic::calm());
          comm.core().set_oversubscribed(false);  // else arrivals decide less
          return automatic::follows_changes(comm, 8, "Exchange+", "Exchange+") +
                 automatic::follows_changes(comm, 1 << 17, "PeerSlices+", "SplitTail+");
        }) == "");
}

namespace {

/// What is tried first.
const ArrivalAlgorithm* first_of(const Call& call, const SelectionInputs& s) {
  const auto& all = detail::chooser_of(call.collective).on_node;
  return all[detail::shortlist(all, call, s).ids[0]].algorithm;
}

}  // namespace

TEST_CASE("two ranks that arrive apart do what two that arrive together do", "[automatic]") {
  SelectionInputs s;
  s.size = 2;
  s.chunk_bytes = 65536;
  Call call;
  call.collective = Collective::allreduce;
  call.reducer.size = 8;
  call.reducer.commutative = true;
  for (const std::size_t bytes : {8UL, 512UL, 4096UL, 65528UL, 131072UL, 1UL << 24U}) {
    for (const bool ordered : {false, true}) {
      INFO(bytes << " bytes" << (ordered ? ", in rank order" : ""));
      call.count = bytes / 8;
      call.rank_order = ordered;
      s.imbalance.waiting = 0;
      const auto* const together = first_of(call, s);
      s.imbalance.waiting = 1'000'000'000;
      const auto* const apart = first_of(call, s);
      CHECK(apart == together);
    }
  }
}

TEST_CASE("calls that did not match leave no disagreement behind", "[automatic]") {
  ThreadTeam team{3, {.deadline = patience}};
  CHECK(problems(team, [](Rank& comm) {
          automatic::set_costs(comm.core(), automatic::nervous());
          std::string text;
          automatic::Log log;
          constexpr std::size_t longest = 1UL << 15U;
          constexpr std::size_t excess = 1000;
          std::vector<double> data(longest + excess);
          for (int i = 0; i < 400; ++i) {
            const bool wrong = i % 5 == 0;
            const bool mine = wrong && comm.rank() == i % comm.size();
            if (comm.rank() == i / 50 % comm.size()) {
              std::this_thread::sleep_for(std::chrono::microseconds{100});
            }
            const std::size_t n = i % 3 == 0 ? longest : 1;
            bool refused = false;
            try {
              allreduce(comm, std::span{data.data(), mine ? n + excess : n});
            } catch (const peer_error&) {
              refused = true;
            }
            if (refused != wrong) text += "call " + std::to_string(i) + " should not\n";
            for (const std::size_t bytes : {8UL, 1UL << 18U}) {
              const Explanation e = explain(comm, Collective::allreduce, bytes);
              log.add(e.algorithm);
              log.add(e.imbalance.worst);
            }
          }
          if (!log.is_that_of_all(comm)) text += "the ranks do not agree\n";
          return text;
        }) == "");
}

TEST_CASE("an explanation names candidates, arrivals, memory and what cannot run", "[automatic]") {
  ThreadTeam team{2, {.deadline = patience}};
  CHECK(problems(team, [](Rank& comm) -> std::string {
          std::string text;
          const auto expect = [&](const Explanation& e, const char* what) {
            if (e.text().find(what) == std::string::npos) {
              text += std::string("no '") + what + "' in " + e.text();
            }
          };
          const Explanation small = explain(comm, Collective::allreduce, 64);
          expect(small, "Exchange+ThreadTransport");
          expect(small, "because    the model of the node expects least of it");
          expect(small, "candidates Exchange: expected ");
          expect(small, "none seen, so taken as balanced");
          expect(small, "threads: all memory is everyone's");
          for (int i = 0; i < 100; ++i) barrier(comm);
          expect(explain(comm, Collective::allreduce, 64), "worst-case imbalance ");
          expect(explain(comm, Collective::allreduce, 64, {.commutative = false}),
                 "not        SplitTail, Accumulator, ArrivalOrder+Chain, ");
          expect(explain(comm, Collective::allreduce, 1 << 20,
                         {.contract = NumericalContract::reproducible}),
                 "SplitTail, Accumulator, ArrivalOrder+Chain: the call asks for");
          expect(explain(comm, Collective::allreduce, 64, {.non_blocking = true}),
                 "DynamicLeader, StaticLeader, ");
          expect(explain(comm, Collective::allreduce, 64, {.non_blocking = true}),
                 "ranks pass messages: the model of the network expects least of it");
          expect(explain(comm, Collective::allreduce, 64, {.non_blocking = true}),
                 "candidates RecursiveDoubling: expected 1.52 µs; ");
          expect(explain(comm, Collective::allgather, 64, {.irregular = true}),
                 "BlockCopies+ThreadTransport\n  because    no other candidate is promising");
          expect(explain(comm, Collective::alltoall, 8, {.non_blocking = true, .irregular = true}),
                 "SpreadOut+ThreadTransport\n  because    ranks pass messages: no other candidate");
          expect(explain(comm, Collective::allreduce, 8, {.algorithm = algorithm("Ring")}),
                 "Ring+ThreadTransport\n  because    the call names it");
          expect(explain(comm, Collective::bcast, 1 << 20, {.element_size = 1 << 20}),
                 "elements are larger than chunk_bytes, ");
          return text;
        }) == "");
}

TEST_CASE("what is expected to be the quickest at first", "[automatic]") {
  SelectionInputs s;
  s.size = 8;
  s.chunk_bytes = 65536;
  Call call;
  call.reducer.size = 8;
  const auto first = [&](Collective c, std::size_t bytes, bool ordered, bool late) {
    call.collective = c;
    call.count = bytes / 8;
    call.rank_order = ordered;
    s.imbalance.waiting = late ? 1'000'000'000'000 : 0;
    return first_of(call, s);
  };
  const auto* const exchange = &arrival_algorithm<StaticOrder, Exchange>;
  const auto* const accumulator = &arrival_algorithm<ArrivalOrder, Accumulator>;
  s.oversubscribed = true;
  s.processors = 2;
  CHECK(first(Collective::allreduce, 8, false, false) == exchange);
  CHECK(first(Collective::allreduce, 65536, false, false) == accumulator);
  CHECK(first(Collective::allreduce, 65536, true, false) != accumulator);
  s.oversubscribed = false;
  CHECK(first(Collective::allreduce, 8, false, true) == exchange);
  CHECK(first(Collective::allreduce, 1 << 20, false, false) ==
        &arrival_algorithm<StaticOrder, MultiLeader>);
  CHECK(first(Collective::allreduce, 1 << 20, true, true) !=
        &arrival_algorithm<ArrivalOrder, SplitTail>);
  CHECK(first(Collective::bcast, 8, false, false) == &arrival_algorithm<DynamicLeader, LeaderFan>);
  s.imbalance.in_arena = true;
  const auto* const slices = &arrival_algorithm<StaticOrder, PeerSlices>;
  CHECK(first(Collective::allreduce, 1 << 20, false, false) == slices);
  CHECK(first(Collective::reduce, 65536, false, false) == slices);
  CHECK(first(Collective::bcast, 65536, false, false) == slices);
  CHECK(first(Collective::allreduce, 1 << 20, false, true) ==
        &arrival_algorithm<ArrivalOrder, SplitTail>);
}

TEST_CASE("under Reproducible only those compete that give the same bits", "[automatic]") {
  SelectionInputs s;
  s.size = 8;
  s.chunk_bytes = 65536;
  s.pulls = true;
  Call call;
  call.reducer.size = 8;
  call.count = 8192;
  call.rank_order = true;
  call.contract = NumericalContract::reproducible;
  s.imbalance.waiting = 1'000'000'000'000;
  for (const bool two_levels : {false, true}) {
    s.cache_groups = two_levels ? 4 : 0;
    for (const Collective c : {Collective::allreduce, Collective::reduce}) {
      call.collective = c;
      const auto& all = detail::chooser_of(c).on_node;
      const Shortlist list = detail::shortlist(all, call, s);
      REQUIRE(list.count > 0);
      for (std::size_t i = 0; i < list.count; ++i) {
        const std::string_view name = all[list.ids[i]].algorithm->name;
        CAPTURE(name);
        CHECK((name == "Exchange" ||
               (!two_levels && (name == "MultiLeader" || name == "PeerSlices"))));
      }
    }
  }
}

TEST_CASE("a choice is remembered until what decides is another", "[automatic]") {
  SelectionCache choices;
  Call call;
  call.collective = Collective::reduce;
  call.count = 4;
  call.reducer.size = 8;
  CHECK(choices.find(call, 7, 100) == nullptr);
  choices.keep(call, 7, 100, &arrival_algorithm<StaticOrder, Exchange>);
  CHECK(choices.find(call, 7, 104) == &arrival_algorithm<StaticOrder, Exchange>);
  CHECK(choices.find(call, 8, 100) == nullptr);
  const auto is_another = [&](auto&& change) {
    Call other = call;
    change(other);
    return choices.find(other, 7, 100) == nullptr;
  };
  CHECK(is_another([](Call& c) { c.collective = Collective::bcast; }));
  CHECK(is_another([](Call& c) { c.count = 5; }));
  CHECK(is_another([](Call& c) { c.reducer.size = 4; }));
  CHECK(is_another([](Call& c) { c.rank_order = true; }));
  CHECK(is_another([](Call& c) { c.contract = NumericalContract::reproducible; }));
  Call longer = call;
  longer.count = 12;
  choices.keep(longer, 7, 100, &arrival_algorithm<StaticOrder, PeerSlices>);
  CHECK(choices.find(longer, 7, 100) == &arrival_algorithm<StaticOrder, PeerSlices>);
  CHECK(choices.find(call, 7, 100) == &arrival_algorithm<StaticOrder, Exchange>);
  choices.forget();
  CHECK(choices.find(call, 7, 100) == nullptr);
  CHECK_FALSE(choices.goes_by_caches(call, 0, 100));
  choices.keep(call, 7, 100, nullptr);
  CHECK(choices.find(call, 7, 100) == nullptr);
  CHECK(choices.goes_by_caches(call, 7, 104));
  CHECK_FALSE(choices.goes_by_caches(call, 8, 104));
  // While candidates are tried, for a burst of calls, which then say what was picked.
  const CallTrial trial{0x8123, 3, 2};
  call.trial = trial;
  call.reach = PeerReach::pulled;
  choices.keep(call, 7, 100, &arrival_algorithm<StaticOrder, Exchange>);
  call.trial = {};
  call.reach = PeerReach::by_option;
  CHECK(choices.find(call, 7, 103) == &arrival_algorithm<StaticOrder, Exchange>);
  CHECK(call.trial == trial);
  CHECK(call.reach == PeerReach::pulled);
  CHECK(choices.find(call, 7, 104) == nullptr);
}
