// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gpu_rank.hpp"

#include <cstddef>
#include <string>

// The parts of gpu_bench: each prints lines of JSON on rank 0, and is called by all ranks. They
// return false if a result was wrong.
namespace bench {

inline constexpr std::size_t MB = std::size_t{1} << 20U;

/// Every built-in operator on every built-in type, on random data, by several policies.
bool check_results(GpuRank& rank);

/// Allreduces in place, of long vectors, beside the rate of the device's memory; on `most_bytes`
/// at most.
bool time_allreduces(GpuRank& rank, std::size_t most_bytes);

/// ThreeStage where IPC is refused, beside the rates of the way to the host; on `most_bytes` at
/// most.
bool time_through_host(GpuRank& rank, std::size_t most_bytes);

/// Allreduces beside those of the MPI library on copies in pinned memory of the host.
bool time_against_mpi(GpuRank& rank);

/// Memory is allocated, combined and freed, so many times.
bool cycle_memory(GpuRank& rank, int cycles);

/// A copy over two paths of which the direct one is made slow; of one process.
bool time_paths(GpuRank& rank);

/// Ranks die one after the other, all but one; what the others saw goes to DIRECTORY/RANK. Does not
/// return, since MPI cannot end a job in order that has lost ranks.
[[noreturn]] void lose_ranks(const std::string& directory, unsigned seed);

}  // namespace bench
