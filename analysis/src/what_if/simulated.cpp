// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/what_if/simulated.hpp>

#include <papcoll/arrival/policies.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/what_if/answer.hpp>
#include <papcoll/what_if/predicted_orders.hpp>
#include <papcoll/what_if/recorded.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace what_if {
namespace detail {
namespace {

/// Means over calls.
class Means {
 public:
  void add(const Simulated& run) {
    tail_ += run.tail();
    double sum = 0;
    for (std::size_t r = 0; r < run.exits.size(); ++r) sum += run.exits[r] - run.arrivals[r];
    in_call_.push_back(sum / static_cast<double>(run.exits.size()));
  }

  /// `stretches`: those whose calls were added. What the other calls change is derived from their
  /// means.
  void give(Outcome& o, const std::vector<Stretch>& stretches, std::size_t calls) const {
    o.tail = tail_ / static_cast<double>(in_call_.size());
    o.in_call = mean(0, in_call_.size());
    if (in_call_.size() == calls) o.unsure = 0;
    if (in_call_.size() == calls || stretches.size() < 2) return;
    double squares = 0;
    std::size_t begin = 0;
    for (const Stretch& s : stretches) {
      const double off = mean(begin, s.count) - o.in_call;
      squares += off * off;
      begin += s.count;
    }
    const auto n = static_cast<double>(stretches.size());
    o.unsure = 2 * std::sqrt(squares / (n - 1) / n);
  }

 private:
  double mean(std::size_t begin, std::size_t count) const {
    const auto first = in_call_.begin() + static_cast<std::ptrdiff_t>(begin);
    return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0) /
           static_cast<double>(count);
  }

  double tail_ = 0;
  std::vector<double> in_call_;
};

class SimulatedAnswer {
 public:
  SimulatedAnswer(const Recorded& recorded, const Basis& basis)
      : recorded_(recorded),
        basis_(basis),
        stretches_(sampled(recorded.arrivals.calls(), basis.most_calls)) {}

  Answer make(Catalogue catalogue) {
    answer_.calls = recorded_.arrivals.calls();
    for (const Stretch& s : stretches_) answer_.looked_at += s.count;
    if (answer_.looked_at < answer_.calls) {
      answer_.remarks.push_back(papcoll::detail::joined(
          {answer_.looked_at, " of ", answer_.calls, " calls were simulated, in ",
           stretches_.size(), " stretches; predictors saw all"}));
    }
    summarize_record();
    const bool one_node = recorded_.is_one_node();
    if (!one_node) {
      answer_.remarks.emplace_back(
          "the ranks are on several nodes: static schedules alone were simulated, and none of "
          "those "
          "that go by nodes");
    }
    for (const CatalogueRow& row : catalogue) {
      if (!row.serves(recorded_.shape.collective)) continue;
      if (row.algorithm != nullptr && one_node) {
        play_on_node(row);
      } else if (row.plan != nullptr) {
        play_by_messages(row);
      }
    }
    if (answer_.outcomes.empty()) {
      throw argument_error("papcoll: what if: no algorithm can be simulated for " +
                           std::string(name_of(recorded_.shape.collective)));
    }
    for (Outcome& o : answer_.outcomes) {
      if (!answer_.knows_durations) break;
      // The recorder read the clock within what is recorded.
      o.saved = answer_.recorded_in_call - o.in_call - basis_.node.clock;
    }
    answer_.rank(recorded_.clocks);
    return std::move(answer_);
  }

 private:
  void summarize_record() {
    answer_.knows_durations = !recorded_.durations.empty();
    if (!answer_.knows_durations) return;
    const std::size_t ranks = recorded_.arrivals.ranks;
    for_each_call([&](std::size_t call) {
      const auto arrivals = recorded_.arrivals.recorded(call);
      const auto in_call = std::span(recorded_.durations).subspan(call * ranks, ranks);
      Simulated as_it_was;
      as_it_was.arrivals.assign(arrivals.begin(), arrivals.end());
      for (std::size_t r = 0; r < ranks; ++r) {
        as_it_was.exits.push_back(arrivals[r] + in_call[r]);
      }
      recorded_means_.add(as_it_was);
    });
    Outcome o;
    recorded_means_.give(o, stretches_, answer_.calls);
    answer_.recorded_in_call = o.in_call;
    answer_.recorded_tail = o.tail;
  }

  template <class F> void for_each_call(F&& f) const {
    for (const Stretch& s : stretches_) {
      for (std::size_t call = s.first; call < s.first + s.count; ++call) f(call);
    }
  }

  /// Seconds after the earliest rank.
  std::vector<double> arrivals(std::size_t call) const {
    std::vector<double> times(recorded_.arrivals.ranks);
    recorded_.arrivals(call, times);
    return times;
  }

  void play_on_node(const CatalogueRow& row) {
    const VirtualAlgorithm* const algorithm = find_virtual_algorithm(row.name);
    if (algorithm == nullptr) {
      answer_.remarks.push_back(std::string(row.name) + " is not compiled for virtual time");
      return;
    }
    if (recorded_.shape.size > algorithm->traits.most_ranks) return;
    VirtualOptions options;
    options.colours = basis_.colours;
    std::optional<VirtualNode> made;
    try {
      made.emplace(*algorithm, recorded_.shape, basis_.node, options);
    } catch (const argument_error& e) {  // more ranks or bytes than a node in virtual time has
      if (!std::exchange(has_left_out_, true)) {
        answer_.remarks.push_back("what decides by who arrives when was left out: " +
                                  papcoll::detail::bare(e.what()));
      }
      return;
    }
    VirtualNode& node = *made;
    Means means;
    for (const Stretch& s : stretches_) {
      node.warm_up(arrivals(s.first));
      for (std::size_t call = s.first; call < s.first + s.count; ++call) {
        means.add(node.call(arrivals(call)));
      }
    }
    Outcome o;
    o.name = row.name;
    o.error = basis_.node.error;
    means.give(o, stretches_, answer_.calls);
    answer_.outcomes.push_back(std::move(o));
  }

  void play_by_messages(const CatalogueRow& row) {
    const AnySchedule schedule = row.plan();
    const bool is_predicted = row.arrival == PredictedOrder<>::name;
    try {
      if (!is_predicted) play_by_messages(schedule, schedule.name(), nullptr);
      if (is_prefix_reduction(recorded_.shape.collective)) return;
      for (const AnyPredictor& p : basis_.predictors) {
        const bool is_usual = p == PredictedOrder<>::predictor();
        const std::string name = is_predicted && is_usual
                                     ? schedule.name()
                                     : predicted_order_name(p) + "+" + schedule.name();
        play_by_messages(schedule, name, &p);
      }
    } catch (const argument_error& e) {  // more steps or memory than a simulation may take
      answer_.remarks.push_back(schedule.name() +
                                " was left out: " + papcoll::detail::bare(e.what()));
    }
  }

  void play_by_messages(const AnySchedule& schedule, const std::string& name,
                        const AnyPredictor* predictor) {
    SimulateOptions options;
    options.links = basis_.links;
    Means means;
    const auto play = [&](std::size_t call, const Order& order) {
      options.arrivals = arrivals(call);
      means.add(simulate(schedule, recorded_.shape, order, basis_.messages, options));
    };
    if (predictor == nullptr) {
      const Order order = static_order(recorded_.shape);
      for_each_call([&](std::size_t call) { play(call, order); });
    } else {
      PredictedOrders orders{*predictor, recorded_.arrivals.ranks};
      std::size_t seen = 0;
      for_each_call([&](std::size_t call) {
        for (; seen < call; ++seen) orders.observe(recorded_.arrivals.recorded(seen));
        play(call, orders.order(recorded_.shape));
      });
    }
    Outcome o;
    o.name = name;
    o.by_messages = true;
    o.error = basis_.message_error;
    means.give(o, stretches_, answer_.calls);
    answer_.outcomes.push_back(std::move(o));
  }

  const Recorded& recorded_;
  const Basis& basis_;
  std::vector<Stretch> stretches_;
  Means recorded_means_;
  bool has_left_out_ = false;  // for what it asks of a node
  Answer answer_;
};
}  // namespace
}  // namespace detail

Answer simulated_answer(const Recorded& recorded, const Basis& basis, Catalogue catalogue) {
  recorded.require_sense();
  basis.node.require_sense();
  return detail::SimulatedAnswer{recorded, basis}.make(catalogue);
}

}  // namespace what_if
}  // namespace papcoll::inline PAPCOLL_ABI
