// SPDX-License-Identifier: BSD-3-Clause
// Every allreduce of SUARA, simulated or shown to be slower: all pairs of its six algorithms on all
// grids of P ranks, with gaps and folded, and the six without a grid, beside what choose_suara()
// takes. reproduce/suara_exhaustive.py runs it, and says how and with what result.
//
//     suara_exhaustive_bench BYTES DIMENSIONS P...      a line of JSON for each P
//
// Each algorithm is simulated along lines of n ranks alone, which gives a bound for each grid
// (suara_bounds.hpp). From the lowest bound on grids are simulated as a whole, until no bound is
// below the best of them; the program says how much below its bound a simulation ended.

#include "parts/suara_bounds.hpp"
#include "parts/suara_candidates.hpp"

#include <papcoll/algorithms/static/suara_choice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace bench::suara;

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

  void examine() {
    Sieve sieve{candidates_, lines_, p_, m_, best_};
    for (const Grid& g : sieve.open(dimensions_)) {
      if (g.least() >= best_) break;
      const double seconds = time(g.schedule(candidates_, p_)).seconds;
      ++counts_.simulated;
      const double over = seconds / g.bound;
      if (g.rings) {
        counts_.rings_least = std::min(counts_.rings_least, over * slacks.rings);
      } else if (g.gaps) {
        counts_.gaps_least = std::min(counts_.gaps_least, over);
      } else {
        counts_.full_least = std::min(counts_.full_least, over);
        counts_.full_most = std::max(counts_.full_most, over);
      }
    }
    counts_.grids = sieve.grids();
  }

  const std::vector<Candidate>& candidates_;
  Lines& lines_;
  int p_;
  double m_;
  std::size_t dimensions_;
  SuaraModel model_ = network_model();
  double best_ = 1e9;
  std::vector<Timed> flat_;
  Timed chosen_;
  Timed rings_;
  double chosen_seconds_by_model_ = 0;
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
