// SPDX-License-Identifier: BSD-3-Clause
// Calls and teams that are refused by themselves, on one rank or on all.

#include "catch.hpp"
#include "mistakes.hpp"
#include "team_outcomes.hpp"

#include <papcoll/base/config.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace team_outcomes;

TEST_CASE("an invalid call on one rank, arrival-driven engine", "[team]") {
  for (const std::string& name : arrival_algorithms) {
    const papcoll::Algorithm algorithm = named(name);
    for (const int ranks : {2, 3, 5}) {
      papcoll::ThreadTeam team{ranks, patient};
      for (const auto& mistake : mistakes::all<Rank>()) {
        if (!serves(name, mistake)) continue;
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
              CHECK(result[i].says(
                  papcoll::CallLabel{mistake.collective, false, mistake.irregular}.name() +
                  " on rank " + std::to_string(r)));
              CHECK(buffers[i].untouched());
            } else if (!result[i].is_fine() || !may_leave_early(mistake.collective)) {
              CHECK(result[i].kind == "peer_error");
              CHECK(result[i].says("on rank " + std::to_string(wrong)));
              CHECK(result[i].says(mistake.says));
              CHECK((buffers[i].untouched() || may_write(name, mistake, team)));
            }
          }
          for (const Outcome& o : heard(team, result)) CHECK(!o.is_fine());
          for (const Outcome& o : outcomes(team, mistakes::work<Rank>)) CHECK(o.is_fine());
        }
      }
    }
  }
}

TEST_CASE("an invalid call on one rank, schedule engine", "[team]") {
  // Those who had begun cannot be brought back into step. Either nobody had, or the team is broken
  // on all ranks; what must not happen is that somebody waits for ever.
  for (const std::string name : {"Linear", "Binomial", "Ring", "RecursiveDoubling", "Bruck"}) {
    const papcoll::Algorithm algorithm = papcoll::algorithm(name);
    for (const auto& mistake : mistakes::all<Rank>()) {
      if (!serves(algorithm.spec().schedule, mistake)) continue;
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

TEST_CASE("what serves instead does serve", "[team]") {
  for (std::size_t i = 0; i < papcoll::collective_count; ++i) {
    for (const auto name : papcoll::traits_of(static_cast<Collective>(i)).schedules) {
      CHECK(papcoll::algorithm(name).spec().schedule.serves(static_cast<Collective>(i)));
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
            "Ring does not serve bcast, only allreduce, allgather, reduce_scatter, alltoall: take "
            "Binomial",
            [&](Rank& c) { papcoll::bcast(c, mine(c), papcoll::root{0}, algorithm("Ring")); });
    all_get("argument_error", "MultiLeader does not serve reduce, only allreduce: take Binomial or",
            [&](Rank& c) {
              papcoll::reduce(c, mine(c), papcoll::root{0}, papcoll::sum, algorithm("MultiLeader"));
            });
    all_get("argument_error", "the call is non-blocking", [&](Rank& c) {
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

TEST_CASE("an algorithm that does not serve a call is an error of its own", "[team]") {
  using papcoll::algorithm;
  papcoll::ThreadTeam team{3, patient};
  struct Huge {
    int x[20'000];
  };
  const auto minus = [](int a, int b) { return a - b; };
  const auto first = [](const Huge& a, const Huge&) { return a; };
  const auto is_unserved = [&](auto&& call) {
    std::vector<int> found(3, 0);
    team.run([&](Rank& c) {
      std::vector<int> data(10, 1);
      try {
        call(c, data);
      } catch (const papcoll::unsupported_call&) {
        found[static_cast<std::size_t>(c.rank())] = 1;
      } catch (const papcoll::argument_error&) {
        found[static_cast<std::size_t>(c.rank())] = 2;
      }
    });
    for (const Outcome& o : outcomes(team, mistakes::work<Rank>)) CHECK(o.is_fine());
    CHECK(found == std::vector<int>(3, found[0]));
    return found[0] == 1;
  };
  CHECK(is_unserved(
      [&](Rank& c, auto& data) { papcoll::allreduce(c, data, minus, algorithm("Ring")); }));
  CHECK(is_unserved(
      [&](Rank& c, auto& data) { papcoll::bcast(c, data, papcoll::root{0}, algorithm("Ring")); }));
  CHECK(is_unserved([&](Rank& c, auto&) {
    std::vector<Huge> one(1);
    papcoll::allreduce(c, one, first, algorithm("DynamicLeader"));
  }));
  CHECK_FALSE(is_unserved([&](Rank& c, auto& data) {
    papcoll::bcast(c, data, papcoll::root{3}, algorithm("Binomial"));
  }));
  CHECK_FALSE(is_unserved([&](Rank& c, auto& data) {
    papcoll::allreduce<papcoll::Ring>(c, data, papcoll::sum, algorithm("Rabenseifner"));
  }));
}

namespace {

/// One rank of many whose threads never run.
struct FirstOfMany {
  explicit FirstOfMany(int ranks, const papcoll::Options& options)
      : team(papcoll::detail::thread_team_state(ranks, options)) {}
  papcoll::TeamCore& core() const { return papcoll::detail::core_of_thread(*team, 0); }
  papcoll::detail::Shared<papcoll::detail::ThreadTeamState> team;
};

bool refuses(const papcoll::Explanation& e, const std::string& algorithm) {
  return std::any_of(e.refused.begin(), e.refused.end(), [&](const std::string& text) {
    return text.find(algorithm) < text.find(':') && text.find("here are ") != std::string::npos;
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
    CHECK(o.says(
        "SplitTail serves a limited number of ranks that share memory, and here are 1024 ranks, "
        "more than 1023: take DynamicLeader"));
    CHECK(data == std::vector<int>(100, 1));
  }
}

TEST_CASE("a call within a call on the same communicator is refused", "[team]") {
  // As one of a second thread is, which would be a data race here.
  papcoll::ThreadTeam team{2, patient};
  std::vector<Outcome> inner(2);
  std::vector<int> sums(2);
  const auto result = outcomes(team, [&](Rank& comm) {
    std::vector<int> data(1, 1);
    papcoll::allreduce(comm, data, [&](int a, int b) {
      inner[static_cast<std::size_t>(comm.rank())] = outcome_of([&] { papcoll::barrier(comm); });
      return a + b;
    });
    sums[static_cast<std::size_t>(comm.rank())] = data[0];
  });
  CHECK(sums == std::vector{2, 2});
  CHECK(result[0].is_fine());
  CHECK(result[1].is_fine());
  CHECK((!inner[0].is_fine() || !inner[1].is_fine()));  // whoever combined
  for (const Outcome& o : inner) {
    if (o.is_fine()) continue;
    CHECK(o.kind == "argument_error");
    CHECK(o.says("take a communicator for each thread"));
  }
  for (const Outcome& o : outcomes(team, [](Rank& comm) { papcoll::barrier(comm); })) {
    CHECK(o.is_fine());
  }
}

TEST_CASE("a team that cannot be", "[team]") {
  CHECK(outcome_of([] { papcoll::ThreadTeam{0}; }).kind == "argument_error");
  CHECK(outcome_of([] { papcoll::ThreadTeam{-3}; }).kind == "argument_error");
  for (const papcoll::Options& options :
       {papcoll::Options{.chunk_bytes = 0}, papcoll::Options{.chunk_bytes = 100},
        papcoll::Options{.pipeline_depth = 0}, papcoll::Options{.pipeline_depth = 17},
        papcoll::Options{.deadline = std::chrono::seconds{-1}}}) {
    CHECK(outcome_of([&] { papcoll::ThreadTeam(2, options); }).kind == "argument_error");
  }
}
