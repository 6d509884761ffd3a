// Tuning files: what is read, and what each mistake is called.

#include "catch.hpp"
#include "tuning_file.hpp"

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/error.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/select/state.hpp>
#include <papcoll/select/thresholds.hpp>
#include <papcoll/select/tuning.hpp>
#include <papcoll/thread_team.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace papcoll;

namespace {

Thresholds parse(const std::string& text) { return detail::parse_tuning<>(text, "t.json"); }

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(parse(text));
  } catch (const argument_error& e) {
    return e.what();
  }
  return "accepted";
}

std::string with(const std::string& thresholds) {
  return "{\"papcoll_tuning\": 1,\n \"thresholds\": {\"node\": {\n" + thresholds + "}}}";
}

}  // namespace

TEST_CASE("a tuning file overrides what it names", "[tuning]") {
  const Thresholds t = parse(R"({
    "machine": "two \"cores\" \u00b5s",
    "papcoll_tuning": 1,
    "thresholds": {
      "node": {"caches": {"value": 0}},
      "network": {"late_percent": {"measured": "4 ranks", "value": 1099511627776}}
    }
  })");
  Thresholds expected;
  expected.node.caches = 0;
  expected.network.late_percent = std::size_t{1} << 40U;
  CHECK(t == expected);
  CHECK(hash_of(t) != hash_of(Thresholds{}));
  CHECK(parse(R"({"papcoll_tuning":1,"thresholds":{}})") == Thresholds{});
}

TEST_CASE("all thresholds have names", "[tuning]") {
  for (const ThresholdField& f : threshold_fields) {
    const Thresholds t = parse(R"({"papcoll_tuning": 1, "thresholds": {")" + std::string(f.group) +
                               R"(": {")" + std::string(f.name) + R"(": {"value": 123456}}}})");
    CHECK(f.of(t) == 123456);
    CHECK(threshold_named(f.group, f.name) == &f);
  }
}

TEST_CASE("what is wrong with a tuning file is said with line and field", "[tuning]") {
  const auto says = [](const std::string& text, const std::string& what) {
    INFO(text);
    CHECK(refusal_of(text).find(what) != std::string::npos);
    INFO(refusal_of(text));
    CHECK(refusal_of(text).find("t.json, line ") != std::string::npos);
  };
  says("", "line 1: an object is expected, and the file ends");
  says("[]", "line 1: an object is expected, not '['");
  says("{}", "papcoll_tuning is missing");
  says("{\"thresholds\": {}}", "papcoll_tuning is missing");
  says("{\"papcoll_tuning\": 1}", "thresholds is missing");
  says("{\n\"papcoll_tuning\": 2}", "line 2, field papcoll_tuning: this is format 2");
  says("{\"papcoll_tuning\": 1, \"thresholds\": {\"nodee\": {}}}",
       "field thresholds.nodee: there is no such group of thresholds: did you mean node?");
  says("{\"papcoll_tuning\": 1, \"tresholds\": {}}", "field tresholds: there is no such field");
  says(with("\"caches\": {\"value\": 1}") + "\n\n x", "line 5: something follows the end");
  says(with("\"cachs\": {\"value\": 1}"),
       "line 3, field thresholds.node.cachs: there is no such threshold");
  says(with("\"cachs\": {\"value\": 1}"), "did you mean caches?");
  says(with("\"caches\": 7"), "field thresholds.node.caches: an object is expected, not '7'");
  says(with("\"caches\": {}"), "field thresholds.node.caches: the field value is missing");
  says(with("\"caches\": {\n\"value\": -1}"),
       "line 4, field thresholds.node.caches.value: a whole number from 0 up is expected, not "
       "'-'");
  says(with("\"caches\": {\"value\": 1.5}"), "a whole number");
  says(with("\"caches\": {\"value\": 1e3}"), "a whole number");
  says(with("\"caches\": {\"value\": 012}"), "a whole number");
  says(with("\"caches\": {\"value\": \"12\"}"), "a whole number");
  says(with("\"caches\": {\"value\": 1099511627777}"), "larger than 2^40");
  says(with("\"caches\": {\"value\": 99999999999999999999999}"), "larger than 2^40");
  says(with("\"caches\": {\"value\": 1, \"value\": 2}"), "caches.value: it is there twice");
  says(with("\"caches\": {\"value\": 1},\n\"caches\": {\"value\": 1}"),
       "line 4, field thresholds.node.caches");
  says(with("\"caches\": {\"valu\": 1}"), "value and measured are known");
  says(with("\"caches\": {\"value\": 1, \"measured\": 3}"), "text in quotation marks is expected");
  says(with("\"caches\": {\"value\": 1, \"measured\": \"a\nb\"}"), "no closing");
  says(with("\"caches\": {\"value\": 1, \"measured\": \"\\q\"}"), "escape");
  says(with("\"caches\": {\"value\": 1, \"measured\": \"\\u12g4\"}"), "escape");
  says(with("\"caches\": {\"value\": 1"), "',' or '}' is expected");
  says(with("\"caches\": {\"value\": 1,}"), "text in quotation marks is expected, not '}'");
  says(with("caches: {\"value\": 1}"), "text in quotation marks is expected, not 'c'");
  says(with("\"caches\" {\"value\": 1}"), "':' and its value");
  says(std::string("{\"papcoll_tuning\0", 17), "control character");
}

TEST_CASE("whatever is cut off of a tuning file is noticed", "[tuning]") {
  const std::string whole =
      R"({"papcoll_tuning": 1, "machine": "m",
          "thresholds": {"node": {"caches": {"value": 1}}}})";
  static_cast<void>(parse(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    CHECK(refusal_of(whole.substr(0, n)) != "accepted");
  }
}

TEST_CASE("a team takes its thresholds from its options or the environment", "[tuning]") {
  const TuningFile file{with("\"caches\": {\"value\": 77}")};
  ThreadTeam team{2, {.tuning = file.name()}};
  team.run([](ThreadTeam::Rank& r) {
    if (detail::thresholds_of(r.core()).node.caches != 77) throw error("not read");
  });
  setenv("PAPCOLL_TUNING", file.name().c_str(), 1);
  ThreadTeam other{1};
  unsetenv("PAPCOLL_TUNING");
  other.run([](ThreadTeam::Rank& r) {
    if (detail::thresholds_of(r.core()).node.caches != 77) throw error("not read");
  });
  CHECK_THROWS_AS((ThreadTeam{2, {.tuning = "/no/such/file"}}), system_error);
  const TuningFile corrupt{"{"};
  ThreadTeam unlucky{2, {.tuning = corrupt.name()}};  // it is parsed when first something is chosen
  unlucky.run([](ThreadTeam::Rank& r) {
    double x = 1;
    allreduce<DynamicLeader>(r, std::span{&x, 1});
    if (x != 2) throw error("not summed");
    for (int i = 0; i < 2; ++i) {
      try {
        barrier(r);
      } catch (const argument_error& problem) {
        if (std::string(problem.what()).find("line 1") == std::string::npos) throw;
        continue;
      }
      throw error("not refused");
    }
  });
}
