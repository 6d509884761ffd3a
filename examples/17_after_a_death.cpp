// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A solver that goes on when a rank dies: heat on a plate, by Jacobi's method. The plate is cut
// into strips of rows. Now and then each rank gives its right neighbour a copy of its strips; when
// a rank has died, that neighbour takes them over, and all go on from the last copies.
//
//     mpirun --with-ft ulfm -n 4 ./17_after_a_death 2 77      # rank 2 dies in iteration 77
//
// That takes an MPI library that goes on after a death, such as Open MPI 5. Elsewhere the program
// says why it cannot, and runs without one.

#include <papcoll/papcoll.hpp>
#include <papcoll/recovery.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int rows = 12;           // of a strip
constexpr std::size_t width = 64;  // of the plate
constexpr std::ptrdiff_t strip_size = rows * static_cast<std::ptrdiff_t>(width);
constexpr int iterations = 200;
constexpr int between_copies = 10;

using Row = std::vector<double>;

struct Strip {
  std::vector<double> heat = std::vector<double>(rows * width);

  double* row(int r) { return heat.data() + static_cast<std::size_t>(r) * width; }
  const double* row(int r) const { return heat.data() + static_cast<std::size_t>(r) * width; }
};
using Strips = std::map<int, Strip>;  // by their numbers, from the top

/// One iteration of a strip between the rows above and below it. The plate's left edge is hot.
Strip relaxed(const Strip& before, const double* above, const double* below) {
  Strip after;
  for (int r = 0; r < rows; ++r) {
    const double* const up = r == 0 ? above : before.row(r - 1);
    const double* const down = r == rows - 1 ? below : before.row(r + 1);
    const double* const here = before.row(r);
    for (std::size_t c = 0; c < width; ++c) {
      const double left = c == 0 ? 100.0 : here[c - 1];
      const double right = c == width - 1 ? 0.0 : here[c + 1];
      after.row(r)[c] = (up[c] + down[c] + left + right) / 4;
    }
  }
  return after;
}

/// What a rank can go back to: its strips, and its left neighbour's.
struct Copy {
  int iteration = 0;
  Strips own;
  Strips left;
};

class Solver {
 public:
  Solver(int strips, int rank) : strips_(strips) { now_[rank] = Strip{}; }

  /// Kills this process in that iteration.
  void die_at(int iteration) { dies_at_ = iteration; }

  /// Iterates to the end. Throws peer_lost.
  void run(papcoll::Communicator& comm) {
    while (iteration_ < iterations) {
      if (iteration_ % between_copies == 0) exchange_copies(comm);
      if (iteration_ == dies_at_) std::raise(SIGKILL);
      iterate(comm);
    }
  }

  /// Goes back to the last copies that all ranks have, and takes over the strips of ranks that
  /// died. Throws peer_lost, and std::runtime_error if a strip is lost with its copy.
  void restore(papcoll::Communicator& comm) {
    // A rank may have made a copy that another has not.
    const int last = papcoll::allreduce(comm, copies_[0].iteration, papcoll::Min{});
    const Copy& copy = copies_[0].iteration == last ? copies_[0] : copies_[1];
    Strips strips = copy.own;
    for (const int lost : missing(comm, strips)) {
      if (const auto found = copy.left.find(lost); found != copy.left.end()) strips.insert(*found);
    }
    if (!missing(comm, strips).empty()) {
      throw std::runtime_error("two neighbours died, and a strip of the plate with them");
    }
    now_ = std::move(strips);
    iteration_ = last;
    exchange_copies(comm);
  }

  /// Compares this rank's strips with what a single process gets.
  bool is_right() const {
    std::vector<Strip> plate(static_cast<std::size_t>(strips_));
    const Row cold(width);
    for (int i = 0; i < iterations; ++i) {
      std::vector<Strip> next;
      for (std::size_t s = 0; s < plate.size(); ++s) {
        next.push_back(relaxed(plate[s], s == 0 ? cold.data() : plate[s - 1].row(rows - 1),
                               s + 1 == plate.size() ? cold.data() : plate[s + 1].row(0)));
      }
      plate = std::move(next);
    }
    return std::all_of(now_.begin(), now_.end(), [&](const auto& strip) {
      return strip.second.heat == plate[static_cast<std::size_t>(strip.first)].heat;
    });
  }

 private:
  /// All ranks get the first and the last row of each strip: each adds those of its own to zeros.
  void iterate(papcoll::Communicator& comm) {
    const auto strips = static_cast<std::size_t>(strips_);
    Row edges((2 * strips + 2) * width);  // with a cold row above the plate, and one below
    const auto edge = [&](int strip, int which) {
      return edges.data() + static_cast<std::size_t>(2 * strip + which + 1) * width;
    };
    for (const auto& [s, strip] : now_) {
      std::copy_n(strip.row(0), width, edge(s, 0));
      std::copy_n(strip.row(rows - 1), width, edge(s, 1));
    }
    papcoll::allreduce(comm, edges);
    for (auto& [s, strip] : now_) strip = relaxed(strip, edge(s, -1), edge(s, 2));
    ++iteration_;
  }

  /// Gives this rank's strips to the right neighbour. The older copy is kept until all ranks have
  /// this one: see restore().
  void exchange_copies(papcoll::Communicator& comm) {
    const int right = (comm.rank() + 1) % comm.size();
    const int left = (comm.rank() + comm.size() - 1) % comm.size();
    Row mine;  // of each strip its number and its heat
    for (const auto& [s, strip] : now_) {
      mine.push_back(s);
      mine.insert(mine.end(), strip.heat.begin(), strip.heat.end());
    }
    int n = static_cast<int>(mine.size());
    int n_left = 0;
    check(MPI_Sendrecv(&n, 1, MPI_INT, right, 0, &n_left, 1, MPI_INT, left, 0, comm.mpi_comm(),
                       MPI_STATUS_IGNORE));
    Row theirs(static_cast<std::size_t>(n_left));
    check(MPI_Sendrecv(mine.data(), n, MPI_DOUBLE, right, 1, theirs.data(), n_left, MPI_DOUBLE,
                       left, 1, comm.mpi_comm(), MPI_STATUS_IGNORE));
    copies_[1] = std::move(copies_[0]);
    copies_[0] = {iteration_, now_, {}};
    for (auto at = theirs.begin(); at != theirs.end(); at += strip_size) {
      const int s = static_cast<int>(*at++);
      copies_[0].left[s].heat.assign(at, at + strip_size);
    }
  }

  /// MPI's own calls return what papcoll's throw, if MPI_ERRORS_RETURN is set.
  static void check(int code) {
    if (code == MPI_SUCCESS) return;
    if (papcoll::tells_of_death(code)) throw papcoll::peer_lost("a rank died, as MPI says");
    throw std::runtime_error("a call of MPI failed");
  }

  /// Strips that no rank has.
  std::vector<int> missing(papcoll::Communicator& comm, const Strips& strips) const {
    std::vector<int> owners(static_cast<std::size_t>(strips_));
    for (const auto& strip : strips) owners[static_cast<std::size_t>(strip.first)] = 1;
    papcoll::allreduce(comm, owners);
    std::vector<int> none;
    for (int s = 0; s < strips_; ++s) {
      if (owners[static_cast<std::size_t>(s)] == 0) none.push_back(s);
    }
    return none;
  }

  int strips_;
  int iteration_ = 0;
  int dies_at_ = -1;
  Strips now_;
  Copy copies_[2];
};

/// Solves, on however few ranks are left.
bool run(int victim, int iteration) {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const std::string why_not = papcoll::no_recovery();
  if (!why_not.empty() && comm.rank() == 0) std::printf("nobody may die: %s\n", why_not.c_str());
  Solver solver{comm.size(), comm.rank()};
  if (why_not.empty() && comm.rank() == victim) solver.die_at(iteration);

  bool done = false;
  bool is_new = true;
  while (!done) {
    try {
      if (!std::exchange(is_new, false)) solver.restore(comm);
      solver.run(comm);
      done = true;
    } catch (const papcoll::peer_lost& lost) {
      if (!why_not.empty()) throw;
      std::printf("rank %d: %s\n", comm.rank(), lost.what());
    } catch (const papcoll::broken_communicator&) {  // the death was seen in another call
      if (!why_not.empty()) throw;
    }
    // Nobody leaves while another has to go back and needs it.
    done = papcoll::agree(comm, done);
    if (!done) comm = papcoll::shrink(comm);
  }
  const bool right = solver.is_right();
  std::printf("rank %d of %d left: %s\n", comm.rank(), comm.size(), right ? "right" : "wrong");
  std::fflush(stdout);  // Open MPI 5.0 may hang in MPI_Finalize
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // inherited by what is shrunk
  bool right = false;
  try {
    right = argc > 2 ? run(std::atoi(argv[1]), std::atoi(argv[2])) : run(-1, 0);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
