// SPDX-License-Identifier: BSD-3-Clause
// Ranks die, or stop, at chosen moments of a collective; the others must say so and go on.
//
//   kill_test RESULTS EXPECT ALGORITHM COLLECTIVE[@WITH] BYTES PHASE[=ALGORITHM]…  (run by kill.sh)
//
// Every phase has its own communicator, without the ranks that died in earlier ones, and its
// highest rank is the victim (but see home). Each rank writes what it saw to RESULTS/<rank>, since
// neither MPI library can be trusted to end a job in order that has lost a rank.
//
//   before     the victim dies before it makes the call
//   waiting    … while it waits with all others for a late rank
//   first      … while it waits for all others: as leader, where the first to arrive leads
//   agreeing   … the same after some calls: ranks agree on predictions
//   combining  … while it combines contributions, which are its peers' or wait for its result
//   middle     … at some moment in a series of calls
//   stopped    the victim does not die but stops (EXPECT is deadline_exceeded)
//   holding    … while it combines (the same)
//
// WITH: any of arena (buffers in it), registered (survivors end the registrations afterwards, and
// the data are theirs), copied (by the kernel), staged (not even that), rooted (at the victim),
// grouped (the ranks share two caches) and home (the ranks are the other way round, so the victim
// is rank 0).
//
// One file: it is one program.

#include "outcome.hpp"

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/shared_vector.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using std::chrono::milliseconds;

constexpr unsigned patience = 40;        ///< seconds until a rank that hangs ends itself
constexpr milliseconds late{300};        ///< how late a late rank is
constexpr milliseconds dies_after{100};  ///< less than that
constexpr milliseconds deadline{500};
constexpr milliseconds soon{10'000};  ///< however busy the machine is
constexpr int most_calls = 100'000;
constexpr int until_they_agree = 20;  ///< calls after which an exchange is under way

/// A sum in the midst of which the process gets a signal.
struct FatefulSum {
  static constexpr bool commutative = true;
  static inline int signal = 0;
  static inline int elements_until_then = 0;
  double operator()(double a, double b) const noexcept {
    if (signal != 0 && --elements_until_then == 0) kill(getpid(), signal);
    return a + b;
  }
};

/// COLLECTIVE[@WITH] or PHASE[=ALGORITHM]
struct What {
  std::string name;
  std::string with;
  bool has(std::string_view word) const { return with.find(word) != std::string::npos; }
};

int victim_of(const papcoll::Communicator& comm, const What& what) {
  return what.has("home") ? 0 : comm.size() - 1;
}

class Series {
 public:
  Series(papcoll::Communicator& comm, std::string_view algorithm, const What& what,
         std::size_t bytes)
      : comm_(comm),
        algorithm_(papcoll::algorithm(algorithm)),
        collective_(what.name),
        root_(what.has("rooted") ? victim_of(comm, what) : 0) {
    const std::size_t n = bytes / sizeof(double);
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::size_t n_in = collective_ == "reduce_scatter" ? n * ranks : n;
    const std::size_t n_out = collective_ == "allgather" ? n * ranks : n;
    if (what.has("arena")) {
      const papcoll::shared_allocator<double> arena{comm};
      shared_in_.emplace(n_in, arena);
      shared_out_.emplace(n_out, arena);
      in_ = *shared_in_;
      out_ = *shared_out_;
    } else {
      private_in_.resize(n_in);
      private_out_.resize(n_out);
      in_ = private_in_;
      out_ = private_out_;
    }
    if (what.has("registered")) {
      registered_.emplace_back(comm, in_);
      registered_.emplace_back(comm, out_);
    }
  }

  /// Ends what is registered: what is wrong then.
  std::string end_registrations() {
    std::fill(in_.begin(), in_.end(), 7.0);
    std::fill(out_.begin(), out_.end(), 8.0);
    for (papcoll::Registration& r : registered_) {
      if (!r.is_shared()) return "nothing was registered: " + r.no_sharing();
      r.end();
    }
    return all(in_, 7.0) && all(out_, 8.0) ? "" : "contents were lost with a registration";
  }

  /// Calls until something happens.
  Outcome run(int calls = most_calls) {
    std::string wrong;
    Outcome outcome = outcome_of([&] {
      for (int i = 0; i < calls && wrong.empty(); ++i) {
        if (!call(i)) wrong = "the result of call " + std::to_string(i) + " is wrong";
      }
    });
    return wrong.empty() ? outcome : Outcome{"wrong result", wrong};
  }

 private:
  /// One call; was its result right?
  bool call(int i) {
    const double mine = comm_.rank() + 1 + i;
    const double sum = comm_.size() * (comm_.size() + 1) / 2.0 + comm_.size() * 1.0 * i;
    const papcoll::root root{root_};
    std::fill(in_.begin(), in_.end(), collective_ == "bcast" && comm_.rank() != root_ ? -1 : mine);
    if (collective_ == "allreduce") {
      papcoll::allreduce(comm_, in_, out_, FatefulSum{}, algorithm_);
      return all(out_, sum);
    }
    if (collective_ == "iallreduce") {
      papcoll::iallreduce(comm_, in_, out_, papcoll::sum, algorithm_).wait();
      return all(out_, sum);
    }
    if (collective_ == "reduce") {
      papcoll::reduce(comm_, in_, out_, root, FatefulSum{}, algorithm_);
      return comm_.rank() != root_ || all(out_, sum);
    }
    if (collective_ == "reduce_scatter") {
      papcoll::reduce_scatter(comm_, in_, out_, FatefulSum{}, algorithm_);
      return all(out_, sum);
    }
    if (collective_ == "bcast") {
      papcoll::bcast(comm_, in_, root, algorithm_);
      return all(in_, root_ + 1 + i);
    }
    if (collective_ == "allgather") {
      papcoll::allgather(comm_, in_, out_, algorithm_);
      for (int r = 0; r < comm_.size(); ++r) {
        const auto first = static_cast<std::size_t>(r) * in_.size();
        if (!all(out_.subspan(first, in_.size()), r + 1 + i)) return false;
      }
      return true;
    }
    papcoll::barrier(comm_, algorithm_);
    return true;
  }

  /// MPI may still read the buffers of a call that failed: docs/errors.md.
  static std::vector<double>& kept_to_the_end() {
    static std::list<std::vector<double>> all;
    return all.emplace_back();
  }

  static bool all(std::span<const double> values, double wanted) {
    for (const double v : values) {
      if (v != wanted) return false;
    }
    return true;
  }

  papcoll::Communicator& comm_;
  papcoll::Algorithm algorithm_;
  std::string collective_;
  int root_;
  std::vector<double>& private_in_ = kept_to_the_end();
  std::vector<double>& private_out_ = kept_to_the_end();
  std::optional<papcoll::shared_vector<double>> shared_in_;
  std::optional<papcoll::shared_vector<double>> shared_out_;
  std::span<double> in_;
  std::span<double> out_;
  std::vector<papcoll::Registration> registered_;
};

void die_after(milliseconds time) {
  std::thread([time] {
    std::this_thread::sleep_for(time);
    kill(getpid(), SIGKILL);
  }).detach();
}

/// What a rank does before its calls so that the phase comes about.
void prepare(std::string_view phase, int rank, int victim) {
  if (rank == victim) {
    if (phase == "before") kill(getpid(), SIGKILL);
    if (phase == "stopped") raise(SIGSTOP);
    if (phase == "combining" || phase == "holding") {
      std::this_thread::sleep_for(dies_after);  // the last to arrive has something to combine
      FatefulSum::elements_until_then = 1000;
      FatefulSum::signal = phase == "holding" ? SIGSTOP : SIGKILL;
    } else {
      die_after(dies_after);
    }
  } else if (phase == "first" || phase == "agreeing" ||
             (phase == "waiting" && rank == (victim == 0 ? 1 : 0))) {
    std::this_thread::sleep_for(late);
  }
}

/// What is wrong with the outcome of a phase; nothing if all is well.
std::string fault_of(const Outcome& outcome, const Outcome& next, std::string_view expected,
                     const papcoll::Communicator& comm, int victim) {
  if (outcome.kind != expected) return outcome.kind + ": " + outcome.what;
  if (expected == "peer_lost" &&
      outcome.what.find("rank " + std::to_string(victim) + " died") == std::string::npos) {
    return "the message does not name the victim: " + outcome.what;
  }
  if (!comm.broken()) return "the communicator is not broken";
  if (next.kind != "broken_communicator") return "the next call: " + next.kind + ": " + next.what;
  return {};
}

/// Until all survivors have written what came of so many phases. Whoever leaves or dies before
/// would be another dead rank that MPI may name to those that are still in the phase.
void await_others(const std::string& results, int survivors, std::size_t phases) {
  const auto end = std::chrono::steady_clock::now() + soon;
  for (int rank = 0; rank < survivors; ++rank) {
    const auto lines = [&] {
      std::ifstream file{results + "/" + std::to_string(rank)};
      return std::count(std::istreambuf_iterator<char>{file}, {}, '\n');
    };
    while (lines() < static_cast<std::ptrdiff_t>(1 + phases) &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds{1});
    }
  }
}

struct Phase {
  std::string name;
  std::string algorithm;
  MPI_Comm mpi = MPI_COMM_NULL;
  std::vector<papcoll::Communicator> comm;  ///< one, or none where this rank is dead by then
  std::vector<pid_t> processes;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  alarm(patience);
  const std::string results = argv[1];
  const std::string expected = argv[2];
  const std::string algorithm = argv[3];
  const auto split = [](const std::string& text, char at, const std::string& otherwise) {
    const std::size_t end = text.find(at);
    if (end == std::string::npos) return What{text, otherwise};
    return What{text.substr(0, end), text.substr(end + 1)};
  };
  const What what = split(argv[4], '@', "");
  const std::size_t bytes = std::strtoull(argv[5], nullptr, 10);

  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::ofstream file{results + "/" + std::to_string(rank)};
  file << "pid " << getpid() << std::endl;

  std::vector<Phase> phases(static_cast<std::size_t>(argc - 6));
  papcoll::Options options;
  if (expected == "deadline_exceeded") options.deadline = deadline;
  if (what.has("staged")) options.peer_access = papcoll::PeerAccess::staged;
  if (what.has("copied")) options.peer_access = papcoll::PeerAccess::copied;
  const bool by_ticket = algorithm.find("RmaTransport") != std::string::npos;
  if (by_ticket) options.tickets = papcoll::RemoteTickets::always;
  int members = size;
  for (std::size_t i = 0; i < phases.size(); ++i, --members) {
    Phase& p = phases[i];
    const What named = split(argv[6 + i], '=', algorithm);
    p.name = named.name;
    p.algorithm = named.with;
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED,
                   what.has("home") ? -rank : rank, &p.mpi);
    if (rank >= members) continue;
    if (what.has("grouped")) {
      options.machine = papcoll::Machine::of_cores(1, 1, 2, (members + 1) / 2);
    }
    p.comm.emplace_back(p.mpi, options);
    p.processes.resize(static_cast<std::size_t>(members));
    const pid_t mine = getpid();
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, p.processes.data(), sizeof mine, MPI_BYTE, p.mpi);
  }
  // What MPI sets up on demand, and papcoll over MPI, cannot be set up with a dead rank.
  bool over_mpi = by_ticket || algorithm.find("MpiTransport") != std::string::npos;
  for (Phase& p : phases) {
    if (p.comm.empty()) break;
    over_mpi = over_mpi || p.comm[0].nodes() > 1;
    if (over_mpi) papcoll::barrier(p.comm[0], papcoll::algorithm("Dissemination+MpiTransport"));
    if (!by_ticket) continue;
    Series{p.comm[0], p.algorithm, what, bytes}.run(1);
    if (!p.comm[0].core().draws_tickets()) {
      file << "SKIPPED: " << p.comm[0].why_no_tickets() << std::endl;
      _exit(EXIT_SUCCESS);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);

  for (std::size_t i = 0; i < phases.size() && !phases[i].comm.empty(); ++i) {
    Phase& p = phases[i];
    papcoll::Communicator& comm = p.comm[0];
    const int victim = victim_of(comm, what);
    auto series = std::make_unique<Series>(comm, p.algorithm, what, bytes);
    if (p.name == "agreeing") series->run(until_they_agree);
    prepare(p.name, comm.rank(), victim);
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = series->run();
    const auto took = std::chrono::steady_clock::now() - start;
    const Outcome next = series->run();
    std::string fault = fault_of(outcome, next, expected, comm, victim);
    if (took > soon) fault += " it took long";
    if (what.has("registered")) fault += series->end_registrations();
    series.reset();  // its buffers, too: nothing may use them any more
    file << p.name << ": " << (fault.empty() ? "ok" : fault) << std::endl;
    await_others(results, size - 1 - static_cast<int>(i), i + 1);
    if ((p.name == "stopped" || p.name == "holding") && rank == 0) {
      kill(p.processes[static_cast<std::size_t>(victim)], SIGKILL);
    }
  }
  phases.clear();
  file << "end" << std::endl;
  _exit(EXIT_SUCCESS);
}
