// SPDX-License-Identifier: BSD-3-Clause
// `papcoll report`: who arrives late in a recorded run, where, how often and at what cost.

#include <papcoll/report/html.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/symbols.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/output_file.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/recordings/arrivals_file.hpp>
#include <papcoll/tools/recordings/expectations.hpp>
#include <papcoll/tools/recordings/otf2_files.hpp>
#include <papcoll/tools/recordings/report_files.hpp>
#include <papcoll/tools/recordings/report_text.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

class ReportCommand final : public Command {
 public:
  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "report", "Who arrives late in a recorded run, where, how often and at what cost");
    command_->add_option("DIR", directory_, "Where the run's files rank-….trace are")
        ->required()
        ->check(not_empty());
    command_->add_flag("--all", all_rows_, "All rows of the tables");
    command_
        ->add_option("--size-classes", limits_,
                     "Sizes up to which messages are looked at together (default: 1k,1M)")
        ->delimiter(',')
        ->transform(as_bytes())
        ->type_name("SIZE,…");
    json_.add_to(*command_, "everything, one object");
    add_file("--csv", csv_, "Everything as CSV, a file for each table", "DIR");
    add_file("--html", html_, "One page with a timeline that zooms; needs no network", "FILE");
    add_file("--otf2", otf2_,
             "The calls as an OTF2 archive, for Vampir and others; a new directory", "DIR");
    add_file("--perfetto", perfetto_, "The calls as trace events for ui.perfetto.dev", "FILE");
    command_
        ->add_option("--export-arrivals", trace_text_,
                     "The arrivals at a place as papcoll-bench --arrival trace:FILE reads them;\n"
                     "SITE is a part of what the report calls it, as solver.c:88")
        ->expected(2)
        ->check(not_empty())
        ->type_name("SITE FILE");
    command_
        ->add_option("--run", run_,
                     "Of several runs in the directory the one of this name, of which the first "
                     "digits do")
        ->check(not_empty())
        ->type_name("RUN");
    command_
        ->add_option(
            "--wait", wait_,
            "Waits for ranks that still run to end, this long at most, as 2s (default: 0s)")
        ->transform(as_duration())
        ->check(CLI::Range(0.0, 1e6));
    command_
        ->add_option("--expect", rules_,
                     "Status 3 unless it is so, as late<10ms, collectives<50%, waiting<5% or\n"
                     "omega.p90<1ms; may be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("RULE");
    command_->add_flag("--no-lines", no_lines_,
                       "Places as offsets in their modules: needs no symbolizer");
    command_->footer(
        std::string(
            "Exit status: 0; 1 if the run hangs, ended early, or ranks made different calls;\n"
            "2 if there is nothing to report; 3 if it is not as --expect has it. What the columns "
            "are: "
            "docs/profile.md.\n\n") +
        examples({"report papcoll-profile", "report papcoll-profile --all --html report.html"}));
  }

  /// The exit status; throws argument_error and system_error.
  int run() override {
    const std::vector<Expectation> expectations{rules_.begin(), rules_.end()};
    std::vector<report::SizeRange> ranges = size_ranges();
    report::Run traces = read();
    if (!no_lines_) report::symbolise(traces);
    const report::Report r = report::report_of(std::move(traces), std::move(ranges));
    if (json_.is_given()) write_json(r, json_.file());
    if (!csv_.empty()) write_csv(r, csv_);
    if (!html_.empty()) {
      OutputFile page{html_};
      page.write(report::html_page(r));
      page.close();
    }
    if (!otf2_.empty()) write_otf2(r, otf2_);
    if (!perfetto_.empty()) write_trace_events(r, perfetto_);
    if (!trace_text_.empty()) {
      write_arrivals(r, place_named(r, trace_text_[0]), trace_text_[1]);
    }
    if (!json_.is_alone()) print(report_text(r, all_rows_));
    std::string broken;
    for (const Expectation& e : expectations) {
      const std::string told = e.broken_by(r);
      if (!told.empty()) broken += wrapped(told, "", "  ");
    }
    if (!broken.empty()) std::fputs(("\n" + broken).c_str(), json_.is_alone() ? stderr : stdout);
    return r.ending.is_fault() ? found_fault : broken.empty() ? all_well : not_as_expected;
  }

 private:
  static constexpr int not_as_expected = 3;

  /// Throws argument_error.
  report::Run read() const {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration<double>(wait_);
    for (;;) {
      report::Run run = report::read_run(directory_, run_);
      const bool ended = std::none_of(run.ranks.begin(), run.ranks.end(),
                                      [](const report::RankTrace& r) { return r.alive; });
      if (ended || Clock::now() >= until) return run;
      constexpr std::chrono::milliseconds pause{50};
      std::this_thread::sleep_for(pause);
    }
  }

  void add_file(const char* name, std::string& file, const char* what, const char* type) {
    command_->add_option(name, file, what)->check(not_empty())->type_name(type);
  }

  /// Throws argument_error.
  std::vector<report::SizeRange> size_ranges() const {
    if (limits_.empty()) return report::usual_ranges();
    for (std::size_t i = 1; i < limits_.size(); ++i) {
      if (limits_[i] > limits_[i - 1]) continue;
      throw argument_error("papcoll: --size-classes: write sizes that grow, as 1k,64k,1M");
    }
    std::vector<report::SizeRange> ranges;
    const std::array<const char*, 3> names{"small", "medium", "large"};
    const bool named = limits_.size() + 1 == names.size();
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      ranges.push_back(
          {named ? names.at(i) : "≤ " + papcoll::detail::bytes_text(limits_[i]), limits_[i]});
    }
    ranges.push_back({named ? names.back() : "> " + papcoll::detail::bytes_text(limits_.back()),
                      std::numeric_limits<std::uint64_t>::max()});
    return ranges;
  }

  std::string directory_, run_;
  double wait_ = 0;
  std::vector<std::size_t> limits_;
  JsonOption json_;
  std::string csv_, html_, otf2_, perfetto_;
  std::vector<std::string> trace_text_, rules_;
  bool all_rows_ = false;
  bool no_lines_ = false;
};

}  // namespace

std::unique_ptr<Command> make_report(CLI::App& app, Catalogue) { return made<ReportCommand>(app); }

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
