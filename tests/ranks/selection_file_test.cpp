// SPDX-License-Identifier: BSD-3-Clause
// What ranks keep of what they have learned, and that all of them go by rank 0's file.

#include <papcoll/allreduce.hpp>
#include <papcoll/choice/selection/learned_file.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/request.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "own_comm.hpp"
#include "tuning_file.hpp"

namespace {

using papcoll::Collective;
using papcoll::SelectionFile;

constexpr std::size_t bytes = 4096;

/// Of an allreduce, after so many of them, on ranks with files of these names.
papcoll::Explanation explained(const std::string& file, int calls, std::size_t depth) {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.pipeline_depth = depth, .learn = file}};
  std::vector<double> x(bytes / sizeof(double), 1);
  for (int i = 0; i < calls; ++i) papcoll::allreduce(comm, std::span{x}, papcoll::Max{});
  return papcoll::explain(comm, Collective::allreduce, bytes);
}

std::string contents(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("what processes have learned is kept by rank 0, and told to all", "[selection_file]") {
  const OwnComm own;
  if (own.size() == 1) return;
  if (papcoll::Communicator{own.get()}.nodes() != 1) {
    WARN("SKIPPED: its ranks are on several nodes: see what follows");
    return;
  }
  // Each has one, and it is damaged.
  const std::string damaged = "papcoll_selection of rank " + std::to_string(own.rank());
  const TuningFile file{damaged};
  const papcoll::Explanation first = explained(file.name(), 3000, 4);
  CHECK(first.kept.find("ignored: ") != std::string::npos);
  CHECK(first.kept.find(", line 1: ") != std::string::npos);
  if (own.rank() != 0) CHECK(contents(file.name()) == damaged);

  // Rank 0's says what no rank would come to, and the others' something else.
  SelectionFile says;
  if (own.rank() == 0) {
    says = papcoll::detail::parse_selection<>(contents(file.name()), file.name());
    REQUIRE(says.calls.size() >= 1);
  } else {
    says.calls.push_back({});
  }
  const papcoll::LearnedCall one = says.calls[0];
  says.calls.clear();
  for (papcoll::CallKind::Bits bits = 0; bits <= papcoll::CallKind::all_bits; ++bits) {
    papcoll::LearnedCall c = one;
    c.kind = papcoll::CallKind::key_of(Collective::allreduce, bytes, bits);
    c.best = papcoll::detail::kept_algorithm(own.rank() == 0 ? "Accumulator" : "MultiLeader");
    says.calls.push_back(c);
  }
  std::ofstream{file.name()} << papcoll::detail::text_of<>(says);
  const std::string before = contents(file.name());
  // With other options, as ranks that know each other do not read it again.
  const papcoll::Explanation second = explained(file.name(), 20, 2);
  INFO(second.text());
  CHECK(second.algorithm == "Accumulator+ShmTransport");
  CHECK(second.reason == "from the file: it was the quickest before");
  CHECK(contents(file.name()) == before);
}

TEST_CASE("ranks that know each other go by what rank 0 read at first", "[selection_file]") {
  const OwnComm own;
  const TuningFile file{""};
  std::remove(file.name().c_str());
  const OwnComm other;
  papcoll::Communicator comm{own.get(), {.learn = file.name()}};
  papcoll::Communicator again{other.get(), {.learn = file.name()}};
  int one = 1;
  for (papcoll::Communicator* c : {&comm, &again}) papcoll::allreduce(*c, std::span{&one, 1});
  for (papcoll::Communicator* c : {&comm, &again}) {
    CHECK(papcoll::explain(*c, Collective::allreduce, 4).kept.ends_with(" is not there yet"));
  }
}

TEST_CASE("what calls by messages have learned is kept, too", "[selection_file]") {
  const OwnComm own;
  if (own.size() == 1 || papcoll::detail::simulated) return;
  const TuningFile file{""};
  std::remove(file.name().c_str());
  std::vector<double> x(bytes / sizeof(double), 1);
  // Blocking calls pass messages between nodes, non-blocking ones on a node, too.
  const auto call = [&](papcoll::Communicator& comm, int calls) {
    for (int i = 0; i < calls; ++i) {
      if (comm.nodes() > 1) {
        papcoll::allreduce(comm, std::span{x}, papcoll::Max{});
      } else {
        papcoll::iallreduce(comm, std::span{x}, papcoll::Max{}).wait();
      }
    }
  };
  const auto is_by_messages = [](const papcoll::LearnedCall& c) {
    return (c.kind & papcoll::CallKind::by_messages_bit) != 0;
  };
  SelectionFile says;
  bool is_on_node = false;
  {
    const OwnComm another;
    papcoll::Communicator comm{another.get(), {.pipeline_depth = 8, .learn = file.name()}};
    is_on_node = comm.nodes() == 1;
    call(comm, 20'000);
  }
  if (own.rank() == 0) {
    says = papcoll::detail::parse_selection<>(contents(file.name()), file.name());
    CHECK(std::any_of(says.calls.begin(), says.calls.end(), is_by_messages));
    for (papcoll::LearnedCall& c : says.calls) {
      if (is_by_messages(c)) c.best = papcoll::detail::kept_algorithm("Ring");
    }
    std::ofstream{file.name()} << papcoll::detail::text_of<>(says);
  }
  const OwnComm another;
  papcoll::Communicator comm{another.get(), {.pipeline_depth = 16, .learn = file.name()}};
  call(comm, 8);
  if (!is_on_node) return;  // they may have been late, or not
  for (const papcoll::AlgorithmCount& a : papcoll::algorithm_counts(comm)) {
    CHECK(a.algorithm.starts_with("Ring"));
    CHECK(a.calls == 8);
  }
}
