// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// args: --epochs 10
// optimise: yes
// libraries: ZLIB::ZLIB CLI11::CLI11 nlohmann_json::nlohmann_json
// Data-parallel training: every rank computes the gradient of its part of a batch, an allreduce
// sums the parts, and every rank takes the same step. Some ranks are late in every step; compare
//
//     mpirun -n 4 ./ddp_digits --allreduce mpi
//     mpirun -n 4 ./ddp_digits --allreduce auto
//     mpirun -n 4 ./ddp_digits --allreduce auto --registered
//
// The weights must come out the same on all ranks. With an algorithm name that ends in
// +Reproducible they are the same bit for bit in every run, whoever is late (--stragglers,
// --arrival).

#include "ddp_digits/bucket.hpp"
#include "ddp_digits/digits.hpp"
#include "ddp_digits/examination.hpp"
#include "ddp_digits/network.hpp"
#include "ddp_digits/options.hpp"
#include "ddp_digits/report.hpp"
#include "ddp_digits/stragglers.hpp"
#include "ddp_digits/timeline.hpp"

#include <papcoll/papcoll.hpp>

#include <cstdio>
#include <exception>

namespace {

ddp::Report train(papcoll::Communicator& comm, const ddp::Options& o) {
  const int rank = comm.rank();
  const auto ranks = static_cast<std::size_t>(comm.size());
  const ddp::Digits digits = ddp::read_digits(o.data);
  const std::size_t steps_per_epoch = digits.training.size() / (o.batch * ranks);
  if (steps_per_epoch == 0) throw std::runtime_error("the batches of all ranks exceed the data");

  const ddp::Allreduce allreduce{o.allreduce};
  ddp::Network network{o.hidden, o.seed};
  ddp::Bucket bucket{network.weights().size()};
  papcoll::Registration registration;
  if (o.registered) registration = papcoll::Registration{comm, bucket.all()};
  const double alpha = ddp::one_way_time(comm, bucket.all().size_bytes());
  const double spread = o.mif > 0 ? o.mif * alpha : o.spread;
  const auto shape = papcoll::pattern::shape_named(o.arrival);
  ddp::Stragglers stragglers{
      {.shape = shape, .spread = spread, .seed = o.stragglers}, o.delay, comm.size()};
  ddp::Timeline timeline;

  allreduce(comm, bucket.all());  // of zeros: the first call sets up memory
  papcoll::barrier(comm);
  const double start = ddp::now();
  std::uint64_t step = 0;
  double loss = 0;  // mean over an epoch
  for (int epoch = 1; epoch <= o.epochs; ++epoch) {
    const auto order = ddp::epoch_order(digits.training.size(), o.seed, epoch);
    loss = 0;
    for (std::size_t s = 0; s < steps_per_epoch; ++s, ++step) {
      bucket.clear();
      const std::size_t mine = (s * ranks + static_cast<std::size_t>(rank)) * o.batch;
      for (std::size_t i = mine; i < mine + o.batch; ++i) {
        bucket.loss() += network.add_gradient(digits.training[order[i]], bucket.gradient());
      }
      stragglers.hold_up(step, rank);

      timeline.arrive();
      allreduce(comm, bucket.all());
      timeline.leave();

      bucket.divide_by(o.batch * ranks);
      network.step(bucket.gradient(), o.rate, o.momentum);
      loss += bucket.loss() / static_cast<double>(steps_per_epoch);
    }
    if (rank == 0) std::printf("epoch %3d   loss %.4f\n", epoch, loss);
  }
  const double seconds = papcoll::allreduce(comm, ddp::now() - start, papcoll::max);

  const std::uint64_t weights = ddp::hash(network.weights());
  return {.ranks = comm.size(),
          .nodes = comm.nodes(),
          .bytes = bucket.all().size_bytes(),
          .steps = step,
          .loss = loss,
          .accuracy = ddp::accuracy(comm, network, digits.test),
          .seconds = seconds,
          .alpha = alpha,
          .times = timeline.summary(comm),
          .weights = weights,
          .ranks_agree = ddp::all_agree(comm, weights)};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  ddp::Options options;
  CLI::App app;
  declare(app, options);
  int status = 0;
  try {
    app.parse(argc, argv);
    const ddp::Report report = train(comm, options);
    if (comm.rank() == 0) {
      print(report);
      if (!options.json.empty()) write_json(report, options);
    }
    if (!report.ranks_agree || (options.epochs >= 10 && report.accuracy < 0.95)) status = 1;
  } catch (const CLI::ParseError& problem) {
    if (comm.rank() == 0) app.exit(problem);
    status = problem.get_exit_code() == 0 ? 0 : 2;
  } catch (const std::exception& problem) {
    if (comm.rank() == 0) std::fprintf(stderr, "ddp_digits: %s\n", problem.what());
    status = 2;
  }
  MPI_Finalize();
  return status;
}
