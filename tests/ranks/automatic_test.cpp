// SPDX-License-Identifier: BSD-3-Clause
// auto among processes: all ranks choose alike, and follow their arrivals.

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/scan.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "automatic.hpp"
#include "catch.hpp"
#include "own_comm.hpp"
#include "tuning_file.hpp"

namespace {

constexpr std::chrono::seconds patience{60};

std::string file_with(int value) {
  return R"({"papcoll_selection": 1, "thresholds": {"network": {"gap_ns": )" +
         std::to_string(value) + "}}}";
}

std::string refusal_of(MPI_Comm comm, const papcoll::Options& options) {
  try {
    const papcoll::Communicator c{comm, options};
  } catch (const papcoll::argument_error& e) {
    return e.what();
  }
  return "accepted";
}

bool mentions(const std::string& text, const char* what) {
  INFO(text);
  CHECK(text.find(what) != std::string::npos);
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("processes that arrive unevenly choose alike", "[automatic]") {
  std::uint32_t seed = 17;
  for (const papcoll::PeerAccess access :
       {papcoll::PeerAccess::best, papcoll::PeerAccess::staged}) {
    const OwnComm own;
    papcoll::Communicator comm{
        own.get(), {.deadline = patience, .peer_access = access, .first_epoch = 0xffffff00U}};
    automatic::set_costs(comm.core(), automatic::nervous());
    std::size_t chosen = 0;
    CHECK(automatic::calls_that_agree(comm, 500, ++seed, chosen) == "");
  }
}

TEST_CASE("auto follows a change of the arrivals within 50 calls", "[automatic]") {
  const OwnComm own;
  if (own.size() < 2 || own.size() > 4) return;  // too much noise for the system to wake up 8
  papcoll::Communicator comm{own.get(),
                             {.deadline = patience, .selection = papcoll::Selection::by_arrivals}};
  if (comm.nodes() > 1) return;
  automatic::set_costs(comm.core(), automatic::calm());
  comm.core().set_oversubscribed(false);  // else arrivals decide less
  // Of two ranks, neither can begin without the other.
  const bool two = comm.size() == 2;
  CHECK(automatic::follows_changes(comm, 8, "Exchange+", "Exchange+") == "");
  CHECK(automatic::follows_changes(comm, 1 << 17, "MultiLeader+",
                                   two ? "MultiLeader+" : "SplitTail+") == "");
}

TEST_CASE("a communicator counts its calls by algorithm", "[automatic]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  CHECK(papcoll::algorithm_counts(comm).empty());
  std::vector<int> x(2, 1);
  papcoll::allreduce<papcoll::Ring, papcoll::MpiTransport>(comm, x);
  for (int i = 0; i < 3; ++i) {
    papcoll::allreduce<papcoll::RecursiveDoubling, papcoll::MpiTransport>(comm, x);
    papcoll::iallreduce<papcoll::Ring, papcoll::MpiTransport>(comm, x).wait();
  }
  const auto calls = papcoll::algorithm_counts(comm);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].algorithm == "Ring");
  CHECK(calls[0].calls == 4);
  CHECK(calls[1].algorithm == "RecursiveDoubling");
  CHECK(calls[1].collective == papcoll::Collective::allreduce);
  CHECK(calls[1].calls == 3);
  for (int i = 0; i < 50; ++i) papcoll::allreduce(comm, x);
  std::uint64_t all = 0;
  for (const papcoll::AlgorithmCount& a : papcoll::algorithm_counts(comm)) all += a.calls;
  CHECK(all == 57);
}

TEST_CASE("across nodes auto goes by nodes, and follows what ranks tell each other",
          "[automatic]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(),
                             {.deadline = patience, .selection = papcoll::Selection::by_arrivals}};
  if (comm.nodes() == 1 || comm.nodes() == comm.size()) return;
  papcoll::Thresholds t;
  t.network.late_percent = 300;  // ranks that share processors are seldom together
  automatic::set_thresholds(comm.core(), t);
  const auto next = [&](std::size_t bytes) {
    return papcoll::explain(comm, papcoll::Collective::allreduce, bytes).algorithm;
  };
  CHECK(next(8) == "Hierarchical");
  CHECK_FALSE(next(1 << 22).starts_with("Hierarchical"));
  const std::vector<double> ones(200, 1.0);
  for (const std::size_t n : {std::size_t{8}, ones.size()}) {
    std::vector<double> sums(n);
    papcoll::allreduce(comm, std::span{ones.data(), n}, sums);
    CHECK(sums.back() == comm.size());
  }
  const std::vector<int> own_rank(static_cast<std::size_t>(comm.size()), comm.rank());
  std::vector<int> all_ranks(own_rank.size());
  papcoll::alltoall(comm, own_rank, all_ranks);
  for (int r = 0; r < comm.size(); ++r) CHECK(all_ranks[static_cast<std::size_t>(r)] == r);
  CHECK(papcoll::scan(comm, 1) == comm.rank() + 1);
  using std::chrono::milliseconds;
  constexpr std::size_t watched = std::size_t{1} << 17U;
  CHECK(automatic::chooses_in_time(comm, watched, milliseconds{40}, "Hierarchical:auto,StragglAR"));
  const std::string why = papcoll::explain(comm, papcoll::Collective::allreduce, watched).text();
  INFO(why);
  CHECK(why.find("node " + std::to_string(comm.nodes() - 1) + " is always") != std::string::npos);
  std::vector<double> sums(watched / sizeof(double));
  papcoll::allreduce(comm, std::vector<double>(sums.size(), comm.rank()), sums);
  const int ranks = comm.size();
  CHECK(std::all_of(sums.begin(), sums.end(),
                    [ranks](double sum) { return sum == ranks * (ranks - 1) / 2; }));
  CHECK(next(watched) == "Hierarchical:auto,StragglAR");
  // Now one node is late and now another. That none is cannot be had for certain.
  int calls = 0;
  for (; calls < 50 && next(watched) != "Hierarchical"; ++calls) {
    const int late = calls % 2 == 0 ? 0 : ranks - 1;
    if (comm.rank() == late) std::this_thread::sleep_for(milliseconds{40});
    papcoll::allreduce(comm, sums);
  }
  CHECK(next(watched) == "Hierarchical");
}

TEST_CASE("across nodes a candidate that is slow on one rank only is left by all", "[automatic]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  if (comm.nodes() == 1 || papcoll::detail::simulated) return;  // no sleep passes simulated time
  // Combining is slow on rank 1: the fewer elements a rank combines, the better.
  const auto slow_sum = [slow = comm.rank() == 1](double a, double b) {
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds{100});
    return a + b;
  };
  constexpr std::size_t n = 64;
  const auto next = [&] {
    return papcoll::explain(comm, papcoll::Collective::allreduce, n * sizeof(double),
                            {.commutative = false});
  };
  const std::string first = next().algorithm;
  automatic::Log log;
  const std::vector<double> ones(n, 1.0);
  std::vector<double> sums(n);
  const auto is_settled = [&] { return next().reason.find("quickest when") != std::string::npos; };
  for (int calls = 0; calls < 1000 && !is_settled(); ++calls) {
    log.add(next().candidates);
    papcoll::allreduce(comm, ones, sums, slow_sum);
    if (sums.back() != comm.size()) FAIL("call " << calls << ": " << sums.back());
  }
  const papcoll::Explanation last = next();
  INFO(last.text());
  CHECK(is_settled());
  CHECK(last.candidates.find("measured") != std::string::npos);
  log.add(last.candidates);
  CHECK(log.is_that_of_all(comm));
  if (comm.nodes() != comm.size()) return;
  CHECK(first == "RecursiveDoubling+MpiTransport");
  CHECK(last.algorithm == "Rabenseifner+MpiTransport");
}

TEST_CASE("across nodes non-blocking calls find out what is the quickest", "[automatic]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience, .first_epoch = 0xffffff00U}};
  if (comm.nodes() == 1) return;
  constexpr std::size_t n = 512;
  const auto next = [&] {
    return papcoll::explain(comm, papcoll::Collective::allreduce, n * sizeof(double),
                            {.non_blocking = true});
  };
  automatic::Log log;
  constexpr std::size_t at_once = 3;
  const std::vector<double> ones(n, 1.0);
  std::vector<std::vector<double>> sums(at_once, std::vector<double>(n));
  std::vector<papcoll::Request> requests(at_once);
  const int rounds = papcoll::detail::simulated ? 800 : 3000;
  for (int i = 0; i < rounds; ++i) {
    for (std::size_t k = 0; k < at_once; ++k) {
      requests[k] = papcoll::iallreduce(comm, ones, sums[k]);
      if (i % 7 == 0) log.add(next().candidates);
    }
    if (i % 50 == 0) papcoll::barrier(comm);
    // Each rank ends them in an order of its own.
    for (std::size_t k = 0; k < at_once; ++k) {
      requests[(k + static_cast<std::size_t>(comm.rank() + i)) % at_once].wait();
    }
    if (sums[0].back() != comm.size()) FAIL("round " << i << ": " << sums[0].back());
  }
  const papcoll::Explanation last = next();
  INFO(last.text());
  const bool has_learnt = last.candidates.find("measured") != std::string::npos;
  CHECK((has_learnt || papcoll::assertion_level >= 2));
  CHECK(log.is_that_of_all(comm));
}

TEST_CASE("simulated nodes come to what is the quickest there, whatever is expected",
          "[automatic][learns]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  if (!papcoll::detail::simulated || comm.size() < 4) return;
  const auto time_of = [&](int calls, auto&& call) {
    papcoll::barrier(comm);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call();
    return papcoll::allreduce(comm, MPI_Wtime() - begin, papcoll::max) / calls;
  };
  for (const std::size_t n : {std::size_t{8}, std::size_t{1} << 17U}) {
    papcoll::Thresholds wrong;
    if (n == 8) wrong.network.alpha_ns = wrong.network.gap_ns = 0;
    if (n != 8) wrong.network.alpha_ns = wrong.network.gap_ns = 10'000'000;
    automatic::set_thresholds(comm.core(), wrong);
    const auto next = [&] {
      return papcoll::explain(comm, papcoll::Collective::allreduce, n * sizeof(double));
    };
    std::vector<double> sums(n, 1.0);
    const std::string first = next().algorithm;
    const auto automatic = [&] { papcoll::allreduce(comm, sums); };
    for (int i = 0; i < 300; ++i) automatic();
    INFO(next().text());
    CHECK(next().algorithm != first);
    const double least =
        std::min({time_of(8, [&] { papcoll::allreduce<papcoll::RecursiveDoubling>(comm, sums); }),
                  time_of(8, [&] { papcoll::allreduce<papcoll::Rabenseifner>(comm, sums); }),
                  time_of(8, [&] { papcoll::allreduce<papcoll::Ring>(comm, sums); })});
    CHECK(time_of(8, automatic) < 1.25 * least);
  }
}

TEST_CASE("between 16 nodes or more of a rank each auto takes two trees or a grid",
          "[automatic][many_nodes]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  if (comm.nodes() < 16 || comm.nodes() != comm.size()) return;
  papcoll::Thresholds t;
  constexpr std::size_t n = std::size_t{1} << 17U;
  const auto chosen = [&](papcoll::Collective c) {
    return papcoll::explain(comm, c, n * sizeof(double)).algorithm;
  };
  const double sum = comm.size() * (comm.size() + 1) / 2.0;
  const auto is_sum = [&](const std::vector<double>& v) {
    return std::all_of(v.begin(), v.end(), [&](double x) { return x == sum; });
  };
  const std::vector<double> mine(n, comm.rank() + 1);
  std::vector<double> result(n);
  const int root = comm.size() / 3;

  CHECK(chosen(papcoll::Collective::allreduce).starts_with("TwoTreeComplete"));
  papcoll::allreduce(comm, mine, result);
  CHECK(is_sum(result));

  CHECK(chosen(papcoll::Collective::reduce).starts_with("TwoTreeComplete"));
  std::fill(result.begin(), result.end(), 0.0);
  papcoll::reduce(comm, mine, result, papcoll::root{root});
  CHECK((comm.rank() != root || is_sum(result)));

  CHECK(chosen(papcoll::Collective::bcast).starts_with("TwoTreeComplete"));
  if (comm.rank() == root) std::fill(result.begin(), result.end(), sum);
  papcoll::bcast(comm, result, papcoll::root{root});
  CHECK(is_sum(result));

  // Where each message keeps the port busy for long, the chunks of two trees are too many; and of
  // 17 ranks, one too many for Rabenseifner, a grid is promising, too.
  t.network.alpha_ns = t.network.gap_ns = 20'000;
  automatic::set_thresholds(comm.core(), t);
  const std::string text =
      papcoll::explain(comm, papcoll::Collective::allreduce, n * sizeof(double)).text();
  INFO(text);
  if (comm.size() <= 17) {
    CHECK(text.starts_with("Rabenseifner"));
    CHECK((comm.size() != 17 || text.find("Suara:") != std::string::npos));
  }
  papcoll::allreduce(comm, mine, result);
  CHECK(is_sum(result));
}

TEST_CASE("rank 0's tuning file counts", "[automatic][selection_file]") {
  const OwnComm own;
  {
    const OwnComm other;
    const TuningFile file{file_with(4711 + other.rank())};
    papcoll::Communicator comm{other.get(), {.tuning_file = file.name()}};
    CHECK(papcoll::detail::selection_of(comm.core()).thresholds.network.gap_ns == 4711);
    // Nor do others read theirs: not even when the same ranks make another communicator.
    const OwnComm again;
    const std::string none = "/no/such/file";
    papcoll::Communicator known{again.get(),
                                {.tuning_file = again.rank() == 0 ? file.name() : none}};
    CHECK(papcoll::detail::selection_of(known.core()).thresholds.network.gap_ns == 4711);
  }
  const TuningFile good{file_with(1)};
  CHECK(mentions(
      refusal_of(own.get(), {.tuning_file = own.rank() == 0 ? "/no/such/file" : good.name()}),
      "cannot read the tuning file /no/such/file"));
}

TEST_CASE("a tuning file is read when first an algorithm is chosen",
          "[automatic][selection_file]") {
  const OwnComm own;
  const TuningFile corrupt{"{\n\"papcoll\": 1}"};
  papcoll::Communicator comm{own.get(), {.tuning_file = corrupt.name()}};
  papcoll::barrier<papcoll::Dissemination>(comm);
  std::string refusal;
  try {
    papcoll::barrier(comm);
  } catch (const papcoll::argument_error& problem) {
    refusal = problem.what();
  }
  CHECK(mentions(refusal, "line 2, field papcoll: "));
}

TEST_CASE("a root that leaves a bcast early leaves what late ranks copy", "[automatic]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get()};
  std::minstd_rand random{3};
  std::vector<int> data(1000);
  int wrong = 0;
  for (int i = 0; i < 20'000 / simulated_less; ++i) {
    const papcoll::root root{static_cast<int>(random() % static_cast<unsigned>(comm.size()))};
    const std::size_t n = 1 + random() % (random() % 8 == 0 ? data.size() : 64);
    const std::span<int> sent{data.data(), n};
    std::fill(sent.begin(), sent.end(), i + comm.rank());
    papcoll::bcast<papcoll::Reproducible>(comm, sent, root);
    const bool is_right =
        std::all_of(sent.begin(), sent.end(), [&](int x) { return x == i + root.rank; });
    if (!is_right) ++wrong;
  }
  CHECK(wrong == 0);
}
