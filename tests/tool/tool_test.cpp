#include <papcoll/catalogue/rows.hpp>
#include <papcoll/tools/papcoll_tool.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using namespace papcoll;
using nlohmann::json;

namespace {

/// A stream of the process, caught in a temporary file while the object lives.
class Caught {
 public:
  explicit Caught(FILE* stream) : stream_(stream), file_(std::tmpfile()) {
    std::fflush(stream_);
    kept_ = dup(fileno(stream_));
    dup2(fileno(file_), fileno(stream_));
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  ~Caught() {
    release();
    std::fclose(file_);
  }

  std::string text() {
    release();
    std::rewind(file_);
    std::string all;
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) all += static_cast<char>(c);
    return all;
  }

 private:
  void release() {
    if (kept_ < 0) return;
    std::fflush(stream_);
    dup2(kept_, fileno(stream_));
    close(kept_);
    kept_ = -1;
  }

  FILE* stream_;
  FILE* file_;
  int kept_ = -1;
};

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run(std::vector<const char*> arguments, Catalogue rows = catalogue()) {
  arguments.insert(arguments.begin(), "papcoll");
  Caught out{stdout};
  Caught err{stderr};
  const int status = tool_main(static_cast<int>(arguments.size()), arguments.data(), rows);
  return {status, out.text(), err.text()};
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Forgets all ranks but the first two.
struct Careless {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Careless";
  static constexpr std::string_view sentence = "Forgets some.";
  static constexpr bool commutative_only = false;
  void emit(Reduce, Builder& b) const {
    if (b.size() < 2) return;
    if (b.position() == 1) b.send(0, b.whole());
    if (b.position() == 0) b.reduce(1, b.whole());
  }
  friend bool operator==(const Careless&, const Careless&) = default;
};

constexpr std::array own_rows{static_row<Careless>(), static_row<Ring>()};

}  // namespace

TEST_CASE("list: every algorithm by name") {
  const Outcome o = run({"list"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  for (const CatalogueRow& row : catalogue())
    CHECK(contains(o.out, "\n  " + std::string(row.sentence)));
}

TEST_CASE("list --json: an object for each algorithm and collective") {
  const Outcome o = run({"list", "--json"});
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  REQUIRE(all.is_array());
  std::set<std::string> collectives;
  for (const json& one : all) {
    collectives.insert(one.at("collective").get<std::string>());
    CHECK(one.at("name").is_string());
    CHECK(one.at("policies").at("transports").size() >= 1);
    CHECK(one.at("requirements").is_array());
    CHECK(one.at("contract").is_string());
    CHECK(one.at("sentence").get<std::string>().size() > 10);
  }
  CHECK(collectives.size() == collective_count);
}

TEST_CASE("verify: what is right is proven") {
  const Outcome o = run({"verify", "--max-ranks", "5"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(contains(o.out, "proven  Rabenseifner allreduce, 1 to 5 ranks"));
  CHECK(contains(o.out, ", 0 at fault"));
}

TEST_CASE("verify --algorithm: with parameters, several times") {
  const Outcome o = run({"verify", "--max-ranks", "4", "--algorithm", "KNomial:3", "--algorithm",
                         "ReduceThenBcast:Binomial,Chain", "--json"});
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  REQUIRE(all.size() == 4);
  CHECK(all[0].at("name") == "KNomial:3");
  CHECK(all[3].at("name") == "ReduceThenBcast:Binomial,Chain");
  for (const json& one : all) {
    CHECK(one.at("proven") == true);
    CHECK(one.at("fault").is_null());
    CHECK(one.at("max_ranks") == 4);
    CHECK(one.at("cases") > 4);
  }
}

TEST_CASE("verify: a catalogue of one's own, and a fault in it") {
  const Outcome o = run({"verify", "--max-ranks", "4"}, own_rows);
  CHECK(o.status == 1);
  CHECK(contains(o.out, "FAULT   Careless reduce: missing"));
  CHECK(contains(o.out, "in reduce of 6 elements on 3 ranks, root 0"));
  CHECK(contains(o.out, "3 proven, 1 at fault"));

  const Outcome as_json = run({"verify", "--max-ranks", "4", "--json"}, own_rows);
  CHECK(as_json.status == 1);
  const json fault = json::parse(as_json.out).at(0).at("fault");
  CHECK(fault.at("kind") == "missing");
  CHECK(fault.at("rank") == 0);
  CHECK(fault.at("step").is_null());
  CHECK(fault.at("element") == 0);

  CHECK(run({"verify", "--max-ranks", "2"}, own_rows).status == 0);
  CHECK(run({"verify", "--algorithm", "Bruck"}, own_rows).status == 2);
}

TEST_CASE("bad input: a message on stderr and status 2") {
  auto refused = [](std::vector<const char*> arguments, std::string_view message) {
    const Outcome o = run(std::move(arguments));
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    INFO(o.err);
    CHECK(contains(o.err, message));
    CHECK(contains(o.err, "papcoll"));
  };
  refused({}, "subcommand is required");
  refused({"prove"}, "prove");
  refused({"list", "--xml"}, "--xml");
  refused({"verify", "--max-ranks", "0"}, "--max-ranks");
  refused({"verify", "--max-ranks", "many"}, "--max-ranks");
  refused({"verify", "--algorithm"}, "--algorithm");
  refused({"verify", "--algorithm", "Rnig"}, "did you mean Ring");
  refused({"verify", "--algorithm", "KNomial:1"}, "at least 2");
  refused({"verify", "--algorithm", "MpiTransport"}, "names no schedule");
  refused({"verify", "--algorithm", "DynamicLeader"}, "no plan to verify");
}

TEST_CASE("help and version") {
  const Outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "verify"));
  const Outcome version = run({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out == tool::version() + "\n");
}
