// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/measure_paths.hpp>
#include <papcoll/gpu/multi_path.hpp>
#include <papcoll/gpu/paths.hpp>
#include <papcoll/statistics/median.hpp>

#include <cstddef>
#include <functional>
#include <vector>

// Rates of one device, by copies through the interface to GPUs: of CUDA's devices, and of a model's
// in tests.
namespace bench {

using Now = std::function<double()>;  ///< a clock in seconds

/// Waits until what is in the streams now is complete.
inline void finish(papcoll::gpu::Api& api, const std::vector<papcoll::gpu::Stream>& streams) {
  for (const papcoll::gpu::Stream stream : streams) {
    const papcoll::gpu::OwnedEvent done{api, api.make_event(api.device_of(stream), false)};
    api.record(done.get(), stream);
    while (!api.is_complete(done.get())) {
    }
  }
}

/// The median of some rounds of what `once` puts into the streams, after one that does not count.
template <class Once>
double median_seconds(papcoll::gpu::Api& api, const std::vector<papcoll::gpu::Stream>& streams,
                      const Now& now, Once once) {
  constexpr int rounds = 7;
  std::vector<double> times;
  for (int i = 0; i <= rounds; ++i) {
    const double begin = now();
    once();
    finish(api, streams);
    if (i > 0) times.push_back(now() - begin);
  }
  return papcoll::median(times);
}

/// Bytes that a device's memory reads and writes, together, a second, in a copy of `bytes`.
inline double copy_traffic(papcoll::gpu::Api& api, int device, std::size_t bytes, const Now& now) {
  const papcoll::gpu::OwnedMemory from{api, api.allocate(device, bytes)};
  const papcoll::gpu::OwnedMemory to{api, api.allocate(device, bytes)};
  const papcoll::gpu::OwnedStream stream{api, api.make_stream(device)};
  const double seconds = median_seconds(
      api, {stream.get()}, now, [&] { api.copy(to.get(), from.get(), bytes, stream.get()); });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

/// Of the ways from a device to pinned memory of the host, and from there to a device.
struct HostRates {
  double down = 0;    ///< bytes a second to the host, alone
  double up = 0;      ///< from it, alone
  double duplex = 0;  ///< each way while both are used
};

inline HostRates host_rates(papcoll::gpu::Api& api, int from, int to, std::size_t bytes,
                            const Now& now) {
  using namespace papcoll::gpu;
  const OwnedMemory source{api, api.allocate(from, bytes)};
  const OwnedMemory target{api, api.allocate(to, bytes)};
  const OwnedHostMemory below{api, api.allocate_host(bytes)};
  const OwnedHostMemory above{api, api.allocate_host(bytes)};
  const OwnedStream down{api, api.make_stream(from)};
  const OwnedStream up{api, api.make_stream(to)};
  const auto rate = [&](bool is_down, bool is_up) {
    const double seconds = median_seconds(api, {down.get(), up.get()}, now, [&] {
      if (is_down) api.copy(below.get(), source.get(), bytes, down.get());
      if (is_up) api.copy(target.get(), above.get(), bytes, up.get());
    });
    return static_cast<double>(bytes) / seconds;
  };
  return {rate(true, false), rate(false, true), rate(true, true)};
}

/// Copies from one device to another: directly, through the host, and over both at once.
struct PathSum {
  double direct = 0;  ///< bytes a second
  double host = 0;    ///< the same
  double both = 0;    ///< the same

  /// What both paths together reach of the sum of each alone.
  double part() const { return both / (direct + host); }
};

/// Of copies of `bytes`. The shares are made of measured paths; of the host's, both hops have the
/// rate that they have while both are used, since all chunks but the first and last use both.
/// Throws device_error, also where there is no direct path.
inline PathSum path_sum(papcoll::gpu::Api& api, int from, int to, std::size_t bytes,
                        const Now& now) {
  using namespace papcoll::gpu;
  std::vector<Path> paths = measure_paths(api, from, to, now);
  const double duplex = host_rates(api, from, to, bytes, now).duplex;
  paths.back().first_rate = paths.back().second_rate = duplex;
  const OwnedMemory source{api, api.allocate(from, bytes)};
  const OwnedMemory target{api, api.allocate(to, bytes)};
  const OwnedStream stream{api, api.make_stream(to)};
  const auto rate = [&](const std::vector<Path>& by) {
    ShareLimits limits;
    limits.chunks.most = 1024;
    MultiPath copies{api, from, to, by, limits};
    const double seconds = median_seconds(api, {stream.get()}, now, [&] {
      copies.copy(target.get(), source.get(), bytes, stream.get());
    });
    return static_cast<double>(bytes) / seconds;
  };
  return {rate({paths.front()}), rate({paths.back()}), rate({paths.front(), paths.back()})};
}

}  // namespace bench
