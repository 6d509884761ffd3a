// SPDX-License-Identifier: BSD-3-Clause
// What came out of a training, for people and for programs.
#pragma once

#include "options.hpp"
#include "timeline.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

namespace ddp {

struct Report {
  int ranks;
  int nodes;
  std::size_t bytes;  // of the fused gradients
  std::size_t steps;
  double loss;      // mean over the last epoch
  double accuracy;  // on the test digits
  double seconds;   // of the training
  double alpha;     // one-way time of a message as long as the gradients
  Times times;      // on several nodes, whose clocks differ, only in_allreduce means something
  std::uint64_t weights;  // their hash, on rank 0
  bool ranks_agree;       // on every bit of the weights
};

inline std::string hexadecimal(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

inline void print(const Report& r) {
  constexpr double us = 1e6;
  const auto steps = static_cast<double>(r.steps);
  std::printf("test accuracy  %.1f %%\n", 100 * r.accuracy);
  std::printf("weights        %s, %s on all %d ranks\n", hexadecimal(r.weights).c_str(),
              r.ranks_agree ? "the same" : "NOT THE SAME", r.ranks);
  std::printf("training       %.3f s: %zu steps of %.1f µs, %zu bytes of gradients each\n",
              r.seconds, r.steps, r.seconds / steps * us, r.bytes);
  std::printf("in allreduce   %.1f µs a step, mean of the ranks, waiting for the late included\n",
              r.times.in_allreduce * us);
  if (r.nodes > 1) return;
  std::printf("tail           %.1f µs from last arrival to last exit, median\n", r.times.tail * us);
  std::printf(
      "imbalance      Ω %.1f µs, Δ̄ %.1f µs, medians; with α = %.1f µs: Ω/α %.1f, Δ̄/α %.1f\n",
      r.times.worst_case * us, r.times.average_case * us, r.alpha * us,
      r.times.worst_case / r.alpha, r.times.average_case / r.alpha);
}

/// One object, one line. Throws std::runtime_error.
inline void write_json(const Report& r, const Options& o) {
  constexpr double us = 1e6;
  const nlohmann::json object{
      {"allreduce", o.allreduce},
      {"registered", o.registered},
      {"ranks", r.ranks},
      {"nodes", r.nodes},
      {"bytes", r.bytes},
      {"epochs", o.epochs},
      {"steps", r.steps},
      {"arrival", o.arrival},
      {"stragglers", o.stragglers},
      {"loss", r.loss},
      {"accuracy", r.accuracy},
      {"weights", hexadecimal(r.weights)},
      {"ranks_agree", r.ranks_agree},
      {"seconds", r.seconds},
      {"in_allreduce_s", r.times.in_allreduce * static_cast<double>(r.steps)},
      {"mean_us", r.times.in_allreduce * us},
      {"tail_median_us", r.times.tail * us},
      {"worst_case_us", r.times.worst_case * us},
      {"average_case_us", r.times.average_case * us},
      {"alpha_us", r.alpha * us},
      {"worst_case_factor", r.times.worst_case / r.alpha},
      {"average_case_factor", r.times.average_case / r.alpha}};
  std::ofstream file(o.json);
  file << object.dump() << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + o.json);
}

}  // namespace ddp
