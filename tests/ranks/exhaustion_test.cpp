// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "blocks.hpp"
#include "catch.hpp"

using papcoll::Communicator;
using papcoll::MpiTransport;
using papcoll::root;

namespace {

/// Takes MPI's communicators, all of them where they are few, and gives them back.
class CommunicatorHoard {
 public:
  explicit CommunicatorHoard(MPI_Comm original) {
    MPI_Comm_set_errhandler(original, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3000; ++i) {
      MPI_Comm copy = MPI_COMM_NULL;
      if (MPI_Comm_dup(original, &copy) != MPI_SUCCESS) {
        exhausted_ = true;
        break;
      }
      copies_.push_back(copy);
    }
    MPI_Comm_set_errhandler(original, MPI_ERRORS_ARE_FATAL);
  }
  CommunicatorHoard(const CommunicatorHoard&) = delete;
  CommunicatorHoard& operator=(const CommunicatorHoard&) = delete;
  ~CommunicatorHoard() {
    for (MPI_Comm& c : copies_) MPI_Comm_free(&c);
  }

  bool exhausted() const { return exhausted_; }

 private:
  std::vector<MPI_Comm> copies_;
  bool exhausted_ = false;
};

}  // namespace

TEST_CASE("without a communicator for papcoll, MPI's own collectives do, and it is said") {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Each of some 2000 duplications is a collective: with more ranks than processors, minutes.
  if (size > 2) return;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  {
    const CommunicatorHoard hoard{comm};
    Communicator team{comm};
    const auto ranks = static_cast<std::size_t>(size);
    const auto me = static_cast<std::size_t>(team.rank());

    std::vector<long> own(70'000);
    std::iota(own.begin(), own.end(), static_cast<long>(me));
    std::vector<long> sums(own.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t r = 0; r < ranks; ++r) sums[i] += static_cast<long>(i + r);
    }
    std::vector<long> out(own.size());
    papcoll::allreduce<papcoll::Rabenseifner, MpiTransport>(team, own, out);
    CHECK(out == sums);
    CHECK(team.mpi_substitution().empty() != hoard.exhausted());

    std::vector<long> in_place = own;
    papcoll::reduce<papcoll::Binomial, MpiTransport>(team, in_place, root{size - 1});
    CHECK(in_place == (me + 1 == ranks ? sums : own));

    const std::vector<long> mine(10, static_cast<long>(me));
    std::vector<long> all(10 * ranks);
    papcoll::allgather<papcoll::Ring, MpiTransport>(team, mine, all);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<long>(i / 10));

    std::vector<long> part(10);
    papcoll::reduce_scatter<papcoll::Pairwise, MpiTransport>(team, all, part);
    CHECK(part == std::vector<long>(10, static_cast<long>(me * ranks)));
    papcoll::scatter<papcoll::Binomial, MpiTransport>(team, all, part, root{0});
    CHECK(part == mine);
    std::vector<long> gathered(all.size());
    papcoll::gather<papcoll::Binomial, MpiTransport>(team, mine, gathered, root{0});
    if (me == 0) CHECK(gathered == all);
    papcoll::bcast<papcoll::Binomial, MpiTransport>(team, gathered, root{0});
    CHECK(gathered == all);
    papcoll::barrier<papcoll::Dissemination, MpiTransport>(team);

    std::vector<long> exchanged(all.size());
    papcoll::alltoall<papcoll::Pairwise, MpiTransport>(team, all, exchanged);
    CHECK(exchanged == std::vector<long>(all.size(), static_cast<long>(me)));
    std::vector<long> prefix(10, 1);
    papcoll::scan<papcoll::RecursiveDoubling, MpiTransport>(team, prefix);
    CHECK(prefix == std::vector<long>(10, static_cast<long>(me + 1)));
    std::vector<std::size_t> each(ranks, 5);
    each.front() = 5 + 5 * ranks;
    std::vector<long> unequal(10 * ranks);
    papcoll::allgatherv<papcoll::Ring, MpiTransport>(
        team, std::vector<long>(each[me], static_cast<long>(me)), unequal, papcoll::counts{each});
    for (std::size_t i = 0, r = 0, left = each[0]; i < unequal.size(); ++i) {
      while (left == 0) left = each[++r];
      CHECK(unequal[i] == static_cast<long>(r));
      --left;
    }
    std::vector<long> rows{1, -1, 2, -1};
    papcoll::allreduce<papcoll::Ring, MpiTransport>(team, papcoll::strided(rows.data(), 2, 1, 2));
    CHECK(rows == std::vector<long>{size, -1, 2L * size, -1});

    blocks_test::Calls calls{team, papcoll::algorithm("Linear+MpiTransport")};
    for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(calls.run(seed, 3000) == "");

    papcoll::allreduce(team, own);
    CHECK(own == sums);
  }
  MPI_Comm_free(&comm);
}
