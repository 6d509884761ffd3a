// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/linux_machine.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "fake_sysfs.hpp"

using namespace papcoll;

namespace {

constexpr std::uint16_t any = Place::anywhere;

/// The place of a thread that is bound to a list of processors.
Place bound(const FakeSysfs& sys, const std::string& list) {
  return linux_place(detail::set_of(list), sys.root());
}

}  // namespace

TEST_CASE("Linux: one package; a binding to a core, an L3 cache, the package") {
  const FakeSysfs sys{{.packages = 1, .cores = 4}};
  CHECK(bound(sys, "2") == Place{0, 0, 0, 0, 2});
  CHECK(bound(sys, "1-2") == Place{0, 0, 0, 0, any});
  CHECK(bound(sys, "0-3") == Place{0, 0, 0, 0, any});
}

TEST_CASE("Linux: two to four packages; a binding across them is anywhere") {
  for (const int packages : {2, 3, 4}) {
    const FakeSysfs sys{{.packages = packages, .cores = 4}};
    const int last = packages - 1;
    const auto number = static_cast<std::uint16_t>(last);
    const auto first = static_cast<std::uint16_t>(last * 4);
    CHECK(bound(sys, std::to_string(last * 4 + 1)) ==
          Place{0, number, number, first, static_cast<std::uint16_t>(first + 1)});
    CHECK(bound(sys, std::to_string(last * 4) + "-" + std::to_string(last * 4 + 3)) ==
          Place{0, number, number, first, any});
    CHECK(bound(sys, "3-4") == Place{0, any, any, any, any});
    CHECK(bound(sys, "0-" + std::to_string(packages * 4 - 1)) == Place{});
  }
}

TEST_CASE("Linux: several L3 caches in a package have the numbers of their lowest processors") {
  const FakeSysfs sys{{.packages = 2, .l3 = 4, .cores = 16}};
  CHECK(bound(sys, "21") == Place{0, 1, 1, 20, 21});
  CHECK(bound(sys, "20-23") == Place{0, 1, 1, 20, any});
  CHECK(bound(sys, "20,22") == Place{0, 1, 1, 20, any});
  CHECK(bound(sys, "19-20") == Place{0, 1, 1, any, any});
  CHECK(bound(sys, "0,31") == Place{});
}

TEST_CASE("Linux: several NUMA domains in a package, around and inside an L3 cache") {
  const FakeSysfs split{{.packages = 2, .numa = 2, .l3 = 4, .cores = 16}};
  CHECK(bound(split, "25") == Place{0, 1, 3, 24, 25});
  CHECK(bound(split, "24-31") == Place{0, 1, 3, any, any});
  CHECK(bound(split, "16-31") == Place{0, 1, any, any, any});

  const FakeSysfs clusters{{.packages = 1, .numa = 4, .l3 = 1, .cores = 16}};
  CHECK(bound(clusters, "5") == Place{0, 0, 1, 0, 5});
  CHECK(bound(clusters, "4-7") == Place{0, 0, 1, 0, any});
  CHECK(bound(clusters, "7-8") == Place{0, 0, any, 0, any});
}

TEST_CASE("Linux: both threads of a core are that core") {
  const FakeSysfs sys{{.packages = 2, .cores = 4, .threads = 2}};
  CHECK(bound(sys, "5") == Place{0, 1, 1, 4, 5});
  CHECK(bound(sys, "13") == Place{0, 1, 1, 4, 5});
  CHECK(bound(sys, "5,13") == Place{0, 1, 1, 4, 5});
  CHECK(bound(sys, "5,14") == Place{0, 1, 1, 4, any});
  const Machine all = linux_machine(sys.root());
  REQUIRE(all.size() == 8);
  CHECK(all.place(5) == Place{0, 1, 1, 4, 5});
  CHECK(all.source == "Linux");
}

TEST_CASE("Linux: a core is online with any of its threads") {
  // As containers have it that see their processors in cpu/online and all others in the lists.
  const FakeSysfs sys{{.packages = 1, .l3 = 2, .cores = 4, .threads = 2}};
  for (const auto& [online, cores] : {std::pair{"1,4,6", std::vector<std::uint16_t>{1, 0, 2}},
                                      {"4,6", {0, 2}},
                                      {"2,5-6", {2, 1}}}) {
    INFO(online);
    sys.write("cpu/online", online);
    const Machine m = linux_machine(sys.root());
    REQUIRE(m.places().size() == cores.size());
    for (std::size_t i = 0; i < cores.size(); ++i) {
      CHECK(m.places()[i] ==
            Place{0, 0, 0, static_cast<std::uint16_t>(cores[i] / 2 * 2), cores[i]});
    }
  }
}

TEST_CASE("Linux: processors without a core, a package or an L3 cache have places of their own") {
  const FakeSysfs sys{{.packages = 1, .cores = 3, .threads = 2}};
  for (const int p : {2, 5}) {
    sys.remove(FakeSysfs::processor(p) + "topology");
    sys.remove(FakeSysfs::processor(p) + "cache");
  }
  const Machine m = linux_machine(sys.root());
  REQUIRE(m.size() == 4);
  CHECK(m.place(1) == Place{0, 0, 0, 0, 1});
  CHECK(m.place(2) == Place{0, any, 0, any, any});
  CHECK(m.place(3) == Place{0, any, 0, any, any});
}

TEST_CASE("Linux: interleaved numbers, in lists that are long") {
  const FakeSysfs sys{{.packages = 2, .cores = 400}};
  std::string even;
  for (int p = 0; p < 800; p += 2) even += (even.empty() ? "" : ",") + std::to_string(p);
  REQUIRE(even.size() > 1000);
  sys.write("cpu/cpu0/topology/package_cpus_list", even);
  CHECK(bound(sys, "0,798").package == 0);
  CHECK(bound(sys, "0,799").package == any);
}

TEST_CASE("Linux: names of files before 5.2") {
  const FakeSysfs sys{{.packages = 2, .cores = 2}};
  sys.remove_of_all("topology/core_cpus_list");
  sys.remove_of_all("topology/package_cpus_list");
  CHECK(bound(sys, "3") == Place{0, any, 1, 2, any});
  sys.write("cpu/cpu3/topology/thread_siblings_list", "3");
  sys.write("cpu/cpu3/topology/core_siblings_list", "2-3");
  CHECK(bound(sys, "3") == Place{0, 1, 1, 2, 3});
}

TEST_CASE("Linux: what is missing is anywhere") {
  const FakeSysfs sys{{.packages = 2, .cores = 2}};
  sys.remove_of_all("cache");
  CHECK(bound(sys, "3") == Place{0, 1, 1, any, 3});
  CHECK(linux_caches(3, sys.root()) == CacheSizes{});
  sys.remove("node");
  CHECK(bound(sys, "3") == Place{0, 1, any, any, 3});
  sys.remove_of_all("topology");
  CHECK(bound(sys, "3") == Place{});
  CHECK(linux_machine(sys.root()).size() == 4);
  sys.remove("cpu");
  CHECK(bound(sys, "3") == Place{});
  CHECK(bound(sys, "") == Place{});
  const Machine unknown = linux_machine(sys.root());
  REQUIRE(unknown.size() >= 1);
  CHECK(unknown.place(0) == Place{});
  CHECK(linux_gpus(sys.root()).empty());
}

TEST_CASE("Linux: nonsense in files is anywhere") {
  for (const std::string nonsense :
       {"", "x", "-1", "3-", "3-1", "3,", "1-3 9", "99999999999", ","}) {
    INFO(nonsense);
    const FakeSysfs sys{{.packages = 2, .cores = 2}};
    sys.write("cpu/cpu3/topology/core_cpus_list", nonsense);
    sys.write("cpu/cpu3/topology/physical_package_id", nonsense);
    sys.write("cpu/cpu3/cache/index3/shared_cpu_list", nonsense);
    sys.write("node/node1/cpulist", nonsense);
    CHECK(bound(sys, "3") == Place{});
    sys.write("cpu/online", nonsense);
    CHECK(linux_machine(sys.root()).size() >= 1);
  }
  const FakeSysfs sys{{.packages = 2, .cores = 2}};
  sys.write("cpu/cpu3/topology/physical_package_id", "65535");  // as of some virtual machines
  CHECK(bound(sys, "3").package == any);
}

TEST_CASE("Linux: sizes of the data caches") {
  const FakeSysfs sys{{.packages = 1, .cores = 2}};
  CHECK(linux_caches(1, sys.root()) == CacheSizes{48U << 10U, 2U << 20U, 32U << 20U});
  CHECK(linux_caches(7, sys.root()) == CacheSizes{});
  CHECK(linux_caches(-1, sys.root()) == CacheSizes{});
}

TEST_CASE("Linux: all last-level caches together") {
  const auto bytes = [](const FakeSysfs& sys, int processor) {
    return detail::last_level_cache_bytes(processor, sys.root());
  };
  const FakeSysfs sys{{.packages = 2, .l3 = 2, .cores = 8, .threads = 2}};
  CHECK(bytes(sys, 0) == 4U * (32U << 20U));
  CHECK(bytes(sys, 17) == 4U * (32U << 20U));
  CHECK(bytes(sys, 99) == 0);
  sys.write("cpu/online", "0");  // fewer than share it
  CHECK(bytes(sys, 0) == 32U << 20U);
  sys.remove("cpu/cpu0/cache/index3");  // the second level is the last one then
  CHECK(bytes(sys, 0) == 2U << 20U);
  sys.write("cpu/cpu0/cache/index2/size", "nonsense");
  CHECK(bytes(sys, 0) == 0);
  sys.remove("cpu/cpu0/cache");
  CHECK(bytes(sys, 0) == 0);
}

TEST_CASE("Linux: GPUs, by their addresses, with their NUMA domains") {
  const FakeSysfs sys{{.packages = 2, .cores = 2}};
  sys.add_pci("0000:c1:00.0", "0x030200", "0x10de", "1");
  sys.add_pci("0000:41:00.0", "0x030000", "0x1002", "-1");
  sys.add_pci("0000:42:00.0", "0x120000", "0x1002", "0");
  sys.add_pci("0000:02:00.0", "0x030000", "0x1a03", "0");  // a console
  sys.add_pci("0000:03:00.0", "0x020700", "0x10de", "0");  // a network
  CHECK(linux_gpus(sys.root()) == papcoll::detail::Vector<Gpu>{{"0000:41:00.0", any},
                                                               {"0000:42:00.0", 0},
                                                               {"0000:c1:00.0", 1}});
}

TEST_CASE("Linux: the bridges that a GPU is behind, by where its link leads") {
  const FakeSysfs sys{{.packages = 1, .cores = 2}};
  sys.add_linked_pci("pci0000:14/0000:14:02.0/0000:15:00.0/", "0000:17:00.0");
  sys.add_linked_pci("pci0000:a0/", "0000:a0:01.0");
  const papcoll::detail::Vector<Gpu> gpus = linux_gpus(sys.root());
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].name == "0000:17:00.0");
  CHECK(gpus[0].bridges == std::vector<std::string>{"0000:14:02.0", "0000:15:00.0"});
  CHECK(gpus[1].bridges.empty());
}

TEST_CASE("Linux: this machine") {
  const Machine here = linux_machine();
  CHECK(here.size() >= 1);
  CHECK(linux_place() == linux_place(ProcessorSet::of_this_thread()));
  CHECK(linux_place().node == 0);
}
