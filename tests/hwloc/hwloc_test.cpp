// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/topology/hwloc.hpp>

#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/packed_machine.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace papcoll;

namespace {

constexpr std::uint16_t any = Place::anywhere;

/// What lstopo writes of a machine that a string describes.
std::string xml_of(const std::string& description) {
  const detail::HwlocTopology t = detail::topology_of_string(description);
  char* text = nullptr;
  int bytes = 0;
  REQUIRE(hwloc_topology_export_xmlbuffer(t.get(), &text, &bytes, 0) == 0);
  std::string xml = text;
  hwloc_free_xmlbuffer(t.get(), text);
  return xml;
}

/// A device on a bus of its own.
std::string device(const std::string& address, const std::string& type) {
  static int number = 1000;
  const std::string bridge = std::to_string(number++);
  return "<object type=\"Bridge\" gp_index=\"" + bridge +
         "\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"" + address.substr(0, 4) + ":[" +
         address.substr(5, 2) + "-" + address.substr(5, 2) +
         "]\"><object type=\"PCIDev\" gp_index=\"" + std::to_string(number++) + "\" pci_busid=\"" +
         address + "\" pci_type=\"" + type +
         " [0000:0000] a1\" pci_link_speed=\"0.000000\"/></object>\n";
}

bool is_another_machine() {
  return std::getenv("HWLOC_SYNTHETIC") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

TEST_CASE("hwloc: a string describes a node; nodes are its repetitions") {
  const Machine m = hwloc_synthetic("package:2 l3:2 core:4 pu:2", 3).read();
  REQUIRE(m.size() == 3 * 16);
  CHECK(m.network() == Network::one_switch(3));
  CHECK(m.source == "hwloc, package:2 l3:2 core:4 pu:2");
  CHECK(m.place(0) == Place{0, 0, 0, 0, 0});
  // One NUMA domain is all of the node.
  CHECK(m.place(11) == Place{0, 1, 0, 2, 11});
  CHECK(m.place(16 + 7) == Place{1, 0, 0, 1, 7});
  CHECK(m.place(47) == Place{2, 1, 0, 3, 15});
  CHECK(m.caches.l3 > 0);
  CHECK(m.gpus.empty());
}

TEST_CASE("hwloc: NUMA domains are found by their processors, in a package and around several") {
  const Machine inside = hwloc_synthetic("package:2 numa:2 l3:1 core:2 pu:1").read();
  REQUIRE(inside.size() == 8);
  CHECK(inside.place(5) == Place{0, 1, 2, 2, 5});
  const Machine attached = hwloc_synthetic("package:2 [numa] core:4 pu:1").read();
  CHECK(attached.place(6) == Place{0, 1, 1, any, 6});
  // A large memory of the package, and one of each half: the smaller one counts.
  const Machine both = hwloc_synthetic("package:2 [numa] group:2 [numa] core:2 pu:1").read();
  REQUIRE(both.size() == 8);
  CHECK(both.place(0).numa == both.place(1).numa);
  CHECK(both.place(0).numa != both.place(2).numa);
  CHECK(both.place(0).numa != both.place(4).numa);
  const Machine around = hwloc_synthetic("group:2 [numa] package:2 core:2 pu:1").read();
  CHECK(around.place(6) == Place{0, 3, 1, any, 6});
}

TEST_CASE("hwloc: what a description leaves out") {
  const Machine no_l3 = hwloc_synthetic("package:2 core:2 pu:1").read();
  CHECK(no_l3.place(3) == Place{0, 1, 0, any, 3});
  const Machine no_cores = hwloc_synthetic("pu:6").read();
  REQUIRE(no_cores.size() == 6);
  CHECK(no_cores.place(5) == Place{0, any, 0, any, 5});
  CHECK(no_cores.caches == CacheSizes{});
}

TEST_CASE("hwloc: PUs that are in no core count as cores, behind the others") {
  std::string xml = xml_of("package:2 [numa] l3:1 core:2 pu:2");
  const auto replace_last = [&xml](const std::string& what, const std::string& by) {
    xml.replace(xml.rfind(what), what.size(), by);
  };
  replace_last("type=\"L3Cache\"", "type=\"Group\" kind=\"0\" subkind=\"0\"");
  replace_last("type=\"Core\"", "type=\"Group\" kind=\"0\" subkind=\"1\"");
  const TemporaryDirectory directory;
  const Machine m = hwloc_xml(directory.write("node.xml", xml), 2).read();
  REQUIRE(m.size() == 2 * 5);
  CHECK(m.place(1) == Place{0, 0, 0, 0, 1});
  CHECK(m.place(2) == Place{0, 1, 1, any, 2});
  CHECK(m.place(3) == Place{0, 1, 1, any, 3});
  CHECK(m.place(9) == Place{1, 1, 1, any, 4});
}

TEST_CASE("hwloc: a string that it does not take is refused, and is not this machine") {
  for (const std::string wrong : {"nonsense:x", "", "core:4", "package:0 pu:1", "a*b"}) {
    INFO(wrong);
    const MachineSource source = hwloc_synthetic(wrong);
    CHECK_THROWS_AS(source.read(), argument_error);
    try {
      source.read();
    } catch (const argument_error& e) {
      CHECK(std::string{e.what()}.starts_with("papcoll: hwloc does not take \"" + wrong + "\" "));
    }
  }
  CHECK_THROWS_AS(hwloc_synthetic("pu:4", 0), argument_error);
  CHECK_THROWS_AS(hwloc_xml("x.xml", -1), argument_error);
  CHECK_THROWS_AS(hwloc_synthetic("pu:4", 2'000'000'000).read(), argument_error);
}

TEST_CASE("hwloc: a machine that would take minutes or all memory is refused before") {
  const auto refused = [](const MachineSource& source, const std::string& message) {
    try {
      source.read();
      FAIL("it is read");
    } catch (const argument_error& e) {
      CHECK(std::string{e.what()} == "papcoll: " + message);
    }
  };
  refused(hwloc_synthetic("package:64 core:64 pu:16"),
          "the node \"package:64 core:64 pu:16\" has 65536 processors or more: at most 8192");
  for (const std::string number : {"200000", "0x30d40", "-1"}) {
    const std::string value = number == "-1" ? "18446744073709551615" : "200000";
    refused(hwloc_synthetic("core:2(memory=9999) [numa(memory=9999)] pu:" + number),
            "the node \"core:2(memory=9999) [numa(memory=9999)] pu:" + number + "\" has " + value +
                " objects of a kind in one: at most 1024");
  }
  refused(hwloc_synthetic("package:64 co[e:64 pu:16"),
          "the node \"package:64 co[e:64 pu:16\" has 65536 processors or more: at most 8192");
  refused(hwloc_synthetic("pa x [num[:5018 pu001:1"),
          "the node \"pa x [num[:5018 pu001:1\" has 5018 objects of a kind in one: at most 1024");
  refused(hwloc_synthetic("0018001"),
          "the node \"0018001\" has 8001 objects of a kind in one: at most 1024");
  refused(hwloc_synthetic("pu:1", 2'147'483'647),
          "hwloc, pu:1: 2147483647 nodes of 1 cores are 2147483647 places: at most 4194304");
  CHECK(hwloc_synthetic("package:4 [numa(memory=9999)] core:64 pu:2").read().size() == 256);
  const TemporaryDirectory directory;
  for (const std::string before :
       {"<a b='x' c=\"x\"/>", "<a b='\"' c=\"'\"/>", "<!-- \" ' -->", "</a>"}) {
    std::string deep = "<topology>\n" + before + "\n";
    for (int i = 0; i < 257; ++i) deep += "<object>";
    const std::string file = directory.write("deep.xml", deep);
    refused(hwloc_xml(file), file + ", line 3: objects are nested 257 deep: at most 256");
  }
}

TEST_CASE("hwloc: an XML file") {
  const TemporaryDirectory directory;
  const std::string description = "package:2 [numa] l3:2 core:2 pu:2";
  const std::string file = directory.write("a*node.xml", xml_of(description));
  const Machine m = hwloc_xml(file, 4).read();
  CHECK(m == hwloc_synthetic(description, 4).read());
  CHECK(m.source == "hwloc, " + file);
  CHECK(hwloc_xml(file).read().size() == 8);
  CHECK(hwloc_xml(file, 4) == hwloc_xml(file, 4));
  CHECK_FALSE(hwloc_xml(file, 4) == hwloc_xml(file, 5));
  CHECK_FALSE(hwloc_xml(file, 4) == hwloc_synthetic(file, 4));
}

TEST_CASE("hwloc: GPUs of an XML file") {
  const TemporaryDirectory directory;
  std::string xml = xml_of("package:2 [numa] core:2 pu:1");
  const std::size_t machine_ends = xml.rfind("</object>");
  const std::size_t package_ends = xml.rfind("</object>", machine_ends - 1);
  xml.insert(machine_ends, device("0000:02:00.0", "0302 [10de:0001]"));
  xml.insert(package_ends, device("0000:c1:00.1", "0302 [10de:0002]") +
                               device("0000:c2:00.0", "0300 [1a03:2000]") +
                               device("0000:c3:00.0", "0380 [1002:0003]"));
  const Machine m = hwloc_xml(directory.write("gpus.xml", xml)).read();
  CHECK(m.gpus == papcoll::detail::Vector<Gpu>{
                      {"0000:02:00.0", any}, {"0000:c1:00.1", 1, 1}, {"0000:c3:00.0", 1, 1}});
}

TEST_CASE("hwloc: what the system calls GPUs, and the bridges that they are behind") {
  const Machine m = hwloc_xml(PAPCOLL_TEST_GPUS_XML).read();
  REQUIRE(m.gpus.size() == 3);
  const std::string model = "NVIDIA H100 80GB HBM3";
  CHECK(m.gpus[0] == Gpu{"0000:17:00.0",
                         0,
                         0,
                         "cuda0, nvml0",
                         model,
                         {"0000:14:02.0", "0000:15:00.0", "0000:16:00.0"}});
  CHECK(
      m.gpus[1] ==
      Gpu{"0000:18:00.0", 0, 0, "cuda1", model, {"0000:14:02.0", "0000:15:00.0", "0000:16:01.0"}});
  CHECK(m.gpus[2] == Gpu{"0000:b7:00.0", 1, 1, "", "", {"0000:a0:01.0"}});
}

TEST_CASE("hwloc: an XML file that cannot be read is refused, and is not this machine") {
  const TemporaryDirectory directory;
  CHECK_THROWS_AS(hwloc_xml((directory.path() / "missing.xml").string()).read(), system_error);
  for (const std::string nonsense :
       {"", "<garbage", "<html></html>",
        "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"></topology>"}) {
    INFO(nonsense);
    const std::string file = directory.write("bad.xml", nonsense);
    try {
      hwloc_xml(file).read();
      FAIL("it is read");
    } catch (const error& e) {
      const std::string what = e.what();
      INFO(what);
      CHECK(what.find(file) != std::string::npos);
      CHECK(what.find("is it XML that lstopo --of xml has written, and whole?") != what.npos);
      CHECK(what.find("Success") == what.npos);
    }
  }
}

TEST_CASE("hwloc: this machine") {
  if (is_another_machine()) return;
  const Machine here = hwloc_machine().read();
  CHECK(here.size() >= 1);
  CHECK(here.source == "hwloc");
  CHECK(hwloc_machine().read() == here);
  CHECK_FALSE(hwloc_machine().is_default());
}

TEST_CASE("hwloc: where this thread is bound") {
  if (is_another_machine()) return;
  const auto before = ProcessorSet::of_this_thread();
  ProcessorSet one;
  one.add(before.lowest());
  REQUIRE(one.bind_this_thread());
  const Place bound = hwloc_place();
  const Place by_linux = linux_place();
  REQUIRE(before.bind_this_thread());
  const Machine here = hwloc_machine().read();
  const std::vector<Place> places{here.places().begin(), here.places().end()};
  CHECK(std::find(places.begin(), places.end(), bound) != places.end());
  // The numbers may be others.
  CHECK((bound.package == any) == (by_linux.package == any));
  CHECK((bound.l3 == any) == (by_linux.l3 == any));
}

TEST_CASE("hwloc: bindings are asked of this machine only", "[environment]") {
  if (!is_another_machine()) return;
  CHECK(hwloc_machine().read().size() == 6);
  CHECK(hwloc_place() == Place{});
}

TEST_CASE("hwloc: files with it use what was compiled without it") {
  CHECK(packed(hwloc_synthetic("package:2 core:3 pu:1", 1).read()).size() > 0);
}
