// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/gpu/paths.hpp>

#include <cstdio>
#include <string>

namespace bench {

/// "GPU 0 to GPU 1 through 2", "GPU 0 to itself through the host".
inline std::string path_name(int from, int to, const papcoll::gpu::Path& path) {
  const std::string begin = "GPU " + std::to_string(from) + " to ";
  const std::string ends = begin + (from == to ? "itself" : "GPU " + std::to_string(to));
  if (path.via == papcoll::gpu::Path::direct) return ends;
  if (path.via == papcoll::gpu::Path::host) return ends + " through the host";
  return ends + " through " + std::to_string(path.via);
}

/// In GB/s; "60.00, 53.00" of a path whose hops differ by a percent or more.
inline std::string path_rates(const papcoll::gpu::Path& path) {
  const double first = path.first_rate * 1e-9;
  const double second = path.second_rate * 1e-9;
  const bool are_alike = first < 1.01 * second && second < 1.01 * first;
  char text[80];
  std::snprintf(text, sizeof text, are_alike ? "%.2f" : "%.2f, %.2f", first, second);
  return text;
}

/// A row of the table of --measure links.
inline std::string path_row(int from, int to, const papcoll::gpu::Path& path) {
  char text[160];
  std::snprintf(text, sizeof text, "%-34s %9.2f µs %10s\n", path_name(from, to, path).c_str(),
                path.latency * 1e6, path_rates(path).c_str());
  return text;
}

}  // namespace bench
