// Counts that differ between the rank that sends a block and the one that receives it.

#include "catch.hpp"
#include "mistakes.hpp"
#include "team_outcomes.hpp"

#include <papcoll/allgatherv.hpp>
#include <papcoll/alltoallv.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/gatherv.hpp>
#include <papcoll/scatterv.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
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
  papcoll::Collective collective;
  int sender;    ///< of the block
  int receiver;  ///< of the block
  /// Rank `sender` has `n` elements for `receiver`, which expects 3. True: gaps are clean.
  std::function<bool(Rank&, int n, const papcoll::Algorithm&)> call;
};

bool gather_unlike(Rank& c, int n, const papcoll::Algorithm& a) {
  const Gaps each{std::vector<int>(team_size, 3)};
  std::vector<int> out(20, nothing);
  const std::vector<int> in(static_cast<std::size_t>(c.rank() == 1 ? n : 3), c.rank());
  const Outcome o = outcome_of([&] {
    papcoll::gatherv(c, in, out, c.rank() == 0 ? each.all() : papcoll::counts{}, zero, a);
  });
  if (!gaps_are_clean(out, each)) return false;
  if (!o.is_fine()) throw papcoll::peer_error(o.what);
  return true;
}

bool scatter_unlike(Rank& c, int n, const papcoll::Algorithm& a) {
  const Gaps each{{3, n, 3}};
  const Gaps mine{{3}};
  const std::vector<int> in(20, 7);
  std::vector<int> out(20, nothing);
  const Outcome o = outcome_of([&] {
    papcoll::scatterv(c, in, std::span<int>(out.data() + 1, 3),
                      c.rank() == 0 ? each.all() : papcoll::counts{}, zero, a);
  });
  if (!gaps_are_clean(out, mine)) return false;
  if (!o.is_fine()) throw papcoll::peer_error(o.what);
  return true;
}

bool alltoall_unlike(Rank& c, int n, const papcoll::Algorithm& a) {
  const Gaps sent{c.rank() == 0 ? std::vector<int>{3, n, 3} : std::vector<int>(team_size, 3)};
  const Gaps received{std::vector<int>(team_size, 3)};
  const std::vector<int> in(20, 7);
  std::vector<int> out(20, nothing);
  const Outcome o =
      outcome_of([&] { papcoll::alltoallv(c, in, sent.all(), out, received.all(), a); });
  if (!gaps_are_clean(out, received)) return false;
  if (!o.is_fine()) throw papcoll::peer_error(o.what);
  return true;
}

const std::vector<Unlike> unlike{{"gatherv", Collective::gather, 1, 0, gather_unlike},
                                 {"scatterv", Collective::scatter, 0, 1, scatter_unlike},
                                 {"alltoallv", Collective::alltoall, 0, 1, alltoall_unlike}};

}  // namespace

TEST_CASE("counts that differ between sender and receiver", "[team]") {
  for (const std::string name : {"BlockCopies", "", "Linear", "Pairwise"}) {
    for (const Unlike& test : unlike) {
      const papcoll::Algorithm algorithm = named(name);
      if (name == "Pairwise" && test.collective != Collective::alltoall) continue;
      for (const int n : {0, 1, 2, 4}) {
        // Schedules send nothing for an empty block: who expects one waits for its deadline.
        if (n == 0 && (name == "Linear" || name == "Pairwise")) continue;
        CAPTURE(name, test.name, n);
        papcoll::ThreadTeam team{team_size, patient};
        std::vector<char> clean(team_size, 1);
        const auto start = std::chrono::steady_clock::now();
        const auto result = outcomes(team, [&](Rank& c) {
          if (!test.call(c, n, algorithm)) clean[static_cast<std::size_t>(c.rank())] = 0;
        });
        const Outcome& o = result[static_cast<std::size_t>(test.receiver)];
        CAPTURE(result[0], result[1], result[2]);
        CHECK(std::count(clean.begin(), clean.end(), 1) == team_size);
        CHECK(o.kind == "peer_error");
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{10});
        if (name.empty() || name == "BlockCopies") {
          CHECK(o.says("rank " + std::to_string(test.sender) + " has " + std::to_string(n) +
                       " elements for rank " + std::to_string(test.receiver) +
                       ", which expects 3 of it"));
        } else {
          CHECK(o.says("rank " + std::to_string(test.sender)));
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
template <class F>
void check_no_room(const char* name, F&& call) {
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
