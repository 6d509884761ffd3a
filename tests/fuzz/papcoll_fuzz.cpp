// SPDX-License-Identifier: BSD-3-Clause
// Gives the readers of files and command lines any bytes, by libFuzzer: the environment variable
// PAPCOLL_FUZZ_READER names the one that is run. What a reader refuses it refuses by one of its own
// exceptions; whatever else happens ends the program.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/error.hpp>
#include <papcoll/pattern/trace.hpp>
#include <papcoll/report/elf.hpp>
#include <papcoll/report/html.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/tools/files/model_file.hpp>
#include <papcoll/tools/files/node_costs_file.hpp>
#include <papcoll/tools/files/topology_file.hpp>
#include <papcoll/tools/machines/machine_shape.hpp>
#include <papcoll/tools/machines/printed_fabric.hpp>
#include <papcoll/tools/recordings/expectations.hpp>
#include <papcoll/tools/recordings/report_files.hpp>
#include <papcoll/tools/recordings/report_text.hpp>
#include <papcoll/topology/network_file.hpp>
#ifdef PAPCOLL_WITH_HWLOC
#include <papcoll/topology/hwloc.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../../tools/preload/settings.hpp"
#include "temporary_directory.hpp"
#include "timing/quantities.hpp"
#include "trace_writer.hpp"

namespace {

using namespace papcoll;

/// Where files are that readers open by their names.
const TemporaryDirectory& directory() {
  static const TemporaryDirectory made;
  return made;
}

std::string written(std::string_view text, const std::string& name = "text") {
  return directory().write(name, std::string{text});
}

/// The first trace of a run of two ranks, of which the other one is whole.
void report_of_traces(std::string_view bytes) {
  static const bool has_other = [] {
    RunWriter run{2, 2, 8};
    for (std::uint64_t i = 0; i < 6; ++i) run.call({}, 2'000'000'000 + i * 1000, {0, 100}, 50);
    written(run.traces[1].bytes(), "traces/" + TraceWriter::name(1));
    return true;
  }();
  static_cast<void>(has_other);
  const std::string first = written(bytes, "traces/" + TraceWriter::name(0));
  const auto r =
      report::report_of(report::read_run(std::filesystem::path(first).parent_path().string()));
  static_cast<void>(report::html_page(r));
  static_cast<void>(tool::report_text(r, true));
  tool::write_json(r, "/dev/null");
  tool::write_trace_events(r, "/dev/null");
}

const std::map<std::string_view, void (*)(std::string_view)> readers{
    {"arrivals", [](std::string_view text) { static_cast<void>(pattern::parse_trace(text)); }},
    {"elf",
     [](std::string_view text) {
       const report::ElfFile file{written(text)};
       for (const std::uint64_t at : {0x0UL, 0x1040UL, 0x401000UL}) {
         static_cast<void>(file.function_at(at));
       }
     }},
    {"expect",
     [](std::string_view text) { static_cast<void>(tool::Expectation{std::string{text}}); }},
    {"ibnetdiscover",
     [](std::string_view text) {
       static_cast<void>(tool::Ibnetdiscover{text}.take().network_file("fuzz"));
     }},
    {"links",
     [](std::string_view text) {
       constexpr int ranks = 4;
       static_cast<void>(tool::read_topology(written(text), ranks, {}));
     }},
    {"model", [](std::string_view text) { static_cast<void>(tool::read_model(written(text))); }},
    {"name", [](std::string_view text) { static_cast<void>(algorithm(text)); }},
    {"network", [](std::string_view text) { static_cast<void>(read_network(text, "fuzz")); }},
    {"node_costs",
     [](std::string_view text) { static_cast<void>(tool::read_node_costs(written(text))); }},
    {"opareport",
     [](std::string_view text) {
       static_cast<void>(tool::read_opareport(text).network_file("fuzz"));
     }},
    {"report", &report_of_traces},
    {"rules",
     [](std::string_view text) {
       static_cast<void>(preload::RuleParser{text, "Reproducible"}.parse());
     }},
    {"shape",
     [](std::string_view text) {
       if (tool::is_machine_shape(text)) static_cast<void>(tool::machine_shape(text).machine());
     }},
    {"sizes", [](std::string_view text) { static_cast<void>(bench::parse_sizes(text)); }},
    {"tuning",
     [](std::string_view text) { static_cast<void>(detail::parse_selection<>(text, "fuzz")); }},
#ifdef PAPCOLL_WITH_HWLOC
    {"synthetic",
     [](std::string_view text) {
       // A string of C's, as all that come from command lines.
       static_cast<void>(hwloc_synthetic(std::string{text.substr(0, text.find('\0'))}).read());
     }},
    {"xml",
     [](std::string_view text) {
       const std::string file = written(text, "node.xml");
       const detail::OpenFile in{std::fopen(file.c_str(), "re")};
       detail::require_flat(in.get(), file);
     }},
#endif
};

void (*reader)(std::string_view) = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const name = std::getenv("PAPCOLL_FUZZ_READER");
  const auto found = readers.find(name == nullptr ? "" : name);
  if (found == readers.end()) {
    std::fprintf(stderr, "papcoll_fuzz: PAPCOLL_FUZZ_READER is none of:");
    for (const auto& [known, f] : readers) std::fprintf(stderr, " %s", std::string{known}.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  reader = found->second;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    reader({reinterpret_cast<const char*>(data), size});
  } catch (const error&) {
  } catch (const preload::bad_setting&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
