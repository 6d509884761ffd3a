// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that read and write their peers' buffers: messages of many chunks, random arrivals.
// One file, since all cases share their team and their buffers.

#include "arrival_names.hpp"
#include "sanitizer.hpp"

#include <papcoll/algorithms/arrival/arrival_chain.hpp>
#include <papcoll/algorithms/arrival/combining_tree.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

using papcoll::Options;
using papcoll::PeerAccess;
using papcoll::ThreadTeam;

namespace {

using Rank = ThreadTeam::Rank;

/// Lets a rank arrive late now and then, by an amount of its own.
class Delays {
 public:
  Delays(int rank, unsigned seed) : random_(seed * 1000 + static_cast<unsigned>(rank)) {}
  void pause() {
    if (random_() % 2 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
    }
  }

 private:
  std::mt19937 random_;
};

std::int64_t element(int rank, std::size_t i) {
  return static_cast<std::int64_t>(i % 1000) * (rank + 1);
}
std::int64_t total(int ranks, std::size_t i) {
  return static_cast<std::int64_t>(i % 1000) * ranks * (ranks + 1) / 2;
}

/// How many elements of `data` are not the sum over all ranks.
std::size_t wrong(const std::vector<std::int64_t>& data, int ranks) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < data.size(); ++i) n += data[i] != total(ranks, i);
  return n;
}

std::vector<std::int64_t> contribution(int rank, std::size_t count) {
  std::vector<std::int64_t> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = element(rank, i);
  return data;
}

/// allreduce and reduce, in place and not, several in a row; returns elements that are wrong.
std::size_t reductions(Rank& comm, const papcoll::Algorithm& algorithm, std::size_t count,
                       unsigned seed) {
  Delays delays{comm.rank(), seed};
  const auto in = contribution(comm.rank(), count);
  const papcoll::root root{static_cast<int>(seed) % comm.size()};
  std::size_t mistakes = 0;
  std::vector<std::int64_t> out(count, -1);
  for (int i = 0; i < 2; ++i) {
    delays.pause();
    papcoll::allreduce(comm, in, out, papcoll::sum, algorithm);
    mistakes += wrong(out, comm.size());
    out = in;
    delays.pause();
    papcoll::allreduce(comm, out, papcoll::sum, algorithm);
    mistakes += wrong(out, comm.size());
    out.assign(count, -1);
    delays.pause();
    papcoll::reduce(comm, in, out, root, papcoll::sum, algorithm);
    if (comm.rank() == root.rank) mistakes += wrong(out, comm.size());
    out = in;
    delays.pause();
    papcoll::reduce(comm, out, root, papcoll::sum, algorithm);
    if (comm.rank() == root.rank) {
      mistakes += wrong(out, comm.size());
    } else {
      mistakes += out != in;
    }
  }
  return mistakes;
}

Options with(PeerAccess access) {
  Options options;
  options.peer_access = access;
  options.first_epoch = 0xffff'fff8U;
  return options;
}

}  // namespace

TEST_CASE("reductions of many chunks under random arrivals", "[team]") {
  for (const std::string& name : names_that_reduce_in_place()) {
    const auto algorithm = papcoll::algorithm(name);
    for (const PeerAccess access : {PeerAccess::best, PeerAccess::staged}) {
      for (const int ranks : {1, 2, 3, 5, 8}) {
        for (const std::size_t count : {1U, 7U, 3000U, under_tsan ? 15'000U : 40'000U}) {
          CAPTURE(name, static_cast<int>(access), ranks, count);
          ThreadTeam team{ranks, with(access)};
          std::vector<std::size_t> mistakes(static_cast<std::size_t>(ranks));
          team.run([&](Rank& comm) {
            mistakes[static_cast<std::size_t>(comm.rank())] =
                reductions(comm, algorithm, count, static_cast<unsigned>(count));
          });
          CHECK(mistakes == std::vector<std::size_t>(static_cast<std::size_t>(ranks), 0));
        }
      }
    }
  }
}

TEST_CASE("algorithms by tickets, named by their policies", "[team]") {
  ThreadTeam team{3};
  std::vector<std::size_t> mistakes(3);
  team.run([&](Rank& comm) {
    auto& mine = mistakes[static_cast<std::size_t>(comm.rank())];
    auto data = contribution(comm.rank(), 100);
    papcoll::allreduce<papcoll::ArrivalOrder, papcoll::Chain>(comm, data);
    mine += wrong(data, 3);
    data = contribution(comm.rank(), 100);
    papcoll::allreduce<papcoll::ArrivalOrder>(comm, data);
    mine += wrong(data, 3);
    data = contribution(comm.rank(), 100);
    papcoll::allreduce<papcoll::CombiningTree, papcoll::Reproducible>(comm, data);
    mine += wrong(data, 3);
  });
  CHECK(mistakes == std::vector<std::size_t>(3, 0));
}

TEST_CASE("elements that are larger than a nearest cache", "[team]") {
  struct Large {
    std::array<std::int64_t, 5000> values;
  };
  const auto add = papcoll::commutative([](const Large& a, const Large& b) {
    Large sum{};
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] = a.values[i] + b.values[i];
    return sum;
  });
  for (const std::string& name : arrival_names([](const papcoll::ArrivalTraits& a) {
         return a.serves(papcoll::Collective::allreduce);
       })) {
    CAPTURE(name);
    const auto algorithm = papcoll::algorithm(name);
    for (const PeerAccess access : {PeerAccess::best, PeerAccess::staged}) {
      ThreadTeam team{3, with(access)};
      std::vector<std::size_t> mistakes(3);
      team.run([&](Rank& comm) {
        std::vector<Large> data(4);
        for (Large& x : data) x.values.fill(comm.rank() + 1);
        papcoll::allreduce(comm, data, add, algorithm);
        for (const Large& x : data) {
          mistakes[static_cast<std::size_t>(comm.rank())] += static_cast<std::size_t>(
              std::count_if(x.values.begin(), x.values.end(), [](auto v) { return v != 6; }));
        }
      });
      CHECK(mistakes == std::vector<std::size_t>(3, 0));
    }
  }
}

namespace {

/// bcast, allgather and reduce_scatter in all their forms; returns how many went wrong.
std::size_t moves(Rank& comm, const papcoll::Algorithm& algorithm, std::size_t count,
                  unsigned seed) {
  Delays delays{comm.rank(), seed};
  const int me = comm.rank();
  const auto size = static_cast<std::size_t>(comm.size());
  const auto block_of = [&](const auto& data, int r) {
    const auto first = data.begin() + static_cast<std::ptrdiff_t>(count) * r;
    return std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(count));
  };
  std::size_t mistakes = 0;
  for (const int root : {0, comm.size() - 1}) {
    delays.pause();
    auto data = contribution(me, count);
    papcoll::bcast(comm, data, papcoll::root{root}, algorithm);
    mistakes += data != contribution(root, count);
    data.assign(count, -1);  // the root does not wait for late ranks

    delays.pause();
    std::vector<std::int64_t> all(count * size, -1);
    papcoll::allgather(comm, contribution(me, count), all, algorithm);
    for (int r = 0; r < comm.size(); ++r) mistakes += block_of(all, r) != contribution(r, count);
    all.assign(count * size, -1);
    for (std::size_t i = 0; i < count; ++i) {
      all[static_cast<std::size_t>(me) * count + i] = element(me, i);
    }
    delays.pause();
    papcoll::allgather(comm, all, algorithm);
    for (int r = 0; r < comm.size(); ++r) mistakes += block_of(all, r) != contribution(r, count);

    const auto in = contribution(me, count * size);
    std::vector<std::int64_t> sums(count * size);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = total(comm.size(), i);
    std::vector<std::int64_t> mine(count, -1);
    delays.pause();
    papcoll::reduce_scatter(comm, in, mine, papcoll::sum, algorithm);
    mistakes += mine != block_of(sums, me);
    all = in;
    delays.pause();
    papcoll::reduce_scatter(comm, all, papcoll::sum, algorithm);
    mistakes += block_of(all, 0) != block_of(sums, me);

    // The last rank gets everything but one element of each other.
    std::vector<std::size_t> each(size, 1);
    each.back() = count * size - (size - 1);
    mine.assign(each[static_cast<std::size_t>(me)], -1);
    delays.pause();
    papcoll::reduce_scatter(comm, in, mine, papcoll::counts{each}, papcoll::sum, algorithm);
    mistakes += !std::equal(mine.begin(), mine.end(), sums.begin() + me);
  }
  return mistakes;
}

}  // namespace

TEST_CASE("data of many chunks under random arrivals", "[team]") {
  const auto algorithm = papcoll::algorithm("PeerSlices");
  for (const PeerAccess access : {PeerAccess::best, PeerAccess::staged}) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const std::size_t count : {1U, 7U, 3000U, 20'000U}) {
        CAPTURE(static_cast<int>(access), ranks, count);
        ThreadTeam team{ranks, with(access)};
        std::vector<std::size_t> mistakes(static_cast<std::size_t>(ranks));
        team.run([&](Rank& comm) {
          mistakes[static_cast<std::size_t>(comm.rank())] =
              moves(comm, algorithm, count, static_cast<unsigned>(count));
        });
        CHECK(mistakes == std::vector<std::size_t>(static_cast<std::size_t>(ranks), 0));
      }
    }
  }
}

TEST_CASE("an allgather among more ranks than a receiver has pieces", "[team]") {
  constexpr int ranks = 37;
  ThreadTeam team{ranks};
  std::vector<std::size_t> mistakes(ranks);
  team.run([&](Rank& comm) {
    mistakes[static_cast<std::size_t>(comm.rank())] =
        moves(comm, papcoll::algorithm("PeerSlices"), 20, 3);
  });
  CHECK(mistakes == std::vector<std::size_t>(ranks, 0));
}

TEST_CASE("the root of a bcast does not wait for late ranks", "[team]") {
  ThreadTeam team{3};
  std::atomic<bool> left{false};
  std::vector<int> right(3);
  team.run([&](Rank& comm) {
    constexpr std::size_t count = 30'000;
    auto data = contribution(comm.rank(), count);
    // Rank 2 comes when the root has gone, or never.
    while (comm.rank() == 2 && !left.load()) std::this_thread::yield();
    papcoll::bcast<papcoll::PeerSlices>(comm, data, papcoll::root{0});
    right[static_cast<std::size_t>(comm.rank())] = data == contribution(0, count);
    data.assign(count, -1);
    if (comm.rank() == 0) left = true;
  });
  CHECK(right == std::vector<int>(3, 1));
}

namespace {

/// 2×2 matrices of floats: a product that neither commutes nor, in its last bits, associates.
struct Matrix {
  float a, b, c, d;
};
struct Product {
  Matrix operator()(const Matrix& x, const Matrix& y) const noexcept {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
            x.c * y.b + x.d * y.d};
  }
};

}  // namespace

TEST_CASE("CombiningTree gives the same bits under 1000 random arrivals", "[team]") {
  constexpr std::size_t count = 5;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const unsigned patterns = under_tsan ? 250 : 1000;
    ThreadTeam team{ranks};
    std::vector<std::size_t> different(static_cast<std::size_t>(ranks));
    team.run([&](Rank& comm) {
      std::mt19937 random{17U + static_cast<unsigned>(comm.rank())};
      std::uniform_real_distribution<float> uniform{-1.5F, 1.5F};
      std::vector<float> sums(count);
      std::vector<Matrix> matrices(count);
      for (float& x : sums) x = uniform(random);
      for (Matrix& m : matrices) m = {uniform(random), uniform(random), uniform(random), 1.0F};
      std::vector<float> first_sum(count);
      std::vector<Matrix> first_product(count);
      for (unsigned i = 0; i < patterns; ++i) {
        for (auto spin = random() % 3000; spin != 0; --spin) papcoll::detail::cpu_pause();
        std::vector<float> sum(count);
        papcoll::allreduce<papcoll::CombiningTree>(comm, sums, sum);
        std::vector<Matrix> product(count);
        papcoll::allreduce<papcoll::CombiningTree>(comm, matrices, product, Product{});
        if (i == 0) {
          first_sum = sum;
          first_product = product;
        }
        different[static_cast<std::size_t>(comm.rank())] +=
            std::memcmp(sum.data(), first_sum.data(), count * sizeof(float)) != 0 ||
            std::memcmp(product.data(), first_product.data(), count * sizeof(Matrix)) != 0;
      }
    });
    CAPTURE(ranks);
    CHECK(different == std::vector<std::size_t>(static_cast<std::size_t>(ranks), 0));
  }
}
