// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "catch.hpp"
#include "run_tool.hpp"
#include "simulated.hpp"
#include "temporary_directory.hpp"

TEST_CASE("simulate: files with faults are refused with file, field, reason and remedy") {
  const auto check = [](const char* option, const char* text, std::string_view message) {
    const Written file{text};
    INFO(text);
    refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", option, file.name()}, message);
    refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", option, file.name()}, file.name());
  };
  const auto model = [&](const char* text, std::string_view message) {
    check("--model", text, message);
  };
  model("latency: 1", "is no JSON");
  model("\x1f\x8b\x08", "is compressed by gzip: unpack it by gunzip, and name what is in it");
  model("\xff\xfe{", "is in UTF-16: convert it by iconv");
  model("{\"latency\": 1e999}", "is no JSON");
  model("[1]", "it is array: write an object");
  model(R"({"latncy": 1})", "field latncy: there is no such field: did you mean latency?");
  model(R"({"latency": "1"})", "field latency: it is string: write a number of seconds");
  model(R"({"overhead": -1e-6})", "field overhead: it is -1e-06: write a number of seconds from 0");
  model(R"({"latency": 1e300})", "it is 1e+300: write a number of seconds from 0 to 1");
  // Microseconds, nanoseconds a byte, bytes a second.
  model(R"({"latency": 1.5})",
        "field latency: it is 1.5: write a number of seconds from 0 to 1, as 1.5e-6 for 1.5 µs");
  model(R"({"overhead": 3})", "field overhead: it is 3: write a number of seconds");
  model(R"({"gap": 1.5})", "field gap: it is 1.5: write a number of seconds");
  model(R"({"gap_per_byte": 16000000000})",
        "field gap_per_byte: it is 16000000000: write a number of seconds a byte from 0 to 1e-5, "
        "as 6.25e-11 for 16 GB/s");
  for (const char* name :
       {"gap_per_byte", "overhead_per_byte", "combine_per_byte", "copy_per_byte"}) {
    const std::string text = std::string("{\"") + name + "\": 0.0625}";
    model(text.c_str(), "it is 0.0625: write a number of seconds a byte");
  }
  model(R"({"rendezvous": 0.5})", "field rendezvous: it is 0.5: write a whole number from 0 up");
  model(R"({"rendezvous": -8})", "field rendezvous: it is -8: write a whole number from 0 up");
  model(R"({"papcoll_model": 2, "log_gops": {}})", "this is format 2, and 1 is known");
  model(R"({"papcoll_model": 1})", "field log_gops: it is missing");
  model(R"({"papcoll_model": 1, "log_gops": {"gap": -1}})", "field log_gops.gap: it is -1");
  const auto topology = [&](const char* text, std::string_view message) {
    check("--link-costs", text, message);
  };
  topology("{}", "it says nothing of nodes");
  topology(R"({"ranks_per_node": 2, "nodes": []})", "it has both nodes and ranks_per_node");
  topology(R"({"ranks_per_node": 0})",
           "field ranks_per_node: it is 0: write a whole number from 1");
  topology(R"({"nodes": [0, 1]})", "one of its nodes is number: write a list of ranks");
  topology(R"({"nodes": [[0, 1, 2, 4]]})", "it has rank 4, and there are 0 to 3");
  topology(R"({"nodes": [[0, 1, 2, 1]]})", "it has rank 1 twice");
  topology(R"({"nodes": [[0, 1], [2]]})", "it does not have rank 3");
  topology(R"({"ranks_per_node": 2, "within": {"latency": -1}})", "field within.latency: it is -1");
  topology(R"({"ranks_per_node": 2, "between": {"gap_per_byte": 12.5e9}})",
           "field between.gap_per_byte: it is 12500000000.0: write a number of seconds a byte");
  topology(R"({"ranks_per_node": 2, "between": {"bandwidth": 1}})",
           "field between.bandwidth: there is no such field");
  topology(R"({"ranks_per_node": 2, "between": 3})", "field between: it is number");
}

TEST_CASE("simulate: a file of JSON is refused where it is deep, or has a field twice") {
  const auto check = [](const char* algorithm, const char* option, const std::string& text,
                        std::string_view message) {
    const Written file{text};
    refused({"simulate", algorithm, "--ranks", "4", "--bytes", "8", option, file.name()}, message);
  };
  // So many within each other are more than a stack holds.
  constexpr std::size_t many = 200'000;
  const auto nested = [](const std::string& before, std::size_t depth, const std::string& after) {
    return before + std::string(depth, '[') + std::string(depth, ']') + after;
  };
  const char* const deep = "line 2: lists and objects are more than 64 deep";
  check("Ring", "--model", nested("{\n\"latency\": ", many, "}"), deep);
  check("Ring", "--link-costs", nested("{\n\"nodes\": ", many, "}"), deep);
  check("DynamicLeader", "--node-costs", nested("{\n\"copy\": ", many, "}"), deep);
  check("Ring", "--model", nested("{\n\"latency\": ", 63, "}"), "field latency: it is array");
  check("Ring", "--model",
        nested("{\"rendezvous\": [", 62, ", \"" + std::string(many, 'x') + "\"]}"),
        "xxx…: write a whole number from 0 up");
  // The last one would count.
  check("Ring", "--model",
        "{\"papcoll_model\": 1, \"log_gops\":\n {\"latency\": 2e-6,\n\"latency\": 3e-6}}",
        "line 3: the field \"latency\" is there twice: leave one of them out");
}

TEST_CASE("simulate: a model comes from a pipe, and a device without end is refused") {
  const TemporaryDirectory directory;
  const std::string pipe = (directory.path() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer{[&pipe] { std::ofstream{pipe} << R"({"latency": 2e-6})"; }};
  const Outcome o =
      run({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--model", pipe.c_str()});
  writer.join();
  CHECK(o.status == 0);
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--model", "/dev/zero"},
          "model file /dev/zero has a zero byte: it is no text");
}
