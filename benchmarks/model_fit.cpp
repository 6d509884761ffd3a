#include "model_fit.hpp"

#include "contest.hpp"
#include "cost_fit.hpp"
#include "model_probes.hpp"
#include "modelled.hpp"
#include "native.hpp"
#include "quantities.hpp"
#include "together.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <papcoll/analysis/simulate.hpp>
#include <papcoll/catalogue/rows.hpp>
#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace bench {
namespace {

using papcoll::Hockney;
using Json = nlohmann::ordered_json;

/// Segments with which a schedule that cuts is measured, in bytes.
constexpr std::array<std::size_t, 3> segments{16384, 65536, 262144};

/// As many chunks as a search looks at: more are shorter than any processor wants them.
constexpr std::size_t most_chunks = 256;

/// JSON has no infinity.
Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(); }

/// With the keys that `papcoll simulate --model` reads.
Json written(const papcoll::LogGops& m) {
  return {{"latency", m.latency},
          {"overhead", m.overhead},
          {"gap", m.gap},
          {"gap_per_byte", m.gap_per_byte},
          {"overhead_per_byte", m.overhead_per_byte},
          {"rendezvous", m.rendezvous},
          {"combine_per_byte", m.combine_per_byte},
          {"copy_per_byte", m.copy_per_byte}};
}

class Fitter {
 public:
  Fitter(const Options& options, const Placement& placement)
      : options_(options), placement_(placement), contest_(options, placement) {}

  void run() {
    if (placement_.ranks() < 2) throw usage_error("--fit: there is 1 rank, and it takes two");
    if (options_.sizes.size() < 3) {
      throw usage_error("--fit: a line through fewer than 3 sizes proves nothing: see --sizes");
    }
    fit_messages();
    Json schedules = Json::array();
    Json chunks = Json::array();
    for (const Collective c : {Collective::allreduce, Collective::reduce, Collective::bcast})
      fit_schedules(c, schedules, chunks);
    const Json file{
        {"papcoll_model", 1},          {"machine", mpi_library() + ", " + described(placement_)},
        {"ranks", placement_.ranks()}, {"log_gops", written(model_)},
        {"messages", messages_},       {"combining", combining_},
        {"schedules", schedules},      {"chunks", chunks}};
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) write_file(options_.fit, file.dump(2) + "\n");
    });
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) const {
    if (placement_.rank() != 0) return;
    fmt::print(text, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  void fit_messages() {
    const MessageCosts costs = probe_message_costs(placement_);
    const std::vector<CombiningCost> combining = probe_combining(placement_);
    for (const CombiningCost& c : combining) {
      combining_.push_back({{"type", name_of(c.type)},
                            {"op", name_of(c.op)},
                            {"seconds_per_byte", c.seconds_per_byte},
                            {"ci95", finite(c.confidence)}});
      if (c.type == options_.type && c.op == options_.op) start_.gamma = c.seconds_per_byte;
    }
    const double copying = probe_copying(placement_);
    start_.alpha = std::max(costs.line.values[0], 1e-9);
    start_.beta = std::max(costs.line.values[1], 1e-12);

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
    messages_ = {{"alpha", start_.alpha},
                 {"alpha_ci95", finite(costs.line.confidence[0])},
                 {"beta", start_.beta},
                 {"beta_ci95", finite(costs.line.confidence[1])},
                 {"median_error", costs.line.median_error},
                 {"one_way", Json::array()}};
    for (std::size_t i = 0; i < costs.one_way.size(); ++i) {
      messages_["one_way"].push_back({{"bytes", costs.one_way[i].bytes},
                                      {"seconds", costs.one_way[i].seconds},
                                      {"error", costs.line.errors[i]}});
    }
    say("a message: {:.3g} µs + {:.3g} ns a byte, median error {:.0f} %; combining {} {}: {:.3g} "
        "ns "
        "a byte\n",
        1e6 * start_.alpha, 1e9 * start_.beta, 100 * costs.line.median_error,
        name_of(options_.type), name_of(options_.op), 1e9 * start_.gamma);
  }

  /// A candidate of a contest: a schedule, with its segment if it cuts.
  struct Entrant {
    std::size_t schedule;
    std::size_t segment;
  };

  std::vector<Entrant> entrants(Collective collective) const {
    std::vector<Entrant> all;
    for (std::size_t i = 0; i < modelled.size(); ++i) {
      if (modelled.at(i).collective != collective) continue;
      if (!modelled.at(i).cuts()) all.push_back({i, 0});
      for (const std::size_t s : segments) {
        if (modelled.at(i).cuts()) all.push_back({i, s});
      }
    }
    return all;
  }

  /// The runs of each schedule, all by turns, at each size.
  std::vector<std::vector<Run>> runs(Collective collective, const std::vector<std::size_t>& sizes) {
    const std::vector<Entrant> all = entrants(collective);
    std::vector<std::string> names;
    for (const Entrant& e : all) names.push_back(modelled.at(e.schedule).name(e.segment));
    std::vector<std::vector<Run>> found(modelled.size());
    for (const std::size_t bytes : sizes) {
      const auto times =
          contest_.run({.collective = collective, .algorithms = names, .bytes = bytes});
      for (std::size_t i = 0; i < all.size(); ++i) {
        found[all[i].schedule].push_back(
            {static_cast<double>(bytes), static_cast<double>(all[i].segment), times[i].tail});
      }
    }
    return found;
  }

  void fit_schedules(Collective collective, Json& schedules, Json& chunks) {
    // Sizes that the fit has not seen say how well it predicts.
    std::vector<std::size_t> between;
    const std::size_t element = size_of(options_.type);
    for (std::size_t i = 0; i + 1 < options_.sizes.size(); ++i) {
      const std::size_t a = options_.sizes[i];
      const std::size_t b = options_.sizes[i + 1];
      const std::size_t middle = (a + b) / 2 / element * element;
      if (middle != a && middle != b && middle > 0) between.push_back(middle);
    }
    const auto fitted = runs(collective, options_.sizes);
    const auto others = runs(collective, between);
    for (std::size_t i = 0; i < modelled.size(); ++i) {
      if (modelled.at(i).collective != collective) continue;
      const Modelled& schedule = modelled.at(i);
      const CostFit fit = fit_cost(form_of(schedule), fitted[i], start_);
      schedules.push_back(described_fit(schedule, fit, fitted[i], others[i]));
      if (!schedule.cuts()) continue;
      for (const std::size_t bytes :
           {options_.sizes[options_.sizes.size() / 2], options_.sizes.back()}) {
        chunks.push_back(search_chunks(schedule, fit, bytes));
      }
    }
  }

  Form form_of(const Modelled& schedule) const {
    return [&schedule, p = placement_.ranks()](const Hockney& h, double m, double s) {
      return schedule.seconds(h, p, m, s);
    };
  }

  double simulated(const Modelled& schedule, std::size_t bytes, std::size_t segment) const {
    const papcoll::Shape shape{.collective = schedule.collective,
                               .size = placement_.ranks(),
                               .count = bytes / size_of(options_.type),
                               .counts = {},
                               .element_size = size_of(options_.type),
                               .in_place = schedule.collective == Collective::bcast};
    return papcoll::simulate(
               papcoll::schedule_named(schedule.schedule(segment), papcoll::catalogue()), shape,
               papcoll::static_order(shape), model_)
        .time();
  }

  /// The best number of chunks by the closed form, by the simulator, and of those around both by
  /// measuring.
  Json search_chunks(const Modelled& schedule, const CostFit& fit, std::size_t bytes) {
    const auto segment = [&](std::size_t n) {
      return schedule.segment(bytes, n, placement_.ranks(), size_of(options_.type));
    };
    const Form form = form_of(schedule);
    const std::size_t by_form = best_count(most_chunks, [&](std::size_t n) {
      return fit.predict(form, static_cast<double>(bytes), static_cast<double>(segment(n)));
    });
    std::size_t by_simulation = 0;
    together(placement_.comm(), [&] {
      if (placement_.rank() != 0) return;
      by_simulation = best_count_coarsely(
          most_chunks, [&](std::size_t n) { return simulated(schedule, bytes, segment(n)); });
    });
    MPI_Bcast(&by_simulation, 1, MPI_UNSIGNED_LONG, 0, placement_.comm());
    const std::vector<std::size_t> counts =
        counts_around(std::array{by_form, by_simulation}, most_chunks);
    std::vector<std::string> names;
    for (const std::size_t n : counts) names.push_back(schedule.name(segment(n)));
    const auto times =
        contest_.run({.collective = schedule.collective, .algorithms = names, .bytes = bytes});
    Json measured = Json::array();
    std::size_t best = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      measured.push_back({{"chunks", counts[i]},
                          {"segment_bytes", segment(counts[i])},
                          {"seconds", times[i].tail}});
      if (times[i].tail < times[best].tail) best = i;
    }
    const auto above_best = [&](std::size_t wanted) {
      const auto at = std::find(counts.begin(), counts.end(), wanted) - counts.begin();
      return times[static_cast<std::size_t>(at)].tail / times[best].tail - 1;
    };
    const std::string source = counts[best] == by_form         ? "closed form"
                               : counts[best] == by_simulation ? "simulation"
                                                               : "measured around both";
    say("{:9} {:20} {:>4}: chunks by closed form {} (+{:.0f} %), by simulation {} (+{:.0f} %), "
        "best "
        "measured {} ({})\n",
        name_of(schedule.collective), schedule.algorithm, format_bytes(bytes), by_form,
        100 * above_best(by_form), by_simulation, 100 * above_best(by_simulation), counts[best],
        source);
    return {{"collective", name_of(schedule.collective)},
            {"algorithm", schedule.algorithm},
            {"bytes", bytes},
            {"by_closed_form", by_form},
            {"closed_form_above_best", above_best(by_form)},
            {"by_simulation", by_simulation},
            {"simulation_above_best", above_best(by_simulation)},
            {"measured", std::move(measured)},
            {"chunks", counts[best]},
            {"source", source}};
  }

  Json described_fit(const Modelled& schedule, const CostFit& fit, const std::vector<Run>& runs,
                     const std::vector<Run>& others) const {
    const Form seconds = form_of(schedule);
    std::vector<double> errors;
    Json observed = Json::array();
    const auto add = [&](const Run& run, const char* use) {
      const double predicted = fit.predict(seconds, run.bytes, run.segment);
      observed.push_back({{"bytes", run.bytes},
                          {"segment_bytes", run.segment > 0 ? Json(run.segment) : Json()},
                          {"seconds", run.seconds},
                          {"predicted", predicted},
                          {"use", use}});
      return predicted / run.seconds - 1;
    };
    for (const Run& run : runs) add(run, "fit");
    for (const Run& run : others) errors.push_back(add(run, "prediction"));
    const double elsewhere = papcoll::median_of_absolute(errors);
    say("{:9} {:20} α {:8.3g} µs, β {:8.3g} ns a byte, median error {:3.0f} %, at other sizes "
        "{:3.0f} "
        "%{}\n",
        name_of(schedule.collective), schedule.algorithm, 1e6 * fit.parameters.alpha,
        1e9 * fit.parameters.beta, 100 * fit.median_error, 100 * elsewhere,
        fit.knee ? fmt::format(", from {} on + {:.2g} β",
                               format_bytes(static_cast<std::size_t>(*fit.knee)), fit.beyond)
                 : "");
    return {{"collective", name_of(schedule.collective)},
            {"algorithm", schedule.algorithm},
            {"alpha", fit.parameters.alpha},
            {"alpha_ci95", finite(fit.alpha_confidence)},
            {"beta", fit.parameters.beta},
            {"beta_ci95", finite(fit.beta_confidence)},
            {"gamma", fit.parameters.gamma},
            {"knee_bytes", fit.knee ? Json(*fit.knee) : Json()},
            {"beyond_knee", fit.beyond},
            {"median_error", fit.median_error},
            {"median_error_elsewhere", elsewhere},
            {"runs", std::move(observed)}};
  }

  const Options& options_;
  const Placement& placement_;
  Contest contest_;
  Hockney start_;
  papcoll::LogGops model_;
  Json messages_;
  Json combining_ = Json::array();
};

}  // namespace

void fit_models(const Options& options, const Placement& placement) {
  Fitter{options, placement}.run();
}

}  // namespace bench
