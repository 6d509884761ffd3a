// SPDX-License-Identifier: BSD-3-Clause
// Calls that are right by themselves and do not match those of other ranks.

#include "catch.hpp"
#include "mistakes.hpp"
#include "team_outcomes.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/thread_team.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace team_outcomes;

TEST_CASE("calls that do not match, arrival-driven engine", "[team]") {
  for (const std::string& name : arrival_algorithms) {
    const papcoll::Algorithm algorithm = named(name);
    for (const int ranks : {2, 3, 5}) {
      papcoll::ThreadTeam team{ranks, patient};
      for (const auto& mistake : mistakes::mismatches<Rank>()) {
        if (!serves(name, mistake)) continue;
        for (const int odd : {0, ranks - 1}) {
          INFO(name << ", " << ranks << " ranks, " << odd << " odd: " << mistake.says);
          std::vector<mistakes::Buffers> buffers(static_cast<std::size_t>(ranks),
                                                 mistakes::Buffers{ranks});
          const auto result = outcomes(team, [&](Rank& comm) {
            mistake.call(comm, buffers[static_cast<std::size_t>(comm.rank())], comm.rank() == odd,
                         algorithm);
          });
          for (int r = 0; r < ranks; ++r) {
            const auto i = static_cast<std::size_t>(r);
            CAPTURE(r, result[i]);
            // Whoever calls with no elements has nothing to wait for.
            const bool empty = r == odd && mistake.says == "of 0 elements";
            if (result[i].is_fine() && (empty || may_leave_early(mistake.collective))) continue;
            CHECK(result[i].kind == "peer_error");
            CHECK(result[i].says(mistake.says));
            CHECK((buffers[i].untouched() || may_write(name, mistake, team)));
          }
          for (const Outcome& o : heard(team, result)) {
            CAPTURE(o);
            CHECK(o.kind == "peer_error");
          }
          for (const Outcome& o : outcomes(team, mistakes::work<Rank>)) CHECK(o.is_fine());
        }
      }
    }
  }
}

TEST_CASE("calls that do not match, schedule engine", "[team]") {
  for (const std::string name : {"Linear", "Binomial", "RecursiveDoubling", "Rabenseifner"}) {
    const papcoll::Algorithm algorithm = papcoll::algorithm(name);
    for (const auto& mistake : mistakes::mismatches<Rank>()) {
      if (!serves(algorithm.spec().schedule, mistake)) continue;
      for (const int odd : {0, 1, 2}) {
        INFO(name << ", " << odd << " odd: " << mistake.says);
        papcoll::ThreadTeam team{3, patient};
        outcomes(team, [&](Rank& comm) {
          mistakes::Buffers buffers{3};
          mistake.call(comm, buffers, comm.rank() == odd, algorithm);
        });
        for (int again = 0; again < 2; ++again) {
          const auto after = outcomes(team, mistakes::work<Rank>);
          const bool works = after[0].is_fine();
          for (const Outcome& o : after) {
            CAPTURE(again, o);
            CHECK(o.is_fine() == works);
            CHECK((works || o.kind == "peer_error" || o.kind == "broken_communicator"));
          }
        }
      }
    }
  }
}

TEST_CASE("what messages say of calls that do not match", "[team]") {
  using papcoll::root;
  const auto rank_1_gets = [](const std::string& text, auto&& body) {
    papcoll::ThreadTeam team{2, patient};
    const auto all = heard(team, outcomes(team, body));
    CAPTURE(text, all[0], all[1]);
    CHECK(all[1].kind == "peer_error");
    CHECK(all[1].says(text));
  };
  const auto plus = [](int x, int y) { return x + y; };
  rank_1_gets("only some of their operators commute", [&](Rank& c) {
    int x = 1;
    if (c.rank() == 0) x = papcoll::allreduce(c, x, papcoll::commutative(plus));
    if (c.rank() == 1) x = papcoll::allreduce(c, x, plus);
  });
  rank_1_gets("rank 0 called allreduce of 1 element,", [](Rank& c) {
    std::vector<int> data(c.rank() == 0 ? 1 : 2);
    papcoll::allreduce(c, data);
  });
  rank_1_gets("of 1 element; their element types and operators differ", [](Rank& c) {
    if (c.rank() == 0) static_cast<void>(papcoll::allreduce(c, 1));
    if (c.rank() == 1) static_cast<void>(papcoll::allreduce(c, 1.0F, papcoll::max));
  });
  rank_1_gets("; their algorithms differ: all ranks must name the same policies", [](Rank& c) {
    const char* const name = c.rank() == 0 ? "Exchange" : "DynamicLeader";
    static_cast<void>(papcoll::allreduce(c, 1, papcoll::sum, papcoll::algorithm(name)));
  });
  const auto contracts_differ = [](const std::string& name) {
    return [name](Rank& c) {
      const std::string contract = c.rank() == 0 ? "" : "+Reproducible";
      std::vector<int> data(5000, 1);
      papcoll::allreduce(c, data, papcoll::sum, papcoll::algorithm(name + contract));
      for (int i = 0; i < papcoll::NodeControlBlock::epoch_slots; ++i) {
        papcoll::barrier(c);  // at the latest in the last one
      }
    };
  };
  const std::string algorithms_differ =
      "; their algorithms differ: all ranks must name the same policies";
  rank_1_gets(algorithms_differ, contracts_differ("MultiLeader"));
  rank_1_gets(algorithms_differ, contracts_differ("DynamicLeader"));
  {
    // By messages, a rank that has to wait says so; the other one may hear that it gave up before
    // it has looked itself. If nobody waits, both are told when the epoch slot is used again.
    papcoll::ThreadTeam team{2, patient};
    const auto all = outcomes(team, contracts_differ("Rabenseifner"));
    CAPTURE(all[0], all[1]);
    const auto knows = [&](const Outcome& o) {
      return o.says(algorithms_differ) || o.says("the ranks' calls did not match");
    };
    CHECK((knows(all[0]) || knows(all[1])));
    for (const Outcome& o : all) CHECK(o.kind == "peer_error");
  }
  rank_1_gets("; their papcoll::counts differ", [](Rank& c) {
    const std::vector<int> in(3, 1);
    std::vector<std::size_t> sizes{1, 2};
    if (c.rank() == 1) sizes = {2, 1};
    std::vector<int> out(sizes[static_cast<std::size_t>(c.rank())]);
    papcoll::reduce_scatter(c, in, out, papcoll::counts{sizes}, papcoll::sum,
                            papcoll::algorithm("Exchange"));
  });
  // Both are roots, and leave at once.
  rank_1_gets(
      "4 calls ago: rank 0 called bcast of 1 element with root 0, rank 1 called bcast of 1 "
      "element with root 1: all ranks must name the same root",
      [](Rank& c) { static_cast<void>(papcoll::bcast(c, 1, root{c.rank()})); });
  rank_1_gets("something else: all ranks must make the same calls in the same order", [](Rank& c) {
    if (c.rank() == 0) static_cast<void>(papcoll::bcast(c, 1.0F, root{0}));
    if (c.rank() == 1) static_cast<void>(papcoll::bcast(c, 1, root{1}));
  });
  rank_1_gets(
      "rank 0 sent 8 bytes where a message of bcast of 1 element with root 0 on this rank "
      "has 4 bytes: all ranks must pass the same count",
      [](Rank& c) {
        std::vector<int> data(c.rank() == 0 ? 2 : 1);
        papcoll::ibcast(c, data, root{0}).wait();
      });
}

TEST_CASE("a root that has left hears four calls later, whatever it does then", "[team]") {
  using papcoll::root;
  const auto bcast_of = [](Rank& c, std::size_t n, int from) {
    return outcome_of([&] {
      std::vector<int> data(n, 1);
      papcoll::bcast(c, data, root{from}, papcoll::algorithm("DynamicLeader"));
    });
  };
  for (const bool first_is_invalid : {true, false}) {
    papcoll::ThreadTeam team{2, patient};
    std::vector<Outcome> first(2);
    std::vector<Outcome> last(2);
    std::vector<int> between(2);
    team.run([&](Rank& c) {
      const auto r = static_cast<std::size_t>(c.rank());
      const bool here = c.rank() == 1;
      first[r] = bcast_of(c, here && !first_is_invalid ? 8 : 4, here && first_is_invalid ? 7 : 0);
      for (int i = 0; i < 3; ++i) between[r] += bcast_of(c, 4, 0).is_fine() ? 1 : 0;
      last[r] = bcast_of(c, 4, !here && !first_is_invalid ? 7 : 0);
    });
    CAPTURE(first_is_invalid, first[1], last[0]);
    CHECK(between == std::vector<int>{3, 3});
    CHECK(first[0].is_fine());
    if (first_is_invalid) {
      CHECK(first[1].kind == "argument_error");
      CHECK(last[0].kind == "peer_error");
      CHECK(last[0].says(
          "blocking call 1, 4 calls ago, failed: another rank's call is invalid: bcast"));
    } else {
      CHECK(first[1].kind == "peer_error");
      CHECK(last[0].kind == "argument_error");
      CHECK(
          last[0].says("; and this call was not performed, because blocking call 1, 4 calls ago, "
                       "failed: the ranks' calls do not match: "
                       "rank 0 called bcast of 4 elements"));
    }
    CHECK(last[1].kind == "peer_error");
  }
}

TEST_CASE("a call in which some hear of a fault fails on those who knew of it, too", "[team]") {
  using papcoll::root;
  for (const int from : {0, 1}) {  // rank 1 knows, and need not wait for anybody as a root
    papcoll::ThreadTeam team{2, patient};
    std::vector<Outcome> last(2);
    std::vector<int> again(2);
    team.run([&](Rank& c) {
      const auto r = static_cast<std::size_t>(c.rank());
      std::vector<int> data(c.rank() == 0 ? 4 : 8, 1);
      outcome_of([&] { papcoll::bcast(c, data, root{0}, papcoll::algorithm("DynamicLeader")); });
      for (int i = 0; i < 3; ++i) papcoll::barrier(c);
      last[r] = outcome_of([&] { static_cast<void>(papcoll::bcast(c, 7, root{from})); });
      again[r] = papcoll::bcast(c, c.rank() == from ? 8 : 0, root{from});
    });
    for (const Outcome& o : last) {
      CAPTURE(from, o);
      CHECK(o.kind == "peer_error");
      CHECK(o.says("this call was not performed, because blocking call 1, 4 calls ago, failed"));
    }
    CHECK(again == std::vector<int>{8, 8});
  }
}

TEST_CASE("what is heard late of a call that passed messages breaks the team", "[team]") {
  using papcoll::root;
  const auto bcast_from = [](Rank& c, int from, const char* algorithm) {
    return outcome_of([&] {
      static_cast<void>(papcoll::bcast(c, 1, root{from}, papcoll::algorithm(algorithm)));
    });
  };
  struct Case {
    const char* algorithm;  ///< of the call that does not match
    const char* fourth;     ///< of the one that hears
    int bad_root;           ///< of the fourth call on rank 0, 0: none
    bool breaks;
  };
  for (const Case& test :
       {Case{"Binomial", "DynamicLeader", 0, true}, Case{"Binomial", "Binomial", 0, true},
        Case{"Binomial", "DynamicLeader", 7, true}, Case{"DynamicLeader", "Binomial", 0, false},
        Case{"DynamicLeader", "Binomial", 7, false}}) {
    CAPTURE(test.algorithm, test.fourth, test.bad_root);
    papcoll::ThreadTeam team{2, patient};
    std::vector<Outcome> first(2);
    std::vector<Outcome> last(2);
    std::vector<Outcome> after(2);
    std::vector<int> between(2);
    team.run([&](Rank& c) {
      const auto r = static_cast<std::size_t>(c.rank());
      // Both are roots: a message of each stays, if it goes by messages.
      first[r] = bcast_from(c, c.rank(), test.algorithm);
      for (int i = 0; i < 3; ++i) between[r] += bcast_from(c, 0, "DynamicLeader").is_fine() ? 1 : 0;
      last[r] = bcast_from(c, c.rank() == 0 ? test.bad_root : 0, test.fourth);
      after[r] = bcast_from(c, 0, "DynamicLeader");
    });
    for (std::size_t r = 0; r < 2; ++r) {
      CAPTURE(r, first[r], last[r], after[r]);
      CHECK(first[r].is_fine());
      CHECK(between[r] == 3);
      CHECK(last[r].kind == (r == 0 && test.bad_root != 0 ? "argument_error" : "peer_error"));
      CHECK(last[r].says("4 calls ago"));
      CHECK(after[r].kind == (test.breaks ? "broken_communicator" : "fine"));
    }
  }
}

TEST_CASE("other algorithms on other ranks", "[team]") {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"Exchange", "DynamicLeader"},
           {"Exchange", "Rabenseifner"},
           {"Rabenseifner", "RecursiveDoubling"},
           {"KNomial:2", "KNomial:4"},
           {"ReduceThenBcast:Binomial,Chain", "ReduceThenBcast:Binomial,Linear"}}) {
    INFO(one << " and " << other);
    const auto a = papcoll::algorithm(one);
    const auto b = papcoll::algorithm(other);
    papcoll::ThreadTeam team{5, patient};
    const auto result = outcomes(team, [&](Rank& comm) {
      std::vector<int> data(50, 1);
      papcoll::allreduce(comm, data, papcoll::sum, comm.rank() == 3 ? a : b);
    });
    // Some ranks may have the same steps by either algorithm.
    int seen = 0;
    for (const Outcome& o : result) {
      CAPTURE(o);
      if (o.is_fine()) continue;
      ++seen;
      CHECK(o.kind == "peer_error");
    }
    CHECK(seen > 0);
    for (const Outcome& o : outcomes(team, mistakes::work<Rank>)) {
      CHECK(o.is_fine() == (one == "Exchange" && other == "DynamicLeader"));
    }
  }
}
