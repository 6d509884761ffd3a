// SPDX-License-Identifier: BSD-3-Clause
// Calls that name no algorithm, on several communicators in turns: the ranks of each run the same
// algorithms, equally often, although each of them is late at other times and so measures something
// else.

#include <papcoll/explain.hpp>
#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "automatic.hpp"
#include "catch.hpp"
#include "own_comm.hpp"

namespace {

using papcoll::Collective;

/// One kind of call, the same on all ranks.
struct Kind {
  Collective collective{};
  std::size_t count = 0;
  bool reproducible = false;
  bool non_blocking = false;
};

/// A communicator, calls on it, and what was wrong with their results.
class Called {
 public:
  Called(MPI_Comm comm, int colour, int key, papcoll::Options options)
      : own_(comm, colour, key), comm_(own_.get(), std::move(options)) {}

  papcoll::Communicator& comm() { return comm_; }
  const std::string& problems() const { return problems_; }

  void run(const Kind& k) {
    const std::size_t n = k.count;
    const auto ranks = static_cast<std::size_t>(comm_.size());
    in_.assign(n * ranks, comm_.rank() + 1);
    out_.assign(n * ranks, 0);
    if (k.reproducible) {
      call<papcoll::Reproducible>(k, {in_.data(), n}, {out_.data(), n});
    } else {
      call<>(k, {in_.data(), n}, {out_.data(), n});
    }
  }

 private:
  using Doubles = std::span<double>;

  template <class... Contract> void call(const Kind& k, Doubles in, Doubles out) {
    const papcoll::root root{static_cast<int>(k.count) % comm_.size()};
    const double sum = comm_.size() * (comm_.size() + 1) / 2.0;
    const double below = comm_.rank() * (comm_.rank() + 1) / 2.0;
    if (k.collective == Collective::allreduce && k.non_blocking) {
      papcoll::iallreduce<Contract...>(comm_, in, out).wait();
      expect(k, out, sum);
    } else if (k.collective == Collective::allreduce) {
      papcoll::allreduce<Contract...>(comm_, in, out);
      expect(k, out, sum);
    } else if (k.collective == Collective::reduce) {
      papcoll::reduce<Contract...>(comm_, in, out, root);
      if (comm_.rank() == root.rank) expect(k, out, sum);
    } else if (k.collective == Collective::reduce_scatter) {
      papcoll::reduce_scatter<Contract...>(comm_, in_, out);
      expect(k, out, sum);
    } else if (k.collective == Collective::scan) {
      papcoll::scan<Contract...>(comm_, in, out);
      expect(k, out, below + comm_.rank() + 1);
    } else if (k.collective == Collective::exscan) {
      papcoll::exscan<Contract...>(comm_, in, out);
      if (comm_.rank() > 0) expect(k, out, below);
    } else {
      movement(k, in, out, root);
    }
  }

  void movement(const Kind& k, Doubles in, Doubles out, papcoll::root root) {
    if (k.collective == Collective::barrier) return papcoll::barrier(comm_);
    if (k.collective == Collective::bcast) {
      papcoll::bcast(comm_, in, root);
      return expect(k, in, root.rank + 1);
    }
    if (k.collective == Collective::scatter) {
      papcoll::scatter(comm_, in_, out, root);
      return expect(k, out, root.rank + 1);
    }
    if (k.collective == Collective::gather) papcoll::gather(comm_, in, out_, root);
    if (k.collective == Collective::allgather) papcoll::allgather(comm_, in, out_);
    if (k.collective == Collective::alltoall) papcoll::alltoall(comm_, in_, out_);
    if (k.collective == Collective::gather && comm_.rank() != root.rank) return;
    for (int r = 0; r < comm_.size(); ++r) {
      expect(k, Doubles{out_}.subspan(static_cast<std::size_t>(r) * k.count, k.count), r + 1);
    }
  }

  void expect(const Kind& k, Doubles got, double wanted) {
    if (std::all_of(got.begin(), got.end(), [&](double x) { return x == wanted; })) return;
    problems_ += std::string(name_of(k.collective)) + " of " + std::to_string(k.count) + ", rank " +
                 std::to_string(comm_.rank()) + "\n";
  }

  OwnComm own_;
  papcoll::Communicator comm_;
  std::vector<double> in_;
  std::vector<double> out_;
  std::string problems_;
};

}  // namespace

TEST_CASE("ranks that measure differently run the same on all communicators", "[automatic]") {
  constexpr std::chrono::seconds patience{60};
  const OwnComm world;
  papcoll::Options pairs{.deadline = patience};
  pairs.groups = {std::vector<int>(static_cast<std::size_t>(world.size()))};
  for (int r = 0; r < world.size(); ++r) pairs.groups[0][static_cast<std::size_t>(r)] = r / 2;
  std::vector<std::unique_ptr<Called>> all;
  const auto add = [&](int colour, int key, const papcoll::Options& options) {
    all.push_back(std::make_unique<Called>(world.get(), colour, key, options));
  };
  add(0, 0, {.deadline = patience});
  add(world.rank() % 2, -world.rank(), {.deadline = patience});
  add(0, 0, {.deadline = patience, .first_epoch = 0xffffff00U});
  add(0, 0, pairs);

  std::minstd_rand random{11};  // draws the same on all ranks
  std::minstd_rand own{12 + static_cast<std::uint32_t>(world.rank())};
  constexpr std::size_t counts[] = {0, 1, 8, 64, 64, 512, 512, 9000};
  for (int bursts = 1800 / simulated_less; bursts > 0; --bursts) {
    Called& called = *all[random() % all.size()];
    Kind k;
    k.collective = static_cast<Collective>(random() % papcoll::collective_count);
    k.count = counts[random() % std::size(counts)];
    k.reproducible = random() % 4 == 0;
    k.non_blocking = random() % 4 == 0;
    for (auto calls = 1 + random() % 12; calls > 0; --calls) {
      if (own() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds{own() % 200});
      called.run(k);
    }
  }
  bool has_learnt = papcoll::detail::simulated;  // too few calls
  for (const auto& called : all) {
    CHECK(called->problems() == "");
    automatic::Log log;
    for (const papcoll::AlgorithmCount& a : papcoll::algorithm_counts(called->comm())) {
      log.add(name_of(a.collective));
      log.add(a.algorithm);
      log.add(a.calls);
    }
    const papcoll::Explanation last =
        papcoll::explain(called->comm(), Collective::allreduce, 64 * sizeof(double));
    log.add(last.candidates);
    has_learnt = has_learnt || last.candidates.find("measured") != std::string::npos;
    INFO(last.text());
    CHECK(log.is_that_of_all(called->comm()));
  }
  CHECK(has_learnt);
}
