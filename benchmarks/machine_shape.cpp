#include "machine_shape.hpp"

#include "quantities.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

struct Key {
  std::string_view name;
  int MachineShape::*member;
};

constexpr std::array<Key, 6> keys{{{"nodes", &MachineShape::nodes},
                                   {"packages", &MachineShape::packages},
                                   {"l3", &MachineShape::l3},
                                   {"cores", &MachineShape::cores},
                                   {"leaf", &MachineShape::leaf},
                                   {"uplinks", &MachineShape::uplinks}}};

constexpr int most = 65535;  // numbers of a place have 16 bits

void parse_item(std::string_view item, MachineShape& shape) {
  if (item == "routes") {
    shape.by_routes = true;
    return;
  }
  const std::size_t equals = item.find('=');
  for (const Key& key : keys) {
    if (equals == std::string_view::npos || item.substr(0, equals) != key.name) continue;
    const char* const first = item.data() + equals + 1;
    const char* const last = item.data() + item.size();
    int& value = shape.*key.member;
    const auto [end, code] = std::from_chars(first, last, value);
    if (code == std::errc{} && end == last && value >= 1 && value <= most) return;
    throw std::invalid_argument(fmt::format("{} is not from 1 to {}", quoted(item), most));
  }
  throw std::invalid_argument(
      quoted(item) + " is none of nodes=N, packages=N, l3=N, cores=N, leaf=N, uplinks=N, routes");
}

/// SplitMix64, of Steele, Lea and Flood: short enough to be written in Python as well.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// The core, counted over all nodes, that a rank is on; random orders come afterwards.
int core_of(const MachineShape& shape, RankOrder order, int rank) {
  const int on_node = shape.cores_a_node();
  if (order == RankOrder::by_node) return rank % shape.nodes * on_node + rank / shape.nodes;
  if (order != RankOrder::by_socket) return rank;
  const int in_package = shape.l3 * shape.cores;
  const int i = rank % on_node;
  return rank - i + i % shape.packages * in_package + i / shape.packages;
}

}  // namespace

MachineShape parse_machine(std::string_view text) {
  MachineShape shape;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    parse_item(text.substr(0, comma), shape);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  if (shape.nodes == 0) throw std::invalid_argument("nodes=N is missing");
  if (shape.by_routes && (shape.leaf != 0 || shape.uplinks != 1)) {
    throw std::invalid_argument("routes, or leaf switches: not both");
  }
  if (std::int64_t{shape.packages} * shape.l3 * shape.cores > most) {
    throw std::invalid_argument(fmt::format("a node has more than {} cores", most));
  }
  return shape;
}

papcoll::Machine machine_of(const MachineShape& shape, RankOrder order, int ranks,
                            std::uint64_t seed) {
  const int on_node = shape.cores_a_node();
  if (ranks > std::int64_t{shape.nodes} * on_node) {
    throw std::invalid_argument(
        fmt::format("--machine: {} nodes of {} cores are too few for {} "
                    "ranks",
                    shape.nodes, on_node, ranks));
  }
  std::vector<int> cores;
  for (int rank = 0; rank < ranks; ++rank) cores.push_back(core_of(shape, order, rank));
  if (order == RankOrder::random) {
    for (std::size_t i = cores.size(); i > 1; --i) {
      std::swap(cores[i - 1], cores[static_cast<std::size_t>(next_random(seed) % i)]);
    }
  }
  std::vector<papcoll::Place> places;
  for (const int core : cores) {
    const int i = core % on_node;
    const auto package = static_cast<std::uint16_t>(i / (shape.l3 * shape.cores));
    places.push_back({core / on_node, package, package, static_cast<std::uint16_t>(i / shape.cores),
                      static_cast<std::uint16_t>(i)});
  }
  const std::vector<double> widths{1, static_cast<double>(shape.uplinks)};
  const std::vector<int> ports{shape.leaf > 0 ? shape.leaf : shape.nodes};
  return papcoll::Machine{std::move(places),
                          papcoll::Network::fat_tree(shape.nodes, ports, widths)};
}

}  // namespace bench
