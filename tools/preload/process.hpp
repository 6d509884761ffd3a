// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The state of this process between MPI_Init and MPI_Finalize.

#include "communicators.hpp"
#include "datatypes.hpp"
#include "mpi_error_checks.hpp"
#include "operators.hpp"
#include "resource_limits.hpp"
#include "settings.hpp"
#include "summary.hpp"

#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/version.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace preload {

/// True while calls may be taken over.
inline constinit std::atomic<bool> active{false};
inline bool is_active() noexcept { return active.load(std::memory_order_relaxed); }

class Process {
 public:
  /// Why calls are not taken over while is_active() says so.
  Outcome inactive_outcome() const noexcept {
    return switched_off_.load(std::memory_order_relaxed) ? Outcome::switched_off
                                                         : Outcome::outside_mpi;
  }
  const Settings& settings() const noexcept { return settings_; }
  const Refusals& refusals() const noexcept { return refusals_; }

  /// MPI_Init has returned. Nothing of this throws: without it the program runs as it would.
  void begin() noexcept {
    try {
      if (!interpose::mpi_library().is_of_this_kind) return;  // it has been said
      const std::string missing = mpi_table.look_up();
      if (!missing.empty()) {
        std::fprintf(stderr, "papcoll: %s has no %s: the program runs without papcoll\n",
                     interpose::mpi_library().path.c_str(), missing.c_str());
        return;
      }
      settings_.read_text();
      std::string problem;
      try {
        settings_.read();
      } catch (const std::exception& e) {
        problem = e.what();
      }
      if (!agreed(settings_.text)) {
        problem = "the settings in the environment (PAPCOLL_…) differ between ranks";
      }
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (!problem.empty() && rank == 0) {
        std::fprintf(stderr, "papcoll: %s; the program runs without papcoll\n", problem.c_str());
      }
      if (!problem.empty() || settings_.off) {
        switched_off_.store(true);
        summarizes_ = settings_.summary && problem.empty();
        return;
      }
      refusals_.find();
      datatypes().begin();
      operators().begin();
      communicators().begin(settings_, ArenaBytes::agreed());
      summarizes_ = settings_.summary;
      active.store(true);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "papcoll: %s; the program runs without papcoll\n", e.what());
    }
  }

  /// MPI_Finalize has been called.
  void end() noexcept {
    active.store(false);
    if (summarizes_) write_summary();
    summarizes_ = false;
    if (mpi_table.Comm_free != nullptr) own_communicator().free();
  }

 private:
  /// Returns true if the text is the same on all ranks, and the library of the same version.
  static bool agreed(const std::string& text) {
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (const char c : std::string(papcoll::version().papcoll) + " " + text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }
    std::uint64_t mine[2] = {hash, ~hash};
    std::uint64_t least[2] = {};
    return MPI_Allreduce(mine, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS &&
           least[0] == ~least[1];
  }

  std::atomic<bool> switched_off_{false};
  bool summarizes_ = false;
  Settings settings_;
  Refusals refusals_;
};

/// Never destroyed: MPI may be called until the process ends.
inline Process& this_process() {
  static Process& process = *new Process;
  return process;
}

}  // namespace preload
