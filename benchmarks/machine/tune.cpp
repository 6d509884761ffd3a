// SPDX-License-Identifier: BSD-3-Clause
#include "machine/tune.hpp"

#include "candidates/native.hpp"
#include "fit/fit.hpp"
#include "machine/model_probes.hpp"
#include "timing/contest.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace bench {
namespace {

using papcoll::ThresholdField;
using papcoll::Thresholds;
using Json = nlohmann::ordered_json;

class Tuner {
 public:
  Tuner(const Options& options, const Placement& placement)
      : options_(options), placement_(placement) {}

  void run() {
    if (placement_.ranks() < 2)
      throw usage_error("--measure tuning: there is 1 rank, and it takes two");
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) require_writable(options_.tune);
    });
    measure_network();
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) write();
    });
  }

 private:
  /// What is tried first by messages goes by it.
  void measure_network() {
    const MessageCosts costs = probe_message_costs(placement_);
    const double gamma = probe_combining(placement_, Type::float64, Op::sum).seconds_per_byte;
    const papcoll::HockneyWithGap h{{costs.alpha(), costs.beta(), gamma}, costs.gap};
    const std::string measured = fmt::format(
        "messages of 8 bytes to 4 MB between the first and the last rank, median error {:.0f} %, "
        "and sums of doubles, {}",
        100 * costs.line.median_error, described());
    for (const ThresholdValue& v : link_thresholds(h)) set(v.threshold, v.value, measured);
  }

  std::string described() const { return bench::described(placement_); }

  void set(const ThresholdField* field, std::size_t value, const std::string& measured) {
    thresholds_.network.*field->at = value;
    Json& group = fitted_["network"];
    group[std::string(field->name)] = value;
    std::string comment = group.value("comment", "");
    comment += (comment.empty() ? "" : "; ") + std::string(field->name) + ": " + measured;
    group["comment"] = comment;
    if (placement_.rank() == 0) {
      fmt::print("{} = {}  ({})\n", field->full_name(), value, measured);
      std::fflush(stdout);
    }
  }

  void write() const {
    const papcoll::MadeBy here = papcoll::MadeBy::here();
    const Json made_by{{"papcoll", here.papcoll},
                       {"processor", here.processor},
                       {"processors", here.processors},
                       {"kernel", here.kernel},
                       {"comment", mpi_library() + ", " + described()}};
    const Json file{{"papcoll_selection", papcoll::detail::selection_format},
                    {"made_by", made_by},
                    {"thresholds", fitted_}};
    const std::string text = file.dump(2) + "\n";
    // What cannot be read back must not be written.
    static_cast<void>(papcoll::detail::parse_selection<>(text, options_.tune));
    write_file(options_.tune, text);
  }

  const Options& options_;
  const Placement& placement_;
  Thresholds thresholds_;
  Json fitted_ = Json::object();
};

}  // namespace

void tune(const Options& options, const Placement& placement) { Tuner{options, placement}.run(); }

}  // namespace bench
