// SPDX-License-Identifier: BSD-3-Clause
#include "fit/model_json.hpp"

#include <cmath>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity.
Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(); }

Json rows(const std::vector<ChunkChoice::Timed>& all) {
  Json list = Json::array();
  for (const ChunkChoice::Timed& t : all) {
    list.push_back({{"chunks", t.chunks}, {"segment_bytes", t.segment}, {"seconds", t.seconds}});
  }
  return list;
}

}  // namespace

Json model_json(const papcoll::LogGops& m) {
  return {{"latency", m.latency},
          {"overhead", m.overhead},
          {"gap", m.gap},
          {"gap_per_byte", m.gap_per_byte},
          {"overhead_per_byte", m.overhead_per_byte},
          {"rendezvous", m.rendezvous},
          {"combine_per_byte", m.combine_per_byte},
          {"copy_per_byte", m.copy_per_byte}};
}

Json model_json(const MessageCosts& costs) {
  Json json{{"alpha", costs.alpha()},
            {"alpha_ci95", finite(costs.line.confidence[0])},
            {"beta", costs.beta()},
            {"beta_ci95", finite(costs.line.confidence[1])},
            {"median_error", costs.line.median_error},
            {"one_way", Json::array()}};
  for (std::size_t i = 0; i < costs.one_way.size(); ++i) {
    json["one_way"].push_back({{"bytes", costs.one_way[i].bytes},
                               {"seconds", costs.one_way[i].seconds},
                               {"error", costs.line.errors[i]}});
  }
  return json;
}

Json model_json(const CombiningCost& cost) {
  return {{"type", name_of(cost.type)},
          {"op", name_of(cost.op)},
          {"seconds_per_byte", cost.seconds_per_byte},
          {"ci95", finite(cost.confidence)}};
}

Json model_json(const Modelled& schedule, const ScheduleFit& fit, const std::vector<Run>& runs,
                const std::vector<Run>& others) {
  const CostFit& costs = fit.costs;
  Json observed = Json::array();
  const auto add = [&](const Run& run, const char* use) {
    observed.push_back({{"bytes", run.bytes},
                        {"segment_bytes", run.segment > 0 ? Json(run.segment) : Json()},
                        {"seconds", run.seconds},
                        {"predicted", costs.predict(run.bytes, run.segment)},
                        {"use", use}});
  };
  for (const Run& run : runs) add(run, "fit");
  for (const Run& run : others) add(run, "prediction");
  return {{"collective", name_of(schedule.collective)},
          {"algorithm", schedule.algorithm},
          {"form", fit.form()},
          {"alpha", costs.parameters.alpha},
          {"alpha_ci95", finite(costs.alpha_confidence)},
          {"beta", costs.parameters.beta},
          {"beta_ci95", finite(costs.beta_confidence)},
          {"gamma", costs.parameters.gamma},
          {"knee_bytes", costs.knee ? Json(*costs.knee) : Json()},
          {"beyond_knee", costs.beyond},
          {"median_error", costs.median_error},
          {"median_error_elsewhere", papcoll::median_of_absolute(costs.errors_of(others))},
          {"runs", std::move(observed)}};
}

Json model_json(const Modelled& schedule, std::size_t bytes, const ScheduleFit& fit,
                const ChunkChoice& choice) {
  return {{"collective", name_of(schedule.collective)},
          {"algorithm", schedule.algorithm},
          {"bytes", bytes},
          {"form", fit.form()},
          {"alpha", fit.costs.parameters.alpha},
          {"beta", fit.costs.parameters.beta},
          {"by_closed_form", choice.by_form},
          {"closed_form_above_best", choice.above_best(choice.by_form)},
          {"by_simulation", choice.by_simulation},
          {"simulation_above_best", choice.above_best(choice.by_simulation)},
          {"measured", rows(choice.searched)},
          {"measured_again", rows(choice.compared)},
          {"chunks", choice.best.chunks},
          {"source", choice.source()}};
}

}  // namespace bench
