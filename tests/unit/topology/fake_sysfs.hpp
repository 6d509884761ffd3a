// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A directory such as Linux's /sys, of a machine that this one is not.

#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "temporary_directory.hpp"

/// What a machine has of each kind.
struct FakeMachine {
  int packages = 1;
  int numa = 1;     ///< in a package
  int l3 = 1;       ///< in a package
  int cores = 4;    ///< in a package
  int threads = 1;  ///< of a core; the second ones are numbered after all first ones
};

class FakeSysfs {
 public:
  explicit FakeSysfs(const FakeMachine& m) : machine_(m) {
    write("cpu/online", "0-" + std::to_string(cores() * m.threads - 1));
    for (int p = 0; p < cores() * m.threads; ++p) write_processor(p);
    for (int n = 0; n < m.packages * m.numa; ++n) {
      const int each = m.cores / m.numa;
      write("node/node" + std::to_string(n) + "/cpulist", list_of(n * each, (n + 1) * each - 1));
    }
  }

  /// What takes the place of /sys/devices/system.
  std::string root() const { return (directory_.path() / "devices/system").string(); }

  /// Writes a file below the root.
  void write(const std::string& name, const std::string& text) const {
    directory_.write("devices/system/" + name, text + "\n");
  }
  void remove(const std::string& name) const {
    std::filesystem::remove_all(std::filesystem::path(root()) / name);
  }
  /// Removes what has this name of all processors.
  void remove_of_all(const std::string& name) const {
    for (int p = 0; p < cores() * machine_.threads; ++p) remove(processor(p) + name);
  }

  void add_pci(const std::string& address, const std::string& kind, const std::string& vendor,
               const std::string& numa) const {
    const std::string device = "bus/pci/devices/" + address;
    directory_.write(device + "/class", kind + "\n");
    directory_.write(device + "/vendor", vendor + "\n");
    directory_.write(device + "/numa_node", numa + "\n");
  }

  /// An NVIDIA GPU that is where it is in Linux: in a directory below its bridges, with a link.
  void add_linked_pci(const std::string& above, const std::string& address) const {
    const std::string device = "devices/" + above + address;
    directory_.write(device + "/class", "0x030200\n");
    directory_.write(device + "/vendor", "0x10de\n");
    directory_.write(device + "/numa_node", "0\n");
    const std::filesystem::path links = directory_.path() / "bus/pci/devices";
    std::filesystem::create_directories(links);
    std::filesystem::create_symlink("../../../" + device, links / address);
  }

  static std::string processor(int p) { return "cpu/cpu" + std::to_string(p) + "/"; }

 private:
  int cores() const { return machine_.packages * machine_.cores; }

  /// The processors of some cores, with all their threads.
  std::string list_of(int first, int last) const {
    std::string list;
    for (int thread = 0; thread < machine_.threads; ++thread) {
      const int a = first + thread * cores();
      const int b = last + thread * cores();
      list +=
          (list.empty() ? "" : ",") + std::to_string(a) + (a == b ? "" : "-" + std::to_string(b));
    }
    return list;
  }

  void write_cache(int p, int index, const std::string& level, const std::string& type,
                   const std::string& size, const std::string& list) const {
    const std::string cache = processor(p) + "cache/index" + std::to_string(index) + "/";
    write(cache + "level", level);
    write(cache + "type", type);
    write(cache + "size", size);
    write(cache + "shared_cpu_list", list);
  }

  void write_processor(int p) const {
    const FakeMachine& m = machine_;
    const int core = p % cores();
    const int package = core / m.cores;
    const std::string alone = list_of(core, core);
    const int each = m.cores / m.l3;
    const std::string l3 = list_of(core / each * each, core / each * each + each - 1);
    write(processor(p) + "topology/core_cpus_list", alone);
    write(processor(p) + "topology/package_cpus_list",
          list_of(package * m.cores, package * m.cores + m.cores - 1));
    write(processor(p) + "topology/physical_package_id", std::to_string(package));
    write_cache(p, 0, "1", "Data", "48K", alone);
    write_cache(p, 1, "1", "Instruction", "32K", alone);
    write_cache(p, 2, "2", "Unified", "2048K", alone);
    write_cache(p, 3, "3", "Unified", "32M", l3);
    // A link in Linux; what counts is its name.
    write(processor(p) + "node" + std::to_string(core / (m.cores / m.numa)) + "/cpulist", "");
  }

  FakeMachine machine_;
  TemporaryDirectory directory_;
};
