// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/paths.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

// The rates and latencies of the ways between two devices, found by copies, since CUDA reports
// none.
//
// A copy of x bytes takes a + x/r. A hop's rate is that of a long copy, less a short one. The
// latency is that of an operation among many: short copies in turn on two streams, each of which
// waits for the one before by an event, as chunks in staging memory do; many less two, so that what
// the host takes to launch the first and to see the last does not count.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// How paths are measured.
struct PathMeasurement {
  std::size_t long_bytes = std::size_t{64} << 20U;  ///< of a long copy; more than short_bytes
  std::size_t short_bytes = 4096;                   ///< of a short one; at least 1
  int operations = 64;                              ///< of the chain of short copies; more than 2
  int rounds = 9;  ///< of which the median counts, after one that does not; at least 1
};

namespace detail {

/// Times copies on a way between two devices.
template <class Clock> class PathMeter {
 public:
  PathMeter(Api& api, int from, int to, Clock& now, const PathMeasurement& how)
      : api_(api), from_(from), to_(to), now_(now), how_(how) {
    source_ = {api, api.allocate(from, how.long_bytes)};
    target_ = {api, api.allocate(to, how.long_bytes)};
  }

  Path direct() {
    api_.enable_access(to_, from_);
    const Hop hop = make_hop(target_.get(), source_.get(), to_);
    const Hop next = make_hop(target_.get(), source_.get(), to_);
    const double rate = rate_of(hop);
    return {Path::direct, rate, rate, latency_of(hop, next, rate, rate)};
  }

  Path staged(int via) {
    OwnedMemory on_device;
    OwnedHostMemory on_host;
    if (via == Path::host) {
      on_host = {api_, api_.allocate_host(how_.long_bytes)};
    } else {
      api_.enable_access(from_, via);
      api_.enable_access(to_, via);
      on_device = {api_, api_.allocate(via, how_.long_bytes)};
    }
    std::byte* const staging = via == Path::host ? on_host.get() : on_device.get();
    const Hop first = make_hop(staging, source_.get(), from_);
    const Hop second = make_hop(target_.get(), staging, to_);
    const double first_rate = rate_of(first);
    const double second_rate = rate_of(second);
    return {via, first_rate, second_rate, latency_of(first, second, first_rate, second_rate)};
  }

 private:
  static constexpr double least_latency = 1e-9;  // what noise may make 0 or less

  struct Hop {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    OwnedStream stream;
    OwnedEvent done;
  };

  Hop make_hop(std::byte* to, const std::byte* from, int device) {
    return {to, from, {api_, api_.make_stream(device)}, {api_, api_.make_event(device, false)}};
  }

  /// Seconds of so many copies, each after the one before.
  double seconds_of(std::span<const Hop* const> hops, int operations, std::size_t bytes) {
    const double begin = now_();
    const Hop* before = nullptr;
    for (int i = 0; i < operations; ++i) {
      const Hop& hop = *hops[static_cast<std::size_t>(i) % hops.size()];
      if (before != nullptr) api_.wait(hop.stream.get(), before->done.get());
      api_.copy(hop.to, hop.from, bytes, hop.stream.get());
      api_.record(hop.done.get(), hop.stream.get());
      before = &hop;
    }
    while (!api_.is_complete(before->done.get())) {
    }
    return now_() - begin;
  }

  double median_of(std::span<const Hop* const> hops, int operations, std::size_t bytes) {
    std::vector<double> times;
    seconds_of(hops, operations, bytes);
    for (int i = 0; i < how_.rounds; ++i) times.push_back(seconds_of(hops, operations, bytes));
    const auto middle = times.begin() + how_.rounds / 2;
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

  double rate_of(const Hop& hop) {
    const std::array<const Hop*, 1> alone{&hop};
    const double more =
        median_of(alone, 1, how_.long_bytes) - median_of(alone, 1, how_.short_bytes);
    const auto bytes = static_cast<double>(how_.long_bytes - how_.short_bytes);
    return bytes / std::max(more, least_latency);
  }

  double latency_of(const Hop& a, const Hop& b, double a_rate, double b_rate) {
    const std::array<const Hop*, 2> both{&a, &b};
    const double chain =
        median_of(both, how_.operations, how_.short_bytes) - median_of(both, 2, how_.short_bytes);
    const double bytes = static_cast<double>(how_.short_bytes) * (1 / a_rate + 1 / b_rate) / 2;
    return std::max(least_latency, chain / (how_.operations - 2) - bytes);
  }

  Api& api_;
  int from_;
  int to_;
  Clock& now_;
  PathMeasurement how_;
  OwnedMemory source_;
  OwnedMemory target_;
};

}  // namespace detail

/// The ways from one device of this process to another, each measured alone: directly, where `to`
/// may reach memory of `from`; through each other device that both may reach; through pinned memory
/// of the host. In this order, as share_out() and MultiPath take them, if no two share a link. Of a
/// device to itself: a copy within its memory, and through the host.
///
/// `now` is a clock in seconds: `[&] { return model.now(); }` of a Model, a steady clock of
/// CudaRuntime. Waits by asking again and again. Nothing else should use the devices. Access that
/// is needed is enabled and stays. Takes long_bytes on each device that is used and of the host.
/// Throws device_error.
template <class Clock>
std::vector<Path> measure_paths(Api& api, int from, int to, Clock&& now,
                                const PathMeasurement& how = {}) {
  detail::PathMeter meter{api, from, to, now, how};
  std::vector<Path> paths;
  if (api.can_access(to, from)) paths.push_back(meter.direct());
  for (int via = 0; from != to && via < api.devices(); ++via) {
    if (via == from || via == to) continue;
    if (api.can_access(from, via) && api.can_access(to, via)) paths.push_back(meter.staged(via));
  }
  paths.push_back(meter.staged(Path::host));
  return paths;
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
