// SPDX-License-Identifier: BSD-3-Clause
// Transports that bring a call context of their own: arrival-driven algorithms run on it, and
// nowhere else.

#include "catch.hpp"
#include "team_outcomes.hpp"

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/node/forwarding_context.hpp>
#include <papcoll/thread_team.hpp>
#include <papcoll/transport/transport.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace papcoll;
using team_outcomes::outcomes;
using team_outcomes::Rank;

namespace {

enum class Creation { works, unavailable_on_all, fails_on_one };

// What the call contexts of a test's team share, set before it is made.
struct Shared {
  std::vector<std::byte> memory;
  std::atomic<int> contexts{0};       ///< that there are
  std::atomic<int> chunk_buffers{0};  ///< that were asked for
  Creation making = Creation::works;
};
Shared shared;

class OwnContext final : public ForwardingContext {
 public:
  explicit OwnContext(NodeContext& node) : ForwardingContext(node) { ++shared.contexts; }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() { --shared.contexts; }

  std::byte* chunk_buffer(int r, std::uint32_t chunk) noexcept { return buffer(r, chunk); }
  std::byte* result_buffer(std::uint32_t chunk) noexcept { return buffer(size(), chunk); }

  static std::size_t bytes(int ranks, const Options& options) {
    return static_cast<std::size_t>(epoch_slots * (ranks + 1)) * NodeControlBlock::buffers *
           options.chunk_bytes;
  }

 private:
  std::byte* buffer(int owner, std::uint32_t chunk) const noexcept {
    ++shared.chunk_buffers;
    const auto of = static_cast<std::size_t>(epoch_slot() * (size() + 1) + owner);
    return shared.memory.data() + (of * buffers() + chunk % buffers()) * chunk_bytes();
  }
};

struct OwnTransport : ThreadTransport {
  static constexpr std::string_view name = "OwnTransport";
  using Context = OwnContext;
  static std::unique_ptr<Context> make_context(const TeamEnvironment& s, NodeContext& node) {
    if (shared.making == Creation::unavailable_on_all) throw transport_unavailable("no memory");
    if (shared.making == Creation::fails_on_one && s.rank == 1) throw error("no memory on rank 1");
    return std::make_unique<Context>(node);
  }
};
static_assert(ProvidesCallContext<OwnTransport> && ProvidesCallContext<ThreadTransport>);

/// A team whose ranks may use OwnTransport.
class OwnTeam : public ThreadTeam {
 public:
  explicit OwnTeam(int ranks, Creation making = Creation::works)
      : ThreadTeam(ranks, team_outcomes::patient) {
    shared.memory.assign(OwnContext::bytes(ranks, team_outcomes::patient), std::byte{});
    shared.chunk_buffers = 0;
    shared.making = making;
  }
};

int sum_of_ranks(int ranks) { return ranks * (ranks - 1) / 2; }

template <class... Policies> void add(Rank& comm, std::size_t count = 100) {
  std::vector<int> data(count, comm.rank());
  allreduce<Policies...>(comm, data);
  if (data.front() != sum_of_ranks(comm.size()) || data.back() != data.front()) {
    throw error("the sum is wrong");
  }
}

template <class Arrival, class Schedule> void runs_on_its_context(bool has_chunk_buffers) {
  for (const int ranks : {1, 2, 5}) {
    CAPTURE(std::string(arrival_traits<Arrival, Schedule>.name), ranks);
    OwnTeam team{ranks};
    const auto result = outcomes(team, [](Rank& comm) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
        for (int i = 0; i < 6; ++i) add<Arrival, Schedule, OwnTransport>(comm, count);
        add<Arrival, Schedule, ThreadTransport>(comm, count);
      }
    });
    for (const Outcome& o : result) CHECK(o.is_fine());
    CHECK(shared.contexts == ranks);
    if (has_chunk_buffers && ranks > 1) CHECK(shared.chunk_buffers > 0);
    shared.chunk_buffers = 0;
    team.run([](Rank& comm) { add<Arrival, Schedule, ThreadTransport>(comm); });
    CHECK(shared.chunk_buffers == 0);
  }
  CHECK(shared.contexts == 0);
}

}  // namespace

TEST_CASE("all arrival-driven algorithms run on the context that a transport brings", "[context]") {
  runs_on_its_context<DynamicLeader, LeaderFan>(true);
  runs_on_its_context<StaticLeader, LeaderFan>(true);
  runs_on_its_context<StaticOrder, Exchange>(true);
  runs_on_its_context<StaticOrder, MultiLeader>(true);
  // These read contributions where they are: threads see each other's buffers.
  runs_on_its_context<StaticOrder, PeerSlices>(false);
  runs_on_its_context<ArrivalOrder, SplitTail>(false);
  runs_on_its_context<ArrivalOrder, CombiningTree>(false);
  runs_on_its_context<ArrivalOrder, Chain>(false);
}

TEST_CASE("over a transport with its own context, what papcoll chooses is a schedule",
          "[context]") {
  OwnTeam team{3};
  const auto result = outcomes(team, [](Rank& comm) {
    add<OwnTransport>(comm);
    add<Ring, OwnTransport>(comm);
  });
  for (const Outcome& o : result) CHECK(o.is_fine());
  CHECK(shared.contexts == 0);
}

TEST_CASE("a hierarchy's part runs on the context that its transport brings", "[context]") {
  shared.memory.assign(OwnContext::bytes(4, {}), std::byte{});
  shared.making = Creation::works;
  shared.chunk_buffers = 0;
  // Two groups would share the test's memory: one of four ranks.
  ThreadTeam team{5, {.groups = {{0, 0, 0, 0, 1}}}};
  const auto result = outcomes(team, [](Rank& comm) {
    add<Hierarchical<Policies<DynamicLeader, OwnTransport>, Policies<Exchange>>>(comm);
  });
  for (const Outcome& o : result) CHECK(o.is_fine());
  CHECK(shared.contexts == 4);
  CHECK(shared.chunk_buffers > 0);
}

TEST_CASE("ranks that name different contexts are told so, in the first call and later",
          "[context]") {
  for (const bool first : {true, false}) {
    CAPTURE(first);
    OwnTeam team{3};
    if (!first) team.run([](Rank& comm) { add<DynamicLeader, OwnTransport>(comm); });
    const auto result = outcomes(team, [](Rank& comm) {
      if (comm.rank() == 1) return add<DynamicLeader, ThreadTransport>(comm);
      add<DynamicLeader, OwnTransport>(comm);
    });
    for (const Outcome& o : result) {
      CAPTURE(o);
      CHECK(o.kind == "peer_error");
      CHECK(o.says("their algorithms differ"));
    }
    for (const Outcome& o :
         outcomes(team, [](Rank& comm) { add<DynamicLeader, OwnTransport>(comm); })) {
      CHECK(o.is_fine());
    }
  }
}

TEST_CASE("no rank makes a context in a call that another leaves for an earlier one", "[context]") {
  OwnTeam team{2};
  const auto result = outcomes(team, [](Rank& comm) {
    // The root has left when the other calls otherwise. It hears of it four calls later.
    std::vector<int> data(comm.rank() == 0 ? 1 : 2, 7);
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds{30});
    try {
      bcast<DynamicLeader>(comm, data, root{0});
    } catch (const peer_error&) {  // NOLINT(bugprone-empty-catch)
    }
    for (int i = 0; i < 3; ++i) barrier<DynamicLeader>(comm);
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds{30});
    add<DynamicLeader, OwnTransport>(comm);
  });
  for (const Outcome& o : result) CHECK(o.kind == "peer_error");
  CHECK(shared.contexts == 0);
  for (const Outcome& o : outcomes(team, [](Rank& comm) {
         add<DynamicLeader>(comm, 1);
         add<DynamicLeader, OwnTransport>(comm, 2);
         add<DynamicLeader>(comm, 3);
       })) {
    CHECK(o.is_fine());
  }
}

TEST_CASE("a context that no rank can have fails the call, and a later call tries again",
          "[context]") {
  OwnTeam team{3, Creation::unavailable_on_all};
  const auto call = [](Rank& comm) { add<Exchange, OwnTransport>(comm); };
  for (const Outcome& o : outcomes(team, call)) CHECK(o.kind == "transport_unavailable");
  shared.making = Creation::works;
  for (const Outcome& o : outcomes(team, call)) CHECK(o.is_fine());
}

TEST_CASE("a context that one rank alone cannot make breaks the team", "[context]") {
  OwnTeam team{3, Creation::fails_on_one};
  const auto call = [](Rank& comm) { add<Exchange, OwnTransport>(comm); };
  const auto result = outcomes(team, call);
  CHECK(result[1].says("no memory on rank 1"));
  for (const int r : {0, 2}) {
    CAPTURE(r, result[static_cast<std::size_t>(r)]);
    CHECK(result[static_cast<std::size_t>(r)].kind == "peer_error");
  }
  for (const Outcome& o : outcomes(team, call)) CHECK(o.kind == "broken_communicator");
}
