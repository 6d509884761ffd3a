// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

// What allreduces on one GPU cannot take less than. Times in seconds, rates in bytes a second.
namespace bench {

/// In place, of `bytes` on each rank: every buffer is read once and written once. `traffic`: bytes
/// that the device's memory reads and writes, together.
inline double memory_bound(std::size_t bytes, int ranks, double traffic) {
  return 2.0 * ranks * static_cast<double>(bytes) / traffic;
}

/// Where all messages go through the host: all ranks but one send their contributions and get the
/// result, each byte down to the host and up again. `duplex`: of each way while both are used.
inline double host_bound(std::size_t bytes, int ranks, double duplex) {
  return 2.0 * (ranks - 1) * static_cast<double>(bytes) / duplex;
}

}  // namespace bench
