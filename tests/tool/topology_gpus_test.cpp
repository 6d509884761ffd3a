// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/tools/machines/gpu_access.hpp>
#include <papcoll/tools/machines/gpus_text.hpp>
#include <papcoll/tools/machines/machine_text.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

using namespace papcoll;

TEST_CASE("topology: GPUs in lines, as much as is known of each") {
  Gpu known;
  known.name = "0000:17:00.0";
  known.numa = 1;
  known.package = 0;
  known.devices = "cuda0, nvml0";
  known.model = "NVIDIA H100";
  CHECK(tool::GpusText::in_a_line(known) ==
        "GPU 0000:17:00.0 (cuda0, nvml0, NVIDIA H100): package 0, NUMA domain 1");
  CHECK(tool::GpusText::in_a_line({"0000:17:00.0", 3}) == "GPU 0000:17:00.0: NUMA domain 3");
  CHECK(tool::GpusText::in_a_line({"0000:17:00.0"}) == "GPU 0000:17:00.0");
}

TEST_CASE("topology: PCI bridges that several GPUs are behind") {
  papcoll::detail::Vector<Gpu> gpus(5);
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].name = "g" + std::to_string(i);
  // root > switch > two GPUs; root > another GPU; a root of its own; nothing known.
  gpus[0].bridges = {"root", "up", "down0"};
  gpus[1].bridges = {"root", "up", "down1"};
  gpus[2].bridges = {"root", "port"};
  gpus[3].bridges = {"other"};
  tool::Indented out;
  tool::GpusText{out, gpus}.write(0);
  CHECK(out.text() ==
        "GPU g0\nGPU g1\nGPU g2\nGPU g3\nGPU g4\n"
        "GPUs behind PCI bridge up: g0, g1\nGPUs behind PCI bridge root: g0, g1, g2\n");
  // Two bridges with the same GPUs are one to them.
  gpus.resize(2);
  tool::Indented two;
  tool::GpusText{two, gpus}.write(0);
  CHECK(two.text() == "GPU g0\nGPU g1\nGPUs behind PCI bridge up: g0, g1\n");
}

TEST_CASE("topology: which GPUs reach each other") {
  const std::vector<std::string> names{"a", "b", "c"};
  CHECK(tool::access_text(names, [](int, int) { return true; }) ==
        "  peer access: each GPU reaches each other one\n");
  CHECK(tool::access_text(names, [](int, int) { return false; }) ==
        "  peer access: no GPU reaches another one\n");
  CHECK(tool::access_text(names, [](int from, int to) { return from + to == 1; }) ==
        "  peer access: a reaches b\n  peer access: b reaches a\n  peer access: c reaches none\n");
  CHECK(tool::access_text({"a"}, [](int, int) { return true; }).empty());
}

TEST_CASE("topology: processors of unknown cores are counted beside the cores") {
  const std::string two = tool::described(Machine{{{.core = 0}, {.core = 1}, {}, {}}});
  CHECK(two.find("node 0: 2 cores, 2 processors of unknown cores\n") != std::string::npos);
  const std::string one = tool::described(Machine{{{.package = 0}}});
  CHECK(one.find("node 0: 1 package, 1 processor of unknown cores\n") != std::string::npos);
}
