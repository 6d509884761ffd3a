// SPDX-License-Identifier: BSD-3-Clause
// The buffers of calls that go by groups: a group reaches them as a team of its own would.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/runtime/setup/hierarchy.hpp>
#include <papcoll/shared_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "own_comm.hpp"

namespace {

using papcoll::PeerAccess;
using Values = std::vector<std::int64_t>;
using SharedValues = papcoll::shared_vector<std::int64_t>;

/// In groups of two, unless the ranks are on several nodes.
papcoll::Options grouped(PeerAccess access) {
  const OwnComm own;
  papcoll::Options o{.peer_access = access};
  if (papcoll::Communicator{own.get()}.nodes() > 1) return o;
  std::vector<int> colours;
  for (int r = 0; r < own.size(); ++r) colours.push_back(r / 2);
  o.groups = {std::move(colours)};
  return o;
}

template <class In, class Out>
std::string problem(papcoll::Communicator& comm, In in, Out out, const std::string& name) {
  const auto algorithm = papcoll::algorithm(name);
  const std::int64_t ranks = comm.size();
  const auto fill = [&](auto& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<std::int64_t>(i % 1000) * (comm.rank() + 1);
    }
  };
  const auto is_total = [&](const auto& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] != static_cast<std::int64_t>(i % 1000) * ranks * (ranks + 1) / 2) return false;
    }
    return true;
  };
  fill(in);
  papcoll::allreduce(comm, in, out, papcoll::sum, algorithm);
  if (!is_total(out)) return name + ": allreduce";
  fill(out);
  papcoll::allreduce(comm, out, papcoll::sum, algorithm);
  if (!is_total(out)) return name + ": allreduce in place";
  const papcoll::root last{comm.size() - 1};
  papcoll::reduce(comm, in, out, last, papcoll::sum, algorithm);
  if (comm.rank() == last.rank && !is_total(out)) return name + ": reduce";
  if (comm.rank() == last.rank) fill(in);
  papcoll::bcast(comm, in, last, algorithm);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] != static_cast<std::int64_t>(i % 1000) * ranks) return name + ": bcast";
  }
  return {};
}

}  // namespace

TEST_CASE("a group reaches its ranks' buffers where they are", "[hierarchical]") {
  for (const PeerAccess access :
       {PeerAccess::best, PeerAccess::copied, PeerAccess::without_cma, PeerAccess::staged}) {
    CAPTURE(static_cast<int>(access));
    const papcoll::Options options = grouped(access);
    const OwnComm own;
    papcoll::Communicator comm{own.get(), options};
    const SharedValues shared(1000, papcoll::shared_allocator<std::int64_t>{comm});
    const std::size_t bytes = shared.size() * sizeof(std::int64_t);
    REQUIRE(papcoll::hierarchy_of(comm.core()) != nullptr);
    papcoll::make_teams_of(comm.core());
    if (papcoll::TeamCore* const group = comm.core().intra()) {
      REQUIRE(group->on_one_node());
      const papcoll::PeerMemory& peers = group->environment().node->peers;
      CHECK((peers.place(shared.data(), bytes).mapped != 0) == (access != PeerAccess::staged));
      const Values mine(1000);
      CHECK(peers.place(mine.data(), bytes).mapped == 0);
      CHECK(peers.pulls() == comm.why_no_cma().empty());
      CHECK(peers.prefers_pulls() == (peers.pulls() && access == PeerAccess::copied));
    }
    if (comm.nodes() > 1 && comm.core().intra() != nullptr) {
      const auto said = papcoll::explain(comm, papcoll::Collective::allreduce, bytes).memory;
      const bool in_place = said.find("within a node buffers are read in the arena") != said.npos;
      CHECK(in_place == (access != PeerAccess::staged));
    }
  }
}

TEST_CASE("calls by groups, whatever buffers each rank has", "[hierarchical]") {
  for (const PeerAccess access : {PeerAccess::best, PeerAccess::copied, PeerAccess::staged}) {
    const papcoll::Options options = grouped(access);
    const OwnComm own;
    papcoll::Communicator comm{own.get(), options};
    const papcoll::shared_allocator<std::int64_t> arena{comm};
    for (const std::size_t count : {std::size_t{5}, std::size_t{50'000}}) {
      const Values mine(count);
      const SharedValues ours(count, arena);
      for (const char* name :
           {"Hierarchical", "Hierarchical:PeerSlices,Rabenseifner",
            "Hierarchical:SplitTail,Rabenseifner", "Hierarchical:CombiningTree,Ring",
            "Hierarchical:ArrivalOrder+Chain,Rabenseifner"}) {
        CAPTURE(static_cast<int>(access), count);
        CHECK(problem(comm, mine, mine, name) == "");
        CHECK(problem(comm, ours, ours, name) == "");
        if (comm.rank() % 2 == 0) {
          CHECK(problem(comm, mine, ours, name) == "");
        } else {
          CHECK(problem(comm, ours, mine, name) == "");
        }
      }
    }
  }
}
