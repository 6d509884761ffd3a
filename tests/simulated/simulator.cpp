// SPDX-License-Identifier: BSD-3-Clause
// Does papcoll's own simulator say what SMPI says? Every static schedule of the catalogue is called
// on simulated ranks of the contention-free platform, and rank 0 asks the simulator for the same.
//
//     simulator COLLECTIVE…
//
// PAPCOLL_SIMULATED_GAMMA tells what combining costs. SMPI is to run with network/optim:Full, and
// with the least smpi/test, 1e-9: so many seconds go by for each request that a waiting rank looks
// at, which is why a nanosecond or two a message are allowed for.

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
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/simulate/smpi/simulated_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace {

using papcoll::Collective;

constexpr double tolerance = 0.05;
constexpr double nanosecond = 1e-9;

papcoll::LogGops model() {
  papcoll::LogGops m;
  m.latency = 1.5e-6;
  m.gap_per_byte = 1 / 16e9;
  m.rendezvous = 65536;
  m.combine_per_byte = std::strtod(std::getenv("PAPCOLL_SIMULATED_GAMMA"), nullptr);
  return m;
}

/// Do blocks of the vector belong to ranks?
bool is_of_blocks(Collective c) { return papcoll::has_data(c) && !papcoll::is_elementwise(c); }

class Calls {
 public:
  /// Vectors of `count` elements; if they consist of blocks, nearly.
  Calls(papcoll::Communicator& comm, std::size_t count)
      : comm_(comm),
        n_(count),
        block_((count + static_cast<std::size_t>(comm.size()) - 1) /
               static_cast<std::size_t>(comm.size())),
        in_(block_ * static_cast<std::size_t>(comm.size())),
        out_(in_.size()) {}

  papcoll::Shape shape(Collective c) const {
    papcoll::Shape s;
    s.collective = c;
    s.size = comm_.size();
    s.count = is_of_blocks(c) ? block_ : n_;
    s.element_size = sizeof(double);
    if (c == Collective::barrier) s.count = s.element_size = 1;
    return s;
  }

  void call(Collective c, const papcoll::Algorithm& by) {
    const std::span all_in{in_};
    const std::span all_out{out_};
    const std::span<const double> in = all_in.first(n_);
    const std::span<double> out = all_out.first(n_);
    switch (c) {
      case Collective::allreduce: return papcoll::allreduce(comm_, in, out, papcoll::sum, by);
      case Collective::reduce:
        return papcoll::reduce(comm_, in, out, papcoll::root{0}, papcoll::sum, by);
      case Collective::bcast: return papcoll::bcast(comm_, out, papcoll::root{0}, by);
      case Collective::reduce_scatter: {
        const std::span<const double> blocks = all_in;
        return papcoll::reduce_scatter(comm_, blocks, all_out.first(block_), papcoll::sum, by);
      }
      case Collective::allgather: return papcoll::allgather(comm_, in.first(block_), all_out, by);
      case Collective::gather:
        return papcoll::gather(comm_, in.first(block_), all_out, papcoll::root{0}, by);
      case Collective::scatter: {
        const std::span<const double> blocks = all_in;
        return papcoll::scatter(comm_, blocks, all_out.first(block_), papcoll::root{0}, by);
      }
      case Collective::alltoall: return papcoll::alltoall(comm_, std::as_const(in_), out_, by);
      case Collective::scan: return papcoll::scan(comm_, in, out, papcoll::sum, by);
      case Collective::exscan: return papcoll::exscan(comm_, in, out, papcoll::sum, by);
      case Collective::barrier: return papcoll::barrier(comm_, by);
    }
  }

  /// Seconds from the moment at which all ranks enter the call to the last exit.
  double time(Collective c, const papcoll::Algorithm& by) {
    double now = MPI_Wtime();
    double start = 0;
    MPI_Allreduce(&now, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    start += 1e-3;
    papcoll::detail::pass_simulated_time(start - MPI_Wtime());
    call(c, by);
    now = MPI_Wtime() - start;
    double last = 0;
    MPI_Allreduce(&now, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last;
  }

 private:
  papcoll::Communicator& comm_;
  std::size_t n_;
  std::size_t block_;
  std::vector<double> in_;
  std::vector<double> out_;
};

/// The row's schedule, also with other segments.
std::vector<std::string> names_of(const papcoll::CatalogueRow& row) {
  std::vector<std::string> names{std::string(row.name)};
  if (row.name.starts_with("Pipelined")) names.push_back(names.front() + ":8192");
  return names;
}

/// Compares all schedules; the number of times that differ.
int compare(papcoll::Communicator& comm, Collective c, std::size_t bytes) {
  Calls calls{comm, bytes / sizeof(double)};
  papcoll::SimulateOptions options;
  options.ports = papcoll::Ports::shared;
  int wrong = 0;
  for (const papcoll::CatalogueRow& row : papcoll::catalogue()) {
    if (row.plan == nullptr || !row.serves(c)) continue;
    for (const std::string& name : names_of(row)) {
      const papcoll::Algorithm algorithm = papcoll::algorithm(name + "+MpiTransport");
      const papcoll::AlgorithmSpec& spec = algorithm.spec();
      // Where ranks agree on an order by messages of their own, the schedule is not all there is.
      if (!spec.schedule || spec.order || spec.tickets != nullptr) continue;
      const double smpi = calls.time(c, algorithm);
      if (comm.rank() != 0) continue;
      const papcoll::Shape shape = calls.shape(c);
      const double ours =
          simulate(spec.schedule, shape, static_order(shape), model(), options).time();
      const bool differs = std::abs(ours - smpi) > tolerance * smpi + 2 * nanosecond * comm.size();
      wrong += differs;
      std::printf("%s %s %zu bytes: SMPI %.9g s, simulated %.9g s (%+.2f %%)%s\n",
                  std::string(name_of(c)).c_str(), name.c_str(), bytes, smpi, ours,
                  100 * (ours / smpi - 1), differs ? " DIFFERS" : "");
      std::fflush(stdout);
    }
  }
  return wrong;
}

int run(const std::vector<std::string>& wanted) {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  papcoll::barrier(comm, papcoll::algorithm("Dissemination+MpiTransport"));  // to set things up
  int wrong = 0;
  for (std::size_t i = 0; i < papcoll::collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (std::find(wanted.begin(), wanted.end(), papcoll::name_of(c)) == wanted.end()) continue;
    for (const std::size_t bytes : {1000U, 65536U, 1U << 20U}) {
      wrong += compare(comm, c, bytes);
      if (c == Collective::barrier) break;
    }
  }
  if (comm.rank() == 0) std::printf("%d ranks, %d times differ\n", comm.size(), wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = EXIT_FAILURE;
  try {
    status = run({argv + 1, argv + argc});
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return status;
}
