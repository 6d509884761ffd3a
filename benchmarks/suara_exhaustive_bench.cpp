// Every allreduce of SUARA, simulated or shown to be slower: all pairs of its six algorithms on all
// grids of P ranks, with gaps and folded, and the six without a grid, beside what choose_suara()
// takes. reproduce/suara_exhaustive.py runs it, and says how and with what result.
//
//     suara_exhaustive_bench BYTES DIMENSIONS P...      a line of JSON for each P
//
// Each algorithm is simulated along lines of n ranks alone, and a grid cannot be quicker than its
// longest lines one after the other: a bound, which all grids without gaps meet. From the lowest
// bound on grids are simulated as a whole, until no bound is below the best of them. Bounds count
// by `slack`, since those who have less to do in a grid with gaps hand on early, and the program
// says how much below its bound a simulation ended. Segmented rings in all dimensions overlap, and
// go by the closed form instead, with more slack. Lines are simulated only where bounds from their
// bytes and messages leave it open.

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/analysis/simulate.hpp>
#include <papcoll/model/suara_choice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace papcoll;

constexpr std::size_t element = 4;  // a float's
constexpr double segment = 8192;

struct Slack {
  double line = 0.80;  ///< of a line's closed form
  double full = 0.98;
  double gaps = 0.95;
  double rings = 0.92;  ///< of the closed form
};

/// Contention-free, as published: SuaraModel's default.
SuaraModel network_model() {
  SuaraModel model;
  model.segment = segment;
  return model;
}

double simulated(const AnySchedule& schedule, int ranks, double bytes) {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = ranks;
  shape.element_size = element;
  shape.count = static_cast<std::size_t>(bytes) / element;
  SimulateOptions options;
  options.ports = Ports::shared;
  return simulate(schedule, shape, Order::identity(ranks), LogGops{}, options).time();
}

/// SUARA's six, where reduce and bcast of the nonoverlapping one are both of two.
struct Candidate {
  SuaraPart part;
  AnySchedule schedule;
  bool binomial_reduce = false;
  bool binomial_bcast = false;
};

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all{{SuaraPart::linear, Linear{}},
                             {SuaraPart::recursive_doubling, RecursiveDoubling{}},
                             {SuaraPart::ring, Ring{}},
                             {SuaraPart::segmented_ring,
                              SegmentedRing{.segment_bytes = static_cast<std::size_t>(segment)}},
                             {SuaraPart::rabenseifner, Rabenseifner{}}};
  for (const bool tree : {true, false}) {
    for (const bool tree_back : {true, false}) {
      const AnySchedule reduce =
          tree ? AnySchedule(Binomial{}) : AnySchedule(ReduceScatterGather{});
      const AnySchedule bcast =
          tree_back ? AnySchedule(Binomial{}) : AnySchedule(ScatterAllgather{});
      all.push_back(
          {SuaraPart::nonoverlapping, AnyReduceThenBcast{reduce, bcast}, tree, tree_back});
    }
  }
  return all;
}

/// The closed form along a line of n ranks that takes turns at its ports, which those that share
/// them do not undercut.
double by_form(const Candidate& c, int n, double m) {
  static const SuaraModel turns{HockneyWithGap{Hockney{}, 0}};
  if (c.part == SuaraPart::segmented_ring) return seconds_along(network_model(), c.part, n, m);
  if (c.part != SuaraPart::nonoverlapping) return seconds_along(turns, c.part, n, m);
  const ReduceAndBcast both = reduce_and_bcast(turns, n, m);
  return (c.binomial_reduce ? both.tree : both.scattered) +
         (c.binomial_bcast ? both.tree_back : both.scattered_back);
}

/// What the candidates take along lines, simulated once each.
class Lines {
 public:
  Lines(const std::vector<Candidate>& candidates, double m) : candidates_(candidates), m_(m) {}

  double seconds(std::size_t candidate, int n) {
    if (n < 2) return 0;
    const auto [at, fresh] = known_.try_emplace({candidate, n}, 0.0);
    if (fresh) {  // a grid of one row, in which steps are held apart as in any other
      const Candidate& c = candidates_[candidate];
      at->second = simulated(AnySuara{{c.schedule, Ring{}}, {n}, false}, n, m_);
      least_ = std::min(least_, at->second / by_form(c, n, m_));
    }
    return at->second;
  }

  std::size_t count() const { return known_.size(); }
  /// A simulation over its closed form.
  double least() const { return least_; }

 private:
  const std::vector<Candidate>& candidates_;
  double m_;
  std::map<std::pair<std::size_t, int>, double> known_;
  double least_ = 1e9;
};

/// A grid, and which candidate runs along each dimension.
struct Grid {
  SuaraChoice choice;
  std::array<std::size_t, SuaraChoice::most> along{};
  bool gaps = false;
  bool rings = false;  ///< segmented, in all dimensions
  double bound = 0;

  double slack(const Slack& s) const { return rings ? 1 : gaps ? s.gaps : s.full; }
};

struct Counts {
  std::size_t grids = 0;
  std::size_t simulated = 0;
  double full_least = 1e9;  ///< a simulation over its bound, of grids without gaps
  double full_most = 0;
  double gaps_least = 1e9;
  double rings_least = 1e9;  ///< over the closed form
};

struct Timed {
  std::string name;
  double seconds = 0;
};

class Search {
 public:
  Search(const std::vector<Candidate>& candidates, Lines& lines, int ranks, double m,
         std::size_t dimensions)
      : candidates_(candidates), lines_(lines), p_(ranks), m_(m), dimensions_(dimensions) {}

  void run() {
    for (const Candidate& c : candidates_) flat_.push_back(time(c.schedule));
    chosen_ = schedule_time(choose_suara(model_, p_, m_, dimensions_));
    chosen_seconds_by_model_ = choose_suara(model_, p_, m_, dimensions_).seconds;
    rings_ = rings(SuaraPart::ring);
    if (const Timed other = rings(SuaraPart::segmented_ring); other.seconds < rings_.seconds) {
      rings_ = other;
    }
    consider();
    examine();
    std::sort(tried_.begin(), tried_.end(),
              [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
  }

  void print() const;

 private:
  Timed time(const AnySchedule& s) {
    Timed t{s.name(), simulated(s, p_, m_)};
    tried_.push_back(t);
    best_ = std::min(best_, t.seconds);
    return t;
  }
  /// The published pairs: the same ring along both dimensions of the best grid for it.
  Timed rings(SuaraPart part) {
    SuaraChoice c;
    c.dimensions = 2;
    c.parts.fill(part);
    return schedule_time(choose_suara_grid(model_, c, p_, m_));
  }
  Timed schedule_time(const SuaraChoice& c) { return time(schedule_of(model_, c, p_, m_)); }

  /// Collects the grids that bounds from bytes and messages, then from lines, leave open.
  void consider() {
    for (std::size_t d = 2; d <= dimensions_; ++d) {
      SuaraChoice c;
      c.dimensions = d;
      detail::each_grid(c, p_, false, [this](const SuaraChoice& one) { pairs_on(one); });
    }
  }

  void pairs_on(const SuaraChoice& c) {
    const detail::SuaraLines lines = detail::lines_of(p_, c);
    Grid g;
    g.choice = c;
    g.gaps = lines.folds + lines.hand_overs > 0;
    if (c.folded && !g.gaps) return;  // as without
    along(g, 0, lines);
  }

  void along(Grid& g, std::size_t d, const detail::SuaraLines& lines) {
    if (d == g.choice.dimensions) return add(g, lines);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      g.along[d] = i;
      g.choice.parts[d] = candidates_[i].part;
      along(g, d + 1, lines);
    }
  }

  void add(Grid g, const detail::SuaraLines& lines) {
    ++counts_.grids;
    g.rings = true;
    double floor = 0;
    for (std::size_t d = 0; d < g.choice.dimensions; ++d) {
      g.rings &= g.choice.parts[d] == SuaraPart::segmented_ring;
      floor += slack_.line * by_form(candidates_[g.along[d]], lines.lengths[d], m_);
    }
    if (g.rings) {
      g.bound = slack_.rings * seconds_of(model_, g.choice, p_, m_);
      if (g.bound < best_) open_.push_back(g);
      return;
    }
    static const SuaraModel turns{HockneyWithGap{Hockney{}, 0}};
    const double gaps = detail::seconds_of_gaps(turns, lines, m_);
    if ((floor + gaps) * g.slack(slack_) >= best_) return;
    g.bound = gaps;
    for (std::size_t d = 0; d < g.choice.dimensions; ++d) {
      g.bound += lines_.seconds(g.along[d], lines.lengths[d]);
      if (g.bound * g.slack(slack_) >= best_) return;
    }
    open_.push_back(g);
  }

  void examine() {
    std::sort(open_.begin(), open_.end(), [this](const Grid& a, const Grid& b) {
      return a.bound * a.slack(slack_) < b.bound * b.slack(slack_);
    });
    for (const Grid& g : open_) {
      if (g.bound * g.slack(slack_) >= best_) break;
      const double seconds = time(schedule(g)).seconds;
      ++counts_.simulated;
      const double over = seconds / g.bound;
      if (g.rings) {
        counts_.rings_least = std::min(counts_.rings_least, over * slack_.rings);
      } else if (g.gaps) {
        counts_.gaps_least = std::min(counts_.gaps_least, over);
      } else {
        counts_.full_least = std::min(counts_.full_least, over);
        counts_.full_most = std::max(counts_.full_most, over);
      }
    }
  }

  AnySchedule schedule(const Grid& g) const {
    AnySuara s;
    s.folded = g.choice.folded;
    const detail::SuaraLines lines = detail::lines_of(p_, g.choice);
    for (std::size_t d = 0; d < g.choice.dimensions; ++d) {
      s.along.push_back(candidates_[g.along[d]].schedule);
      s.extents.push_back(d == 0 ? lines.lengths[0] : g.choice.extents[d]);
    }
    return s;
  }

  const std::vector<Candidate>& candidates_;
  Lines& lines_;
  int p_;
  double m_;
  std::size_t dimensions_;
  SuaraModel model_ = network_model();
  Slack slack_;
  double best_ = 1e9;
  std::vector<Timed> flat_;
  Timed chosen_;
  Timed rings_;
  double chosen_seconds_by_model_ = 0;
  std::vector<Grid> open_;
  std::vector<Timed> tried_;
  Counts counts_;
};

void print_timed(const char* key, const Timed& t) {
  std::printf(R"("%s": {"name": "%s", "seconds": %.9g}, )", key, t.name.c_str(), t.seconds);
}

void print_list(const char* key, const std::vector<Timed>& list, std::size_t most) {
  std::printf(R"("%s": {)", key);
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
    std::printf(R"(%s"%s": %.9g)", i == 0 ? "" : ", ", list[i].name.c_str(), list[i].seconds);
  }
  std::printf("}, ");
}

/// Null where nothing was simulated.
void print_ratio(const char* key, double ratio, const char* end) {
  if (ratio == 0 || ratio == 1e9) {
    std::printf(R"("%s": null%s)", key, end);
  } else {
    std::printf(R"("%s": %.6g%s)", key, ratio, end);
  }
}

void Search::print() const {
  std::printf(R"({"ranks": %d, "bytes": %.0f, "dimensions": %zu, )", p_, m_, dimensions_);
  print_list("flat", flat_, flat_.size());
  print_timed("chosen", chosen_);
  print_timed("rings", rings_);
  std::printf(R"("chosen_by_model": %.9g, )", chosen_seconds_by_model_);
  print_list("quickest", tried_, 8);
  std::printf(R"("grids": %zu, "simulated": %zu, "lines": %zu, )", counts_.grids, counts_.simulated,
              lines_.count());
  print_ratio("lines_least", lines_.least(), ", ");
  print_ratio("full_least", counts_.full_least, ", ");
  print_ratio("full_most", counts_.full_most, ", ");
  print_ratio("gaps_least", counts_.gaps_least, ", ");
  print_ratio("rings_least", counts_.rings_least, "}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "use: %s BYTES DIMENSIONS RANKS...\n", argv[0]);
    return 2;
  }
  try {
    const double bytes = std::strtod(argv[1], nullptr);
    const std::size_t dimensions = std::strtoul(argv[2], nullptr, 10);
    const std::vector<Candidate> candidates = all_candidates();
    Lines lines{candidates, bytes};
    for (int i = 3; i < argc; ++i) {
      Search search{candidates, lines, std::atoi(argv[i]), bytes, dimensions};
      search.run();
      search.print();
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
