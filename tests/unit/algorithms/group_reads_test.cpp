// SPDX-License-Identifier: BSD-3-Clause
// What crosses from group to group in allreduces that combine in two levels, and in one. The ranks
// take turns in one thread: steps do not wait.

#include "catch.hpp"
#include "group_sums.hpp"

#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/forwarding_context.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/op.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

using papcoll::Call;
using papcoll::Doorbells;
using papcoll::Groups;
using papcoll::Node;
using papcoll::NodeContext;
using papcoll::NodeControlBlock;

namespace {

constexpr std::size_t chunk_bytes = 4096;
constexpr std::size_t count = 10'007;  // floats: ten chunks, and not as many in all slices
constexpr std::size_t bytes = count * sizeof(float);

struct alignas(papcoll::cache_line) Line {
  std::byte bytes[papcoll::cache_line];
};

/// Bytes from and to memory of other groups.
struct Crossings {
  std::size_t combined = 0;  ///< read as operands
  std::size_t copied = 0;    ///< read otherwise
  std::size_t written = 0;
};

/// Whose memory is where.
class Owners {
 public:
  void add(const void* begin, std::size_t n, int rank) {
    parts_.push_back({static_cast<const std::byte*>(begin), n, rank});
  }
  /// −1: nobody's among those that are known.
  int of(const std::byte* p) const {
    for (const Part& part : parts_) {
      // std::less orders pointers of different arrays, too.
      if (!std::less<>{}(p, part.begin) && std::less<>{}(p, part.begin + part.bytes))
        return part.rank;
    }
    return -1;
  }

 private:
  struct Part {
    const std::byte* begin;
    std::size_t bytes;
    int rank;
  };
  std::vector<Part> parts_;
};

/// Counts what its rank reads from and writes to memory of other groups.
class CountingContext : public papcoll::ForwardingContext {
 public:
  CountingContext(NodeContext& node, const Groups& groups, const Owners& owners) noexcept
      : ForwardingContext(node), groups_(&groups), owners_(&owners) {}

  Crossings crossings;

  void reduce(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n) noexcept {
    crossings.combined += far(low, n * sizeof(float)) + far(high, n * sizeof(float));
    crossings.written += far(out, n * sizeof(float));
    ForwardingContext::reduce(out, low, high, n);
  }
  void reduce_for_peers(std::byte* out, const std::byte* low, const std::byte* high,
                        std::size_t n) {
    crossings.combined += far(low, n * sizeof(float)) + far(high, n * sizeof(float));
    crossings.written += far(out, n * sizeof(float));
    ForwardingContext::reduce_for_peers(out, low, high, n);
  }
  void read(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    count_copy(to, from, n);
    ForwardingContext::read(to, from, n);
  }
  void write(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    count_copy(to, from, n);
    ForwardingContext::write(to, from, n);
  }
  void stream(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    count_copy(to, from, n);
    ForwardingContext::stream(to, from, n);
  }

 private:
  void count_copy(const std::byte* to, const std::byte* from, std::size_t n) {
    crossings.copied += far(from, n);
    crossings.written += far(to, n);
  }
  std::size_t far(const std::byte* p, std::size_t n) const {
    const int owner = owners_->of(p);
    return owner >= 0 && groups_->group_of(owner) != groups_->group_of(rank()) ? n : 0;
  }

  const Groups* groups_;
  const Owners* owners_;
};
static_assert(papcoll::CallContext<CountingContext>);

void add(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
         const void*) noexcept {
  for (std::size_t i = 0; i < n * sizeof(float); i += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, low + i, sizeof x);
    std::memcpy(&y, high + i, sizeof y);
    x += y;
    std::memcpy(out + i, &x, sizeof x);
  }
}

struct Setting {
  Groups groups;
  bool two_levels;  ///< the call context knows the groups
  bool in_place;
};

/// One allreduce; all ranks' crossings together.
template <class Run> Crossings crossings_of(const Setting& setting) {
  const int ranks = setting.groups.size();
  std::vector<Line> bells(Doorbells::bytes(ranks) / sizeof(Line) + 1);
  std::vector<Line> memory(NodeControlBlock::bytes(ranks, chunk_bytes) / sizeof(Line) + 1);
  Doorbells::initialise(bells.data()->bytes, ranks);
  NodeControlBlock control{memory.data()->bytes, ranks, chunk_bytes};
  control.initialise(1);

  Owners owners;
  for (int r = 0; r < ranks; ++r) {
    owners.add(control.chunk_buffer(1, r, 0), NodeControlBlock::buffers * chunk_bytes, r);
  }
  std::vector<std::vector<float>> in(static_cast<std::size_t>(ranks), std::vector<float>(count));
  std::vector<std::vector<float>> out(in.size(), std::vector<float>(count));
  std::deque<Node> nodes;
  std::deque<NodeContext> node_contexts;
  std::deque<CountingContext> contexts;
  std::vector<Call> calls(in.size());
  std::deque<Run> runs(in.size());
  for (int r = 0; r < ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    in[at] = group_sums::contribution(r, count);
    if (setting.in_place) in[at].swap(out[at]);
    owners.add(in[at].data(), bytes, r);
    owners.add(out[at].data(), bytes, r);
    Call& c = calls[at];
    c.collective = papcoll::Collective::allreduce;
    c.out = reinterpret_cast<std::byte*>(out[at].data());
    c.in = setting.in_place ? c.out : reinterpret_cast<const std::byte*>(in[at].data());
    c.count = count;
    c.reducer = {&add, nullptr, sizeof(float), true};
    nodes.push_back(Node{r, ranks});
    if (setting.two_levels)
      nodes.back().groups = {papcoll::detail::Shared<void>{}, &setting.groups};
    node_contexts.emplace_back(control, Doorbells{bells.data()->bytes, ranks}, r, 1, &nodes.back());
    contexts.emplace_back(node_contexts.back(), setting.groups, owners);
    node_contexts.back().begin(papcoll::CallFingerprint::of(count, c.collective, 1, 0, 0),
                               c.reducer);
    REQUIRE(node_contexts.back().enter());
  }

  std::vector<bool> done(in.size());
  for (int left = ranks, turns = 0; left != 0; ++turns) {
    REQUIRE(turns < 1000);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (done[r] || !runs[r].step(contexts[r], calls[r])) continue;
      done[r] = true;
      --left;
    }
  }
  Crossings all;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    node_contexts[r].leave();
    all.combined += contexts[r].crossings.combined;
    all.copied += contexts[r].crossings.copied;
    all.written += contexts[r].crossings.written;
  }

  const std::vector<float> sums = setting.two_levels
                                      ? group_sums::in_two_levels(setting.groups, count)
                                      : group_sums::in_one_level(ranks, count);
  CHECK(out == std::vector<std::vector<float>>(in.size(), sums));
  return all;
}

/// Groups of neighbours, and of every n-th.
std::vector<Groups> groups_of(int n, int each) {
  std::vector<int> neighbours;
  std::vector<int> scattered;
  for (int r = 0; r < n * each; ++r) {
    neighbours.push_back(r / each);
    scattered.push_back(r % n);
  }
  return {Groups::by_colour(neighbours), Groups::by_colour(scattered)};
}

template <class F> void for_all_groups(F&& f) {
  for (const auto& [n, each] : {std::pair{2, 2}, {2, 4}, {4, 2}, {3, 4}}) {
    for (const Groups& groups : groups_of(n, each)) {
      for (const bool in_place : {false, true}) {
        CAPTURE(n, each, groups.of, in_place);
        f(groups, static_cast<std::size_t>(n), static_cast<std::size_t>(each), in_place);
      }
    }
  }
}

}  // namespace

TEST_CASE("MultiLeader in two levels reads (G - 1) n bytes from other groups while combining",
          "[groups]") {
  for_all_groups([](const Groups& groups, std::size_t n, std::size_t each, bool in_place) {
    const auto two = crossings_of<papcoll::MultiLeader::Run>({groups, true, in_place});
    CHECK(two.combined == (n - 1) * bytes);
    CHECK(two.copied == each * (n - 1) * bytes);
    CHECK(two.written == 0);
    const auto one = crossings_of<papcoll::MultiLeader::Run>({groups, false, in_place});
    CHECK(one.combined == each * (n - 1) * bytes);  // P (1 - 1/G)
  });
}

TEST_CASE("PeerSlices in two levels reads (G - 1) n bytes from other groups while combining",
          "[groups]") {
  for_all_groups([](const Groups& groups, std::size_t n, std::size_t each, bool in_place) {
    const auto two = crossings_of<papcoll::PeerSlices::Run>({groups, true, in_place});
    CHECK(two.combined == (n - 1) * bytes);
    CHECK(two.copied == (n - 1) * bytes);
    CHECK(two.written == 0);
    const auto one = crossings_of<papcoll::PeerSlices::Run>({groups, false, in_place});
    CHECK(one.combined == each * (n - 1) * bytes);
    CHECK(one.copied == 0);
    CHECK(one.written == each * (n - 1) * bytes);
  });
}

TEST_CASE("An allreduce has two levels where groups are alike and may be combined", "[groups]") {
  struct Case {
    std::vector<int> colours;
    bool commutative;
    bool rank_order;
    bool two_levels;
  };
  const std::vector<Case> cases{
      {{0, 0, 1, 1}, true, false, true},    {{0, 0, 1, 1}, false, true, true},
      {{0, 0, 1, 1}, false, false, true},   {{0, 0, 1, 1}, true, true, true},
      {{0, 1, 0, 1}, true, false, true},    {{0, 1, 0, 1}, false, true, false},
      {{0, 1, 0, 1}, false, false, false},  {{0, 1, 0, 1}, true, true, false},
      {{0, 0, 0, 0}, true, false, false},   {{0, 1, 2, 3}, true, false, false},
      {{0, 0, 0, 1}, true, false, false},   {{0, 0, 1, 1, 1}, true, false, false},
      {{0, 0, 1, 1, 2}, true, false, false}};
  for (const Case& t : cases) {
    CAPTURE(t.colours, t.commutative, t.rank_order);
    const Groups groups = Groups::by_colour(t.colours);
    const int ranks = groups.size();
    std::vector<Line> bells(Doorbells::bytes(ranks) / sizeof(Line) + 1);
    std::vector<Line> memory(NodeControlBlock::bytes(ranks, chunk_bytes) / sizeof(Line) + 1);
    Node node{0, ranks};
    node.groups = {papcoll::detail::Shared<void>{}, &groups};
    const NodeContext context{NodeControlBlock{memory.data()->bytes, ranks, chunk_bytes},
                              Doorbells{bells.data()->bytes, ranks}, 0, 1, &node};
    Call c;
    c.reducer.commutative = t.commutative;
    c.rank_order = t.rank_order;
    const Groups* const found = papcoll::detail::groups_of_two_levels(context, c);
    CHECK(found == (t.two_levels ? &groups : nullptr));
  }
}
