// SPDX-License-Identifier: BSD-3-Clause
#include "json_line.hpp"
#include "parts.hpp"

#include <algorithm>

namespace bench {
namespace {

/// CUDA with copies within a device's memory that take `times` as long: each piece of them is
/// copied as often. So one GPU has a direct path that is not far quicker than the host's.
class SlowDirect final : public papcoll::gpu::CudaRuntime {
 public:
  void copy(void* to, const void* from, std::size_t bytes, papcoll::gpu::Stream stream) override {
    using papcoll::gpu::Memory;
    if (place(to).memory != Memory::device || place(from).memory != Memory::device) {
      CudaRuntime::copy(to, from, bytes, stream);
      return;
    }
    constexpr std::size_t piece = 16 * MB;
    for (std::size_t at = 0; at < bytes; at += piece) {
      const std::size_t n = std::min(piece, bytes - at);
      for (int i = 0; i < times; ++i) {
        CudaRuntime::copy(static_cast<std::byte*>(to) + at,
                          static_cast<const std::byte*>(from) + at, n, stream);
      }
    }
  }

  int times = 1;
};

}  // namespace

bool time_paths(GpuRank& rank) {
  if (!rank.speaks()) return true;
  SlowDirect slow;
  // As on the machine of the paper: 72 GB/s directly for 53 through the host.
  constexpr double wanted = 72.0 / 53;
  const double host = host_rates(slow, rank.device, rank.device, 256 * MB, steady_seconds).duplex;
  const double direct = copy_traffic(slow, rank.device, 256 * MB, steady_seconds) / 2;
  slow.times = std::max(1, static_cast<int>(direct / (wanted * host) + 0.5));
  for (const std::size_t bytes : {64 * MB, 256 * MB, 1024 * MB}) {
    const PathSum sum = path_sum(slow, rank.device, rank.device, bytes, steady_seconds);
    JsonLine{"paths"}
        .add("bytes", bytes)
        .add("slowed_by", slow.times)
        .add("direct", sum.direct)
        .add("host", sum.host)
        .add("both", sum.both)
        .add("part", sum.part())
        .print();
  }
  return true;
}

}  // namespace bench
