// SPDX-License-Identifier: BSD-3-Clause
#include "blocks.hpp"
#include "catch.hpp"
#include "hierarchies.hpp"
#include "matrix.hpp"
#include "outcome.hpp"

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

using namespace papcoll;

namespace {

const Options patient{.deadline = std::chrono::seconds{20}};

Options divided(const GroupColours& groups) {
  Options o = patient;
  o.groups = groups;
  return o;
}

/// Runs body(runner) on each rank of a team and gives what the ranks complained of.
template <class Body> std::string on_threads(int ranks, const Options& options, Body&& body) {
  ThreadTeam team{ranks, options};
  std::mutex mutex;
  std::string problems;
  team.run([&](ThreadTeam::Rank& comm) {
    matrix::Runner runner{comm};
    body(runner);
    const std::lock_guard lock{mutex};
    problems += runner.problems();
  });
  return problems;
}

}  // namespace

TEST_CASE("groups are numbered by their lowest ranks", "[hierarchical]") {
  const Groups g = Groups::by_colour({5, 5, 2, 5, 9, 2});
  CHECK(g.count() == 3);
  CHECK(g.of == std::vector<int>{0, 0, 1, 0, 2, 1});
  CHECK(g.ranks_of(0) == std::vector<int>{0, 1, 3});
  CHECK(g.representative(2) == 4);
  CHECK(g.number_of(3) == 2);
  CHECK_FALSE(g.contiguous());
  CHECK(Groups::by_colour({1, 1, 0, 3}).contiguous());
}

TEST_CASE("hierarchical: all collectives, all groupings", "[hierarchical]") {
  const auto all = hierarchies::candidates("ThreadTransport", "ThreadTransport");
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const GroupColours& groups : hierarchies::groupings(ranks)) {
      INFO(ranks << " ranks, " << hierarchies::text_of(groups));
      CHECK(on_threads(ranks, divided(groups), [&](auto& runner) {
              for (const matrix::Candidate& c : all) {
                runner.run_all(c, std::vector<std::size_t>{0, 1, 3, 17});
              }
            }) == "");
    }
  }
}

TEST_CASE("hierarchical: blocks that differ, all groupings", "[hierarchical]") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    std::vector<GroupColours> groupings = hierarchies::groupings(ranks);
    groupings.emplace_back();  // not divided
    for (const GroupColours& groups : groupings) {
      for (const char* const name :
           {"Hierarchical", "Hierarchical:DynamicLeader,Rabenseifner", "Hierarchical:Linear,Bruck",
            "Hierarchical:Binomial,Exchange,Pairwise", "Hierarchical:BlockCopies,Exchange"}) {
        INFO(name << ", " << ranks << " ranks, " << hierarchies::text_of(groups));
        ThreadTeam team{ranks, divided(groups)};
        std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
        team.run([&](ThreadTeam::Rank& comm) {
          blocks_test::Calls calls{comm, papcoll::algorithm(name)};
          std::string& mine = wrong[static_cast<std::size_t>(comm.rank())];
          for (std::uint64_t seed = 1; seed <= 6; ++seed) mine = calls.run(seed, 500);
        });
        CHECK(wrong == std::vector<std::string>(static_cast<std::size_t>(ranks)));
      }
    }
  }
}

TEST_CASE("hierarchical: on a team that is not divided only intra runs", "[hierarchical]") {
  const auto all = hierarchies::candidates("ThreadTransport", "ThreadTransport");
  for (const int ranks : {1, 3, 4}) {
    CHECK(on_threads(ranks, patient, [&](auto& runner) {
            for (const matrix::Candidate& c : all) {
              runner.run_all(c, std::vector<std::size_t>{0, 5});
            }
          }) == "");
  }
}

TEST_CASE("hierarchical: more elements than any buffer holds", "[hierarchical]") {
  const auto all = hierarchies::candidates("ThreadTransport", "ThreadTransport");
  Options options = divided({{0, 0, 1, 1, 1}});
  options.chunk_bytes = 4096;
  CHECK(on_threads(5, options, [&](auto& runner) {
          for (const matrix::Candidate& c : all) {
            runner.run_all(c, std::vector<std::size_t>{9001});
          }
        }) == "");
}

TEST_CASE("hierarchical: the numbers of calls wrap around", "[hierarchical]") {
  Options options = divided({{0, 0, 1, 1, 1}});
  options.first_epoch = 0xfffffff0U;
  const auto c = hierarchies::candidate("Hierarchical:DynamicLeader,Rabenseifner");
  CHECK(on_threads(5, options, [&](auto& runner) {
          for (int i = 0; i < 3; ++i) runner.run_all(c, std::vector<std::size_t>{1, 40});
        }) == "");
}

TEST_CASE("hierarchical by policies", "[hierarchical]") {
  using Two = Hierarchical<Policies<DynamicLeader, ThreadTransport>,
                           Policies<Rabenseifner, ThreadTransport>>;
  using Three = Hierarchical<DynamicLeader, Hierarchical<Exchange, Policies<>>>;
  ThreadTeam team{5, divided({{0, 0, 1, 2, 2}, {0, 0, 1}})};
  std::vector<int> results(5);
  team.run([&](ThreadTeam::Rank& comm) {
    const int mine = comm.rank() + 1;
    int& result = results[static_cast<std::size_t>(comm.rank())];
    result = allreduce<Two>(comm, mine) + allreduce<Three, Reproducible>(comm, mine);
    std::vector<int> data(7, comm.rank() == 3 ? 8 : 0);
    bcast<Two>(comm, data, root{3});
    barrier<Three>(comm);
    result += data[6];
  });
  CHECK(results == std::vector<int>(5, 38));
}

TEST_CASE("a hierarchical algorithm has one number however it is named", "[hierarchical]") {
  using Two = Hierarchical<Policies<DynamicLeader, ThreadTransport>,
                           Policies<Rabenseifner, ThreadTransport>>;
  const Algorithm named =
      algorithm("Hierarchical:DynamicLeader+ThreadTransport,Rabenseifner+ThreadTransport");
  CHECK(named.spec().hierarchical->id == detail::hierarchical_spec_of<Two>().id);
  CHECK(named.spec().hierarchical->id != algorithm("Hierarchical").spec().hierarchical->id);
}

TEST_CASE("hierarchical: parts run in predicted order", "[hierarchical]") {
  using Far = Policies<StragglAR, PredictedOrder<LastValue>, ThreadTransport>;
  using Near = Policies<PredictedOrder<>, ThreadTransport>;
  const auto id = [](const char* name) { return algorithm(name).spec().hierarchical->id; };
  const std::string named =
      "Hierarchical:PredictedOrder+ThreadTransport,PredictedOrder:LastValue+StragglAR+"
      "ThreadTransport";
  CHECK(id(named.c_str()) == detail::hierarchical_spec_of<Hierarchical<Near, Far>>().id);
  CHECK(id("Hierarchical:Exchange,Ring") != id("Hierarchical:Exchange,PredictedOrder+Ring"));

  ThreadTeam team{5, divided({{0, 0, 1, 2, 2}})};
  const Algorithm algorithm = papcoll::algorithm(named);
  std::vector<int> known(5, -1);
  team.run([&](ThreadTeam::Rank& comm) {
    for (int i = 0; i < 40; ++i) {
      if (allreduce(comm, comm.rank() + i, sum, algorithm) != 10 + 5 * i) return;
    }
    const auto knows = [](TeamCore* inner, const AnyPredictor& predictor) {
      return inner == nullptr || inner->size() < 2 ||
             inner->predictions(predictor).forecast().is_known();
    };
    const HierarchicalSpec& c = *algorithm.spec().hierarchical;
    TeamCore& core = comm.core();
    known[static_cast<std::size_t>(comm.rank())] =
        (knows(core.intra(), c.intra.order.predictor()) ? 1 : 0) +
        (knows(core.inter(), c.inter.order.predictor()) ? 2 : 0);
  });
  CHECK(known == std::vector<int>(5, 3));
}

TEST_CASE("groups that do not fit the team are refused", "[hierarchical]") {
  CHECK_THROWS_AS(ThreadTeam(3, divided({{0, 1}})), argument_error);
  CHECK_THROWS_AS(ThreadTeam(3, divided({{0, 0, 1}, {0}})), argument_error);
  CHECK_NOTHROW(ThreadTeam(3, divided({{0, 0, 1}, {0, 1}})));
}
