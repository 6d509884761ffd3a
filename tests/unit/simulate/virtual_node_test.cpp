// SPDX-License-Identifier: BSD-3-Clause
// Arrival-driven algorithms in virtual time: what they compute, and the times that follow from
// costs alone.

#include "catch.hpp"

#include <papcoll/error.hpp>
#include <papcoll/pattern/random.hpp>
#include <papcoll/simulate/virtual_node.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "virtual_costs.hpp"

namespace {

using papcoll::Collective;
using papcoll::Shape;
using papcoll::Simulated;
using papcoll::VirtualAlgorithm;
using papcoll::VirtualNode;
using papcoll::VirtualOptions;

using Elements = std::vector<std::uint16_t>;

Shape node_shape(Collective collective, int ranks, std::size_t count, int root = 0,
                 std::size_t element = 8) {
  Shape s;
  s.collective = collective;
  s.size = ranks;
  s.count = collective == Collective::barrier ? 1 : count;
  s.element_size = collective == Collective::barrier ? 1 : element;
  s.root = root;
  return s;
}

const VirtualAlgorithm& named(const char* name) {
  const VirtualAlgorithm* const found = papcoll::find_virtual_algorithm(name);
  REQUIRE(found != nullptr);
  return *found;
}

std::vector<double> random_arrivals(int ranks, std::uint64_t seed, double spread) {
  papcoll::pattern::Random random(seed, 7);
  std::vector<double> arrivals;
  for (int r = 0; r < ranks; ++r) {
    arrivals.push_back(spread * static_cast<double>(random.below(1000)) / 1000);
  }
  return arrivals;
}

/// What rank r brings: numbers that differ by rank, call and place.
Elements brought(int rank, unsigned call, std::size_t n) {
  Elements e(n);
  for (std::size_t i = 0; i < n; ++i) {
    e[i] = static_cast<std::uint16_t>(static_cast<unsigned>(rank) * 1009 + call * 31 + i * 7 + 1);
  }
  return e;
}

Elements sum_of(int first, int last, unsigned call, std::size_t n) {
  Elements sum(n);
  for (int r = first; r < last; ++r) {
    const Elements one = brought(r, call, n);
    for (std::size_t i = 0; i < n; ++i) sum[i] = static_cast<std::uint16_t>(sum[i] + one[i]);
  }
  return sum;
}

/// What must be in rank r's output.
Elements wanted_of(const Shape& s, int r, unsigned call) {
  const auto ranks = static_cast<std::size_t>(s.size);
  const std::size_t n = s.count;
  Elements all;
  const auto append = [&](const Elements& from, std::size_t first) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(n));
  };
  const auto me = static_cast<std::size_t>(r);
  switch (s.collective) {
    case Collective::bcast: return brought(s.root, call, n);
    case Collective::allgather:
    case Collective::gather:
      for (int from = 0; from < s.size; ++from) append(brought(from, call, n), 0);
      return all;
    case Collective::scatter: append(brought(s.root, call, n * ranks), me * n); return all;
    case Collective::alltoall:
      for (int from = 0; from < s.size; ++from) append(brought(from, call, n * ranks), me * n);
      return all;
    case Collective::reduce_scatter: append(sum_of(0, s.size, call, n * ranks), me * n); return all;
    default: {
      const auto whose = papcoll::contributors(s.collective, r, s.size);
      return sum_of(whose.first, whose.last, call, n);
    }
  }
}

/// Makes calls with data, and compares all results.
void check_results(const VirtualAlgorithm& algorithm, const Shape& shape,
                   const VirtualOptions& options, std::uint64_t seed) {
  VirtualNode node{algorithm, shape, virtual_costs(), options};
  for (unsigned call = 0; call < 11; ++call) {
    for (int r = 0; r < shape.size; ++r) {
      const std::size_t in = node.input_bytes(r);
      const std::size_t out = node.output_bytes(r);
      if (out != 0) std::memset(node.output(r), 0xa5, out);
      const Elements mine = brought(r, call, in / 2);
      if (!mine.empty()) std::memcpy(node.input(r), mine.data(), 2 * mine.size());
    }
    const Simulated times =
        node.call(random_arrivals(shape.size, seed + call, call % 2 == 0 ? 0 : 3e-6));
    for (int r = 0; r < shape.size; ++r) {
      const auto me = static_cast<std::size_t>(r);
      REQUIRE(times.exits[me] > times.arrivals[me]);
      const std::size_t out = node.output_bytes(r);
      const bool has_result = !(shape.collective == Collective::exscan && r == 0);
      if (out == 0 || !has_result || shape.collective == Collective::barrier) continue;
      const Elements wanted = wanted_of(shape, r, call);
      INFO(algorithm.traits.name << " " << papcoll::name_of(shape.collective) << " of "
                                 << shape.count << ", " << shape.size << " ranks, root "
                                 << shape.root << ", rank " << r << ", call " << call);
      REQUIRE(wanted.size() * 2 == out);
      REQUIRE(std::memcmp(node.output(r), wanted.data(), out) == 0);
    }
  }
}

}  // namespace

TEST_CASE("virtual node: every algorithm computes what it should, whoever is late") {
  std::uint64_t seed = 1;
  for (const VirtualAlgorithm& algorithm : papcoll::virtual_algorithms()) {
    for (std::size_t c = 0; c < papcoll::collective_count; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (!algorithm.traits.serves(collective)) continue;
      for (int ranks = 1; ranks <= 8; ++ranks) {
        for (const std::size_t count : {1U, 40U, 1500U}) {
          VirtualOptions options;
          options.moves_data = true;
          options.chunk_bytes = 1024;  // so that long ones have several
          if (seed % 3 == 0) {
            for (int r = 0; r < ranks; ++r) options.colours.push_back(r % 2);
          }
          const int root = papcoll::is_rooted(collective) ? ranks / 2 : 0;
          check_results(algorithm, node_shape(collective, ranks, count, root, 2), options, ++seed);
        }
      }
    }
  }
}

TEST_CASE("virtual node: the same arguments give the same bits, with data or without") {
  for (const VirtualAlgorithm& algorithm : papcoll::virtual_algorithms()) {
    const auto collective = algorithm.traits.serves(Collective::allreduce)  ? Collective::allreduce
                            : algorithm.traits.serves(Collective::alltoall) ? Collective::alltoall
                                                                            : Collective::scan;
    const Shape shape = node_shape(collective, 5, 3000);
    const std::vector<double> arrivals = random_arrivals(5, 3, 20e-6);
    VirtualOptions options;
    const Simulated first =
        papcoll::simulate_on_node(algorithm, shape, virtual_costs(), arrivals, options);
    const Simulated again =
        papcoll::simulate_on_node(algorithm, shape, virtual_costs(), arrivals, options);
    options.moves_data = true;
    const Simulated moved =
        papcoll::simulate_on_node(algorithm, shape, virtual_costs(), arrivals, options);
    INFO(algorithm.traits.name);
    CHECK(first.exits == again.exits);
    CHECK(first.exits == moved.exits);
    CHECK(first.arrivals == arrivals);
  }
}

TEST_CASE("virtual node: when one rank arrives last by far, its tail is that of the algorithm") {
  // The others' arrivals, and how late it is, do not matter. (Ranks that come at the very same time
  // may divide their work otherwise.)
  for (const VirtualAlgorithm& algorithm : papcoll::virtual_algorithms()) {
    if (!algorithm.traits.serves(Collective::allreduce)) continue;
    const Shape shape = node_shape(Collective::allreduce, 4, 512);
    const auto tail = [&](double begin, std::vector<double> after) {
      for (double& t : after) t += begin;
      return papcoll::simulate_on_node(algorithm, shape, virtual_costs(), std::move(after)).tail();
    };
    const double wanted = tail(0, {2e-5, 1e-5, 0, 2e-3});
    INFO(algorithm.traits.name);
    CHECK(wanted > 0);
    CHECK(tail(0, {2e-5, 1e-5, 0, 7e-3}) == Approx(wanted).epsilon(1e-6));
    CHECK(tail(0, {1e-4, 0, 5e-5, 2e-3}) == Approx(wanted).epsilon(0.35));
    CHECK(tail(0, {0, 1e-5, 2e-5, 2e-3}) == Approx(wanted).epsilon(0.35));
    CHECK(tail(-3, {2e-5, 1e-5, 0, 2e-3}) == Approx(wanted).epsilon(1e-6));
  }
}

TEST_CASE("virtual node: a barrier of one late rank takes what can be worked out by hand") {
  // Nothing but signals: all other costs are 0, and a signal is all that the last rank's flag takes
  // to be seen.
  papcoll::NodeCosts costs;
  costs.same_l3.known = true;
  costs.same_l3.signal = 1e-6;
  costs.hit = 0;
  costs.poll = 1e-12;
  const Shape shape = node_shape(Collective::barrier, 3, 1);
  const auto call = [&](const char* name, std::vector<double> arrivals) {
    return papcoll::simulate_on_node(named(name), shape, costs, std::move(arrivals));
  };
  // Exchange: everyone sees the last rank's flag itself; the last one finds the others' flags.
  const Simulated exchange = call("Exchange", {0, 0, 1e-3});
  CHECK(exchange.exits[0] == Approx(1e-3 + 1e-6));
  CHECK(exchange.exits[1] == Approx(1e-3 + 1e-6));
  CHECK(exchange.exits[2] == Approx(1e-3));
  // DynamicLeader: the first to come sees it, and tells the others.
  const Simulated leader = call("DynamicLeader", {0, 1e-4, 1e-3});
  CHECK(leader.exits[0] == Approx(1e-3 + 1e-6));
  CHECK(leader.exits[1] == Approx(1e-3 + 2e-6));
  CHECK(leader.exits[2] == Approx(1e-3 + 2e-6));
  // A call costs its own time once, and one who has slept is woken.
  costs.call = 3e-6;
  CHECK(call("Exchange", {0, 0, 1e-3}).tail() == Approx(1e-6 + 3e-6));
  costs.wake = 50e-6;
  costs.sleeps_after = 1e-4;
  CHECK(call("Exchange", {0, 0, 1e-3}).tail() == Approx(51e-6 + 3e-6));
}

TEST_CASE("virtual node: dearer costs and longer messages never make a call quicker") {
  for (const char* const name : {"DynamicLeader", "Exchange", "SplitTail"}) {
    double before = 0;
    for (const std::size_t count : {8U, 64U, 512U, 4096U, 32768U, 131072U}) {
      const double now =
          papcoll::simulate_on_node(named(name), node_shape(Collective::allreduce, 2, count),
                                    virtual_costs())
              .tail();
      INFO(name << " of " << count);
      CHECK(now > before);
      before = now;
    }
    papcoll::NodeCosts dear = virtual_costs();
    for (double* cost :
         {&dear.same_l3.signal, &dear.same_l3.fetch, &dear.same_l3.take, &dear.call}) {
      *cost *= 2;
    }
    const Shape shape = node_shape(Collective::allreduce, 4, 8);
    CHECK(papcoll::simulate_on_node(named(name), shape, dear).tail() >
          papcoll::simulate_on_node(named(name), shape, virtual_costs()).tail());
  }
}

TEST_CASE("virtual node: ranks that share no cache take longer") {
  VirtualOptions apart;
  apart.colours = {0, 1};
  for (const char* const name : {"DynamicLeader", "Exchange", "SplitTail", "Accumulator"}) {
    for (const std::size_t count : {8U, 512U, 131072U}) {
      const Shape shape = node_shape(Collective::allreduce, 2, count);
      INFO(name << " of " << count);
      CHECK(papcoll::simulate_on_node(named(name), shape, virtual_costs(), {}, apart).tail() >
            papcoll::simulate_on_node(named(name), shape, virtual_costs()).tail());
    }
  }
  // Where only one kind has been measured, it stands for the other.
  papcoll::NodeCosts one = virtual_costs();
  one.cross_l3 = {};
  const Shape shape = node_shape(Collective::allreduce, 2, 8);
  CHECK(papcoll::simulate_on_node(named("Exchange"), shape, one, {}, apart).tail() ==
        papcoll::simulate_on_node(named("Exchange"), shape, one).tail());
}

TEST_CASE("virtual node: one that waits sees a flag only when it has been raised") {
  // However little a signal costs, nobody leaves a barrier before the last one has arrived.
  const Shape shape = node_shape(Collective::barrier, 6, 1);
  for (const VirtualAlgorithm& algorithm : papcoll::virtual_algorithms()) {
    if (!algorithm.traits.serves(Collective::barrier)) continue;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<double> arrivals = random_arrivals(6, seed, 1e-6);
      const Simulated run = papcoll::simulate_on_node(algorithm, shape, virtual_costs(), arrivals);
      const double last = *std::max_element(arrivals.begin(), arrivals.end());
      for (const double exit : run.exits) CHECK(exit > last);
    }
  }
}

TEST_CASE("virtual node: what cannot be simulated is refused in a sentence") {
  const auto refused = [](const char* algorithm, const Shape& shape, const std::string& why,
                          const std::vector<double>& arrivals = {},
                          const VirtualOptions& options = {},
                          const papcoll::NodeCosts& costs = virtual_costs()) {
    INFO(why);
    try {
      papcoll::simulate_on_node(named(algorithm), shape, costs, arrivals, options);
      FAIL("it was not refused");
    } catch (const papcoll::argument_error& e) {
      INFO(e.what());
      CHECK(std::string(e.what()).find(why) != std::string::npos);
    }
  };
  const Shape good = node_shape(Collective::allreduce, 2, 8);
  refused("SplitTail", node_shape(Collective::bcast, 2, 8), "it does not serve bcast");
  refused("Exchange", node_shape(Collective::allreduce, 0, 8), "0 ranks: a node");
  refused("Exchange", node_shape(Collective::allreduce, 257, 8), "has 1 to 256");
  refused("Exchange", node_shape(Collective::bcast, 2, 8, 2), "no rank 2 to be the root");
  refused("Exchange", node_shape(Collective::allgather, 256, std::size_t{1} << 20U),
          "more than 1 GB");
  refused("Exchange", good, "1 arrivals for 2 ranks", {1e-6});
  refused("Exchange", good, "no finite number", {0, std::numeric_limits<double>::infinity()});
  VirtualOptions options;
  options.colours = {1};
  refused("Exchange", good, "1 colours for 2 ranks", {}, options);
  options.colours = {};
  options.rank_order = true;
  refused("SplitTail", good, "it does not combine in rank order", {}, options);
  papcoll::NodeCosts costs = virtual_costs();
  costs.poll = 0;
  refused("Exchange", good, "poll is 0", {}, {}, costs);
  costs = virtual_costs();
  costs.same_l3.fetch = -1;
  refused("Exchange", good, "a time is negative", {}, {}, costs);
  costs.same_l3 = costs.cross_l3 = {};
  refused("Exchange", good, "neither near nor apart is known", {}, {}, costs);
  costs = virtual_costs();
  costs.copy = papcoll::CostBySize{{{64, 1e-9}, {64, 2e-9}}};
  refused("Exchange", good, "the sizes of a table do not grow", {}, {}, costs);
  CHECK(papcoll::find_virtual_algorithm("Ring") == nullptr);
}

TEST_CASE("costs by size are straight lines between what was measured") {
  const papcoll::CostBySize cost{{{64, 4e-9}, {128, 8e-9}, {1024, 8e-9}}};
  CHECK(cost(0) == 0);
  CHECK(cost(1) == 4e-9);
  CHECK(cost(96) == Approx(6e-9));
  CHECK(cost(500) == Approx(8e-9));
  CHECK(cost(4096) == Approx(8e-9));
  CHECK(papcoll::CostBySize{{{100, 1e-6}}}(200) == Approx(2e-6));
  CHECK(papcoll::CostBySize{}(200) == 0);
}
