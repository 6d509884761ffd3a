// SPDX-License-Identifier: BSD-3-Clause
// Allreduces in two levels on threads that come at random times. The groups are those that a
// transport's call context says.

#include "catch.hpp"
#include "group_sums.hpp"

#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/node/forwarding_context.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/thread_team.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/transport/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

using papcoll::Groups;
using papcoll::MultiLeader;
using papcoll::Options;
using papcoll::PeerAccess;
using papcoll::PeerSlices;
using papcoll::StaticOrder;
using papcoll::ThreadTeam;

namespace {

using Rank = ThreadTeam::Rank;

const Groups* groups_of_team = nullptr;  ///< set while no team runs

class GroupedContext final : public papcoll::ForwardingContext {
 public:
  using ForwardingContext::ForwardingContext;
  static const Groups* groups() noexcept { return groups_of_team; }
};

struct GroupedTransport : papcoll::ThreadTransport {
  static constexpr std::string_view name = "GroupedTransport";
  using Context = GroupedContext;
  static std::unique_ptr<Context> make_context(const papcoll::TeamEnvironment&,
                                               papcoll::NodeContext& node) {
    return std::make_unique<Context>(node);
  }
};
static_assert(papcoll::ProvidesCallContext<GroupedTransport>);

/// In two levels if the groups allow it; `ordered`: only if ranks of each are neighbours.
std::vector<float> expected(const Groups& groups, std::size_t count, bool ordered) {
  const int each = groups.largest();
  const bool alike = groups.count() > 1 && each > 1 && each * groups.count() == groups.size();
  return alike && (!ordered || groups.contiguous())
             ? group_sums::in_two_levels(groups, count)
             : group_sums::in_one_level(groups.size(), count);
}

/// x ↦ a x + b, by which integers wrap: products depend on the order of their factors.
struct Affine {
  std::uint32_t a;
  std::uint32_t b;
  friend bool operator==(const Affine&, const Affine&) = default;
};
struct After {
  Affine operator()(const Affine& x, const Affine& y) const { return {x.a * y.a, x.a * y.b + x.b}; }
};
Affine map_of(int rank, std::size_t i) {
  const auto r = static_cast<std::uint32_t>(rank);
  return {2 * r + 3, static_cast<std::uint32_t>(i) + r};
}

/// Lets a rank arrive late now and then, by an amount of its own.
class Delays {
 public:
  explicit Delays(int rank) : random_(static_cast<unsigned>(rank) + 1) {}
  void pause() {
    if (random_() % 2 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
    }
  }

 private:
  std::minstd_rand random_;
};

/// Calls in a row by an algorithm; how many results are wrong.
template <class Schedule> std::size_t wrong_results(Rank& comm, std::size_t count) {
  Delays delays{comm.rank()};
  std::size_t wrong = 0;
  const auto in = group_sums::contribution(comm.rank(), count);
  const auto sums = expected(*groups_of_team, count, false);
  for (int i = 0; i < 3; ++i) {
    delays.pause();
    std::vector<float> out(count, -1.0F);
    papcoll::allreduce<StaticOrder, Schedule, GroupedTransport>(comm, in, out, papcoll::sum);
    wrong += out != sums;
    // Whose ranks leave at other times.
    std::vector<int> rooted(100, 1);
    papcoll::reduce(comm, rooted, papcoll::root{i % comm.size()});
    delays.pause();
    out = in;
    papcoll::allreduce<StaticOrder, Schedule, GroupedTransport>(comm, out);
    wrong += out != sums;
  }
  delays.pause();
  auto data = in;
  papcoll::allreduce<StaticOrder, Schedule, GroupedTransport, papcoll::Reproducible>(comm, data);
  wrong += data != expected(*groups_of_team, count, true);

  std::vector<Affine> maps(count);
  std::vector<Affine> products(count, Affine{1, 0});
  for (std::size_t i = 0; i < count; ++i) {
    maps[i] = map_of(comm.rank(), i);
    for (int r = 0; r < comm.size(); ++r) products[i] = After{}(products[i], map_of(r, i));
  }
  papcoll::allreduce<StaticOrder, Schedule, GroupedTransport>(comm, maps, After{});
  wrong += maps != products;
  return wrong;
}

template <class Schedule> void check_all(PeerAccess access) {
  for (const std::vector<int>& colours : std::vector<std::vector<int>>{{0, 0, 1, 1},
                                                                       {0, 1, 0, 1},
                                                                       {0, 0, 0, 1},
                                                                       {0, 0, 1, 1, 2, 2},
                                                                       {0, 0, 0, 0, 1, 1, 1, 1},
                                                                       {0, 1, 2, 3, 3, 2, 1, 0}}) {
    const Groups groups = Groups::by_colour(colours);
    groups_of_team = &groups;
    Options options;
    options.peer_access = access;
    options.first_epoch = 0xffff'fff8U;
    for (const std::size_t count : {1U, 7U, 100U, 3000U, 60'000U}) {
      CAPTURE(colours, count);
      ThreadTeam team{groups.size(), options};
      std::vector<std::size_t> wrong(colours.size());
      team.run([&](Rank& comm) {
        wrong[static_cast<std::size_t>(comm.rank())] = wrong_results<Schedule>(comm, count);
      });
      CHECK(wrong == std::vector<std::size_t>(colours.size(), 0));
    }
    groups_of_team = nullptr;
  }
}

}  // namespace

TEST_CASE("MultiLeader combines in two levels on threads", "[groups]") {
  check_all<MultiLeader>(PeerAccess::best);
}

TEST_CASE("PeerSlices combines in two levels on threads", "[groups]") {
  check_all<PeerSlices>(PeerAccess::best);
}

TEST_CASE("PeerSlices that goes on as MultiLeader combines in two levels, too", "[groups]") {
  check_all<PeerSlices>(PeerAccess::staged);
}
