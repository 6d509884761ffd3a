// SPDX-License-Identifier: BSD-3-Clause
// Counts that differ between the rank that sends a block and the one that receives it.

#include "catch.hpp"
#include "mistakes.hpp"
#include "team_outcomes.hpp"

#include <papcoll/allgather.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/scatter.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <vector>

using namespace team_outcomes;

namespace {

constexpr int team_size = 3;
constexpr int nothing = -1;
constexpr papcoll::root zero{0};

/// Lengths and places of blocks of up to four elements, with two elements between them.
struct Gaps {
  explicit Gaps(std::vector<int> lengths) : counts(std::move(lengths)), places(counts.size()) {
    for (std::size_t r = 0; r < places.size(); ++r) places[r] = 1 + 6 * static_cast<int>(r);
  }
  papcoll::blocks all() const { return {counts, places}; }

  std::vector<int> counts;
  std::vector<int> places;
};

/// Does `data` have anything between the blocks?
bool gaps_are_clean(const std::vector<int>& data, const Gaps& blocks) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    bool in_block = false;
    for (std::size_t r = 0; r < blocks.counts.size(); ++r) {
      const auto first = static_cast<std::size_t>(blocks.places[r]);
      in_block |= i >= first && i < first + static_cast<std::size_t>(blocks.counts[r]);
    }
    if (!in_block && data[i] != nothing) return false;
  }
  return true;
}

struct Unlike {
  const char* name;
  int sender;    ///< of the block
  int receiver;  ///< of the block
  /// Rank `sender` has `n` elements for `receiver`, which expects `expected`. True: gaps are clean.
  std::function<bool(Rank&, int n, int expected, bool blocking, const papcoll::Algorithm&)> call;
};

/// Runs one of the two, and says if what is between the blocks of `out` is as it was.
template <class Blocking, class Start>
bool clean_after(const std::vector<int>& out, const Gaps& blocks, bool blocking, Blocking&& run,
                 Start&& start) {
  const Outcome o = outcome_of([&] {
    if (blocking) {
      run();
    } else {
      start().wait();
    }
  });
  if (!gaps_are_clean(out, blocks)) return false;
  if (o.kind == "argument_error") throw papcoll::argument_error(o.what);
  if (!o.is_fine()) throw papcoll::peer_error(o.what);
  return true;
}

bool gather_unlike(Rank& c, int n, int expected, bool blocking, const papcoll::Algorithm& a) {
  const Gaps each{{3, c.rank() == 0 ? expected : n, 3}};
  std::vector<int> out(20, nothing);
  const std::vector<int> in(static_cast<std::size_t>(c.rank() == 1 ? n : 3), c.rank());
  return clean_after(
      out, each, blocking, [&] { papcoll::gatherv(c, in, out, each.all(), zero, a); },
      [&] { return papcoll::igatherv(c, in, out, each.all(), zero, a); });
}

bool scatter_unlike(Rank& c, int n, int expected, bool blocking, const papcoll::Algorithm& a) {
  const Gaps each{{3, c.rank() == 0 ? n : expected, 3}};
  const Gaps mine{{c.rank() == 1 ? expected : 3}};
  const std::vector<int> in(20, 7);
  std::vector<int> out(20, nothing);
  const std::span<int> part(out.data() + 1, static_cast<std::size_t>(mine.counts[0]));
  return clean_after(
      out, mine, blocking, [&] { papcoll::scatterv(c, in, part, each.all(), zero, a); },
      [&] { return papcoll::iscatterv(c, in, part, each.all(), zero, a); });
}

bool alltoall_unlike(Rank& c, int n, int expected, bool blocking, const papcoll::Algorithm& a) {
  const Gaps sent{c.rank() == 0 ? std::vector<int>{3, n, 3} : std::vector<int>(team_size, 3)};
  const Gaps received{c.rank() == 1 ? std::vector<int>{expected, 3, 3}
                                    : std::vector<int>(team_size, 3)};
  const std::vector<int> in(20, 7);
  std::vector<int> out(20, nothing);
  return clean_after(
      out, received, blocking,
      [&] { papcoll::alltoallv(c, in, sent.all(), out, received.all(), a); },
      [&] { return papcoll::ialltoallv(c, in, sent.all(), out, received.all(), a); });
}

bool allgather_unlike(Rank& c, int n, int expected, bool blocking, const papcoll::Algorithm& a) {
  const Gaps each{{n, 3, 3}};
  Gaps mine{{c.rank() == 1 ? expected : n, 3, 3}};
  const std::vector<int> in(static_cast<std::size_t>(c.rank() == 0 ? n : 3), c.rank());
  std::vector<int> out(20, nothing);
  return clean_after(
      out, mine, blocking, [&] { papcoll::allgatherv(c, in, out, mine.all(), a); },
      [&] { return papcoll::iallgatherv(c, in, out, mine.all(), a); });
}

const Unlike gather_test{"gatherv", 1, 0, gather_unlike};
const Unlike scatter_test{"scatterv", 0, 1, scatter_unlike};
const Unlike alltoall_test{"alltoallv", 0, 1, alltoall_unlike};
const Unlike allgather_test{"allgatherv", 0, 1, allgather_unlike};

struct UnlikeCase {
  const Unlike& test;
  std::string algorithm;
  bool blocking = true;
};

const std::vector<UnlikeCase> unlike_cases{
    {gather_test, "BlockCopies"},      {gather_test, ""},
    {gather_test, "Linear"},           {gather_test, "Binomial"},
    {gather_test, "", false},          {gather_test, "Binomial", false},
    {scatter_test, "BlockCopies"},     {scatter_test, ""},
    {scatter_test, "Linear"},          {scatter_test, "Binomial"},
    {scatter_test, "", false},         {scatter_test, "Binomial", false},
    {alltoall_test, "BlockCopies"},    {alltoall_test, ""},
    {alltoall_test, "Linear"},         {alltoall_test, "Pairwise"},
    {alltoall_test, "", false},        {alltoall_test, "SpreadOut", false},
    {allgather_test, "Ring"},          {allgather_test, ""},
    {allgather_test, "Linear", false}, {allgather_test, "Ring", false},
    {allgather_test, "Bruck", false},  {allgather_test, "", false},
};

}  // namespace

TEST_CASE("counts that differ between sender and receiver", "[team]") {
  for (const UnlikeCase& unlike : unlike_cases) {
    const Unlike& test = unlike.test;
    const std::string& name = unlike.algorithm;
    const bool blocking = unlike.blocking;
    const papcoll::Algorithm algorithm = named(name);
    for (const int expected : {0, 3}) {
      for (const int n : {0, 1, 2, 4}) {
        if (n == expected) continue;
        CAPTURE(name, test.name, blocking, n, expected);
        papcoll::ThreadTeam team{team_size, patient};
        std::vector<char> clean(team_size, 1);
        const auto start = std::chrono::steady_clock::now();
        const auto result = outcomes(team, [&](Rank& c) {
          if (!test.call(c, n, expected, blocking, algorithm)) {
            clean[static_cast<std::size_t>(c.rank())] = 0;
          }
        });
        const Outcome& o = result[static_cast<std::size_t>(test.receiver)];
        CAPTURE(result[0], result[1], result[2]);
        CHECK(std::count(clean.begin(), clean.end(), 1) == team_size);
        CHECK(o.kind == "peer_error");
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{10});
        const bool by_blocks = blocking && (name.empty() || name == "BlockCopies");
        if (by_blocks && std::string(test.name) != "allgatherv") {
          CHECK(o.says("rank " + std::to_string(test.sender) + " has " + std::to_string(n) +
                       " elements for rank " + std::to_string(test.receiver) + ", which expects " +
                       std::to_string(expected) + " of it"));
        } else {
          CHECK(o.says("rank "));
        }
        // Whoever had left hears of it in a later call.
        for (const Outcome& later : heard(team, result)) {
          CAPTURE(later);
          CHECK((later.kind == "peer_error" || later.kind == "broken_communicator"));
        }
        const auto after = outcomes(team, mistakes::work<Rank>);
        for (const Outcome& w : after) CHECK(w.is_fine() == after[0].is_fine());
      }
    }
  }
}

namespace {

thread_local bool no_room_for_more = false;

/// An element of which this rank can make no more once `no_room_for_more`.
struct Rationed {
  Rationed() : value(0) {
    if (no_room_for_more) throw std::bad_alloc();
  }
  int value;
};

/// One that this rank has already.
Rationed rationed(int value) {
  Rationed r;
  r.value = value;
  return r;
}

/// What comes is more than rank 1 has room for.
template <class F> void check_no_room(const char* name, F&& call) {
  CAPTURE(name);
  papcoll::ThreadTeam team{team_size, patient};
  const auto start = std::chrono::steady_clock::now();
  auto result = outcomes(team, [&](Rank& c) {
    no_room_for_more = false;
    const std::vector<Rationed> in(static_cast<std::size_t>(team_size), rationed(c.rank()));
    no_room_for_more = c.rank() == 1;
    call(c, in);
  });
  result = heard(team, result);
  CAPTURE(result[0], result[1], result[2]);
  CHECK(result[1].kind == "other");
  for (const int r : {0, 2}) {
    const Outcome& o = result[static_cast<std::size_t>(r)];
    CHECK(o.kind == "peer_error");
    CHECK(o.says("rank 1"));
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{10});
  const auto after = outcomes(team, mistakes::work<Rank>);
  for (const Outcome& w : after) CHECK(w.is_fine());
}

}  // namespace

TEST_CASE("a rank that has no room for what comes does not strand the others", "[team]") {
  using papcoll::unknown_counts;
  check_no_room("allgatherv",
                [](Rank& c, const auto& in) { static_cast<void>(papcoll::allgatherv(c, in)); });
  check_no_room("alltoallv", [](Rank& c, const auto& in) {
    const std::vector<int> one(team_size, 1);
    static_cast<void>(papcoll::alltoallv(c, in, papcoll::counts{one}, unknown_counts));
  });
  check_no_room("gatherv", [](Rank& c, const auto& in) {
    static_cast<void>(papcoll::gatherv(c, in, papcoll::root{1}));
  });
  check_no_room("scatterv", [](Rank& c, const auto& in) {
    const std::vector<int> one(team_size, 1);
    static_cast<void>(
        papcoll::scatterv(c, in, papcoll::counts{one}, unknown_counts, papcoll::root{0}));
  });
}

TEST_CASE("displacements that are wrong on the root, which alone looks at them", "[team]") {
  struct RootMistake {
    std::vector<long> places;
    const char* of_gather;  ///< what the root says; null: it is none
    const char* of_scatter;
  };
  const long most = std::numeric_limits<long>::max();
  const std::vector<RootMistake> wrong{
      {{0, 2, 6}, "blocks 0 and 1 of the output overlap", nullptr},
      {{0, -3, 6},
       "the displacement of rank 1's block in the output is -3: they start at 0",
       "the displacement of rank 1's block in the input is -3: they start at 0"},
      {{0, 3, most}, "ends past the buffer", "ends past the buffer"},
      {{0, 3, 18}, "3 elements from 18 on, ends past the buffer", "ends past the buffer"},
      {{0, 3}, "2 displacements for 3 ranks", "2 displacements for 3 ranks"}};
  const std::vector<int> lengths(team_size, 3);
  for (const RootMistake& m : wrong) {
    for (const bool gathers : {true, false}) {
      const char* const says = gathers ? m.of_gather : m.of_scatter;
      if (says == nullptr) continue;
      CAPTURE(says, gathers);
      papcoll::ThreadTeam team{team_size, patient};
      std::vector<int> untouched(team_size, 0);
      const auto result =
          heard(team, outcomes(team, [&](Rank& c) {
                  const std::vector<long> fine(team_size, 0);
                  const papcoll::blocks each{lengths, c.rank() == 0 ? m.places : fine};
                  std::vector<int> out(20, nothing);
                  const Outcome o = outcome_of([&] {
                    if (gathers) {
                      papcoll::gatherv(c, std::vector<int>(3, 1), out, each, zero);
                    } else {
                      papcoll::scatterv(c, std::vector<int>(20, 1), std::span<int>(out.data(), 3),
                                        each, zero);
                    }
                  });
                  untouched[static_cast<std::size_t>(c.rank())] =
                      std::count(out.begin(), out.end(), nothing) == 20 ? 1 : 0;
                  if (o.kind == "argument_error") throw papcoll::argument_error(o.what);
                  if (!o.is_fine()) throw papcoll::peer_error(o.what);
                }));
      CAPTURE(result[0], result[1], result[2]);
      CHECK(result[0].kind == "argument_error");
      CHECK(result[0].says(says));
      CHECK(result[1].kind == "peer_error");
      CHECK(result[2].kind == "peer_error");
      CHECK(untouched == std::vector<int>(team_size, 1));
    }
  }
}
