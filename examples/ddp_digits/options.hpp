// SPDX-License-Identifier: BSD-3-Clause
// The command line.
#pragma once

#include "stragglers.hpp"

#include <papcoll/pattern/generators.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace ddp {

struct Options {
  std::string allreduce = "auto";
  bool registered = false;
  std::string data = PAPCOLL_EXAMPLES_DATA "/digits.csv.gz";
  std::string json;
  int epochs = 12;
  std::size_t hidden = 256;
  std::size_t batch = 4;
  float rate = 0.05F;
  float momentum = 0.9F;
  std::uint64_t seed = 1;
  std::string arrival = "one-late";
  double spread = 200e-6;  // seconds
  double mif = 0;          // instead of spread, if positive
  std::uint64_t stragglers = 1;
  Delay delay = Delay::busy;
};

/// Declares the options; the caller parses.
inline void declare(CLI::App& app, Options& o) {
  const std::map<std::string, double> units{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const std::map<std::string, Delay> delays{{"busy", Delay::busy}, {"sleep", Delay::sleep}};
  std::string shapes;
  for (const auto& entry : papcoll::pattern::shapes) shapes.append(" ").append(entry.name);

  app.description("Trains a network on handwritten digits, each rank on its part of every batch.");
  app.option_defaults()->always_capture_default();
  app.add_option("--allreduce", o.allreduce,
                 "what sums the gradients: mpi (the MPI library), auto (papcoll chooses), or the "
                 "name of an algorithm, such as DynamicLeader+Reproducible");
  app.add_flag("--registered", o.registered,
               "register the buffer of the gradients: the ranks of a node then see each other's");
  app.add_option("--epochs", o.epochs)->check(CLI::Range(1, 100000));
  app.add_option("--hidden", o.hidden, "hidden units")->check(CLI::Range(1, 65536));
  app.add_option("--batch", o.batch, "digits a rank and step")->check(CLI::Range(1, 1024));
  app.add_option("--rate", o.rate, "learning rate")->check(CLI::PositiveNumber);
  app.add_option("--momentum", o.momentum)->check(CLI::Range(0.0, 0.999));
  app.add_option("--seed", o.seed, "of the weights and the order of the digits");
  app.add_option("--arrival", o.arrival, "which ranks are late, one of" + shapes);
  auto* const spread =
      app.add_option("--spread", o.spread, "how late they are, such as 100us or 2ms")
          ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED, ""))
          ->type_name("TIME")
          ->default_str("200us");
  app.add_option("--mif", o.mif, "how late, in one-way times of a message of that size")
      ->check(CLI::PositiveNumber)
      ->excludes(spread)
      ->default_str("");
  app.add_option("--stragglers", o.stragglers, "seed of the stragglers");
  app.add_option("--delay", o.delay, "busy: a late rank computes; sleep: it leaves the processor")
      ->transform(CLI::CheckedTransformer(delays).description(""))
      ->type_name("TEXT")
      ->default_str("busy");
  app.add_option("--data", o.data)->check(CLI::ExistingFile);
  app.add_option("--json", o.json, "write the results to this file");
}

}  // namespace ddp
