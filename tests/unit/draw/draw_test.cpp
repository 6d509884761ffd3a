// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/scatter_allgather.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/draw/draw.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "svg_reader.hpp"

using namespace papcoll;
using detail::message_graph;
using detail::MessageGraph;
using detail::trees_of;

namespace {

Shape shape_of(Collective c, int size, std::size_t count = 4096, int root = 0) {
  Shape s;
  s.collective = c;
  s.size = size;
  s.root = root;
  s.count = count;
  s.element_size = 8;
  return s;
}

MessageGraph graph_of(const AnySchedule& schedule, const Shape& shape) {
  return message_graph(schedule, shape, static_order(shape));
}

std::vector<std::string> round_of(const MessageGraph& g, std::size_t round) {
  std::vector<std::string> texts;
  for (const detail::DrawnMessage& m : g.messages) {
    if (m.round != round) continue;
    texts.push_back(std::to_string(m.from) + ">" + std::to_string(m.to) + " " +
                    g.pieces.name(m.elements) + (m.combined ? " +" : ""));
  }
  return texts;
}

using Texts = std::vector<std::string>;

/// Sends something that nobody receives in time: two ranks that wait for each other.
struct Stuck {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Stuck";
  static constexpr std::string_view sentence = "Waits for ever.";
  static constexpr bool commutative_only = false;
  void emit(Allreduce, Builder& b) const {
    const int other = 1 - b.position();
    b.receive(other, b.whole());
    b.send(other, b.whole());
  }
  friend bool operator==(const Stuck&, const Stuck&) = default;
};

}  // namespace

TEST_CASE("draw: the rounds of a ring, and what its messages carry") {
  const MessageGraph g = graph_of(Ring{}, shape_of(Collective::allreduce, 4));
  CHECK(g.rounds == 6);
  CHECK(g.messages.size() == 24);
  CHECK(g.pieces.size() == 4);
  CHECK(round_of(g, 0) == Texts{"0>1 3 +", "1>2 0 +", "2>3 1 +", "3>0 2 +"});
  CHECK(round_of(g, 3) == Texts{"0>1 0", "1>2 1", "2>3 2", "3>0 3"});
}

TEST_CASE("draw: a round is one message out and one in") {
  const MessageGraph binomial = graph_of(Binomial{}, shape_of(Collective::bcast, 8));
  CHECK(round_of(binomial, 0) == Texts{"0>4 all"});
  CHECK(round_of(binomial, 1) == Texts{"0>2 all", "4>6 all"});
  CHECK(graph_of(Linear{}, shape_of(Collective::gather, 8)).rounds == 7);
  CHECK(graph_of(Linear{}, shape_of(Collective::allgather, 8)).rounds == 7);
  CHECK(graph_of(RecursiveDoubling{}, shape_of(Collective::allreduce, 16)).rounds == 4);
  CHECK(graph_of(Rabenseifner{}, shape_of(Collective::allreduce, 16)).rounds == 8);
  // What goes around the end of the vector is two messages of one round.
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const auto doublings =
        static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    INFO(ranks);
    CHECK(graph_of(Bruck{}, shape_of(Collective::allgather, ranks)).rounds == doublings);
    CHECK(graph_of(Bruck{}, shape_of(Collective::alltoall, ranks)).rounds == doublings);
  }
  CHECK(graph_of(PipelinedChain{}, shape_of(Collective::bcast, 2)).rounds == 1);
}

TEST_CASE("draw: parts are those of the vector, whatever memory they stand in") {
  // Half of the vector each, combined in scratch memory, and sent on from there.
  const MessageGraph g = graph_of(Rabenseifner{}, shape_of(Collective::allreduce, 4));
  CHECK(round_of(g, 0) == Texts{"0>1 2–3 +", "1>0 0–1 +", "2>3 2–3 +", "3>2 0–1 +"});
  CHECK(round_of(g, 1) == Texts{"0>2 1 +", "1>3 3 +", "2>0 0 +", "3>1 2 +"});
  // A root in the middle: position 0 is rank 2.
  const MessageGraph gather = graph_of(Binomial{}, shape_of(Collective::gather, 4, 16, 2));
  CHECK(round_of(gather, 0) == Texts{"1>0 1", "3>2 3"});
  CHECK(round_of(gather, 1).front() == "0>2 0–1");
}

TEST_CASE("draw: a pipeline's picture is that of one block") {
  const auto shape = shape_of(Collective::bcast, 5, 5000);
  const MessageGraph g = graph_of(PipelinedChain{.segment_bytes = 8000}, shape);
  CHECK(g.blocks == 5);
  CHECK(g.block_elements == 1000);
  CHECK(g.messages.size() == 4);
  CHECK(g.pieces.size() == 1);
}

TEST_CASE("draw: which schedules are trees") {
  const auto trees = [](const AnySchedule& s, Collective c, int size) {
    const MessageGraph g = graph_of(s, shape_of(c, size));
    std::vector<std::vector<int>> parents;
    for (const auto& t : trees_of(g, static_cast<std::size_t>(size))) parents.push_back(t.parents);
    return parents;
  };
  using Parents = std::vector<std::vector<int>>;
  const std::vector<int> binomial{-1, 0, 0, 2, 0, 4, 4, 6};
  CHECK(trees(Binomial{}, Collective::bcast, 8) == Parents{binomial});
  CHECK(trees(Binomial{}, Collective::reduce, 8) == Parents{binomial});
  CHECK(trees(Binomial{}, Collective::allreduce, 8) == Parents{binomial, binomial});
  CHECK(trees(Binomial{}, Collective::scatter, 8) == Parents{binomial});
  CHECK(trees(Binomial{}, Collective::gather, 8) == Parents{binomial});
  CHECK(trees(Chain{}, Collective::bcast, 3) == Parents{{-1, 0, 1}});
  CHECK(trees(Ring{}, Collective::allreduce, 4).empty());
  CHECK(trees(Ring{}, Collective::allgather, 4).empty());
  CHECK(trees(RecursiveDoubling{}, Collective::allreduce, 4).empty());
  CHECK(trees(ScatterAllgather{}, Collective::bcast, 8).empty());
  CHECK(trees(Linear{}, Collective::allgather, 4).empty());
  CHECK(trees(Linear{}, Collective::bcast, 1).empty());
}

TEST_CASE("draw: the rounds of a tree") {
  const auto rounds = [](const AnySchedule& s, Collective c) {
    const Shape shape = shape_of(c, 8);
    const MessageGraph g = graph_of(s, shape);
    const detail::MessageTree tree = trees_of(g, 8).front();
    return detail::TreeLayout{tree, static_order(shape)}.rounds(tree);
  };
  using Rounds = std::vector<std::size_t>;
  CHECK(rounds(Binomial{}, Collective::bcast) == Rounds{0, 3, 2, 3, 1, 3, 2, 3});
  CHECK(rounds(Binomial{}, Collective::reduce) == Rounds{0, 1, 2, 1, 3, 1, 2, 1});
  CHECK(rounds(Chain{}, Collective::reduce) == Rounds{0, 7, 6, 5, 4, 3, 2, 1});
}

TEST_CASE("draw: two trees are found by what goes where") {
  const Shape shape = shape_of(Collective::allreduce, 9, 1 << 16);
  const MessageGraph g = graph_of(TwoTreeComplete{}, shape);
  const auto trees = trees_of(g, 9);
  REQUIRE(trees.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(trees[i].inward == (i < 2));
  CHECK(trees[0].parents != trees[1].parents);
  CHECK(trees[0].pieces.size() + trees[1].pieces.size() == g.pieces.size());
}

TEST_CASE("draw: a schedule whose ranks wait for each other is refused") {
  const Shape shape = shape_of(Collective::allreduce, 2);
  CHECK_THROWS_WITH(draw(Stuck{}, shape, static_order(shape)),
                    Catch::Matchers::Contains("wait for each other for ever"));
}

TEST_CASE("draw: texts do not overlap, and nothing leaves the page") {
  struct Drawn {
    AnySchedule schedule;
    Collective collective;
  };
  const std::vector<Drawn> all{
      {Binomial{}, Collective::allreduce},     {Binomial{}, Collective::scatter},
      {Ring{}, Collective::allreduce},         {RecursiveDoubling{}, Collective::allreduce},
      {Rabenseifner{}, Collective::allreduce}, {ScatterAllgather{}, Collective::bcast},
      {PipelinedChain{}, Collective::bcast},   {KNomial{.radix = 4}, Collective::allreduce},
      {Linear{}, Collective::bcast},           {TwoTreeComplete{}, Collective::allreduce}};
  for (const Drawn& d : all) {
    for (const int size : {4, 7, 16, 32}) {
      const Shape shape = shape_of(d.collective, size, std::size_t{1} << 15U);
      const std::string picture = draw(d.schedule, shape, static_order(shape));
      const svg::Reader reader{picture};
      const svg::Element& root = reader.elements().front();
      const std::vector<svg::Box> texts = svg::texts(reader.elements());
      INFO(d.schedule.name() << " " << size);
      std::string wrong;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const svg::Box& a = texts[i];
        if (a.left < 0 || a.right > root.number("width") || a.bottom > root.number("height")) {
          wrong += a.text + " leaves the page\n";
        }
        for (std::size_t k = i + 1; k < texts.size(); ++k) {
          if (a.overlaps(texts[k])) wrong += a.text + " overlaps " + texts[k].text + "\n";
        }
      }
      CHECK(wrong == "");
    }
  }
}

TEST_CASE("draw: the simulation has a bar for what is done, and waits, arrivals and exits") {
  const Shape shape = shape_of(Collective::reduce, 4, std::size_t{1} << 15U, 1);
  DrawOptions options;
  options.simulation.arrivals = {0, 1e-5, 2e-5, 1e-4};
  const std::string picture = draw(Binomial{}, shape, static_order(shape), options);
  const svg::Reader reader{picture};
  const auto count = [&](std::string_view kind) {
    const auto is = [kind](const svg::Element& e) { return e.is(kind); };
    return std::count_if(reader.elements().begin(), reader.elements().end(), is);
  };
  constexpr int legend = 1;
  CHECK(count("arrival") == 4 + legend);
  CHECK(count("exit") == 4 + legend);
  CHECK(count("present") == 4);
  CHECK(count("send") == 3 + legend);
  CHECK(count("receive") == 3 + legend);
  CHECK(count("combine") == 3 + legend);
  CHECK(count("receive-waits") > legend);
  CHECK(count("copy") == 0);
  CHECK(count("flight") == 3 + legend);
  CHECK(count("critical") == 1 + legend);
  CHECK(svg::messages(reader.elements()) == 3);
  CHECK(picture.find("reduce of 256 KB, 4 ranks, root 1") != std::string::npos);
  CHECK(picture.find("tail (from the last arrival)") != std::string::npos);
}

TEST_CASE("draw: a port that sends is drawn, also when its rank has left") {
  const Shape shape = shape_of(Collective::bcast, 8, std::size_t{1} << 19U);
  const std::string picture = draw(TwoTreeComplete{}, shape, static_order(shape));
  const svg::Reader reader{picture};
  double busy = 0;  // pixels of bars that send in the first row
  double first = 0;
  for (const svg::Element& e : reader.elements()) {
    if (e.is("present") && first == 0) first = e.number("y");
  }
  for (const svg::Element& e : reader.elements()) {
    if (e.is("send") && e.number("y") == first) busy += e.number("width");
  }
  CHECK(busy > 700);
  CHECK(picture.find("A rank may leave while its port still sends.") != std::string::npos);
  CHECK(picture.find("Messages take no time of processors") != std::string::npos);
}

TEST_CASE("draw: a rank whose sends wait for their receives leaves after its port") {
  DrawOptions options;
  options.model.rendezvous = 0;
  options.simulation.ports = Ports::shared;
  Shape shape = shape_of(Collective::bcast, 5, 3);
  shape.element_size = 1;  // so few bytes that the resolution of time is longer
  const std::string picture = draw(Binomial{}, shape, static_order(shape), options);
  CHECK(picture.find("A rank may leave while its port still sends.") == std::string::npos);
}

TEST_CASE("draw: messages' lines are left out where they would hide the rest, with a word") {
  const auto of = [](int size) {
    const Shape shape = shape_of(Collective::allreduce, size);
    return draw(Ring{}, shape, static_order(shape));
  };
  const auto lines = [](const std::string& picture) {
    const svg::Reader reader{picture};
    return std::count_if(reader.elements().begin(), reader.elements().end(),
                         [](const svg::Element& e) { return e.is("flight"); });
  };
  CHECK(lines(of(7)) == 84 + 1);  // one in the legend
  CHECK(of(7).find("left out") == std::string::npos);
  CHECK(lines(of(8)) == 0);
  CHECK(of(8).find("The 112 messages' own lines are left out") != std::string::npos);
}

TEST_CASE("draw: of many rounds that are alike a few are drawn") {
  const auto runs = [](const AnySchedule& s, int size) {
    const MessageGraph g = graph_of(s, shape_of(Collective::allreduce, size));
    std::vector<std::vector<std::size_t>> hidden;
    std::size_t next = 0;
    for (const detail::RoundRun& r : detail::round_runs(detail::rounds_of(g))) {
      CHECK(r.first == next);
      next = r.first + r.rounds;
      if (r.period > 0) hidden.push_back({r.first + 1, next, r.period});
    }
    CHECK(next == g.rounds);
    return hidden;
  };
  using Hidden = std::vector<std::vector<std::size_t>>;
  CHECK(runs(Ring{}, 7) == Hidden{});
  CHECK(runs(Ring{}, 8) == Hidden{{3, 6, 1}, {10, 13, 1}});
  CHECK(runs(Ring{}, 32) == Hidden{{3, 30, 1}, {34, 61, 1}});
  CHECK(runs(RecursiveDoubling{}, 32) == Hidden{});

  const Shape shape = shape_of(Collective::allreduce, 32);
  const std::string picture = draw(Ring{}, shape, static_order(shape));
  const svg::Reader reader{picture};
  CHECK(svg::messages(reader.elements()) == 62 * 32);
  CHECK(reader.elements().front().number("height") < 1800);
  CHECK(picture.find("rounds 3–30 likewise, other pieces") != std::string::npos);
  CHECK(picture.find("32 pieces, of 1 KB each.") != std::string::npos);
}
