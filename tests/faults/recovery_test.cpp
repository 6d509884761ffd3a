// SPDX-License-Identifier: BSD-3-Clause
// A rank is killed at a random moment, in calls of papcoll and of MPI and while communicators are
// made; where MPI can, the others go on without it and end with the right result.
//
//   recovery_test RESULTS VICTIM MICROSECONDS  (run by recovery.py)
//
// The ranks sum terms that they share out anew after a death. Where MPI goes on after a death, the
// victim (-1: nobody) dies so long after the beginning; elsewhere after the ranks have met, and
// they make no call of MPI that would wait for it for ever. Each survivor writes to RESULTS/<rank>
// one line `kind|ranks left|milliseconds|text`, where kind is `right`, `wrong`, or the exception
// that ended it, and then a line `finalized`, unless MPI_Finalize hangs, as Open MPI 5.0 does at
// times after a death (without papcoll, too).

#include "outcome.hpp"

#include <papcoll/papcoll.hpp>
#include <papcoll/recovery.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

constexpr unsigned patience = 30;          ///< seconds until a rank that hangs ends itself
constexpr unsigned finalize_patience = 4;  ///< ... in MPI_Finalize
constexpr int terms = 64;                  ///< of a step
constexpr int steps = 300;
constexpr int kinds = 5;  ///< of steps

std::uint64_t term(int step, int number) {
  return (static_cast<std::uint64_t>(step) * 2654435761U + static_cast<std::uint64_t>(number)) %
         1000003;
}

/// How far a rank has come: the same on all ranks that have come as far.
struct State {
  int step = 0;
  std::uint64_t sum = 0;
};

/// A call of MPI said that a peer died.
struct MpiSaysLost {};

void check(int code) {
  if (code == MPI_SUCCESS) return;
  if (papcoll::tells_of_death(code)) throw MpiSaysLost{};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error("MPI: " + std::string(text.data()));
}

std::uint64_t own_sum(int step, const papcoll::Communicator& comm) {
  std::uint64_t sum = 0;
  for (int i = comm.rank(); i < terms; i += comm.size()) sum += term(step, i);
  return sum;
}

/// Duplicates of an MPI communicator, for all steps that want one. They are made before the death:
/// Open MPI 5.0 crashes where it hears of one while it makes a communicator (without papcoll, too).
using Copies = std::vector<MPI_Comm>;

Copies copies_of(MPI_Comm comm) {
  Copies copies(steps / kinds);
  for (MPI_Comm& copy : copies) check(MPI_Comm_dup(comm, &copy));
  return copies;
}

/// A step by calls of several kinds.
std::uint64_t sum_of_step(papcoll::Communicator& comm, int step, const Copies& copies) {
  std::uint64_t sum = own_sum(step, comm);
  std::vector<std::uint64_t> all{sum};
  switch (step % kinds) {
    case 0: papcoll::allreduce(comm, all); return all[0];
    case 1: papcoll::allreduce<papcoll::Ring, papcoll::MpiTransport>(comm, all); return all[0];
    case 2: papcoll::iallreduce(comm, all).wait(); return all[0];
    case 3: {
      if (!papcoll::no_recovery().empty()) {
        papcoll::reduce(comm, all, papcoll::root{0});
        papcoll::bcast(comm, all, papcoll::root{0});
        return all[0];
      }
      // around a ring, by MPI
      const int next = (comm.rank() + 1) % comm.size();
      const int before = (comm.rank() + comm.size() - 1) % comm.size();
      std::uint64_t total = sum;
      for (int i = 1; i < comm.size(); ++i) {
        std::uint64_t theirs = 0;
        check(MPI_Sendrecv(&sum, 1, MPI_UINT64_T, next, 0, &theirs, 1, MPI_UINT64_T, before, 0,
                           comm.mpi_comm(), MPI_STATUS_IGNORE));
        total += theirs;
        sum = theirs;
      }
      return total;
    }
    default: {  // on a new communicator
      const MPI_Comm copy = copies[static_cast<std::size_t>(step) / kinds];
      try {
        papcoll::Communicator other{copy};
        papcoll::allreduce(other, all);
      } catch (...) {
        if (papcoll::no_recovery().empty()) papcoll::revoke(copy);  // others may wait for this rank
        throw;
      }
      return all[0];
    }
  }
}

/// What goes on, and what is refused, before anybody has died.
bool is_sound(papcoll::Communicator& comm, MPI_Comm copy) {
  papcoll::Options wrong;
  wrong.groups = {{0}};  // not one for each rank
  const Outcome refused = outcome_of([&] { papcoll::shrink(comm.mpi_comm(), wrong); });
  // The others come to agree() only when this rank has moved its request there.
  int sum = 1;
  papcoll::Request request =
      papcoll::iallreduce<papcoll::RecursiveDoubling, papcoll::MpiTransport>(comm, &sum, 1);
  if (comm.rank() != 0) request.wait();
  const bool agreed = papcoll::agree(copy, true);
  request.wait();
  return refused.kind == "argument_error" && agreed && sum == comm.size();
}

/// `last` and the one before.
using States = std::array<State, 2>;

void work(papcoll::Communicator& comm, States& states, const Copies& copies) {
  // A rank may have done a step that another has not.
  std::vector<int> first{states[0].step};
  papcoll::allreduce(comm, first, papcoll::Min{});
  if (states[0].step != first[0]) states[0] = states[1];
  while (states[0].step < steps) {
    const std::uint64_t sum = sum_of_step(comm, states[0].step, copies);
    states[1] = states[0];
    states[0] = {states[0].step + 1, states[0].sum * 31 + sum};
  }
}

std::string verdict(const State& state) {
  State right;
  for (; right.step < steps; ++right.step) {
    std::uint64_t sum = 0;
    for (int i = 0; i < terms; ++i) sum += term(right.step, i);
    right.sum = right.sum * 31 + sum;
  }
  return state.step == steps && state.sum == right.sum ? "right" : "wrong";
}

/// Ranks left at the end, and what happened on the way.
struct Run {
  std::string kind;
  int left = 0;
  std::string text;
};

Run run(bool may_recover, std::optional<papcoll::Communicator>& comm, Copies copies) {
  Run result;
  States states;
  for (;;) {
    bool done = false;
    const Outcome outcome = outcome_of([&] {
      try {
        if (!comm) comm.emplace(MPI_COMM_WORLD);
        if (copies.empty()) copies = copies_of(comm->mpi_comm());
        work(*comm, states, copies);
        done = true;
      } catch (const MpiSaysLost&) {
        throw papcoll::peer_lost("MPI says so");
      }
    });
    if (!done) result.text += outcome.kind + ": " + outcome.what + "; ";
    if (!done && outcome.kind != "peer_lost" && outcome.kind != "broken_communicator") {
      result.kind = outcome.kind;
      return result;
    }
    const MPI_Comm mpi = comm ? comm->mpi_comm() : MPI_COMM_WORLD;
    const Outcome agreed =
        may_recover || done ? outcome_of([&] { done = papcoll::agree(mpi, done); }) : outcome;
    if (!agreed.is_fine()) {
      result.kind = agreed.kind;
      result.text += agreed.what + "; ";
      if (!may_recover) {
        result.text += outcome_of([] { papcoll::shrink(MPI_COMM_WORLD); }).what;
      }
      return result;
    }
    if (done) break;
    comm = comm ? papcoll::shrink(*comm) : papcoll::shrink(MPI_COMM_WORLD);
    copies.clear();
  }
  result.kind = verdict(states[0]);
  result.left = comm->size();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  alarm(patience);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const bool may_recover = papcoll::no_recovery().empty();
  std::optional<papcoll::Communicator> comm;
  const Copies copies = copies_of(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!may_recover) {
    comm.emplace(MPI_COMM_WORLD);
    papcoll::barrier(*comm);
  } else {
    papcoll::Communicator other{copies[1]};
    if (!is_sound(other, copies[2])) return EXIT_FAILURE;
  }
  if (rank == std::atoi(argv[2])) {
    const std::chrono::microseconds dies_after{std::atoi(argv[3])};
    std::thread([dies_after] {
      std::this_thread::sleep_for(dies_after);
      kill(getpid(), SIGKILL);
    }).detach();
  }
  const auto start = std::chrono::steady_clock::now();
  Run result;
  const Outcome outcome = outcome_of([&] { result = run(may_recover, comm, copies); });
  if (!outcome.is_fine()) result = {outcome.kind, 0, outcome.what};
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  comm.reset();
  std::ofstream file{std::string{argv[1]} + "/" + std::to_string(rank)};
  file << result.kind << "|" << result.left << "|" << static_cast<int>(took.count()) << "|"
       << result.text << std::endl;
  if (result.kind == "right") {
    alarm(finalize_patience);
    MPI_Finalize();
    file << "finalized" << std::endl;
  }
  _exit(result.kind == "right" ? EXIT_SUCCESS : EXIT_FAILURE);
}
