// SPDX-License-Identifier: BSD-3-Clause
#include "fit/model_fit.hpp"

#include "candidates/native.hpp"
#include "fit/chunk_search.hpp"
#include "fit/cost_fit.hpp"
#include "fit/model_json.hpp"
#include "fit/modelled.hpp"
#include "fit/schedule_fit.hpp"
#include "machine/model_probes.hpp"
#include "timing/contest.hpp"
#include "timing/quantities.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace bench {
namespace {

using papcoll::Hockney;
using Json = nlohmann::ordered_json;

constexpr std::array collectives{Collective::allreduce, Collective::reduce, Collective::bcast};

/// In how many chunks a schedule that cuts is measured.
constexpr std::array<std::size_t, 4> fitted_chunks{1, 4, 16, 64};

/// Messages that are shorter cost what is not a line in their bytes.
constexpr std::size_t least_segment = 8192;

class Fitter {
 public:
  Fitter(const Options& options, const Placement& placement)
      : options_(options),
        one_sweep_(one_sweep(options)),
        placement_(placement),
        contest_(one_sweep_, placement) {}

  void run() {
    if (placement_.ranks() < 2)
      throw usage_error("--measure model: there is 1 rank, and it takes two");
    if (options_.sizes.size() < 3) {
      throw usage_error(
          "--measure model: a line through fewer than 3 sizes proves nothing: see --bytes");
    }
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) require_writable(options_.fit);
    });
    announce();
    Json file{{"papcoll_model", 1},
              {"machine", mpi_library() + ", " + described(placement_)},
              {"ranks", placement_.ranks()}};
    fit_messages(file);
    Json schedules = Json::array();
    Json chunks = Json::array();
    for (const Collective c : collectives) fit_schedules(c, schedules, chunks);
    const double error = papcoll::median_of_absolute(errors_elsewhere_);
    say("all schedules at other sizes: median error {:.1f} %\n", 100 * error);
    file["median_error_elsewhere"] = error;
    file["schedules"] = std::move(schedules);
    file["chunks"] = std::move(chunks);
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) write_file(options_.fit, file.dump(2) + "\n");
    });
  }

 private:
  template <class... Args> void say(fmt::format_string<Args...> text, Args&&... args) const {
    if (placement_.rank() != 0) return;
    fmt::print(text, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  void announce() const {
    std::size_t timed = 0;
    for (const Collective c : collectives) {
      for (const std::size_t bytes : all_sizes()) timed += entrants(c, bytes).size();
    }
    auto limits = static_cast<double>(timed);
    for (const Modelled& schedule : modelled) {
      if (!schedule.cuts()) continue;
      limits += most_limits_of_search * static_cast<double>(searched_sizes().size());
    }
    say("{}\n", announced("--measure model", limits, options_));
  }

  void fit_messages(Json& file) {
    const MessageCosts costs = probe_message_costs(placement_);
    Json combining = Json::array();
    for (const CombiningCost& c : probe_combining(placement_)) {
      combining.push_back(model_json(c));
      if (c.type == options_.type && c.op == options_.op) start_.gamma = c.seconds_per_byte;
    }
    const double copying = probe_copying(placement_);
    start_.alpha = costs.alpha();
    start_.beta = costs.beta();

    // Of a message's time the two processors' part is known: the rest is the network's. Where the
    // processors copy, that leaves nothing.
    const double latency = std::max(0.0, start_.alpha - 2 * costs.overhead);
    const double overhead_per_byte = std::min(costs.overhead_per_byte, start_.beta / 2);
    model_ = {.latency = latency,
              .overhead = costs.overhead,
              .gap = costs.gap,
              .gap_per_byte = start_.beta - 2 * overhead_per_byte,
              .overhead_per_byte = overhead_per_byte,
              .rendezvous = costs.rendezvous > 0 ? costs.rendezvous : papcoll::LogGops{}.rendezvous,
              .combine_per_byte = start_.gamma,
              .copy_per_byte = copying};
    file["log_gops"] = model_json(model_);
    file["messages"] = model_json(costs);
    file["combining"] = std::move(combining);
    say("a message: {:.3g} µs + {:.3g} ns a byte, median error {:.0f} %; combining {} {}: {:.3g} "
        "ns a byte\n",
        1e6 * start_.alpha, 1e9 * start_.beta, 100 * costs.line.median_error,
        name_of(options_.type), name_of(options_.op), 1e9 * start_.gamma);
  }

  /// A candidate of a contest: a schedule, with its segment if it cuts.
  struct Entrant {
    std::size_t schedule;
    std::size_t segment;
  };

  std::vector<Entrant> entrants(Collective collective, std::size_t bytes) const {
    std::vector<Entrant> all;
    for (std::size_t i = 0; i < modelled.size(); ++i) {
      const Modelled& schedule = modelled.at(i);
      if (schedule.collective != collective) continue;
      if (!schedule.cuts()) {
        all.push_back({i, 0});
        continue;
      }
      for (const std::size_t n : fitted_chunks) {
        const std::size_t s =
            schedule.segment(bytes, n, placement_.ranks(), size_of(options_.type));
        if (n == 1 || s >= least_segment) all.push_back({i, s});
      }
    }
    return all;
  }

  /// Sizes that the fit does not see, which say how well it predicts.
  std::vector<std::size_t> sizes_between() const {
    std::vector<std::size_t> between;
    const std::size_t element = size_of(options_.type);
    for (std::size_t i = 0; i + 1 < options_.sizes.size(); ++i) {
      const std::size_t a = options_.sizes[i];
      const std::size_t b = options_.sizes[i + 1];
      const std::size_t middle = (a + b) / 2 / element * element;
      if (middle != a && middle != b && middle > 0) between.push_back(middle);
    }
    return between;
  }

  std::vector<std::size_t> all_sizes() const {
    std::vector<std::size_t> sizes = options_.sizes;
    const std::vector<std::size_t> between = sizes_between();
    sizes.insert(sizes.end(), between.begin(), between.end());
    std::sort(sizes.begin(), sizes.end());
    return sizes;
  }

  /// Those at which the best number of chunks is looked for.
  std::array<std::size_t, 2> searched_sizes() const {
    return {options_.sizes[options_.sizes.size() / 2], options_.sizes.back()};
  }

  /// The runs of each schedule at these sizes. All sizes are gone through several times.
  std::vector<std::vector<Run>> measured(Collective collective,
                                         const std::vector<std::size_t>& sizes) {
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<double>> times;
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
      for (const std::size_t bytes : sizes) {
        const std::vector<Entrant> all = entrants(collective, bytes);
        std::vector<std::string> names;
        for (const Entrant& e : all) names.push_back(modelled.at(e.schedule).name(e.segment));
        const auto found =
            contest_.run({.collective = collective, .algorithms = names, .bytes = bytes});
        for (std::size_t i = 0; i < all.size(); ++i) {
          times[{all[i].schedule, bytes, all[i].segment}].push_back(found[i].tail);
        }
      }
    }
    std::vector<std::vector<Run>> runs(modelled.size());
    for (const auto& [key, series] : times) {
      const auto [schedule, bytes, segment] = key;
      runs[schedule].push_back(
          {static_cast<double>(bytes), static_cast<double>(segment), of_sweeps(series)});
    }
    return runs;
  }

  void fit_schedules(Collective collective, Json& schedules, Json& chunks) {
    const std::vector<std::size_t> between = sizes_between();
    const auto runs = measured(collective, all_sizes());
    for (std::size_t i = 0; i < modelled.size(); ++i) {
      if (modelled.at(i).collective != collective) continue;
      const Modelled& schedule = modelled.at(i);
      std::vector<Run> fitted;
      std::vector<Run> others;
      for (const Run& run : runs[i]) {
        const bool other = std::count(between.begin(), between.end(), run.bytes) > 0;
        (other ? others : fitted).push_back(run);
      }
      const Processors on{placement_.ranks(), placement_.processors()};
      const ScheduleFit fit = fit_schedule(schedule, fitted, start_, on);
      schedules.push_back(model_json(schedule, fit, fitted, others));
      tell(schedule, fit, others);
      if (!schedule.cuts()) continue;
      for (const std::size_t bytes : searched_sizes()) {
        const ScheduleFit here =
            fit_schedule_at(static_cast<double>(bytes), schedule, fitted, start_, on, fit);
        const ChunkChoice choice =
            search_chunks(schedule, here.costs, bytes, one_sweep_, placement_, model_, contest_);
        chunks.push_back(model_json(schedule, bytes, here, choice));
        tell(schedule, bytes, choice);
      }
    }
  }

  void tell(const Modelled& schedule, const ScheduleFit& fit, const std::vector<Run>& others) {
    const CostFit& costs = fit.costs;
    const std::vector<double> errors = costs.errors_of(others);
    errors_elsewhere_.insert(errors_elsewhere_.end(), errors.begin(), errors.end());
    const std::string knee =
        costs.knee ? fmt::format(", from {} on + {:.2g} β",
                                 format_bytes(static_cast<std::size_t>(*costs.knee)), costs.beyond)
                   : "";
    say("{:9} {:20} α {:8.3g} µs, β {:8.3g} ns a byte, median error {:3.0f} %, at other sizes "
        "{:3.0f} %{}{}\n",
        name_of(schedule.collective), schedule.algorithm, 1e6 * costs.parameters.alpha,
        1e9 * costs.parameters.beta, 100 * costs.median_error,
        100 * papcoll::median_of_absolute(errors), knee, fit.shared ? ", shared processors" : "");
  }

  void tell(const Modelled& schedule, std::size_t bytes, const ChunkChoice& c) const {
    say("{:9} {:20} {:>4}: chunks by closed form {} (+{:.0f} %), by simulation {} (+{:.0f} %), "
        "best measured {} ({})\n",
        name_of(schedule.collective), schedule.algorithm, format_bytes(bytes), c.by_form,
        100 * c.above_best(c.by_form), c.by_simulation, 100 * c.above_best(c.by_simulation),
        c.best.chunks, c.source());
  }

  static Options one_sweep(Options options) {
    options.time_limit /= sweeps;
    if (options.iterations)
      options.iterations = std::max<std::size_t>(2, *options.iterations / sweeps);
    return options;
  }

  const Options& options_;
  const Options one_sweep_;
  const Placement& placement_;
  Contest contest_;
  Hockney start_;
  papcoll::LogGops model_;
  std::vector<double> errors_elsewhere_;
};

}  // namespace

void fit_models(const Options& options, const Placement& placement) {
  Fitter{options, placement}.run();
}

}  // namespace bench
