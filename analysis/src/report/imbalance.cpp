// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/imbalance.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clock_check.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/run.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

double outside_before(const Run& run, const Calls& calls, const Call& call, std::size_t member) {
  const std::uint32_t position = calls.records[call.records + member].position;
  if (position == 0) return -1;
  const auto& members = run.communicators[call.communicator].members;
  const auto& records = run.ranks[members[member].trace].records;
  const profile::Record& now = records[position];
  const profile::Record& before = records[position - 1];
  if (before.index + 1 != now.index || before.exit == 0 || before.exit > now.arrival) return -1;
  return static_cast<double>(now.arrival - before.exit);
}

namespace {

/// What messages of a size take at most, as the calls show it. No rank leaves a barrier, an
/// allreduce or an allgather before a message has come from the last rank: the first other one that
/// leaves, on its node or another, bounds what that message took. What is measured at MPI_Finalize
/// may be too long, where processors are shared.
class MostOneWay {
 public:
  MostOneWay(const Run& run, const Clocks& clocks, const Calls& calls) {
    std::array<std::vector<double>, classes> on_node, between_nodes;
    for (const Call& c : calls.calls) add(run, clocks, calls, c, on_node, between_nodes);
    on_node_ = limits(on_node);
    between_nodes_ = limits(between_nodes);
  }

  double on_node(std::uint64_t bytes) const { return on_node_.at(profile::size_class_of(bytes)); }
  double between_nodes(std::uint64_t bytes) const {
    return between_nodes_.at(profile::size_class_of(bytes));
  }

 private:
  static constexpr std::size_t classes = 65;
  static constexpr double unknown = std::numeric_limits<double>::max();
  using Limits = std::array<double, classes>;

  static void add(const Run& run, const Clocks& clocks, const Calls& calls, const Call& c,
                  std::array<std::vector<double>, classes>& on_node,
                  std::array<std::vector<double>, classes>& between_nodes) {
    if (!is_left_by_nobody_before_all_came(run, c)) return;
    const auto& members = run.communicators[c.communicator].members;
    const auto trace = [&members](std::size_t m) { return members[m].trace; };
    const auto node = [&](std::size_t m) { return run.ranks[trace(m)].header.node; };
    const auto record = [&](std::size_t m) { return calls.record(run, c, m); };
    const auto arrival = [&](std::size_t m) { return clocks.global(trace(m), record(m).arrival); };
    std::size_t last = 0;
    for (std::size_t m = 1; m < members.size(); ++m) {
      if (arrival(m) > arrival(last)) last = m;
    }
    double near = unknown;
    double far = unknown;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m == last) continue;
      const std::uint64_t exit = record(m).exit;
      const double took = static_cast<double>(clocks.global(trace(m), exit) - arrival(last)) +
                          clocks.bound(trace(m), exit, trace(last), record(last).arrival);
      double& least = node(m) == node(last) ? near : far;
      if (took > 0) least = std::min(least, took);
    }
    const std::size_t size = profile::size_class_of(c.bytes);
    if (near < unknown) on_node.at(size).push_back(near);
    if (far < unknown) between_nodes.at(size).push_back(far);
  }

  /// Returns the limits below which one in ten calls stays, of those sizes and of larger ones.
  static Limits limits(std::array<std::vector<double>, classes>& seen) {
    Limits all{};
    double least = unknown;
    for (std::size_t i = classes; i-- > 0;) {
      constexpr std::size_t enough = 10;
      constexpr double few = 0.1;
      if (seen.at(i).size() >= enough) least = std::min(least, percentile(seen.at(i), few));
      all.at(i) = least;
    }
    return all;
  }

  Limits on_node_{}, between_nodes_{};
};

class ImbalanceOf {
 public:
  ImbalanceOf(const Run& run, const Clocks& clocks, const Calls& calls)
      : run_(run),
        clocks_(clocks),
        calls_(calls),
        one_way_(one_way_of(run)),
        most_(run, clocks, calls) {
    for (const Communicator& c : run.communicators) {
      // Members by their nodes, so that the ranks of a node stand together.
      Order order;
      order.members.resize(c.members.size());
      std::iota(order.members.begin(), order.members.end(), 0U);
      const auto node = [&](std::uint32_t m) { return run_.ranks[c.members[m].trace].header.node; };
      std::stable_sort(order.members.begin(), order.members.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return node(a) < node(b); });
      for (std::size_t i = 0; i < order.members.size(); ++i) {
        if (i == 0 || node(order.members[i]) != node(order.members[i - 1])) {
          order.begins.push_back(i);
        }
      }
      orders_.push_back(std::move(order));
    }
  }

  Imbalance of(const Call& call) {
    Imbalance out;
    const auto& members = run_.communicators[call.communicator].members;
    if (!call.complete || call.differs || members.size() < 2) return out;
    out.known = true;
    arrivals_.resize(members.size());
    bounds_.resize(members.size());
    double mean = 0;
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const profile::Record& r = calls_.record(run_, call, m);
      // From the first one on, so that doubles hold them.
      arrivals_[m] = static_cast<double>(clocks_.global(trace(call, m), r.arrival) - call.begin);
      mean += arrivals_[m] / static_cast<double>(members.size());
      bounds_[m] = clocks_.bound(trace(call, m), r.arrival);
      if (arrivals_[m] < arrivals_[first]) first = m;
      if (arrivals_[m] > arrivals_[last]) last = m;
    }
    std::size_t second = last == 0 ? 1 : 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m != last && arrivals_[m] > arrivals_[second]) second = m;
    }
    const auto deviation = [this](std::size_t m, double from) {
      return std::fabs(arrivals_[m] - from);
    };
    out.bound = bound(call);
    const double omega = arrivals_[last] - arrivals_[first];
    out.omega_most = omega + out.bound;
    if (const double bound = this->bound(call, first, last); omega > bound) {
      out.omega = omega - bound;
      for (std::size_t m = 0; m < members.size(); ++m) {
        out.delta += deviation(m, mean) / static_cast<double>(members.size());
      }
      out.delta *= out.omega / omega;
    }
    stay(call, last, out);
    out.others = spread_of_waiting(call, last);
    double gap = arrivals_[last] - arrivals_[second];
    out.gap_most = gap + out.bound;
    // By a clock that says less, another one than the second may be the last.
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m != last) gap = std::min(gap, arrivals_[last] - arrivals_[m] - bound(call, m, last));
    }
    if (gap > 0) {
      out.decided = true;
      out.gap = gap;
      out.last = static_cast<std::uint32_t>(last);
      waits(call, last, arrivals_[second], out);
      out.excess = excess(call, last);
    }
    nodes(call, out);
    const Order& order = orders_[call.communicator];
    const bool one_node = order.begins.size() == 1;
    out.node_alpha = std::min(one_way_.on_node.of(call.bytes), most_.on_node(call.bytes));
    out.alpha =
        one_node ? out.node_alpha
                 : std::min(one_way_.between_nodes.of(call.bytes), most_.between_nodes(call.bytes));
    return out;
  }

 private:
  struct Order {
    std::vector<std::uint32_t> members;
    std::vector<std::size_t> begins;  ///< of the nodes
  };

  std::size_t trace(const Call& call, std::size_t member) const {
    return run_.communicators[call.communicator].members[member].trace;
  }

  double bound(const Call& call, std::size_t a, std::size_t b) const {
    return clocks_.same(trace(call, a), trace(call, b)) ? 0 : bounds_[a] + bounds_[b];
  }

  /// Returns the bound of the two clocks that say least.
  double bound(const Call& call) const {
    const std::size_t worst = static_cast<std::size_t>(
        std::max_element(bounds_.begin(), bounds_.end()) - bounds_.begin());
    double most = 0;
    for (std::size_t m = 0; m < bounds_.size(); ++m) most = std::max(most, bound(call, m, worst));
    return most;
  }

  double excess(const Call& call, std::size_t last) {
    constexpr double unknown = std::numeric_limits<double>::max();
    const double own = outside_before(run_, calls_, call, last);
    if (own < 0) return unknown;
    outside_.clear();
    for (std::size_t m = 0; m < arrivals_.size(); ++m) {
      const double other = m == last ? -1 : outside_before(run_, calls_, call, m);
      if (other >= 0) outside_.push_back(other);
    }
    if (outside_.empty()) return unknown;
    const auto middle = outside_.begin() + static_cast<std::ptrdiff_t>(outside_.size() / 2);
    std::nth_element(outside_.begin(), middle, outside_.end());
    return own - *middle;
  }

  /// When a member left, or `inside`.
  double left_at(const Call& call, std::size_t m, const profile::Record& r, double inside) const {
    if (r.exit == 0) return inside;
    return static_cast<double>(clocks_.global(trace(call, m), r.exit) - call.begin);
  }

  /// Last less first arrival of those who were inside as the last one came. In a reduction or a
  /// scan some ranks leave before, and may run ahead of the others.
  double spread_of_waiting(const Call& call, std::size_t last) const {
    constexpr double never = std::numeric_limits<double>::max();
    double first = never;
    double second = std::numeric_limits<double>::lowest();
    for (std::size_t m = 0; m < arrivals_.size(); ++m) {
      const double left = left_at(call, m, calls_.record(run_, call, m), never);
      if (m == last || left + bound(call, m, last) < arrivals_[last]) continue;
      first = std::min(first, arrivals_[m]);
      second = std::max(second, arrivals_[m]);
    }
    return std::max(0.0, second - first);
  }

  /// Times in the call, and of these until the last one came.
  void stay(const Call& call, std::size_t last, Imbalance& out) const {
    if (call.end == 0) return;
    for (std::size_t m = 0; m < arrivals_.size(); ++m) {
      const double left = left_at(call, m, calls_.record(run_, call, m), 0);
      const double time = std::max(0.0, left - arrivals_[m]);
      out.in_call += time;
      out.waiting += std::clamp(arrivals_[last] - arrivals_[m] - bound(call, m, last), 0.0, time);
    }
  }

  /// Who left before the last one came did not wait for it: a rank of a reduction to a root, or of
  /// a non-blocking call.
  void waits(const Call& call, std::size_t last, double second, Imbalance& out) const {
    const double until = second + out.gap;
    for (std::size_t m = 0; m < arrivals_.size(); ++m) {
      if (m == last) continue;
      const profile::Record& r = calls_.record(run_, call, m);
      const double left = std::min(until, left_at(call, m, r, until));
      out.own += std::max(0.0, left - std::max(second, arrivals_[m]));
      out.waited += std::max(0.0, left - arrivals_[m]);
    }
  }

  /// Ranks of one node have one clock, mostly: where they do not, their bound counts.
  void nodes(const Call& call, Imbalance& out) const {
    const Order& order = orders_[call.communicator];
    double omega = 0;
    double delta = 0;
    std::size_t nodes = 0;
    for (std::size_t n = 0; n < order.begins.size(); ++n) {
      const std::size_t begin = order.begins[n];
      const std::size_t end =
          n + 1 < order.begins.size() ? order.begins[n + 1] : order.members.size();
      if (end - begin < 2) continue;
      ++nodes;
      std::size_t first = order.members[begin];
      std::size_t last = first;
      double mean = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t m = order.members[i];
        mean += arrivals_[m] / static_cast<double>(end - begin);
        if (arrivals_[m] < arrivals_[first]) first = m;
        if (arrivals_[m] > arrivals_[last]) last = m;
      }
      const double all = arrivals_[last] - arrivals_[first];
      const double spread = all - bound(call, first, last);
      if (!(spread > 0)) continue;
      omega += spread;
      for (std::size_t i = begin; i < end; ++i) {
        delta += std::fabs(arrivals_[order.members[i]] - mean) / static_cast<double>(end - begin) *
                 (spread / all);
      }
    }
    if (nodes == 0) return;
    out.node_omega = omega / static_cast<double>(nodes);
    out.node_delta = delta / static_cast<double>(nodes);
  }

  const Run& run_;
  const Clocks& clocks_;
  const Calls& calls_;
  OneWay one_way_;
  MostOneWay most_;
  std::vector<Order> orders_;
  std::vector<double> arrivals_, bounds_;
  std::vector<double> outside_;
};
}  // namespace
}  // namespace detail

std::vector<Imbalance> imbalances(const Run& run, const Clocks& clocks, const Calls& calls) {
  detail::ImbalanceOf of{run, clocks, calls};
  std::vector<Imbalance> all;
  all.reserve(calls.calls.size());
  for (const Call& c : calls.calls) all.push_back(of.of(c));
  return all;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
