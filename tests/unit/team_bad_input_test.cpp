#include "catch.hpp"
#include "mistakes.hpp"

#include <papcoll/catalogue/not_served.hpp>
#include <papcoll/config.hpp>
#include <papcoll/entry.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using papcoll::Collective;
using Rank = papcoll::ThreadTeam::Rank;

namespace {

// What hangs is a failure, and not a time-out of the whole test.
const papcoll::Options patient{.deadline = std::chrono::seconds{20}};

template <class Body>
std::vector<Outcome> outcomes(papcoll::ThreadTeam& team, Body&& body) {
  std::vector<Outcome> all(static_cast<std::size_t>(team.size()));
  team.run([&](Rank& comm) {
    all[static_cast<std::size_t>(comm.rank())] = outcome_of([&] { body(comm); });
  });
  return all;
}

/// What each rank hears of the call with these outcomes, in it or later.
std::vector<Outcome> heard(papcoll::ThreadTeam& team, std::vector<Outcome> outcomes) {
  team.run([&](Rank& comm) {
    Outcome& mine = outcomes[static_cast<std::size_t>(comm.rank())];
    mine = mistakes::heard(comm, mine);
  });
  return outcomes;
}

/// Ranks that have done their part of these may have left before anything was wrong.
bool may_leave_early(Collective c) { return papcoll::is_rooted(c); }

const std::vector<std::string> arrival_algorithms{
    "",          "DynamicLeader",      "StaticLeader",  "Exchange",   "PeerSlices",
    "SplitTail", "ArrivalOrder+Chain", "CombiningTree", "MultiLeader"};

/// Partial results lie in the output of whoever combined them.
bool may_write(const std::string& name) {
  return name == "SplitTail" || name == "ArrivalOrder+Chain" || name == "CombiningTree";
}

papcoll::Algorithm named(const std::string& name) {
  return name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
}

bool serves(const std::string& name, Collective c) {
  if (name.empty()) {
    return c != Collective::gather && c != Collective::scatter && c != Collective::reduce_scatter;
  }
  return named(name).selection().arrival->serves(c);
}

}  // namespace

TEST_CASE("an invalid call on one rank, arrival floor", "[team]") {
  for (const std::string& name : arrival_algorithms) {
    const papcoll::Algorithm algorithm = named(name);
    for (const int ranks : {2, 3, 5}) {
      papcoll::ThreadTeam team{ranks, patient};
      for (const auto& mistake : mistakes::all<Rank>()) {
        if (!serves(name, mistake.collective)) continue;
        for (const int wrong : {0, ranks - 1}) {
          INFO(name << ", " << ranks << " ranks, " << wrong << " wrong: " << mistake.says);
          std::vector<mistakes::Buffers> buffers(static_cast<std::size_t>(ranks),
                                                 mistakes::Buffers{ranks});
          const auto result = outcomes(team, [&](Rank& comm) {
            mistake.call(comm, buffers[static_cast<std::size_t>(comm.rank())], comm.rank() == wrong,
                         algorithm);
          });
          for (int r = 0; r < ranks; ++r) {
            const auto i = static_cast<std::size_t>(r);
            CAPTURE(r, result[i]);
            if (r == wrong) {
              CHECK(result[i].kind == "argument_error");
              CHECK(result[i].says(mistake.says));
              CHECK(result[i].says(std::string(papcoll::name_of(mistake.collective)) + " on rank " +
                                   std::to_string(r)));
              CHECK(buffers[i].untouched());
            } else if (!result[i].is_fine() || !may_leave_early(mistake.collective)) {
              CHECK(result[i].kind == "peer_error");
              CHECK(result[i].says("on rank " + std::to_string(wrong)));
              CHECK(result[i].says(mistake.says));
              CHECK((buffers[i].untouched() || may_write(name)));
            }
          }
          for (const Outcome& o : heard(team, result)) CHECK(!o.is_fine());
          for (const Outcome& o : outcomes(team, mistakes::work<Rank>)) CHECK(o.is_fine());
        }
      }
    }
  }
}

TEST_CASE("calls that do not match, arrival floor", "[team]") {
  for (const std::string& name : arrival_algorithms) {
    const papcoll::Algorithm algorithm = named(name);
    for (const int ranks : {2, 3, 5}) {
      papcoll::ThreadTeam team{ranks, patient};
      for (const auto& mistake : mistakes::mismatches<Rank>()) {
        if (!serves(name, mistake.collective)) continue;
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
            CHECK((buffers[i].untouched() || may_write(name)));
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

TEST_CASE("an invalid call on one rank, plan floor", "[team]") {
  // Those who had begun cannot be brought back into step. Either nobody had, or the team is broken
  // on all ranks; what must not happen is that somebody waits for ever.
  for (const std::string name : {"Linear", "Binomial", "Ring", "RecursiveDoubling", "Bruck"}) {
    const papcoll::Algorithm algorithm = papcoll::algorithm(name);
    for (const auto& mistake : mistakes::all<Rank>()) {
      if (!algorithm.selection().schedule.serves(mistake.collective)) continue;
      for (const int wrong : {0, 2}) {
        INFO(name << ", " << wrong << " wrong: " << mistake.says);
        papcoll::ThreadTeam team{3, patient};
        const auto result = outcomes(team, [&](Rank& comm) {
          mistakes::Buffers buffers{3};
          mistake.call(comm, buffers, comm.rank() == wrong, algorithm);
        });
        for (int r = 0; r < 3; ++r) {
          const Outcome& o = result[static_cast<std::size_t>(r)];
          CAPTURE(r, o);
          if (r == wrong) {
            CHECK(o.kind == "argument_error");
          } else if (!o.is_fine()) {
            CHECK(o.kind == "peer_error");
          }
        }
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

TEST_CASE("calls that do not match, plan floor", "[team]") {
  for (const std::string name : {"Linear", "Binomial", "RecursiveDoubling", "Rabenseifner"}) {
    const papcoll::Algorithm algorithm = papcoll::algorithm(name);
    for (const auto& mistake : mistakes::mismatches<Rank>()) {
      if (!algorithm.selection().schedule.serves(mistake.collective)) continue;
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
      CHECK(last[0].says("4 calls ago: rank 1's call was invalid"));
    } else {
      CHECK(first[1].kind == "peer_error");
      CHECK(last[0].kind == "argument_error");
      CHECK(last[0].says("; and the ranks' calls did not match 4 calls ago: rank 0 called"));
    }
    CHECK(last[1].kind == "peer_error");
  }
}

TEST_CASE("blocks beyond 2^32 elements count, too", "[team]") {
  const auto split = [](std::size_t a, std::size_t b) {
    return papcoll::detail::hash_of_counts(std::vector{a, b});
  };
  const std::size_t huge = std::size_t{1} << 32U;
  CHECK(split(huge, 0) != split(0, huge));
  CHECK(split(huge, 1) != split(0, huge + 1));
}

TEST_CASE("two different lambdas look alike", "[team]") {
  papcoll::ThreadTeam team{2, patient};
  const auto all = outcomes(team, [](Rank& c) {
    const auto plus = [](int x, int y) { return x + y; };
    const auto times = [](int x, int y) { return x * y; };
    int x = 3;
    if (c.rank() == 0) x = papcoll::allreduce(c, x, plus);
    if (c.rank() == 1) x = papcoll::allreduce(c, x, times);
  });
  for (const Outcome& o : all) CHECK(o.is_fine());
}

namespace {

template <class T, class... Ops>
void add_types_of(std::vector<std::uint64_t>& all, const Ops&... ops) {
  T x{};
  const auto add = [&](const auto& op) {
    all.push_back(
        papcoll::detail::reduction_of(Collective::allreduce, &x, &x, std::size_t{1}, op).types);
  };
  (add(ops), ...);
}

template <class... Ts>
std::vector<std::uint64_t> types_of_built_ins() {
  std::vector<std::uint64_t> all;
  (add_types_of<Ts>(all, papcoll::sum, papcoll::prod, papcoll::min, papcoll::max,
                    papcoll::logical_and, papcoll::logical_or, papcoll::logical_xor),
   ...);
  add_types_of<int>(all, papcoll::bit_and, papcoll::bit_or, papcoll::bit_xor);
  return all;
}

}  // namespace

TEST_CASE("no two built-in operators or types look alike", "[team]") {
  auto all = types_of_built_ins<char, signed char, unsigned char, short, unsigned short, int,
                                unsigned, long, unsigned long, long long, unsigned long long, float,
                                double, long double, bool>();
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("a deadline says who is missing", "[team]") {
  const papcoll::Options brief{.deadline = std::chrono::milliseconds{100}};
  const auto passes = [&](int ranks, auto&& body) {
    papcoll::ThreadTeam team{ranks, brief};
    return outcomes(team, body);
  };
  for (const char* name : {"", "DynamicLeader", "Exchange", "Ring"}) {
    INFO(name);
    const auto algorithm = named(name);
    for (const auto& [ranks, text] :
         {std::pair{2,
                    "rank 1 has not come to allreduce of 10 elements (blocking call 3 of the "
                    "communicator)"},
          std::pair{3, "ranks 1 and 2 have not come to allreduce of 10 elements (blocking call 3"},
          std::pair{12, "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more have not come to allreduce"}}) {
      const auto all = passes(ranks, [&](Rank& c) {
        std::vector<int> data(10, 1);
        papcoll::barrier(c);
        papcoll::barrier(c);
        if (c.rank() == 0) papcoll::allreduce(c, data, papcoll::sum, algorithm);
      });
      CAPTURE(all[0]);
      CHECK(all[0].kind == "deadline_exceeded");
      CHECK(all[0].says(text));
    }
  }
  // One waits for the other two, of whom one waits, too.
  const auto some = passes(3, [](Rank& c) {
    if (c.rank() != 2) papcoll::barrier(c);
  });
  for (int r = 0; r < 2; ++r) {
    CAPTURE(some[static_cast<std::size_t>(r)]);
    CHECK(
        some[static_cast<std::size_t>(r)].says("rank 2 has not come to barrier (blocking call 1"));
  }
  const auto early = passes(2, [](Rank& c) {
    int x = 1;
    for (int i = 0; i < 5 && c.rank() == 0; ++i) x = papcoll::bcast(c, x, papcoll::root{0});
  });
  CAPTURE(early[0]);
  CHECK(
      early[0].says("rank 1 has not left the call 4 before bcast of 1 element with root 0 "
                    "(blocking call 5 of the communicator)"));
  const auto request = passes(2, [](Rank& c) {
    int x = 1;
    if (c.rank() == 0) papcoll::iallreduce(c, &x, 1).wait();
  });
  CAPTURE(request[0]);
  CHECK(request[0].says("in a non-blocking allreduce of 1 element: a peer is stopped"));
}

TEST_CASE("one prefix a message", "[team]") {
  papcoll::ThreadTeam team{2, {.deadline = std::chrono::milliseconds{100}}};
  const auto all = outcomes(team, [](Rank& c) {
    if (c.rank() == 0) papcoll::barrier(c);
  });
  const auto again = outcomes(team, [](Rank& c) { papcoll::barrier(c); });
  for (const Outcome& o : {all[0], again[0]}) {
    CAPTURE(o);
    CHECK(!o.is_fine());
    CHECK(o.what.rfind("papcoll: ") == 0);
  }
}

TEST_CASE("what serves instead does serve", "[team]") {
  for (std::size_t i = 0; i < papcoll::collective_count; ++i) {
    for (const auto name : papcoll::schedules_for(static_cast<Collective>(i))) {
      CHECK(papcoll::algorithm(name).selection().schedule.serves(static_cast<Collective>(i)));
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

TEST_CASE("a call that is invalid on all ranks leaves the team as it was", "[team]") {
  using papcoll::algorithm;
  const auto minus = [](int a, int b) { return a - b; };
  for (const int ranks : {1, 2, 5}) {
    papcoll::ThreadTeam team{ranks, patient};
    auto all_get = [&](const std::string& kind, const std::string& text, auto&& body) {
      for (const Outcome& o : outcomes(team, body)) {
        CAPTURE(o, text);
        CHECK(o.kind == kind);
        CHECK(o.says(text));
      }
      for (const Outcome& o : outcomes(team, mistakes::work<Rank>)) CHECK(o.is_fine());
    };
    std::vector<std::vector<int>> data(static_cast<std::size_t>(ranks), std::vector<int>(10, 1));
    auto mine = [&](Rank& c) -> std::vector<int>& {
      return data[static_cast<std::size_t>(c.rank())];
    };

    all_get("argument_error", "not known to commute",
            [&](Rank& c) { papcoll::allreduce(c, mine(c), minus, algorithm("Ring")); });
    all_get("argument_error", "not known to commute",
            [&](Rank& c) { papcoll::iallreduce(c, mine(c), minus, algorithm("Ring")).wait(); });
    all_get("argument_error",
            "Ring does not serve bcast, only allreduce, allgather, reduce_scatter: take Binomial",
            [&](Rank& c) { papcoll::bcast(c, mine(c), papcoll::root{0}, algorithm("Ring")); });
    all_get("argument_error", "MultiLeader does not serve reduce, only allreduce: take Binomial or",
            [&](Rank& c) {
              papcoll::reduce(c, mine(c), papcoll::root{0}, papcoll::sum, algorithm("MultiLeader"));
            });
    all_get("argument_error", "cannot be non-blocking", [&](Rank& c) {
      papcoll::iallreduce(c, mine(c), papcoll::sum, algorithm("Exchange")).wait();
    });
    all_get("transport_unavailable", "MpiTransport does not serve this kind of team", [&](Rank& c) {
      papcoll::allreduce(c, mine(c), papcoll::sum, algorithm("MpiTransport"));
    });
    all_get("transport_unavailable", "take ThreadTransport", [&](Rank& c) {
      papcoll::iallreduce(c, mine(c), papcoll::sum, algorithm("Ring+ShmTransport")).wait();
    });
    all_get("argument_error", "give one of them", [&](Rank& c) {
      papcoll::allreduce<papcoll::Ring>(c, mine(c), papcoll::sum, algorithm("Rabenseifner"));
    });
    all_get("unknown_algorithm", "Rabenseifner", [&](Rank& c) {
      papcoll::allreduce(c, mine(c), papcoll::sum, algorithm("Rabenseifer"));
    });
    struct Huge {
      int x[20'000];
    };
    const auto first = [](const Huge& a, const Huge&) { return a; };
    all_get("argument_error", "takes elements of at most", [&](Rank& c) {
      std::vector<Huge> one(1);
      papcoll::allreduce(c, one, first, algorithm("DynamicLeader"));
    });
    for (const auto& d : data) CHECK(d == std::vector<int>(10, 1));
  }
}

namespace {

/// One rank of many whose threads never run.
struct FirstOfMany {
  explicit FirstOfMany(int ranks, const papcoll::Options& options)
      : team(papcoll::detail::thread_team_state<>(ranks, options)) {}
  papcoll::TeamCore& core() const { return papcoll::detail::core_of_thread<>(*team, 0); }
  std::shared_ptr<papcoll::detail::ThreadTeamState> team;
};

bool refuses(const papcoll::Explanation& e, const std::string& algorithm) {
  return std::any_of(e.refused.begin(), e.refused.end(), [&](const std::string& text) {
    return text.find(algorithm) < text.find(':') &&
           text.find("the node has more than") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("more ranks than an algorithm can count", "[team]") {
  for (const int ranks : {1023, 1024}) {
    papcoll::Options options = patient;
    options.chunk_bytes = papcoll::cache_line;
    options.arena_bytes = 0;
    FirstOfMany one{ranks, options};
    const auto explained = papcoll::explain(one, Collective::allreduce, 4'000'000);
    CHECK(refuses(explained, "SplitTail") == (ranks > 1023));
    CHECK_FALSE(refuses(explained, "CombiningTree"));
    if (ranks <= 1023) continue;  // it would wait for them
    std::vector<int> data(100, 1);
    const Outcome o = outcome_of(
        [&] { papcoll::allreduce(one, data, papcoll::sum, papcoll::algorithm("SplitTail")); });
    CAPTURE(o);
    CHECK(o.kind == "argument_error");
    CHECK(o.says("SplitTail serves at most 1023 ranks that share memory, and here are 1024"));
    CHECK(data == std::vector<int>(100, 1));
  }
}

TEST_CASE("a team that cannot be", "[team]") {
  CHECK(outcome_of([] { papcoll::ThreadTeam{0}; }).kind == "argument_error");
  CHECK(outcome_of([] { papcoll::ThreadTeam{-3}; }).kind == "argument_error");
  for (const papcoll::Options& options :
       {papcoll::Options{.chunk_bytes = 0}, papcoll::Options{.chunk_bytes = 100},
        papcoll::Options{.window = 0}, papcoll::Options{.window = 17},
        papcoll::Options{.deadline = std::chrono::seconds{-1}}}) {
    CHECK(outcome_of([&] { papcoll::ThreadTeam(2, options); }).kind == "argument_error");
  }
}
