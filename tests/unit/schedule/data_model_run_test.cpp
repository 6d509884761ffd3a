// SPDX-License-Identifier: BSD-3-Clause
// Plans of calls whose blocks differ in size or whose elements are not contiguous, run with real
// data: all ranks in one thread, over a loopback transport that delivers messages in random order.
// One file, since that transport is for these cases only.

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/verify/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace papcoll;

namespace {

std::minstd_rand random_source{7};
std::size_t below(std::size_t n) { return random_source() % n; }

using MessageKey = std::tuple<int, int, unsigned, unsigned>;  ///< sender, receiver, block, number
using Wire = std::map<MessageKey, std::vector<std::byte>>;

class Loopback final : public Endpoint {
 public:
  Loopback(Wire& wire, int rank) : wire_(wire), rank_(rank) {}

  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::send) {
      wire_[{rank_, work.peer, work.block, work.number}] = {work.a, work.a + work.bytes()};
      return true;
    }
    if (work.kind == OpKind::receive) {
      waiting_.push_back(work);
      return false;
    }
    perform_locally(work);
    return true;
  }

  bool progress() override {
    std::shuffle(waiting_.begin(), waiting_.end(), random_source);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const TransportOp work = waiting_[i];
      const auto message = wire_.find({work.peer, rank_, work.block, work.number});
      if (message == wire_.end()) continue;
      if (message->second.size() != work.bytes()) throw error("a message of another size");
      std::memcpy(work.to, message->second.data(), work.bytes());
      wire_.erase(message);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      work.owner->complete(work.slot, work.step);
      return true;
    }
    return false;
  }

  void abandon() noexcept override {}

 private:
  Wire& wire_;
  int rank_;
  std::vector<TransportOp> waiting_;
};

/// A number and, through the product, the order in which numbers were combined.
struct Element {
  unsigned a = 0xdead;
  unsigned b = 0xbeef;
  unsigned c = 0xcafe;
  friend bool operator==(const Element&, const Element&) = default;
};
constexpr Element gap{};

/// Does not commute.
struct Product {
  Element operator()(const Element& x, const Element& y) const {
    return {x.a + y.a, x.b + y.b, x.c + y.c + x.a * y.b};
  }
};

Element element(int from, int to, std::size_t i) {
  const auto f = static_cast<unsigned>(from);
  const auto n = static_cast<unsigned>(i);
  return {1000 * f + 10 * static_cast<unsigned>(to) + 1, n + 3, 7 * f + n};
}

/// A buffer of n elements, apart from each other at random, or contiguous.
class Scattered {
 public:
  Scattered(std::size_t n, bool noncontiguous) {
    papcoll::detail::Vector<BufferView::Run> runs;
    std::size_t end = 0;
    for (std::size_t i = 0; i < n;) {
      const std::size_t length = noncontiguous ? std::min(n - i, 1 + below(4)) : n;
      if (noncontiguous) end += below(3);
      runs.push_back({i, static_cast<std::ptrdiff_t>(end * sizeof(Element))});
      for (std::size_t k = 0; k < length; ++k) at_.push_back(end + k);
      end += length;
      i += length;
    }
    if (runs.empty()) runs.push_back({0, 0});
    memory_.assign(end + 3, gap);
    view_ = BufferView::of_runs(std::move(runs));
  }

  Element& operator[](std::size_t i) { return memory_[at_[i]]; }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }
  const BufferView& view() const { return view_; }

  bool gaps_are_untouched() const {
    std::vector<bool> is_gap(memory_.size(), true);
    for (const std::size_t i : at_) is_gap[i] = false;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (is_gap[i] && memory_[i] != gap) return false;
    }
    return true;
  }

 private:
  std::vector<Element> memory_;
  std::vector<std::size_t> at_;  ///< the place of each element
  BufferView view_;
};

struct Case {
  Collective collective;
  int ranks;
  std::size_t count;
  bool noncontiguous;
  bool unequal;
  bool in_place;
};

/// One call of all ranks.
class Calls {
 public:
  explicit Calls(const Case& c) : c_(c), p_(static_cast<std::size_t>(c.ranks)) {
    sizes_.assign(p_ * p_, c.count);
    for (std::size_t i = 0; c.unequal && i < sizes_.size(); ++i) sizes_[i] = below(5);
    if (c.collective == Collective::alltoall && c.in_place) {  // each pair: as much as it receives
      for (std::size_t f = 0; f < p_; ++f) {
        for (std::size_t t = 0; t < f; ++t) sizes_[f * p_ + t] = sizes_[t * p_ + f];
      }
    }
  }

  /// What is wrong; "" if nothing.
  std::string run(const AnySchedule& schedule) {
    Wire wire;
    std::deque<Loopback> endpoints;
    std::deque<PlanRun> runs;
    for (int r = 0; r < c_.ranks; ++r) {
      const Shape shape = shape_of(r);
      fill(r, shape);
      endpoints.emplace_back(wire, r);
      const auto plan = papcoll::detail::make_shared<BlockedPlan>(
          make_plan(schedule, shape, static_order(shape)));
      runs.emplace_back().start(endpoints.back(), plan, static_order(shape), call_of(r), 1, 4);
    }
    for (bool any = true; any;) {
      any = false;
      for (Loopback& e : endpoints) any |= e.progress();
    }
    for (int r = 0; r < c_.ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      if (!runs[i].done()) return "a rank never ends";
      for (std::size_t k = 0; k < wanted_[i].size(); ++k) {
        if (out_[i][k] != wanted_[i][k]) return "a result is wrong";
      }
      if (!in_[i].gaps_are_untouched() || !out_[i].gaps_are_untouched()) {
        return "what lies between elements was written to";
      }
    }
    return "";
  }

 private:
  std::size_t size(std::size_t from, std::size_t to) const { return sizes_[from * p_ + to]; }

  Shape shape_of(int rank) const {
    Shape s;
    s.collective = c_.collective;
    s.size = c_.ranks;
    s.rank = rank;
    s.count = c_.count;
    s.element_size = sizeof(Element);
    s.in_place = c_.in_place;
    s.commutative = false;
    s.in_direct = s.out_direct = !c_.noncontiguous;
    if (!c_.unequal) return s;
    s.counts = sizes_;
    if (c_.collective == Collective::alltoall) return detail::seen_by(s, rank);
    s.counts.resize(p_);
    return s;
  }

  /// The rank's buffers, and what is wanted in its output.
  void fill(int rank, const Shape& shape) {
    const Layout l = layout_of(shape);
    in_.emplace_back(l.input_is_in_out ? 0 : l.in, c_.noncontiguous);
    out_.emplace_back(l.out, c_.noncontiguous);
    one_buffer_.push_back(l.input_is_in_out);
    Scattered& source = l.input_is_in_out ? out_.back() : in_.back();
    std::vector<Element>& wanted = wanted_.emplace_back();
    const auto me = static_cast<std::size_t>(rank);
    if (c_.collective == Collective::alltoall) {
      std::size_t k = 0;
      for (std::size_t t = 0; t < p_; ++t) {
        for (std::size_t i = 0; i < size(me, t); ++i) {
          source[k++] = element(rank, static_cast<int>(t), i);
        }
      }
      for (std::size_t f = 0; f < p_; ++f) {
        for (std::size_t i = 0; i < size(f, me); ++i) {
          wanted.push_back(element(static_cast<int>(f), rank, i));
        }
      }
    } else if (c_.collective == Collective::allgather) {
      std::size_t at = 0;
      for (std::size_t r = 0; r < p_; ++r) {
        for (std::size_t i = 0; i < size(0, r); ++i) {
          const Element e = element(static_cast<int>(r), 0, i);
          if (r == me) source[(l.input_is_in_out ? at : 0) + i] = e;
          wanted.push_back(e);
        }
        at += size(0, r);
      }
    } else {
      for (std::size_t i = 0; i < c_.count; ++i) {
        source[i] = element(rank, 0, i);
        Element e = element(0, 0, i);
        const int last = contributors(c_.collective, rank, c_.ranks).last;
        if (last == 0) continue;  // it gets nothing
        for (int r = 1; r < last; ++r) e = Product{}(e, element(r, 0, i));
        wanted.push_back(e);
      }
    }
  }

  Call call_of(int rank) {
    const auto i = static_cast<std::size_t>(rank);
    Call call;
    call.collective = c_.collective;
    call.count = c_.count;
    call.reducer = reducer<Element>(product_);
    call.out = out_[i].data();
    call.in = one_buffer_[i] ? call.out : in_[i].data();
    if (c_.noncontiguous) {
      call.in_view = one_buffer_[i] ? &out_[i].view() : &in_[i].view();
      call.out_view = &out_[i].view();
    }
    return call;
  }

  Case c_;
  std::size_t p_;
  std::vector<std::size_t> sizes_;  ///< by sender and receiver
  std::vector<bool> one_buffer_;    ///< of each rank: is the input in the output?
  std::deque<Scattered> in_;
  std::deque<Scattered> out_;
  std::vector<std::vector<Element>> wanted_;
  Product product_;
};

constexpr PipelinedChain short_pipeline{.segment_bytes = 4 * sizeof(Element)};

/// Runs a collective in all shapes; what is wrong with the first that fails.
std::string failure_of(const AnySchedule& schedule, Collective collective, bool any_sizes) {
  for (int ranks = 1; ranks <= 13; ++ranks) {
    for (const std::size_t count : {0U, 1U, 3U, 17U}) {
      for (const bool noncontiguous : {false, true}) {
        for (const bool in_place : {false, true}) {
          for (const bool unequal : {false, true}) {
            if (unequal && !any_sizes) continue;
            const std::string found =
                Calls{{collective, ranks, count, noncontiguous, unequal, in_place}}.run(schedule);
            if (found.empty()) continue;
            return schedule.name() + " " + std::string(name_of(collective)) + ", " +
                   std::to_string(ranks) + " ranks, count " + std::to_string(count) +
                   (noncontiguous ? ", noncontiguous" : "") + (unequal ? ", unequal" : "") +
                   (in_place ? ", in place: " : ": ") + found;
          }
        }
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("alltoall of equal and unequal blocks, contiguous or not", "[plan]") {
  CHECK(failure_of(Pairwise{}, Collective::alltoall, true) == "");
  CHECK(failure_of(Linear{}, Collective::alltoall, true) == "");
  CHECK(failure_of(Ring{}, Collective::alltoall, true) == "");
  CHECK(failure_of(SpreadOut{.window = 3}, Collective::alltoall, true) == "");
  CHECK(failure_of(Bruck{}, Collective::alltoall, false) == "");
  CHECK(failure_of(Bruck{.radix = 3}, Collective::alltoall, false) == "");
}

TEST_CASE("allgather of equal and unequal contributions, contiguous or not", "[plan]") {
  CHECK(failure_of(Ring{}, Collective::allgather, true) == "");
  CHECK(failure_of(Bruck{}, Collective::allgather, true) == "");
  CHECK(failure_of(Bruck{.radix = 3}, Collective::allgather, true) == "");
  CHECK(failure_of(NeighbourExchange{}, Collective::allgather, true) == "");
  CHECK(failure_of(GatherThenBcast<Binomial, Chain>{}, Collective::allgather, true) == "");
}

TEST_CASE("scan and allreduce of an operator that does not commute, contiguous or not", "[plan]") {
  CHECK(failure_of(RecursiveDoubling{}, Collective::scan, false) == "");
  CHECK(failure_of(Linear{}, Collective::scan, false) == "");
  CHECK(failure_of(RecursiveDoubling{}, Collective::exscan, false) == "");
  CHECK(failure_of(Linear{}, Collective::exscan, false) == "");
  CHECK(failure_of(Binomial{}, Collective::scan, false) == "");
  CHECK(failure_of(Binomial{}, Collective::exscan, false) == "");
  CHECK(failure_of(short_pipeline, Collective::scan, false) == "");
  CHECK(failure_of(short_pipeline, Collective::exscan, false) == "");
  CHECK(failure_of(RecursiveDoubling{}, Collective::allreduce, false) == "");
  CHECK(failure_of(Rabenseifner{}, Collective::allreduce, false) == "");
}

TEST_CASE("a schedule that needs all sizes says which ones do not", "[plan]") {
  Shape s;
  s.collective = Collective::alltoall;
  s.size = 4;
  s.counts = {1, 2, 3, 4, 1, 0, 0, 2};
  CHECK_THROWS_WITH(make_plan(Bruck{}, s, static_order(s)),
                    Catch::Matchers::Contains("take Pairwise or Linear"));
  CHECK_FALSE(AnySchedule::of<Bruck>().own_parts_only());
  CHECK(AnySchedule::of<Pairwise>().own_parts_only());
}
