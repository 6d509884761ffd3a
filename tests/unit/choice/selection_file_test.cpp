// SPDX-License-Identifier: BSD-3-Clause
// Selection files: what is read, what each mistake is called, and that what is written is read.

#include "catch.hpp"
#include "tuning_file.hpp"

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/learned_file.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/error.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/thread_team.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace papcoll;

namespace {

SelectionFile parse(const std::string& text) { return detail::parse_selection<>(text, "s.json"); }

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(parse(text));
  } catch (const argument_error& e) {
    return e.what();
  }
  return "accepted";
}

std::string with(const std::string& thresholds) {
  return "{\"papcoll_selection\": 1,\n \"thresholds\": {\"network\": {\n" + thresholds + "}}}";
}

std::string with_rule(const std::string& fields) {
  return "{\"papcoll_selection\": 1, \"rules\": [\n{" + fields + "}]}";
}

std::string contents(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

/// Something of all that a file may have.
SelectionFile full_file() {
  SelectionFile f;
  f.made_by = {"0.1.0", "processor", "6.1", 4};
  f.thresholds.network.gap_ns = 5;
  f.thresholds.network.alpha_ns = 7;
  f.thresholds.network.late_percent = 9;
  f.rules.push_back(
      {Collective::gather, {2, 8}, {1, 4}, {0, 1024}, detail::kept_algorithm("Ring")});
  f.rules.push_back({Collective::barrier, {}, {}, {}, detail::kept_algorithm("Exchange")});
  const TeamLikeness two{2, 2, 4};
  const TeamLikeness three{3, 3, 1};
  f.costs.push_back({two, {}});
  f.costs[0].costs.signal_ns = 77;
  f.costs[0].costs.read_ps = f.costs[0].costs.write_ps = 33;
  f.calls.push_back({two, CallKind::key_of(Collective::scan, 0, CallKind::all_bits), 3, 800, 5});
  f.calls.push_back({three, CallKind::key_of(Collective::allreduce, 4097, 0), 1, 4000000000U, 0});
  f.calls.push_back({two, CallKind::key_of(Collective::barrier, 1, 0), 2, 1, 0});
  return f;
}

}  // namespace

TEST_CASE("a selection file overrides the thresholds that it names", "[selection_file]") {
  const SelectionFile f = parse(R"({
    "made_by": {"comment": "two \"cores\" \u00b5s", "kernel": "6.1", "processors": 3},
    "papcoll_selection": 1,
    "thresholds": {
      "network": {"gap_ns": 0, "comment": "any", "late_percent": 1099511627776}
    }
  })");
  Thresholds expected;
  expected.network.gap_ns = 0;
  expected.network.late_percent = std::size_t{1} << 40U;
  CHECK(f.thresholds == expected);
  CHECK(f.made_by == MadeBy{"", "", "6.1", 3});
  CHECK(parse(R"({"papcoll_selection":1})").thresholds == Thresholds{});
}

TEST_CASE("all thresholds have names", "[selection_file]") {
  for (const ThresholdField& f : threshold_fields) {
    const SelectionFile file = parse(R"({"papcoll_selection": 1, "thresholds": {"network": {")" +
                                     std::string(f.name) + R"(": 123456}}})");
    CHECK(f.of(file.thresholds) == 123456);
    CHECK(f.full_name() == "network." + std::string(f.name));
  }
}

TEST_CASE("all candidates have names in selection files", "[selection_file]") {
  for (std::size_t c = 0; c < collective_count; ++c) {
    for (const detail::NodeCandidate& n : detail::chooser_of(static_cast<Collective>(c)).on_node) {
      INFO(detail::name_of(n));
      CHECK(detail::kept_algorithm(detail::name_of(n)) < detail::kept_algorithms.size());
    }
    const Thresholds thresholds;
    SelectionInputs inputs;
    inputs.thresholds = &thresholds;
    inputs.size = 64;
    Call call;
    call.collective = static_cast<Collective>(c);
    call.count = 1'000'000;
    call.reducer.size = 8;
    const detail::MessageLoad load{call, inputs};
    for (const auto& m : detail::chooser_of(call.collective).by_messages) {
      CAPTURE(m.name);
      CHECK(detail::kept_algorithm(m.name) < detail::kept_algorithms.size());
      if (m.schedule == nullptr) continue;
      const AnySchedule schedule = m.schedule(load);
      if (!schedule) continue;  // none of its kind would be taken here
      const std::string_view name = schedule.base_name();
      INFO(name);
      CHECK(detail::kept_algorithm(name) < detail::kept_algorithms.size());
    }
  }
}

TEST_CASE("rules do not name what suits some calls only", "[selection_file]") {
  const Thresholds thresholds;
  SelectionInputs inputs;
  inputs.thresholds = &thresholds;
  inputs.size = 4;
  inputs.nodes = inputs.largest_node = 2;
  inputs.grouped = true;
  Call call;
  call.count = 100'000;
  call.reducer.size = 8;
  const auto can_run = [&](std::string_view name) {
    AlgorithmSpec s;
    const TransportTable messages{"MpiTransport", {}, false, nullptr, nullptr};
    s.transport = &messages;
    return detail::choose_named(s, call, inputs, detail::chooser_of(Collective::allreduce), name);
  };
  CHECK(can_run("Hierarchical"));
  CHECK_FALSE(can_run("Hierarchical of Ring"));
  CHECK_FALSE(can_run("Hierarchical of StragglAR"));
}

TEST_CASE("traits say what passes messages, and what does not block", "[selection_file]") {
  for (const CallKind::Bits bits :
       {CallKind::Bits{0}, CallKind::in_arena_bit, CallKind::by_messages_bit,
        static_cast<CallKind::Bits>(CallKind::by_messages_bit | CallKind::non_blocking_bit)}) {
    SelectionFile file = full_file();
    file.calls.resize(1);
    file.calls[0].kind = CallKind::key_of(Collective::allreduce, 64, bits);
    const SelectionFile read = parse(detail::text_of<>(file));
    REQUIRE(read.calls.size() == 1);
    CHECK(read.calls[0].kind == file.calls[0].kind);
  }
}

TEST_CASE("what is written is what is read", "[selection_file]") {
  const SelectionFile f = full_file();
  const std::string text = detail::text_of<>(f);
  INFO(text);
  const SelectionFile g = parse(text);
  CHECK(g.made_by == f.made_by);
  CHECK(g.thresholds == f.thresholds);
  CHECK(detail::text_of<>(g) == text);
  REQUIRE(g.calls.size() == 3);
  CHECK(g.calls[0].kind == f.calls[0].kind);
  CHECK(g.calls[0].very_slow == 5);
  REQUIRE(g.costs.size() == 1);
  CHECK(g.costs[0].costs == f.costs[0].costs);
  CHECK(parse(detail::text_of<>({})).calls.empty());
}

TEST_CASE("what is wrong with a selection file is said with line and field", "[selection_file]") {
  const auto says = [](const std::string& text, const std::string& what) {
    INFO(text);
    INFO(refusal_of(text));
    CHECK(refusal_of(text).find(what) != std::string::npos);
    CHECK(refusal_of(text).find("s.json, line ") != std::string::npos);
  };
  says("", "line 1: an object is expected, and the file ends");
  says("[]", "line 1: an object is expected, not '['");
  says("{}", "papcoll_selection is missing");
  says("{\"thresholds\": {}}", "papcoll_selection is missing");
  says("{\"papcoll_tuning\": 1}", "there is no such field: ");
  says("{\n\"papcoll_selection\": 2}", "line 2, field papcoll_selection: this is format 2");
  says("{\"papcoll_selection\": 1, \"thresholds\": {\"netwrk\": {}}}",
       "field thresholds.netwrk: there is no such group of thresholds: did you mean network?");
  says("{\"papcoll_selection\": 1, \"tresholds\": {}}",
       "field tresholds: there is no such field: did you mean thresholds?");
  says(with("\"gap_ns\": 1") + "\n\n x", "line 5: something follows the end");
  says(with("\"gap_n\": 1"), "line 3, field thresholds.network.gap_n: there is no such threshold");
  says(with("\"gap_n\": 1"), "did you mean gap_ns?");
  says(with("\"gap_ns\": {}"), "network.gap_ns: a whole number from 0 up is expected, not '{'");
  says(with("\"gap_ns\":\n-1"),
       "line 4, field thresholds.network.gap_ns: a whole number from 0 up is expected, not '-'");
  says(with("\"gap_ns\": 1.5"), "a whole number");
  says(with("\"gap_ns\": 1e3"), "a whole number");
  says(with("\"gap_ns\": 012"), "a whole number");
  says(with("\"gap_ns\": \"12\""), "a whole number");
  says(with("\"gap_ns\": 1099511627777"), "larger than 2^40");
  says(with("\"gap_ns\": 99999999999999999999999"), "larger than 2^40");
  says(with("\"gap_ns\": 1,\n\"gap_ns\": 1"),
       "line 4, field thresholds.network.gap_ns: it is there twice");
  says(with("\"comment\": 3"), "text in quotation marks is expected");
  says(with("\"comment\": \"a\nb\""), "no closing");
  says(with("\"comment\": \"\\q\""), "escape");
  says(with("\"comment\": \"\\u12g4\""), "escape");
  says(with("\"gap_ns\": 1 2"), "',' or '}' is expected, not '2'");
  says(with("\"gap_ns\": 1,"), "text in quotation marks is expected, not '}'");
  says(with("gap_ns: 1"), "text in quotation marks is expected, not 'g'");
  says(with("\"gap_ns\" 1"), "':' and its value");
  says(std::string("{\"papcoll_selection\0", 20), "control character");
  const std::string gather = R"("collective": "gather", )";
  says(with_rule(""), "line 2, field rules[0]: the field collective is missing");
  says(with_rule(R"("collective": "gather")"), "the field algorithm is missing");
  says(with_rule(R"("collective": "gaher")"),
       "rules[0].collective: there is no such collective: did");
  says(with_rule(gather + R"("algorithm": "Lienar")"),
       "rules[0].algorithm: there is no such algorithm: did you mean Linear?");
  says(with_rule(gather + R"("bytes": [1])"), "rules[0].bytes: a range is two numbers");
  says(with_rule(gather + R"("bytes": [1, 2, 3])"), "rules[0].bytes[2]: a range is two numbers");
  says(with_rule(gather + R"("bytes": [2, 1])"), "the lower first");
  says(with_rule(gather + R"("bytes": 2)"), "a list is expected, not '2'");
  says(with_rule(gather + R"("byte": [1, 2])"), "did you mean bytes?");
  const auto with_call = [](const std::string& fields) {
    return R"({"papcoll_selection": 1, "learned": [{"ranks": 2, "ranks_per_node": 2,
               "processors": 2, "calls": [{"collective": "scan", "bytes": [8, 15], )" +
           fields + "}]}]}";
  };
  CHECK(refusal_of(with_call(R"("best": "Linear", "ns": 3)")) == "accepted");
  says(with_call(R"("best": "Linear")"), "learned[0].calls[0]: the field ns is missing");
  says(with_call(R"("traits": ["uneven", "odd"])"), "traits[1]: there is no such trait");
  says(with_call(R"("very_slow": ["odd"])"), "very_slow[0]: there is no such algorithm");
}

TEST_CASE("whatever is cut off of a selection file is noticed", "[selection_file]") {
  std::string whole = detail::text_of<>(full_file());
  whole.pop_back();  // the last line may have no end
  static_cast<void>(parse(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    CHECK(refusal_of(whole.substr(0, n)) != "accepted");
  }
}

TEST_CASE("a team takes its thresholds from its options or the environment", "[selection_file]") {
  const TuningFile file{with("\"gap_ns\": 77")};
  ThreadTeam team{2, {.tuning_file = file.name()}};
  team.run([](ThreadTeam::Rank& r) {
    if (detail::selection_of(r.core()).thresholds.network.gap_ns != 77) throw error("not read");
  });
  setenv("PAPCOLL_TUNING", file.name().c_str(), 1);
  ThreadTeam other{1};
  setenv("PAPCOLL_TUNING", "/no/such/file", 1);
  CHECK_THROWS_WITH(ThreadTeam{2},
                    "papcoll: cannot read the tuning file /no/such/file "
                    "(PAPCOLL_TUNING): No such file or directory: name one that can be read, "
                    "or none");
  unsetenv("PAPCOLL_TUNING");
  other.run([](ThreadTeam::Rank& r) {
    if (detail::selection_of(r.core()).thresholds.network.gap_ns != 77) throw error("not read");
  });
  CHECK_THROWS_AS((ThreadTeam{2, {.tuning_file = "/no/such/file"}}), system_error);
  const TuningFile corrupt{"{"};
  ThreadTeam unlucky{
      2, {.tuning_file = corrupt.name()}};  // it is parsed when first something is chosen
  unlucky.run([](ThreadTeam::Rank& r) {
    double x = 1;
    allreduce<DynamicLeader>(r, std::span{&x, 1});
    if (x != 2) throw error("not summed");
    for (int i = 0; i < 2; ++i) {
      try {
        barrier(r);
      } catch (const argument_error& problem) {
        if (std::string(problem.what()).find(" of rank 0, line 1") == std::string::npos) throw;
        continue;
      }
      throw error("not refused");
    }
  });
}

namespace {

/// What a team of two says of its next call, after some of them.
Explanation explained(const Options& options, std::size_t bytes,
                      Collective c = Collective::allreduce, int calls = 1,
                      const CallTraits& traits = {}) {
  Explanation e;
  ThreadTeam team{2, options};
  team.run([&](ThreadTeam::Rank& r) {
    std::vector<double> x(bytes / sizeof(double), 1);
    for (int i = 0; i < calls; ++i) {
      if (c == Collective::allreduce) {
        allreduce(r, std::span{x}, Max{});
      } else {
        bcast(r, std::span{x}, root{0});
      }
    }
    if (r.rank() == 0) e = explain(r, c, bytes, traits);
  });
  return e;
}

}  // namespace

TEST_CASE("the first rule that fits a call, and can run it, counts", "[selection_file]") {
  const TuningFile file{R"({"papcoll_selection": 1, "rules": [
    {"collective": "allreduce", "ranks": [3, 9], "algorithm": "MultiLeader"},
    {"collective": "allreduce", "ranks_per_node": [1, 1], "algorithm": "MultiLeader"},
    {"collective": "allreduce", "bytes": [0, 7], "algorithm": "MultiLeader"},
    {"collective": "allreduce", "bytes": [64, 1024], "algorithm": "SplitTail"},
    {"collective": "allreduce", "bytes": [64, 128], "algorithm": "Accumulator"},
    {"collective": "allreduce", "bytes": [64, 512], "algorithm": "Ring"},
    {"collective": "allreduce", "bytes": [64, 1024], "algorithm": "PeerSlices"},
    {"collective": "bcast", "ranks": [2, 2], "ranks_per_node": [2, 2], "algorithm": "PeerSlices"},
    {"collective": "reduce", "algorithm": "Linear"}]})"};
  const Options options{.selection = Selection::repeatable, .tuning_file = file.name()};
  const auto runs = [&](std::size_t bytes, const std::string& algorithm, const std::string& why,
                        Collective c = Collective::allreduce, const CallTraits& traits = {}) {
    const Explanation e = explained(options, bytes, c, 3, traits);
    INFO(e.text());
    CHECK(e.algorithm.starts_with(algorithm));
    CHECK(e.reason.find(why) != std::string::npos);
  };
  const std::string no_split = "; rule 4 (SplitTail) cannot run it";  // only where ranks are late
  runs(8, "Exchange", "the model of the node");
  runs(64, "Accumulator", "rule 5 of the tuning file says so" + no_split);
  runs(256, "Ring", "rule 6 of the tuning file says so" + no_split);
  runs(1024, "PeerSlices", "rule 7 of the tuning file says so" + no_split);
  runs(4096, "", "the model of the node");
  runs(4096, "PeerSlices", "rule 8", Collective::bcast);
  runs(64, "Ring", "rule 6", Collective::allreduce, {.non_blocking = true});
  const std::string neither = "rule 4 (SplitTail), rule 5 (Accumulator) cannot run it";
  runs(64, "Ring", neither, Collective::allreduce, {.contract = NumericalContract::reproducible});
}

TEST_CASE("a call that a rule decides is not tried", "[selection_file]") {
  const TuningFile file{with_rule(R"("collective": "allreduce", "algorithm": "MultiLeader")")};
  ThreadTeam team{2, {.tuning_file = file.name()}};
  team.run([](ThreadTeam::Rank& r) {
    std::vector<double> x(64, 1);
    for (int i = 0; i < 500; ++i) allreduce(r, std::span{x}, Max{});
    bool any = false;
    detail::selection_of(r.core()).learner.each_settled([&](auto&) { any = true; });
    if (any) throw error("it was");
  });
}

TEST_CASE("what was learned is kept for the next start", "[selection_file]") {
  const TuningFile file{""};
  const Options options{.learn = file.name()};
  std::remove(file.name().c_str());
  constexpr int enough = 3000;
  const Explanation first = explained(options, 4096, Collective::allreduce, enough);
  CHECK(first.kept == file.name() + " is not there yet");
  CHECK(first.reason.find("file") == std::string::npos);
  const std::string written = contents(file.name());
  INFO(written);
  const SelectionFile f = parse(written);
  CHECK(f.made_by == MadeBy::here());
  REQUIRE(f.calls.size() == 1);
  CHECK(f.calls[0].team == TeamLikeness{2, 2, f.calls[0].team.processors});
  CHECK(CallKind::collective_of(f.calls[0].kind) == Collective::allreduce);
  CHECK(CallKind::bytes_of(f.calls[0].kind) == 4096);

  // Whatever it says is what runs; a few calls do not change it, nor is it written again.
  SelectionFile other = f;
  other.calls.clear();
  for (const char* const name : {"Accumulator", "MultiLeader"}) {
    other.calls = f.calls;
    other.calls[0].best = detail::kept_algorithm(name);
    for (CallKind::Bits bits = 0; bits <= CallKind::all_bits; ++bits) {
      LearnedCall c = other.calls[0];
      c.kind = CallKind::key_of(Collective::allreduce, 4096, bits);
      other.calls.push_back(c);
    }
    std::ofstream{file.name()} << detail::text_of<>(other);
    const std::string before = contents(file.name());
    const Explanation second = explained(options, 4096, Collective::allreduce, 20);
    INFO(second.text());
    CHECK(second.algorithm.starts_with(name));
    CHECK(second.reason == "from the file: it was the quickest before");
    CHECK(second.kept.find(" has learned 33 kinds of calls") != std::string::npos);
    CHECK(contents(file.name()) == before);
    // Asked before the first call of the kind, explain says what that will run.
    CHECK(explained(options, 4096, Collective::allreduce, 0).reason == second.reason);
    CHECK(explained(options, 65536, Collective::allreduce, 0).reason.find("file") ==
          std::string::npos);
    // Only where it is asked for.
    Options by_arrivals = options;
    by_arrivals.selection = Selection::by_arrivals;
    CHECK(explained(by_arrivals, 4096).reason.find("file") == std::string::npos);
    // A file of the user's may say it, too.
    CHECK(explained({.tuning_file = file.name()}, 4096).algorithm.starts_with(name));
  }

  // Another team's calls stay, and so do rules and thresholds.
  SelectionFile foreign = full_file();
  foreign.made_by = MadeBy::here();
  std::ofstream{file.name()} << detail::text_of<>(foreign);
  static_cast<void>(explained(options, 4096, Collective::allreduce, enough));
  const SelectionFile merged = parse(contents(file.name()));
  CHECK(merged.calls.size() == 4);
  CHECK(merged.rules.size() == 2);
  CHECK(merged.thresholds == foreign.thresholds);
}

TEST_CASE("before the first call costs are those of the file", "[selection_file]") {
  SelectionFile f;
  f.made_by = MadeBy::here();
  std::size_t processors = 0;
  ThreadTeam{2}.run([&](ThreadTeam::Rank& r) {
    if (r.rank() == 0) processors = r.core().processors_at_first;
  });
  f.costs.push_back({{2, 2, processors}, {.signal_ns = 4711}});
  const TuningFile file{detail::text_of<>(f)};
  for (const int calls : {0, 1}) {
    const Explanation e = explained({.learn = file.name()}, 4096, Collective::allreduce, calls);
    CHECK(e.memory.find("as measured a signal takes 4711 ns") != std::string::npos);
  }
}

TEST_CASE("a file may have more kinds of calls than a team keeps in mind", "[selection_file]") {
  SelectionFile f;
  f.made_by = MadeBy::here();
  std::size_t processors = 0;
  ThreadTeam{2}.run([&](ThreadTeam::Rank& r) {
    if (r.rank() == 0) processors = r.core().processors_at_first;
  });
  for (std::size_t c = 0; c < collective_count; ++c) {
    for (unsigned size = 0; size <= 40; ++size) {
      const CallKind::Bits kind =
          CallKind::key_of(static_cast<Collective>(c), std::size_t{1} << size, 0);
      f.calls.push_back({{2, 2, processors}, kind, detail::kept_algorithm("PeerSlices"), 1000, 0});
    }
  }
  REQUIRE(f.calls.size() > 2 * CallLearner::most_kinds);
  const TuningFile file{detail::text_of<>(f)};
  ThreadTeam team{2, {.learn = file.name()}};
  team.run([&](ThreadTeam::Rank& r) {
    const CallLearner& learner = detail::selection_of(r.core()).learner;
    for (unsigned size = 3; size <= 16; ++size) {
      std::vector<double> x((std::size_t{1} << size) / sizeof(double), 1);
      bcast(r, std::span{x}, root{0});
      if (!learner.was_given(CallKind::key_of(Collective::bcast, 1U << size, 0))) {
        throw error("not known");
      }
    }
    std::size_t known = 0;
    learner.each_settled([&](auto&) { ++known; });
    if (known != 14) throw error("calls are known that were not made");
  });
}

TEST_CASE("a file of what was learned that is of no use is ignored, and replaced",
          "[selection_file]") {
  const auto is_ignored = [](const std::string& text, const std::string& why) {
    const TuningFile file{text};
    const Options options{.learn = file.name()};
    const Explanation e = explained(options, 4096, Collective::allreduce, 3000);
    INFO(e.text());
    CHECK(e.kept.find("ignored: " + why) != std::string::npos);
    CHECK(e.text().find("\n  kept       ") != std::string::npos);
    CHECK(parse(contents(file.name())).calls.size() == 1);
  };
  SelectionFile f = full_file();
  f.made_by = MadeBy::here();
  f.made_by.processors += 1;
  is_ignored(detail::text_of<>(f), "it was made on another machine, of ");
  f.made_by = MadeBy::here();
  f.made_by.processor += "x";
  is_ignored(detail::text_of<>(f), "it was made on another machine, of ");
  f.made_by = MadeBy::here();
  f.made_by.kernel = "2.4";
  is_ignored(detail::text_of<>(f), "it was made under kernel 2.4, and this is ");
  f.made_by = MadeBy::here();
  f.made_by.papcoll = "0.0.9";
  is_ignored(detail::text_of<>(f), "papcoll 0.0.9 made it, and this is ");
  f.made_by = MadeBy::here();
  is_ignored(detail::text_of<>(f).substr(0, 500), "");
  is_ignored("", "");
  is_ignored(R"({"papcoll_selection": 2})", "");
}

TEST_CASE("a file that is no selection file stays as it is", "[selection_file]") {
  for (const std::string& text : {std::string(1000, '\0'), std::string("a;b\n1;2\n")}) {
    const TuningFile file{text};
    const Explanation e = explained({.learn = file.name()}, 4096, Collective::allreduce, 3000);
    CHECK(e.kept.ends_with("; it is no selection file, and stays as it is"));
    CHECK(contents(file.name()) == text);
  }
}

TEST_CASE("the machine that a file names is this one", "[selection_file]") {
  CHECK(MadeBy::here().processors == static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF)));
}

TEST_CASE("a file that cannot be read or written is none", "[selection_file]") {
  const std::string directory = "/tmp/papcoll-selection-test." + std::to_string(getpid());
  const Explanation e =
      explained({.learn = directory + "/file"}, 4096, Collective::allreduce, 3000);
  CHECK(e.kept.find(" cannot be written: ") != std::string::npos);
  CHECK(access(directory.c_str(), F_OK) != 0);
  REQUIRE(mkdir(directory.c_str(), 0700) == 0);
  const Explanation d = explained({.learn = directory}, 4096, Collective::allreduce, 3000);
  CHECK(d.kept.find(" cannot be read: ") != std::string::npos);
  CHECK(rmdir(directory.c_str()) == 0);  // nothing is in it, and it is there
}

TEST_CASE("of several who write a file at once it is one's, whole", "[selection_file]") {
  const TuningFile file{detail::text_of<>(full_file())};
  constexpr int writers = 4;
  constexpr int times = 50;
  std::vector<std::thread> threads;
  for (std::size_t w = 1; w <= writers; ++w) {
    threads.emplace_back([&file, w] {
      for (int i = 0; i < times; ++i) {
        SelectionFile mine;
        mine.made_by = {"0.1.0", std::string(100 * w, 'p'), "", w};  // each on a machine of its own
        for (unsigned kind = 0; kind < 50 * w; ++kind)
          mine.calls.push_back({{}, static_cast<std::uint16_t>(0x8000U | kind), 0, 1, 0});
        detail::write_learned<>(file.name(), mine);
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    const SelectionFile f = parse(contents(file.name()));
    if (f.made_by == full_file().made_by) continue;
    if (f.calls.size() != 50 * f.made_by.processors) ++wrong;
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("files that are replaced stay what they are", "[selection_file]") {
  const TuningFile file{"old"};
  const std::string link = file.name() + ".link";
  REQUIRE(symlink(file.name().c_str(), link.c_str()) == 0);
  CHECK(detail::replace_file(link, "new"));
  CHECK(contents(file.name()) == "new");
  struct stat s {};
  CHECK((lstat(link.c_str(), &s) == 0 && S_ISLNK(s.st_mode)));
  std::remove(link.c_str());
  CHECK_FALSE(detail::replace_file("/no/such/directory/file", "new"));
}

TEST_CASE("files go to other ranks as they are", "[selection_file]") {
  std::string all;
  for (const std::string& text : {std::string("1:\0x", 4), std::string("a 3:b"), std::string{},
                                  std::string("9:"), std::string{}}) {
    detail::add_text(all, text);
  }
  detail::add_machine(all);
  const detail::SelectionTexts t{all};
  CHECK(t.tuning == std::string("1:\0x", 4));
  CHECK(t.source == "a 3:b");
  CHECK(t.learned.empty());
  CHECK(t.learn == "9:");
  CHECK(t.unread.empty());
  CHECK(t.here == MadeBy::here());
  CHECK_FALSE(t.here.kernel.empty());
  CHECK(t.here.processors > 0);
  CHECK(detail::hash_of_tuning(all) != detail::hash_of_tuning(""));
}
