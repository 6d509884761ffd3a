#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/packed_machine.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// Appends values to bytes. Structs that may have padding go by their members.
class Packer {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T>) void add(T value) { add_bytes(&value, sizeof value); }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const Place& p) {
    add(p.node);
    add(p.package);
    add(p.numa);
    add(p.l3);
    add(p.core);
  }
  void add(const Network::Uplink& up) {
    add(up.switch_number);
    add(up.cost);
    add(up.width);
  }
  void add(const Gpu& gpu) {
    add(gpu.name);
    add(gpu.numa);
  }
  template <class Range>
  void add_all(const Range& all) {
    add(all.size());
    for (const auto& one : all) add(one);
  }

  std::string take() { return std::move(bytes_); }

 private:
  [[gnu::cold, gnu::noinline]] void add_bytes(const void* from, std::size_t count) {
    bytes_.append(static_cast<const char*>(from), count);
  }

  std::string bytes_;
};

/// Takes the values back, in the same order. Throws argument_error.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes), all_(bytes.size()) {}

  template <class T>
  requires(std::is_arithmetic_v<T>) void get(T& value) { get_bytes(&value, sizeof value); }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    require(size);
    text = left_.substr(0, size);
    left_.remove_prefix(size);
  }
  void get(Place& p) {
    get(p.node);
    get(p.package);
    get(p.numa);
    get(p.l3);
    get(p.core);
  }
  void get(Network::Uplink& up) {
    get(up.switch_number);
    get(up.cost);
    get(up.width);
  }
  void get(Gpu& gpu) {
    get(gpu.name);
    get(gpu.numa);
  }
  template <class Values>
  void get_all(Values& all) {
    std::size_t size = 0;
    get(size);
    require(size);  // each has a byte at least: no more memory than the bytes account for
    all.resize(size);
    for (auto& one : all) get(one);
  }
  void require_end() const {
    if (!left_.empty()) refuse("they do not end with it");
  }

 private:
  [[gnu::cold, gnu::noinline]] void get_bytes(void* to, std::size_t count) {
    require(count);
    std::memcpy(to, left_.data(), count);
    left_.remove_prefix(count);
  }
  void require(std::size_t count) const {
    if (left_.size() < count) refuse("some are missing");
  }
  [[noreturn]] void refuse(std::string_view why) const {
    detail::throw_error<argument_error>({"papcoll: ", all_, " bytes are no packed machine, ", why,
                                         ": do all ranks run the same program?"});
  }

  std::string_view left_;
  std::size_t all_;
};

}  // namespace detail

[[gnu::cold]] PAPCOLL_DECL std::string packed(const Machine& machine) {
  detail::Packer pack;
  pack.add(machine.source);
  pack.add(machine.caches.l1);
  pack.add(machine.caches.l2);
  pack.add(machine.caches.l3);
  pack.add_all(machine.gpus);
  pack.add_all(machine.hosts);
  pack.add_all(machine.places());
  const Network& network = machine.network();
  pack.add(network.nodes());
  pack.add_all(network.uplinks());
  pack.add_all(network.hops_matrix());
  return pack.take();
}

[[gnu::cold]] PAPCOLL_DECL Machine unpacked(std::string_view bytes) {
  detail::Unpacker unpack{bytes};
  std::string source;
  CacheSizes caches;
  detail::Vector<Gpu> gpus;
  std::vector<std::uint64_t> hosts;
  std::vector<Place> places;
  unpack.get(source);
  unpack.get(caches.l1);
  unpack.get(caches.l2);
  unpack.get(caches.l3);
  unpack.get_all(gpus);
  unpack.get_all(hosts);
  unpack.get_all(places);
  int nodes = 0;
  detail::Vector<Network::Uplink> uplinks;
  std::vector<float> hops;
  unpack.get(nodes);
  unpack.get_all(uplinks);
  unpack.get_all(hops);
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
