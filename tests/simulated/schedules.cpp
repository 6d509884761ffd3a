// SPDX-License-Identifier: BSD-3-Clause
// Every static schedule of the catalogue on simulated ranks, with real data. SMPI ends a run in
// which nobody can go on, and says who waits for what.
//
//     schedules [COLLECTIVE…]     all of them, if none is named
//     schedules deadlock          is one found?
//
// An element knows whose contributions it holds, and where it belongs. One file: it is one program.

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace {

using papcoll::Collective;

/// Contributions of `count` ranks, the lowest `first`, none above `last`.
struct Piece {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t count = 0;
  std::uint32_t index = 0;
  std::uint64_t sum = 0;  ///< of the ranks' numbers, scattered over 64 bits
  friend bool operator==(const Piece&, const Piece&) = default;
};

constexpr Piece spoilt{-1, -1, -1, 0xdeadbeefU, 0};

constexpr std::uint64_t scattered(int rank) {
  std::uint64_t x = (static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 27);
}

Piece piece(int rank, std::size_t index) {
  return {rank, rank, 1, static_cast<std::uint32_t>(index), scattered(rank)};
}

Piece combined(const Piece& a, const Piece& b) {
  if (a.index != b.index || a.count < 1 || b.count < 1) return spoilt;
  return {std::min(a.first, b.first), std::max(a.last, b.last), a.count + b.count, a.index,
          a.sum + b.sum};
}

/// Any order.
struct Once {
  static constexpr bool commutative = true;
  Piece operator()(const Piece& low, const Piece& high) const noexcept {
    return combined(low, high);
  }
};

/// Neighbours in rank order only. Does not commute.
struct InOrder {
  Piece operator()(const Piece& low, const Piece& high) const noexcept {
    return low.last + 1 == high.first ? combined(low, high) : spoilt;
  }
};

class Run {
 public:
  Run(papcoll::Communicator& comm, papcoll::Algorithm algorithm, Collective collective,
      std::size_t count, int root)
      : comm_(comm),
        algorithm_(std::move(algorithm)),
        collective_(collective),
        n_(count),
        ranks_(comm.size()),
        me_(comm.rank()),
        root_(root) {
    for (int r = 0; r < ranks_; ++r) {
      everybody_.count += 1;
      everybody_.sum += scattered(r);
    }
    everybody_.last = ranks_ - 1;
  }

  /// Is this rank's result right?
  template <class Op> bool is_right(const Op& op) {
    const auto p = static_cast<std::size_t>(ranks_);
    const bool is_root = me_ == root_;
    const papcoll::root root{root_};
    switch (collective_) {
      case Collective::allreduce: {
        const std::vector<Piece> in = contribution(n_, 0);
        std::vector<Piece> out(n_);
        papcoll::allreduce(comm_, std::span{in}, std::span{out}, op, algorithm_);
        return is_everybodys(out, 0);
      }
      case Collective::reduce: {
        const std::vector<Piece> in = contribution(n_, 0);
        std::vector<Piece> out(is_root ? n_ : 0);
        papcoll::reduce(comm_, std::span{in}, std::span{out}, root, op, algorithm_);
        return !is_root || is_everybodys(out, 0);
      }
      case Collective::reduce_scatter: {
        const std::vector<Piece> in = contribution(n_ * p, 0);
        std::vector<Piece> out(n_);
        papcoll::reduce_scatter(comm_, std::span{in}, std::span{out}, op, algorithm_);
        return is_everybodys(out, n_ * static_cast<std::size_t>(me_));
      }
      case Collective::bcast: {
        std::vector<Piece> data(n_);
        if (is_root) data = contribution(n_, 0);
        papcoll::bcast(comm_, std::span{data}, root, algorithm_);
        return is_of(data, root_, 0);
      }
      case Collective::allgather: {
        const std::vector<Piece> in = contribution(n_, n_ * static_cast<std::size_t>(me_));
        std::vector<Piece> out(n_ * p);
        papcoll::allgather(comm_, std::span{in}, std::span{out}, algorithm_);
        return is_gathered(out);
      }
      case Collective::gather: {
        const std::vector<Piece> in = contribution(n_, n_ * static_cast<std::size_t>(me_));
        std::vector<Piece> out(is_root ? n_ * p : 0);
        papcoll::gather(comm_, std::span{in}, std::span{out}, root, algorithm_);
        return !is_root || is_gathered(out);
      }
      case Collective::scatter: {
        const std::vector<Piece> in = contribution(is_root ? n_ * p : 0, 0);
        std::vector<Piece> out(n_);
        papcoll::scatter(comm_, std::span{in}, std::span{out}, root, algorithm_);
        return is_of(out, root_, n_ * static_cast<std::size_t>(me_));
      }
      case Collective::alltoall: {
        const std::vector<Piece> in = contribution(n_ * p, 0);
        std::vector<Piece> out(n_ * p);
        papcoll::alltoall(comm_, std::span{in}, std::span{out}, algorithm_);
        return is_exchanged(out);
      }
      case Collective::scan: {
        const std::vector<Piece> in = contribution(n_, 0);
        std::vector<Piece> out(n_);
        papcoll::scan(comm_, std::span{in}, std::span{out}, op, algorithm_);
        return is_prefix(out, me_ + 1);
      }
      case Collective::exscan: {
        const std::vector<Piece> in = contribution(n_, 0);
        std::vector<Piece> out(n_);
        papcoll::exscan(comm_, std::span{in}, std::span{out}, op, algorithm_);
        return me_ == 0 || is_prefix(out, me_);
      }
      case Collective::barrier: papcoll::barrier(comm_, algorithm_); return true;
    }
    return false;
  }

 private:
  std::vector<Piece> contribution(std::size_t n, std::size_t first) const {
    std::vector<Piece> data;
    for (std::size_t i = 0; i < n; ++i) data.push_back(piece(me_, first + i));
    return data;
  }
  bool is_everybodys(std::span<const Piece> data, std::size_t first) const {
    Piece wanted = everybody_;
    wanted.index = static_cast<std::uint32_t>(first);
    for (const Piece& p : data) {
      if (p != wanted) return false;
      ++wanted.index;
    }
    return true;
  }
  static bool is_of(std::span<const Piece> data, int rank, std::size_t first) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] != piece(rank, first + i)) return false;
    }
    return true;
  }
  /// Of every rank what it has for this one.
  bool is_exchanged(std::span<const Piece> data) const {
    for (int r = 0; r < ranks_; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * n_;
      if (!is_of(data.subspan(at, n_), r, n_ * static_cast<std::size_t>(me_))) return false;
    }
    return true;
  }
  /// Everything of the first ranks.
  static bool is_prefix(std::span<const Piece> data, int ranks) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      Piece wanted = piece(0, i);
      for (int r = 1; r < ranks; ++r) wanted = combined(wanted, piece(r, i));
      if (data[i] != wanted) return false;
    }
    return true;
  }
  bool is_gathered(std::span<const Piece> data) const {
    for (int r = 0; r < ranks_; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * n_;
      if (!is_of(data.subspan(at, n_), r, at)) return false;
    }
    return true;
  }

  papcoll::Communicator& comm_;
  papcoll::Algorithm algorithm_;
  Collective collective_;
  std::size_t n_;
  int ranks_;
  int me_;
  int root_;
  Piece everybody_;
};

/// The row's schedule with its defaults and, if it has segments, with some of four elements, so
/// that there are more of them than an engine has in flight at once.
std::vector<std::string> names_of(const papcoll::CatalogueRow& row, std::size_t ranks) {
  std::vector<std::string> names{std::string(row.name)};
  if (ranks > 64) return names;  // a minute for a ring of them
  if (row.name.starts_with("Pipelined") || row.name == "SegmentedRing") {
    names.push_back(names.front() + ":" + std::to_string(4 * sizeof(Piece)));
  }
  return names;
}

/// All that is to be run of a row; the number of runs that went wrong on any rank.
int run_row(papcoll::Communicator& comm, const papcoll::CatalogueRow& row, Collective c) {
  int wrong = 0;
  const auto ranks = static_cast<std::size_t>(comm.size());
  const bool is_block = c != Collective::allreduce && !papcoll::is_rooted(c);
  std::vector<std::size_t> counts{is_block ? 3 : ranks + 7};
  if (ranks <= 16) counts.insert(counts.end(), {1, is_block ? 200 : 10 * ranks + 3});
  std::vector<int> roots{papcoll::is_rooted(c) ? comm.size() - 1 : 0};
  if (papcoll::is_rooted(c) && ranks <= 64) roots.push_back(1);
  for (const std::string& name : names_of(row, ranks)) {
    const papcoll::Algorithm algorithm = papcoll::algorithm(name + "+MpiTransport");
    for (const std::size_t count : counts) {
      for (const int root : roots) {
        Run run{comm, algorithm, c, count, root};
        const bool any_order = (row.needs & papcoll::requirement::commutative_operator) != 0;
        int failed = (any_order ? run.is_right(Once{}) : run.is_right(InOrder{})) ? 0 : 1;
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (failed == 0) continue;
        ++wrong;
        if (comm.rank() == 0) {
          std::printf("%s by %s, count %zu, root %d: wrong on %d of %d ranks\n",
                      std::string(papcoll::name_of(c)).c_str(), name.c_str(), count, root, failed,
                      comm.size());
        }
      }
    }
  }
  return wrong;
}

/// SMPI's time for such a call grows with the third power of the ranks: minutes for 256.
bool is_from_each_to_each(const papcoll::CatalogueRow& row, Collective c) {
  if (c == Collective::alltoall) return row.name == "Linear" || row.name == "SpreadOut";
  return (c == Collective::allgather || c == Collective::reduce_scatter) &&
         (row.name == "Linear" || row.name == "Pairwise");
}

int run_all(const std::vector<std::string>& wanted) {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  int wrong = 0;
  int rows = 0;
  for (const papcoll::CatalogueRow& row : papcoll::catalogue()) {
    if (row.plan == nullptr) continue;
    // With predicted orders they are the rank order at first: what 64 ranks do is done by 256.
    if (comm.size() > 64 && row.arrival != "StaticOrder") continue;
    for (std::size_t i = 0; i < papcoll::collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      const bool is_wanted = wanted.empty() || std::find(wanted.begin(), wanted.end(),
                                                         papcoll::name_of(c)) != wanted.end();
      if (!is_wanted || !row.serves(c)) continue;
      if (comm.size() > 64 && is_from_each_to_each(row, c)) continue;
      if (comm.size() > 64 && row.name == "SegmentedRing") continue;  // one segment: it is Ring
      // If the run ends in a deadlock, the last line names the schedule.
      if (comm.rank() == 0) {
        std::printf("%s by %s\n", std::string(papcoll::name_of(c)).c_str(),
                    std::string(row.name).c_str());
        std::fflush(stdout);
      }
      wrong += run_row(comm, row, c);
      ++rows;
    }
  }
  if (comm.rank() == 0) std::printf("%d ranks, %d runs were wrong\n", comm.size(), wrong);
  return wrong == 0 && rows > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Two ranks that both send before they receive: what the tests have SMPI find.
int run_into_deadlock() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 1) return EXIT_SUCCESS;
  int n = rank;
  MPI_Send(&n, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
  MPI_Recv(&n, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = EXIT_FAILURE;
  try {
    const std::vector<std::string> wanted{argv + 1, argv + argc};
    status = wanted == std::vector<std::string>{"deadlock"} ? run_into_deadlock() : run_all(wanted);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return status;
}
