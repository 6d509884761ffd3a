// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/topology/machine.hpp>

#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// A machine in bytes, for messages between ranks of one program: they have no version, and the
/// byte order of this processor. Equal machines of one source have the same bytes.
PAPCOLL_DECL std::string packed(const Machine& machine);

/// The machine that was packed(). Throws argument_error where bytes are missing or too many.
PAPCOLL_DECL Machine unpacked(std::string_view bytes);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

template <class T, class U> concept MaybeConst = std::same_as<T, U> || std::same_as<T, const U>;

// What structs are packed as: their members, since there may be padding between them.
void visit_members(MaybeConst<Place> auto& p, auto& visit) {
  visit(p.node, p.package, p.numa, p.l3, p.core);
}
void visit_members(MaybeConst<Network::Uplink> auto& up, auto& visit) {
  visit(up.switch_number, up.cost, up.width);
}
void visit_members(MaybeConst<Gpu> auto& gpu, auto& visit) { visit(gpu.name, gpu.numa); }
void visit_members(MaybeConst<CacheSizes> auto& caches, auto& visit) {
  visit(caches.l1, caches.l2, caches.l3);
}

/// Appends values to bytes: numbers as they are, of a list or a text how long it is, and then all
/// in it.
struct Packer {
  std::string bytes;

  void operator()(const auto&... values) { (add(values), ...); }

 private:
  template <class T> void add(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (requires { value.size(); }) {
      add(value.size());
      for (const auto& one : value) add(one);
    } else {
      visit_members(value, *this);
    }
  }
};

/// Takes the values back, in the same order. Throws argument_error.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes), all_(bytes.size()) {}

  void operator()(auto&... values) { (get(values), ...); }

  void require_end() const {
    if (!left_.empty()) refuse("they do not end with it");
  }

 private:
  template <class T> void get(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      require(sizeof value);
      std::memcpy(&value, left_.data(), sizeof value);
      left_.remove_prefix(sizeof value);
    } else if constexpr (requires { value.size(); }) {
      std::size_t size = 0;
      get(size);
      require(size);  // each has a byte at least: no more memory than the bytes account for
      value.resize(size);
      for (auto& one : value) get(one);
    } else {
      visit_members(value, *this);
    }
  }
  void require(std::size_t count) const {
    if (left_.size() < count) refuse("some are missing");
  }
  [[noreturn]] void refuse(std::string_view why) const {
    throw_error<argument_error>({"papcoll: ", all_, " bytes are no packed machine, ", why,
                                 ": do all ranks run the same program?"});
  }

  std::string_view left_;
  std::size_t all_;
};

}  // namespace detail

[[gnu::cold]] PAPCOLL_DECL std::string packed(const Machine& machine) {
  const Network& network = machine.network();
  detail::Packer pack;
  pack(machine.source, machine.caches, machine.gpus, machine.hosts, machine.places(),
       network.nodes(), network.uplinks(), network.hops_matrix());
  return std::move(pack.bytes);
}

[[gnu::cold]] PAPCOLL_DECL Machine unpacked(std::string_view bytes) {
  detail::Unpacker unpack{bytes};
  std::string source;
  CacheSizes caches;
  detail::Vector<Gpu> gpus;
  std::vector<std::uint64_t> hosts;
  std::vector<Place> places;
  int nodes = 0;
  detail::Vector<Network::Uplink> uplinks;
  std::vector<float> hops;
  unpack(source, caches, gpus, hosts, places, nodes, uplinks, hops);
  unpack.require_end();
  Machine machine;
  if (!hops.empty()) {
    machine = Machine{std::move(places), Network::by_hops(nodes, std::move(hops))};
  } else if (!uplinks.empty()) {
    machine = Machine{std::move(places), Network::tree(nodes, std::move(uplinks))};
  } else if (!places.empty()) {
    machine = Machine{std::move(places)};
  }
  machine.source = std::move(source);
  machine.caches = caches;
  machine.gpus = std::move(gpus);
  machine.hosts = std::move(hosts);
  return machine;
}

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
