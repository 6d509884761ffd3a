#include "tune.hpp"

#include "contest.hpp"
#include "fit.hpp"
#include "model_probes.hpp"
#include "native.hpp"
#include "quantities.hpp"
#include "together.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <papcoll/select/thresholds.hpp>
#include <papcoll/select/tuning.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace bench {
namespace {

using papcoll::threshold;
using papcoll::ThresholdField;
using papcoll::Thresholds;
using Json = nlohmann::ordered_json;

/// Where ranks have to be for a comparison to say something.
enum class Where : unsigned char {
  anywhere,
  nodes_of_several,  ///< on several nodes, of several ranks
};

/// Two algorithms, the first of which gives way to the second at a threshold.
struct Comparison {
  const ThresholdField* threshold;
  Where where;
  Collective collective;
  const char* first;
  const char* second;
  bool of_all_ranks = false;  ///< the threshold counts the bytes of all ranks together
};

constexpr auto allreduce = Collective::allreduce;

constexpr std::array comparisons{
    Comparison{threshold("allreduce", "recursive_doubling"), Where::anywhere, allreduce,
               "RecursiveDoubling+MpiTransport", "Rabenseifner+MpiTransport"},
    Comparison{threshold("reduce", "binomial"), Where::anywhere, Collective::reduce,
               "Binomial+MpiTransport", "ReduceScatterGather+MpiTransport"},
    Comparison{threshold("bcast", "binomial"), Where::anywhere, Collective::bcast,
               "Binomial+MpiTransport", "ScatterAllgather+MpiTransport"},
    Comparison{threshold("allgather", "bruck"), Where::anywhere, Collective::allgather,
               "Bruck+MpiTransport", "Ring+MpiTransport", true},
    Comparison{threshold("network", "hierarchical"), Where::nodes_of_several, allreduce,
               "Hierarchical", "Rabenseifner+MpiTransport"},
};

bool applies(Where where, const Placement& p) {
  return where == Where::anywhere || (p.nodes() > 1 && p.nodes() < p.ranks());
}

class Tuner {
 public:
  Tuner(const Options& options, const Placement& placement)
      : options_(options), placement_(placement), contest_(options, placement) {}

  void run() {
    if (placement_.ranks() < 2) throw usage_error("--tune: there is 1 rank, and it takes two");
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) require_writable(options_.tune);
    });
    announce();
    for (const Comparison& c : comparisons) {
      if (applies(c.where, placement_)) compare(c);
    }
    if (placement_.nodes() == placement_.ranks()) measure_network();
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) write();
    });
    if (placement_.rank() == 0 && !doubtful_.empty()) warn();
  }

 private:
  void announce() const {
    if (placement_.rank() != 0) return;
    std::size_t timed = 0;
    for (const Comparison& c : comparisons) {
      if (applies(c.where, placement_)) timed += 2 * options_.sizes.size();
    }
    fmt::print("{}\n", announced("--tune", static_cast<double>(timed), options_));
    std::fflush(stdout);
  }

  /// Mean times in a call, in µs.
  std::vector<double> time(Collective collective, const std::vector<std::string>& algorithms,
                           std::size_t bytes) {
    std::vector<double> times;
    for (const Times& t : contest_.run({collective, algorithms, bytes, 0, BufferKind::ordinary})) {
      times.push_back(1e6 * t.in_call);
    }
    return times;
  }

  void compare(const Comparison& c) {
    std::vector<std::size_t> points;
    std::vector<double> first;
    std::vector<double> second;
    const std::vector<std::string> algorithms{c.first, c.second};
    for (const std::size_t size : options_.sizes) {
      const std::vector<double> times = time(c.collective, algorithms, size);
      points.push_back(c.of_all_ranks ? size * static_cast<std::size_t>(placement_.ranks()) : size);
      first.push_back(times[0]);
      second.push_back(times[1]);
    }
    const std::size_t fitted = fit_threshold(points, first, second);
    std::string measured = fmt::format("{}, {}, µs by {} and {}:", name_of(c.collective),
                                       described(), c.first, c.second);
    for (std::size_t i = 0; i < points.size(); ++i) {
      measured += fmt::format(" {}: {:.4g} {:.4g}{}", format_bytes(options_.sizes[i]), first[i],
                              second[i], i + 1 < points.size() ? "," : "");
    }
    if (fall(first) || fall(second)) doubtful_.push_back(c.threshold->full_name());
    set(c.threshold, fitted, measured);
  }

  /// What Suara is chosen by, where every rank is on a node of its own.
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
    field->in(thresholds_) = value;
    fitted_[std::string(field->group)][std::string(field->name)] = {{"value", value},
                                                                    {"measured", measured}};
    if (placement_.rank() == 0) {
      fmt::print("{} = {}  ({})\n", field->full_name(), value, measured);
      std::fflush(stdout);
    }
  }

  void warn() const {
    std::string names;
    for (const std::string& name : doubtful_) names += (names.empty() ? "" : ", ") + name;
    fmt::print(stderr,
               "papcoll-bench: longer calls took less time than shorter ones, so the machine was "
               "not quiet, and these thresholds are doubtful: {}. Measure again while it does "
               "nothing else, or delete them from {}.\n",
               names, options_.tune);
  }

  void write() const {
    const Json file{{"papcoll_tuning", 1},
                    {"machine", mpi_library() + ", " + described()},
                    {"thresholds", fitted_}};
    const std::string text = file.dump(2) + "\n";
    // What cannot be read back must not be written.
    static_cast<void>(papcoll::detail::parse_tuning<>(text, options_.tune));
    write_file(options_.tune, text);
  }

  const Options& options_;
  const Placement& placement_;
  Contest contest_;
  Thresholds thresholds_;
  Json fitted_ = Json::object();
  std::vector<std::string> doubtful_;  ///< thresholds whose times fall where they must rise
};

}  // namespace

void tune(const Options& options, const Placement& placement) { Tuner{options, placement}.run(); }

}  // namespace bench
