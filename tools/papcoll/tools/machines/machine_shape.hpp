// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Machines of equal nodes in a few words: "nodes=8,packages=2,l3=2,cores=8,leaf=4".

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Nodes that are all alike, on a fat tree of leaf switches and one above them; with groups, on a
/// dragonfly.
struct MachineShape {
  int nodes = 0;
  int packages = 1;  ///< of a node
  int l3 = 1;        ///< caches of a package
  int cores = 1;     ///< of an L3 cache
  int leaf = 0;      ///< nodes on a leaf switch; 0: all are on one
  int uplinks = 0;   ///< of a leaf switch, each as wide as a node's; 0: 1
  int group = 0;  ///< nodes of a dragonfly's group, 2 hops apart, and 5 from others; 0: a fat tree

  Machine machine() const {
    const double width = std::max(uplinks, 1);
    Network network =
        group == 0 ? Network::fat_tree(nodes, {leaf == 0 ? nodes : leaf}, {1, width}) : dragonfly();
    return Machine::of_cores(nodes, packages, l3, cores, std::move(network));
  }

 private:
  Network dragonfly() const {
    std::vector<float> hops;
    for (int a = 0; a < nodes; ++a) {
      for (int b = 0; b < nodes; ++b) {
        hops.push_back(a == b ? 0.0F : a / group == b / group ? 2.0F : 5.0F);
      }
    }
    return Network::by_hops(nodes, std::move(hops));
  }
};

namespace shapes {

struct Key {
  std::string_view name;
  int MachineShape::*member;
};
inline constexpr std::array<Key, 7> keys{{{"nodes", &MachineShape::nodes},
                                          {"packages", &MachineShape::packages},
                                          {"l3", &MachineShape::l3},
                                          {"cores", &MachineShape::cores},
                                          {"leaf", &MachineShape::leaf},
                                          {"uplinks", &MachineShape::uplinks},
                                          {"group", &MachineShape::group}}};

inline const Key* key_of(std::string_view item) {
  const std::string_view name = item.substr(0, item.find('='));
  const auto* const found =
      std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
  return found == keys.end() || name.size() == item.size() ? nullptr : found;
}

/// Of "KEY=N", the key that is meant, if it is begun so or at most one letter in three is wrong;
/// null if none is.
inline const Key* nearest_key(std::string_view item) {
  const std::string_view name = item.substr(0, item.find('='));
  if (name.size() == item.size()) return nullptr;
  const Key* nearest = nullptr;
  std::size_t least = name.size() / 3 + 1;
  for (const Key& key : keys) {
    const bool begins = name.size() >= 3 && key.name.starts_with(name);
    const std::size_t distance = begins ? 0 : detail::edit_distance(name, key.name);
    if (distance >= least) continue;
    least = distance;
    nearest = &key;
  }
  return nearest;
}

}  // namespace shapes

/// Returns true if a text begins as the shape of a machine does, or nearly so: "nod=8".
inline bool is_machine_shape(std::string_view text) {
  return shapes::nearest_key(text.substr(0, text.find(','))) != nullptr;
}

/// Throws argument_error.
inline MachineShape machine_shape(std::string_view text) {
  const auto refuse = [all = text](const std::string& why) {
    throw argument_error(detail::joined({"papcoll: the machine ", all, ": ", why}));
  };
  MachineShape shape;
  constexpr int most = 65535;  // numbers of a place have 16 bits
  std::array<bool, shapes::keys.size()> given{};
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (item.find_first_of("; \t") != item.npos || item.find('=') != item.rfind('=')) {
      refuse(detail::joined({"'", item,
                             "' is not a single KEY=N: write commas between them, and no blanks, "
                             "as in nodes=4,cores=2"}));
    }
    const shapes::Key* const key = shapes::key_of(item);
    if (key == nullptr) {
      const shapes::Key* const meant = shapes::nearest_key(item);
      refuse(detail::joined({"'", item,
                             "' is none of nodes=N, packages=N, l3=N, cores=N, leaf=N, uplinks=N, "
                             "group=N",
                             meant == nullptr
                                 ? std::string{}
                                 : detail::joined({": did you mean ", meant->name, "=N?"})}));
    }
    bool& is_given = given[static_cast<std::size_t>(key - shapes::keys.data())];
    if (is_given) refuse(detail::joined({key->name, " is given twice: leave one out"}));
    is_given = true;
    const int value = detail::number_of(std::string(item.substr(key->name.size() + 1)), most);
    if (value < 1) refuse(detail::joined({"'", item, "' is not from 1 to ", most}));
    shape.*key->member = value;
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  if (shape.nodes == 0) refuse("nodes=N is missing");
  const long long on_node = 1LL * shape.packages * shape.l3;
  if (on_node > most || on_node * shape.cores > most) {
    refuse(detail::joined({"a node has more than ", most, " cores"}));
  }
  if (on_node * shape.cores * shape.nodes > Machine::most_described) {
    refuse(detail::joined({"the nodes together have more than ", Machine::most_described,
                           " cores: take fewer nodes, or fewer cores of a node"}));
  }
  if (shape.group > 0 && shape.leaf > 0) {
    refuse("leaf is of a fat tree and group of a dragonfly: leave one of them out");
  }
  if (shape.group > 0 && shape.uplinks > 0) {
    refuse("uplinks is of a fat tree and group of a dragonfly: leave one of them out");
  }
  if (shape.uplinks > 0 && shape.leaf == 0) {
    refuse("uplinks=N are of leaf switches, and there are none: write leaf=N, too");
  }
  constexpr int most_by_hops = 4096;
  if (shape.group > 0 && shape.nodes > most_by_hops) {
    refuse(detail::joined({"a dragonfly has at most ", most_by_hops, " nodes here"}));
  }
  return shape;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
