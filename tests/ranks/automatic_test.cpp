// Auto among processes: all ranks choose alike, and follow their arrivals.

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/select/state.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
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
  return R"({"papcoll_tuning": 1, "thresholds": {"bcast": {"binomial": {"value": )" +
         std::to_string(value) + "}}}}";
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
    papcoll::detail::set_costs(comm.core(), automatic::nervous());
    std::size_t chosen = 0;
    CHECK(automatic::calls_that_agree(comm, 500, ++seed, chosen) == "");
  }
}

TEST_CASE("Auto follows a change of the arrivals within 50 calls", "[automatic]") {
  const OwnComm own;
  if (own.size() < 2 || own.size() > 4) return;  // too much noise for the system to wake up 8
  papcoll::Communicator comm{own.get(),
                             {.deadline = patience, .selection = papcoll::Selection::by_arrivals}};
  if (comm.nodes() > 1) return;
  papcoll::detail::set_costs(comm.core(), automatic::calm());
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

TEST_CASE("across nodes Auto goes by nodes, and follows what ranks tell each other",
          "[automatic]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  if (comm.nodes() == 1 || comm.nodes() == comm.size()) return;
  papcoll::Thresholds t;
  t.network.hierarchical = 1024;
  t.network.late_percent = 300;  // ranks that share processors are seldom together
  t.network.slow_ps_a_byte = std::size_t{1} << 40U;
  papcoll::detail::set_thresholds(comm.core(), t);
  const auto next = [&](std::size_t bytes) {
    return papcoll::explain(comm, papcoll::Collective::allreduce, bytes).algorithm;
  };
  CHECK(next(1024) == "Hierarchical");
  CHECK(next(1032) == "RecursiveDoubling+MpiTransport");
  const std::vector<double> ones(200, 1.0);
  for (const std::size_t n : {std::size_t{8}, ones.size()}) {
    std::vector<double> sums(n);
    papcoll::allreduce(comm, std::span{ones.data(), n}, sums);
    CHECK(sums.back() == comm.size());
  }
  t.network.alltoall_ranks = 2;
  papcoll::detail::set_thresholds(comm.core(), t);
  CHECK(papcoll::explain(comm, papcoll::Collective::alltoall, 8).algorithm == "Hierarchical");
  const std::vector<int> own_rank(static_cast<std::size_t>(comm.size()), comm.rank());
  std::vector<int> all_ranks(own_rank.size());
  papcoll::alltoall(comm, own_rank, all_ranks);
  for (int r = 0; r < comm.size(); ++r) CHECK(all_ranks[static_cast<std::size_t>(r)] == r);
  CHECK(papcoll::scan(comm, 1) == comm.rank() + 1);
  using std::chrono::milliseconds;
  CHECK(automatic::chooses_in_time(comm, 65536, milliseconds{40}, "Hierarchical:auto,StragglAR"));
  const std::string why = papcoll::explain(comm, papcoll::Collective::allreduce, 65536).text();
  INFO(why);
  CHECK(why.find("node " + std::to_string(comm.nodes() - 1) + " is always") != std::string::npos);
  std::vector<double> sums(8192);
  papcoll::allreduce(comm, std::vector<double>(sums.size(), comm.rank()), sums);
  const int ranks = comm.size();
  CHECK(std::all_of(sums.begin(), sums.end(),
                    [ranks](double sum) { return sum == ranks * (ranks - 1) / 2; }));
  CHECK(next(1032) == "Hierarchical:auto,StragglAR");
  // Now one node is late and now another. That none is cannot be had for certain.
  int calls = 0;
  for (; calls < 50 && next(65536) != "Hierarchical"; ++calls) {
    const int late = calls % 2 == 0 ? 0 : ranks - 1;
    if (comm.rank() == late) std::this_thread::sleep_for(milliseconds{40});
    papcoll::allreduce(comm, sums);
  }
  CHECK(next(65536) == "Hierarchical");
}

TEST_CASE("between 16 nodes or more of a rank each Auto takes two trees or a grid",
          "[automatic][many_nodes]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  if (comm.nodes() < 16 || comm.nodes() != comm.size()) return;
  papcoll::Thresholds t;
  t.network.percent = 100;
  papcoll::detail::set_thresholds(comm.core(), t);
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

  // Where each message keeps the port busy for long, the chunks of two trees are too many; and 17
  // ranks are one too many for Rabenseifner.
  t.network.alpha_ns = t.network.gap_ns = 20'000;
  papcoll::detail::set_thresholds(comm.core(), t);
  INFO(papcoll::explain(comm, papcoll::Collective::allreduce, n * sizeof(double)).text());
  if (comm.size() <= 17) {
    const char* const wanted = comm.size() == 17 ? "Suara" : "Rabenseifner";
    CHECK(chosen(papcoll::Collective::allreduce).starts_with(wanted));
  }
  papcoll::allreduce(comm, mine, result);
  CHECK(is_sum(result));
}

TEST_CASE("what ranks are told of thresholds is the same or refused", "[automatic][tuning]") {
  const OwnComm own;
  {
    const OwnComm other;
    const TuningFile file{file_with(4711)};
    // Names differ, what the files say does not.
    papcoll::Communicator comm{other.get(), {.tuning = file.name()}};
    CHECK(papcoll::detail::thresholds_of(comm.core()).bcast.binomial == 4711);
  }
  const bool alone = own.size() == 1;
  const TuningFile file{file_with(own.rank() == own.size() - 1 ? 1 : 2)};
  const std::string refusal = refusal_of(own.get(), {.tuning = file.name()});
  CHECK((alone || mentions(refusal, "their tuning")));
  if (alone) return;
  const TuningFile corrupt{own.rank() == 1 ? "{\n\"papcoll\": 1}" : file_with(1)};
  CHECK(mentions(refusal_of(own.get(), {.tuning = corrupt.name()}), "their tuning"));
  CHECK(mentions(
      refusal_of(own.get(), {.tuning = own.rank() == 1 ? "/no/such/file" : corrupt.name()}),
      "cannot read the tuning file /no/such/file"));
}

TEST_CASE("a tuning file is read when first an algorithm is chosen", "[automatic][tuning]") {
  const OwnComm own;
  const TuningFile corrupt{"{\n\"papcoll\": 1}"};
  papcoll::Communicator comm{own.get(), {.tuning = corrupt.name()}};
  papcoll::barrier<papcoll::Dissemination>(comm);
  std::string refusal;
  try {
    papcoll::barrier(comm);
  } catch (const papcoll::argument_error& problem) {
    refusal = problem.what();
  }
  CHECK(mentions(refusal, "line 2, field papcoll: "));
}
