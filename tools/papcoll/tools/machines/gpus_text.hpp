// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The GPUs of a node as text, for people.

#include <papcoll/tools/machines/indented.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// A line for each GPU, and one for each PCI bridge that several are behind.
class GpusText {
 public:
  GpusText(Indented& out, const papcoll::detail::Vector<Gpu>& gpus) : out_(out), gpus_(gpus) {}

  void write(int depth) const {
    for (const Gpu& gpu : gpus_) out_.line(depth, in_a_line(gpu));
    for (const auto& [bridge, behind] : shared_bridges()) {
      out_.line(depth, "GPUs behind PCI bridge " + bridge + ": " + behind);
    }
  }

  /// "GPU 0000:17:00.0 (cuda0, NVIDIA H100): package 0, NUMA domain 0".
  static std::string in_a_line(const Gpu& gpu) {
    const std::string names =
        gpu.devices + (gpu.devices.empty() || gpu.model.empty() ? "" : ", ") + gpu.model;
    std::string place;
    if (gpu.package != Place::anywhere) place = "package " + std::to_string(gpu.package);
    if (gpu.numa != Place::anywhere) {
      place += (place.empty() ? "" : ", ") + std::string("NUMA domain ") + std::to_string(gpu.numa);
    }
    return "GPU " + gpu.name + (names.empty() ? "" : " (" + names + ")") +
           (place.empty() ? "" : ": " + place);
  }

 private:
  /// Bridges with several GPUs, and those GPUs; of bridges with the same GPUs the innermost.
  std::vector<std::pair<std::string, std::string>> shared_bridges() const {
    std::vector<std::pair<std::string, std::string>> found;
    std::set<std::string> seen;
    for (const Gpu& gpu : gpus_) {
      for (auto bridge = gpu.bridges.rbegin(); bridge != gpu.bridges.rend(); ++bridge) {
        if (!seen.insert(*bridge).second) continue;
        std::string behind;
        std::size_t count = 0;
        for (const Gpu& other : gpus_) {
          const auto& all = other.bridges;
          if (std::find(all.begin(), all.end(), *bridge) == all.end()) continue;
          behind += (count++ == 0 ? "" : ", ") + other.name;
        }
        const bool is_known = std::any_of(found.begin(), found.end(),
                                          [&](const auto& f) { return f.second == behind; });
        if (count > 1 && !is_known) found.push_back({*bridge, behind});
      }
    }
    return found;
  }

  Indented& out_;
  const papcoll::detail::Vector<Gpu>& gpus_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
