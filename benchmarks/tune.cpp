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
  node,              ///< on one node,
  node_two,          ///<   two, each with a processor,
  node_more,         ///<   more, each with a processor,
  node_several,      ///<   more than two,
  node_roomy,        ///<   each with a processor,
  node_crowded,      ///<   more than processors
  nodes_of_several,  ///< on several nodes, of several ranks
};

/// Two algorithms, the first of which gives way to the second at a threshold.
struct Comparison {
  const ThresholdField* threshold;
  Where where;
  Collective collective;
  const char* first;
  const char* second;
  bool late = false;          ///< one rank is, else balanced
  bool arena = false;         ///< buffers in the arena
  bool of_all_ranks = false;  ///< the threshold counts the bytes of all ranks together
};

constexpr auto allreduce = Collective::allreduce;

constexpr std::array comparisons{
    Comparison{threshold("allreduce", "exchange_two_ranks"), Where::node_two, allreduce, "Exchange",
               "MultiLeader"},
    Comparison{threshold("allreduce", "exchange_more_ranks"), Where::node_more, allreduce,
               "Exchange", "MultiLeader"},
    Comparison{threshold("allreduce", "exchange_oversubscribed"), Where::node_crowded, allreduce,
               "Exchange", "Accumulator"},
    Comparison{threshold("allreduce", "accumulator_arena"), Where::node_crowded, allreduce,
               "Accumulator", "PeerSlices", false, true},
    Comparison{threshold("allreduce", "exchange_oversubscribed_ordered"), Where::node_crowded,
               allreduce, "Exchange", "DynamicLeader"},
    Comparison{threshold("allreduce", "leader_oversubscribed"), Where::node_crowded, allreduce,
               "DynamicLeader", "PeerSlices"},
    Comparison{threshold("allreduce", "multi_leader"), Where::node, allreduce, "MultiLeader",
               "PeerSlices"},
    Comparison{threshold("allreduce", "multi_leader_arena"), Where::node, allreduce, "MultiLeader",
               "PeerSlices", false, true},
    Comparison{threshold("reduce", "exchange"), Where::node_several, Collective::reduce, "Exchange",
               "Accumulator"},
    Comparison{threshold("reduce", "slices"), Where::node, Collective::reduce, "DynamicLeader",
               "PeerSlices"},
    Comparison{threshold("reduce", "slices_arena"), Where::node, Collective::reduce,
               "DynamicLeader", "PeerSlices", false, true},
    Comparison{threshold("bcast", "slices"), Where::node, Collective::bcast, "DynamicLeader",
               "PeerSlices"},
    Comparison{threshold("bcast", "slices_arena"), Where::node, Collective::bcast, "DynamicLeader",
               "PeerSlices", false, true},
    Comparison{threshold("allgather", "slices"), Where::node, Collective::allgather, "Exchange",
               "PeerSlices"},
    Comparison{threshold("allgather", "slices_arena"), Where::node, Collective::allgather,
               "Exchange", "PeerSlices", false, true},
    Comparison{threshold("reduce_scatter", "slices_arena"), Where::node_roomy,
               Collective::reduce_scatter, "Exchange", "PeerSlices", false, true, true},
    Comparison{threshold("reduce_scatter", "slices_arena_oversubscribed"), Where::node_crowded,
               Collective::reduce_scatter, "Exchange", "PeerSlices", false, true, true},
    Comparison{threshold("allreduce", "late_exchange"), Where::node_several, allreduce, "Exchange",
               "DynamicLeader", true, false, true},
    Comparison{threshold("allreduce", "late_leader"), Where::node_several, allreduce,
               "DynamicLeader", "Accumulator", true},
    Comparison{threshold("allreduce", "late_leader_ordered"), Where::node_several, allreduce,
               "DynamicLeader", "CombiningTree", true},
    Comparison{threshold("reduce", "late_exchange"), Where::node, Collective::reduce, "Exchange",
               "Accumulator", true},
    Comparison{threshold("reduce", "late_accumulator"), Where::node_several, Collective::reduce,
               "Accumulator", "ArrivalOrder+Chain", true},
    Comparison{threshold("allreduce", "recursive_doubling"), Where::anywhere, allreduce,
               "RecursiveDoubling+MpiTransport", "Rabenseifner+MpiTransport"},
    Comparison{threshold("reduce", "binomial"), Where::anywhere, Collective::reduce,
               "Binomial+MpiTransport", "ReduceScatterGather+MpiTransport"},
    Comparison{threshold("bcast", "binomial"), Where::anywhere, Collective::bcast,
               "Binomial+MpiTransport", "ScatterAllgather+MpiTransport"},
    Comparison{threshold("allgather", "bruck"), Where::anywhere, Collective::allgather,
               "Bruck+MpiTransport", "Ring+MpiTransport", false, false, true},
    Comparison{threshold("network", "hierarchical"), Where::nodes_of_several, allreduce,
               "Hierarchical", "Rabenseifner+MpiTransport"},
};

/// Mean waits in parts of a call's own time, at which what begins before the last arrival is timed.
constexpr std::array<std::size_t, 7> waits_in_percent{25, 50, 100, 200, 400, 800, 1600};

bool applies(Where where, const Placement& p) {
  const bool node = p.nodes() == 1;
  switch (where) {
    case Where::anywhere:
      return true;
    case Where::node:
      return node;
    case Where::node_two:
      return node && !p.oversubscribed() && p.ranks() == 2;
    case Where::node_more:
      return node && !p.oversubscribed() && p.ranks() > 2;
    case Where::node_several:
      return node && p.ranks() > 2;
    case Where::node_roomy:
      return node && !p.oversubscribed();
    case Where::node_crowded:
      return node && p.oversubscribed();
    case Where::nodes_of_several:
      return p.nodes() > 1 && p.nodes() < p.ranks();
  }
  return false;
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
    if (placement_.nodes() == 1) estimate_own_time();
    for (const Comparison& c : comparisons) {
      if (applies(c.where, placement_)) compare(c);
    }
    if (placement_.nodes() == 1) find_imbalance();
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
    if (placement_.nodes() == 1) timed += 2 + 2 * waits_in_percent.size();
    fmt::print("{}\n", announced("--tune", static_cast<double>(timed), options_));
    std::fflush(stdout);
  }

  /// Mean times in a call, in µs.
  std::vector<double> time(Collective collective, const std::vector<std::string>& algorithms,
                           std::size_t bytes, double spread, bool arena) {
    std::vector<double> times;
    const BufferKind buffers = arena ? BufferKind::arena : BufferKind::ordinary;
    for (const Times& t : contest_.run({collective, algorithms, bytes, spread, buffers})) {
      times.push_back(1e6 * t.in_call);
    }
    return times;
  }

  /// What a balanced call takes, for each rank and byte.
  void estimate_own_time() {
    constexpr std::size_t few = 8;
    constexpr std::size_t many = std::size_t{1} << 20U;
    const double ranks = placement_.ranks();
    const double small = time(allreduce, {"auto"}, few, 0, false)[0];
    const double large = time(allreduce, {"auto"}, many, 0, false)[0];
    const auto whole = [](double x) {
      return static_cast<std::size_t>(std::lround(std::fmax(x, 1)));
    };
    const std::string measured = fmt::format(
        "allreduce of 8 bytes {:.3g} µs, of 1 MB {:.4g} µs, {}", small, large, described());
    set(placement_.oversubscribed() ? threshold("arrivals", "own_ns_oversubscribed")
                                    : threshold("arrivals", "own_ns"),
        whole(small * 1000 / ranks), measured);
    set(threshold("arrivals", "own_ps_a_byte"), whole((large - small) * 1e6 / ranks / many),
        measured);
  }

  void compare(const Comparison& c) {
    std::vector<std::size_t> points;
    std::vector<double> first;
    std::vector<double> second;
    const std::vector<std::string> algorithms{c.first, c.second};
    for (const std::size_t size : options_.sizes) {
      // So late that all can be done before it comes.
      const double spread = c.late ? 8 * own_seconds(size) : 0;
      const std::vector<double> times = time(c.collective, algorithms, size, spread, c.arena);
      points.push_back(c.of_all_ranks ? size * static_cast<std::size_t>(placement_.ranks()) : size);
      first.push_back(times[0]);
      second.push_back(times[1]);
    }
    const std::size_t fitted = fit_threshold(points, first, second);
    std::string measured = fmt::format("{}{}{}, {}, µs by {} and {}:", name_of(c.collective),
                                       c.late ? ", one rank late" : "", c.arena ? ", arena" : "",
                                       described(), c.first, c.second);
    for (std::size_t i = 0; i < points.size(); ++i) {
      measured += fmt::format(" {}: {:.4g} {:.4g}{}", format_bytes(options_.sizes[i]), first[i],
                              second[i], i + 1 < points.size() ? "," : "");
    }
    if (fall(first) || fall(second)) doubtful_.push_back(c.threshold->full_name());
    set(c.threshold, fitted, measured);
  }

  /// From which mean wait, in parts of a call's own time, what begins before the last arrival is
  /// better. At sizes above late_leader, where the difference is largest.
  void find_imbalance() {
    // What waiting in a balanced loop of calls comes to must not pass for imbalance.
    constexpr std::size_t least = 50;
    const std::size_t bytes =
        std::max(std::size_t{1} << 18U,
                 std::min(2 * thresholds_.allreduce.late_leader, options_.sizes.back()));
    std::vector<double> balanced;
    std::vector<double> imbalanced;
    std::string measured = fmt::format(
        "allreduce of {}, one rank late, {}, µs by PeerSlices and "
        "Accumulator, at mean waits in percent of its own time:",
        format_bytes(bytes), described());
    const double ranks = placement_.ranks();
    for (const std::size_t percent : waits_in_percent) {
      const double wait = own_seconds(bytes) * static_cast<double>(percent) / 100;
      const auto times =
          time(allreduce, {"PeerSlices", "Accumulator"}, bytes, wait * ranks / (ranks - 1), false);
      balanced.push_back(times[0]);
      imbalanced.push_back(times[1]);
      measured += fmt::format(" {}: {:.4g} {:.4g}", percent, times[0], times[1]);
    }
    if (fall(balanced) || fall(imbalanced)) doubtful_.emplace_back("arrivals.late_percent");
    set(threshold("arrivals", "late_percent"),
        std::max(least, fit_threshold(waits_in_percent, balanced, imbalanced)), measured);
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

  double own_seconds(std::size_t bytes) const {
    return 1e-9 * static_cast<double>(
                      thresholds_.own_time(bytes, placement_.ranks(), placement_.oversubscribed()));
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
