// SPDX-License-Identifier: BSD-3-Clause
#include "automatic.hpp"
#include "catch.hpp"
#include "outcome.hpp"
#include "persistent_calls.hpp"
#include "sanitizer.hpp"
#include "team_outcomes.hpp"
#include "thread_problems.hpp"

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/error.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/shared_vector.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using papcoll::Persistent;
using team_outcomes::outcomes;
using team_outcomes::patient;
using team_outcomes::Rank;

TEST_CASE("persistent calls of all collectives and forms", "[team][persistent]") {
  for (const int ranks : {1, 2, 3, 5}) {
    if (under_tsan && ranks == 1) continue;
    papcoll::ThreadTeam team{
        ranks, {.deadline = patient.deadline, .chunk_bytes = 256, .first_epoch = 0xffffff00U}};
    for (const std::string name :
         {"", "Exchange", "DynamicLeader", "PeerSlices", "SplitTail", "Accumulator", "Ring",
          "Binomial", "Linear", "Bruck", "RecursiveDoubling", "ThreadTransport"}) {
      for (const std::size_t count : {0U, 1U, 3U, 500U}) {
        INFO(ranks << " ranks, " << name << ", " << count);
        CHECK(problems(team, [&](Rank& comm) {
                return persistent_calls::problems(comm, name, count, under_tsan ? 4 : 7);
              }) == "");
      }
    }
  }
}

TEST_CASE("policies of persistent calls", "[team][persistent]") {
  papcoll::ThreadTeam team{3, patient};
  team.run([](Rank& comm) {
    std::vector<int> data(1);
    Persistent exchange = papcoll::allreduce_init<papcoll::Exchange>(comm, data);
    Persistent ring = papcoll::allreduce_init<papcoll::Ring>(comm, data, papcoll::max);
    Persistent exact = papcoll::allreduce_init<papcoll::Reproducible>(comm, data);
    for (int i = 0; i < 40; ++i) {
      data[0] = i;
      exchange();
      if (data[0] != 3 * i) throw std::runtime_error("Exchange");
      ring();
      exact();
      if (data[0] != 9 * i) throw std::runtime_error("Ring, or what is reproducible");
    }
  });
}

TEST_CASE("other ranks may make the plain call", "[team][persistent]") {
  papcoll::ThreadTeam team{3, patient};
  team.run([](Rank& comm) {
    int x = 0;
    Persistent add_up = papcoll::allreduce_init(comm, &x, 1);
    for (int i = 0; i < 100; ++i) {
      x = i;
      if ((comm.rank() + i / 7) % 2 == 0) {
        add_up();
      } else {
        papcoll::allreduce(comm, &x, 1);
      }
      if (x != 3 * i) throw std::runtime_error("wrong sum");
    }
  });
}

namespace {

/// What runs while three ranks arrive together, and when one of them is late.
std::vector<std::string> ran_before_and_after() {
  papcoll::Options options = patient;
  options.selection = papcoll::Selection::by_arrivals;
  papcoll::ThreadTeam team{3, options};
  std::vector<std::string> ran(2);
  constexpr std::size_t n = 32768;
  team.run([&](Rank& comm) {
    automatic::set_costs(comm.core(), automatic::calm());
    comm.core().set_oversubscribed(false);
    std::vector<int> data(n, 1);
    Persistent add_up = papcoll::allreduce_init(comm, data);
    for (int phase = 0; phase < 2; ++phase) {
      for (int i = 0; i < 64; ++i) {
        if (phase == 1 && comm.rank() == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
        data.assign(n, 1);
        add_up();
        if (data[n - 1] != 3) throw std::runtime_error("wrong sum");
      }
      // A plain call would run the same, or calls would not match.
      data.assign(n, 1);
      if (comm.rank() == 1) {
        add_up();
      } else {
        papcoll::allreduce(comm, data);
      }
      if (comm.rank() == 0) {
        ran[static_cast<std::size_t>(phase)] =
            papcoll::explain(comm, papcoll::Collective::allreduce, n * sizeof(int)).algorithm;
      }
      papcoll::barrier(comm);
    }
  });
  return ran;
}

}  // namespace

TEST_CASE("what a persistent call runs follows the arrivals", "[team][persistent]") {
  // On a busy machine ranks may be late before they are to be.
  std::vector<std::string> ran;
  for (int attempt = 0; attempt < 5 && (ran.empty() || ran[0] == ran[1]); ++attempt) {
    ran = ran_before_and_after();
  }
  CHECK(ran[0] != ran[1]);
}

TEST_CASE("ranks agree while what persistent calls run changes all the time",
          "[team][persistent]") {
  papcoll::ThreadTeam team{4, patient};
  team.run([&](Rank& comm) {
    automatic::set_costs(comm.core(), automatic::nervous());
    std::vector<int> small(2);
    std::vector<int> large(3000);
    Persistent sums[] = {papcoll::allreduce_init(comm, small),
                         papcoll::allreduce_init(comm, large)};
    for (int i = 0; i < 400; ++i) {
      if (i % 5 == comm.rank()) std::this_thread::sleep_for(std::chrono::microseconds{i % 50});
      small.assign(small.size(), i);
      large.assign(large.size(), i);
      sums[i % 2]();
      sums[1 - i % 2]();
      if (small[1] != 4 * i || large[2999] != 4 * i) throw std::runtime_error("wrong sum");
    }
  });
}

TEST_CASE("ranks agree while candidates are tried, though one prepares its calls",
          "[team][persistent]") {
  papcoll::ThreadTeam team{2, patient};
  team.run([&](Rank& comm) {
    std::vector<int> few(3, 1);
    std::vector<int> sums(3);
    std::vector<int> many(100'000, 1);
    std::vector<int> results(many.size());
    Persistent prepared = papcoll::allreduce_init(comm, few, sums);
    const auto small = [&] {
      if (comm.rank() == 0) {
        prepared();
      } else {
        papcoll::allreduce(comm, few, sums);
      }
      if (sums[2] != 2) throw std::runtime_error("wrong sum");
    };
    for (int i = 0; i < 500; ++i) small();
    for (std::size_t n = 4; n < many.size(); n *= 2) {
      for (int i = 0; i < 40; ++i) {
        papcoll::allreduce(comm, std::span{many.data(), n}, std::span{results.data(), n});
        if (results[n - 1] != 2) throw std::runtime_error("wrong sum");
        small();
        if (i % 3 == 0) small();
      }
    }
  });
}

TEST_CASE("ranks agree on candidates after a call that was invalid on one of them",
          "[team][persistent]") {
  papcoll::ThreadTeam team{2, patient};
  team.run([&](Rank& comm) {
    std::vector<int> in(100'000, 1);
    std::vector<int> out(in.size());
    std::uint32_t calls = 0;
    const auto call = [&](std::size_t n, std::size_t results) {
      ++calls;
      papcoll::allreduce(comm, std::span{in.data(), n}, std::span{out.data(), results});
    };
    for (std::size_t n = 2; n < in.size() / 2; n *= 2) {
      while (calls % 16 != 0) call(1, 1);  // ranks look at what happened in every 16th
      for (int i = 0; i < 15; ++i) call(n, n);
      bool threw = false;
      try {
        call(n, comm.rank() == 1 ? 2 * n : n);
      } catch (const papcoll::error&) {
        threw = true;
      }
      if (!threw) throw std::runtime_error("an invalid call was made");
      for (int i = 0; i < 40; ++i) call(n, n);
    }
  });
}

TEST_CASE("what a persistent call refuses, and goes on", "[team][persistent]") {
  papcoll::ThreadTeam team{2, patient};
  team.run([](Rank& comm) {
    int x = 1;
    Persistent add_up = papcoll::allreduce_init(comm, &x, 1);
    const auto refused = [](const char* what, auto&& f) {
      const Outcome o = outcome_of(f);
      if (o.kind != "argument_error" || !o.says(what)) throw std::runtime_error(o.kind + o.what);
    };
    add_up.start();
    if (!add_up.is_active() && comm.size() > 1) throw std::runtime_error("not under way");
    refused("start() of a persistent allreduce that is under way", [&] { add_up.start(); });
    refused("a call of a persistent allreduce that is under way", [&] { add_up(); });
    Persistent moved = std::move(add_up);
    moved.wait();
    if (moved.is_active() || x != 2) throw std::runtime_error("not complete");
    refused("moved from", [&] { add_up(); });  // NOLINT(bugprone-use-after-move): the test
    refused("moved from", [&] { add_up.start(); });
    add_up.wait();
    if (!add_up.test() || !moved.test()) throw std::runtime_error("a call of nothing is under way");
    refused("of no call", [] { Persistent{}(); });
    x = 1;
    moved();
    add_up = std::move(moved);
    add_up();
    if (x != 4) throw std::runtime_error("wrong sum");
    // An arrival-driven algorithm blocks only.
    Persistent exchange = papcoll::allreduce_init<papcoll::Exchange>(comm, &x, 1);
    refused("", [&] { exchange.start(); });
    exchange();
    if (x != 8) throw std::runtime_error("wrong sum after a refusal");
  });
}

TEST_CASE("one that is under way waits for itself when it is destroyed", "[team][persistent]") {
  papcoll::ThreadTeam team{3, patient};
  team.run([](Rank& comm) {
    std::vector<int> data(1000, 1);
    for (int i = 0; i < 20; ++i) {
      data.assign(1000, 1);
      {
        Persistent add_up = papcoll::allreduce_init(comm, data);
        add_up.start();
        if (i % 2 == 0) add_up = Persistent{};
      }
      if (data[999] != 3) throw std::runtime_error("not complete");
    }
  });
}

TEST_CASE("an exception that destroys one under way breaks the team", "[team][persistent]") {
  papcoll::ThreadTeam team{2, patient};
  const std::vector<Outcome> all = outcomes(team, [](Rank& comm) {
    int x = 1;
    Persistent add_up = papcoll::allreduce_init(comm, &x, 1);
    if (comm.rank() == 1) {
      try {
        Persistent own = papcoll::allreduce_init(comm, &x, 1);
        own.start();
        throw std::runtime_error("on purpose");
      } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): what follows is tested
      }
    }
    add_up();
  });
  CHECK(all[0].kind == "peer_error");
  CHECK(all[1].kind == "broken_communicator");
}

TEST_CASE("persistent calls of a broken team throw", "[team][persistent]") {
  papcoll::ThreadTeam team{2, {.deadline = std::chrono::milliseconds{100}}};
  std::vector<std::vector<Outcome>> all(2);
  team.run([&](Rank& comm) {
    int x = 1;
    Persistent add_up = papcoll::allreduce_init(comm, &x, 1);
    Persistent late = papcoll::allreduce_init<papcoll::Ring>(comm, &x, 1);
    add_up();
    auto& mine = all[static_cast<std::size_t>(comm.rank())];
    if (comm.rank() == 0) {
      mine.push_back(outcome_of([&] { add_up(); }));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds{400});
    }
    mine.push_back(outcome_of([&] { add_up(); }));
    mine.push_back(outcome_of([&] { late(); }));
    mine.push_back(outcome_of([&] { add_up.start(); }));
    mine.push_back(outcome_of([&] {
      int y = 1;
      papcoll::allreduce_init(comm, &y, 1)();
    }));
  });
  CHECK(all[0][0].kind == "deadline_exceeded");
  for (std::size_t i = 1; i < 5; ++i) {
    CAPTURE(i, all[0][i]);
    CHECK(all[0][i].kind == "broken_communicator");
  }
  // Rank 1 finds all it needs of the call that rank 0 gave up, and hears of that in the next one.
  CHECK_FALSE(all[1][1].is_fine());
  for (std::size_t i = 2; i < 4; ++i) CHECK(all[1][i].kind == "broken_communicator");
}

TEST_CASE("a persistent call that is invalid on one rank", "[team][persistent]") {
  papcoll::ThreadTeam team{3, patient};
  const std::vector<Outcome> all = outcomes(team, [](Rank& comm) {
    std::vector<int> in(2);
    std::vector<int> out(comm.rank() == 1 ? 1 : 2);
    Persistent add_up = papcoll::allreduce_init(comm, in, out);
    add_up();
  });
  CHECK(all[1].kind == "argument_error");
  CHECK(all[1].says("allreduce on rank 1 of 3: input and output differ in length"));
  CHECK(all[0].kind == "peer_error");
  CHECK(all[0].says("rank 1"));
  CHECK(all[2].kind == "peer_error");
  team.run([](Rank& comm) {
    if (papcoll::allreduce(comm, 1) != 3) throw std::runtime_error("the team does not go on");
  });
}

TEST_CASE("persistent calls that do not match", "[team][persistent]") {
  papcoll::ThreadTeam team{2, patient};
  const std::vector<Outcome> all = outcomes(team, [](Rank& comm) {
    std::vector<int> data(comm.rank() == 0 ? 3 : 4);
    Persistent add_up = papcoll::allreduce_init(comm, data);
    add_up();
  });
  for (const Outcome& o : all) CHECK(o.says("all ranks must pass the same number of elements"));
}

TEST_CASE("a persistent call knows that its shared_vector was freed or has grown",
          "[team][persistent]") {
  papcoll::ThreadTeam team{2, patient};
  std::vector<std::vector<Outcome>> all(2);
  team.run([&](Rank& comm) {
    using Vector = papcoll::shared_vector<int>;
    auto data = std::make_unique<Vector>(100, papcoll::shared_allocator<int>{comm});
    std::vector<int> in(100, 1);
    Persistent add_up = papcoll::allreduce_init(comm, in, *data);
    const Vector other(50, papcoll::shared_allocator<int>{comm});
    add_up();
    if ((*data)[99] != 2) throw std::runtime_error("wrong sum");
    if (comm.rank() == 1) data->resize(100'000);
    auto& mine = all[static_cast<std::size_t>(comm.rank())];
    mine.push_back(outcome_of([&] { add_up(); }));
    add_up = papcoll::allreduce_init(comm, in.data(), data->data(), 100);
    add_up();
    if ((*data)[99] != 2) throw std::runtime_error("wrong sum, made anew");
    if (comm.rank() == 0) data.reset();
    mine.push_back(outcome_of([&] { add_up(); }));
    const std::vector<int> each = {50, 50};
    Vector out(100, papcoll::shared_allocator<int>{comm});
    Persistent exchange =
        papcoll::alltoallv_init(comm, in, papcoll::counts{each}, out, papcoll::counts{each});
    exchange();
    out.resize(100'000);
    mine.push_back(outcome_of([&] { exchange(); }));
  });
  CHECK(all[1][0].kind == "argument_error");
  CHECK(all[1][0].says("allreduce on rank 1 of 2: the shared_vector"));
  CHECK(all[0][0].kind == "peer_error");
  CHECK(all[0][1].kind == "argument_error");
  CHECK(all[1][1].kind == "peer_error");
  CHECK(all[0][2].says("alltoallv on rank 0 of 2: the shared_vector"));
}

TEST_CASE("a persistent call outlives its team", "[team][persistent]") {
  std::vector<Persistent> kept(2);
  std::vector<int> data(2, 1);
  {
    papcoll::ThreadTeam team{2, patient};
    team.run([&](Rank& comm) {
      const auto r = static_cast<std::size_t>(comm.rank());
      kept[r] = papcoll::allreduce_init(comm, &data[r], 1);
      kept[r]();
    });
  }
  CHECK(data == std::vector<int>{2, 2});
  kept.clear();
}

namespace {

/// More plans than a communicator keeps.
void make_many_plans(Rank& comm) {
  std::vector<int> data(2 * papcoll::PlanCache::max_entries);
  for (std::size_t n = 1; n <= data.size(); ++n) {
    papcoll::allreduce<papcoll::Ring>(comm, data.data(), n);
  }
}

}  // namespace

TEST_CASE("a persistent call keeps its plan", "[team][persistent]") {
  papcoll::ThreadTeam team{3, patient};
  team.run([](Rank& comm) {
    std::vector<int> data(1000, 1);
    papcoll::Call call;
    call.collective = papcoll::Collective::allreduce;
    call.in = call.out = reinterpret_cast<std::byte*>(data.data());
    call.count = data.size();
    call.reducer.size = sizeof(int);
    call.reducer.commutative = true;
    const auto ring_schedule = papcoll::AnySchedule::of<papcoll::Ring>();
    const auto plan = [&] {
      return papcoll::detail::Weak<const papcoll::BlockedPlan>{
          comm.core().plan_runs.plan_of(ring_schedule, call).plan};
    };
    const auto unheld = plan();
    make_many_plans(comm);
    if (!unheld.expired()) throw std::runtime_error("a plan is kept though nobody holds it");

    Persistent ring = papcoll::allreduce_init<papcoll::Ring>(comm, data);
    const auto held = plan();
    make_many_plans(comm);
    if (held.expired()) throw std::runtime_error("its plan would be made anew");
    ring();
    ring.start();
    ring.wait();
    if (data[999] != 9) throw std::runtime_error("wrong sum");
  });
}
