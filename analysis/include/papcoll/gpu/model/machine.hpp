// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

// The machine of the model of GPUs: devices, links between them, and how fast each is.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// One direction of a wire, shared fairly by all that crosses it.
struct Link {
  std::string name;  ///< for people
  double rate = 0;   ///< bytes a second
};

/// The way from one memory to another.
struct Route {
  std::vector<int> links;  ///< numbers of links, each crossed once
  double latency = 0;      ///< seconds until the first byte is there
};

/// Devices joined by links: a value that builders make and code may change before a Model gets it.
struct DeviceMachine {
  /// The host, where ends of routes are numbered.
  static constexpr int host = -1;
  /// Of an end: from, to.
  using Ends = std::pair<int, int>;

  /// What each device has.
  struct Device {
    double memory_rate = 2.1e12;  ///< bytes read and bytes written, together, a second
    std::size_t capacity = std::size_t{1} << 40U;  ///< bytes that can be allocated
  };

  std::vector<Device> devices;   ///< by number
  std::vector<Link> links;       ///< by number
  std::map<Ends, Route> routes;  ///< of all ends that differ
  std::set<Ends> access;         ///< (from, to): device `from` may reach memory of device `to`
  double launch = 4e-6;          ///< seconds from the turn of an operation to its start
  /// As Device::memory_rate, of the host.
  double host_memory_rate = std::numeric_limits<double>::max();

  /// Returns the number of devices.
  int size() const noexcept { return static_cast<int>(devices.size()); }

  /// A new link; its number.
  int add_link(const std::string& name, double rate) {
    links.push_back({name, rate});
    return static_cast<int>(links.size()) - 1;
  }

  /// A way with a link of its own.
  void join(int from, int to, double rate, double latency) {
    const int link = add_link(papcoll::detail::joined({name_of(from), " to ", name_of(to)}), rate);
    routes[{from, to}] = {{link}, latency};
  }

  /// The way from one end to another; empty within one. Throws argument_error.
  const Route& route(int from, int to) const {
    static const Route none;
    if (from == to) return none;
    const auto found = routes.find({from, to});
    if (found != routes.end()) return found->second;
    throw argument_error(
        papcoll::detail::joined({"papcoll: the machine of the model has no route from ",
                                 name_of(from), " to ", name_of(to), ": add one"}));
  }

  /// Returns true if device `from` may access memory of device `to`.
  bool can_access(int from, int to) const { return from == to || access.count({from, to}) != 0; }

  /// A device and its host.
  static DeviceMachine one_device(double host_rate = 50e9, double latency = 2e-6) {
    return linked(1, 0, host_rate, latency);
  }

  /// n devices; every ordered pair has a link of its own, and so has every device to and from the
  /// host.
  static DeviceMachine linked(int n, double rate, double host_rate, double latency) {
    DeviceMachine m;
    m.add_devices(n, host_rate, latency);
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        if (from != to) m.join(from, to, rate, latency);
      }
    }
    return m;
  }

  /// Two sockets: in each, every ordered pair has a link of its own with rate `within`; all pairs
  /// of different sockets share one link each way with rate `between`.
  static DeviceMachine two_sockets(int per_socket, double within, double between, double host_rate,
                                   double latency) {
    DeviceMachine m;
    m.add_devices(2 * per_socket, host_rate, latency);
    const int there = m.add_link("socket 0 to socket 1", between);
    const int back = m.add_link("socket 1 to socket 0", between);
    for (int from = 0; from < m.size(); ++from) {
      for (int to = 0; to < m.size(); ++to) {
        const bool same = from / per_socket == to / per_socket;
        if (from == to) continue;
        if (same) m.join(from, to, within, latency);
        if (!same) m.routes[{from, to}] = {{from < to ? there : back}, latency};
      }
    }
    return m;
  }

 private:
  static std::string name_of(int end) {
    return end == host ? std::string("host") : papcoll::detail::joined({"device ", end});
  }

  void add_devices(int n, double host_rate, double latency) {
    devices.resize(static_cast<std::size_t>(n));
    for (int d = 0; d < n; ++d) {
      join(host, d, host_rate, latency);
      join(d, host, host_rate, latency);
      for (int to = 0; to < n; ++to) {
        if (d != to) access.insert({d, to});
      }
    }
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
