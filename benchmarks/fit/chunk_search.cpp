// SPDX-License-Identifier: BSD-3-Clause
#include "fit/chunk_search.hpp"

#include "fit/chunk_counts.hpp"
#include "timing/statistics.hpp"
#include "timing/together.hpp"

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace bench {
namespace {

/// As many chunks as a search looks at: more are shorter than any processor wants them.
constexpr std::size_t most_chunks = 256;

class Search {
 public:
  Search(const Modelled& schedule, std::size_t bytes, const Options& options,
         const Placement& placement, Contest& contest)
      : schedule_(schedule),
        bytes_(bytes),
        options_(options),
        placement_(placement),
        contest_(contest) {}

  std::size_t by_form(const CostFit& fit) const {
    return best_count(most_chunks, [&](std::size_t n) {
      return fit.predict(static_cast<double>(bytes_), static_cast<double>(segment(n)));
    });
  }

  std::size_t by_simulation(const papcoll::LogGops& model) const {
    std::size_t found = 0;
    together(placement_.comm(), [&] {
      if (placement_.rank() != 0) return;
      found = best_count_coarsely(most_chunks,
                                  [&](std::size_t n) { return simulated(segment(n), model); });
    });
    MPI_Bcast(&found, 1, MPI_UNSIGNED_LONG, 0, placement_.comm());
    return found;
  }

  /// By so many contests. In each all counts go by turns, so that it is as quick for one as for
  /// another, and the medians can be compared.
  std::vector<ChunkChoice::Timed> measured(const std::vector<std::size_t>& counts,
                                           std::size_t contests) {
    std::vector<std::string> names;
    for (const std::size_t n : counts) names.push_back(schedule_.name(segment(n)));
    std::vector<std::vector<double>> times(counts.size());
    for (std::size_t contest = 0; contest < contests; ++contest) {
      const auto found =
          contest_.run({.collective = schedule_.collective, .algorithms = names, .bytes = bytes_});
      for (std::size_t i = 0; i < counts.size(); ++i) times[i].push_back(found[i].tail);
    }
    std::vector<ChunkChoice::Timed> timed;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      timed.push_back({counts[i], segment(counts[i]), median(times[i])});
    }
    return timed;
  }

 private:
  std::size_t segment(std::size_t chunks) const {
    return schedule_.segment(bytes_, chunks, placement_.ranks(), size_of(options_.type));
  }

  double simulated(std::size_t segment, const papcoll::LogGops& model) const {
    const papcoll::Shape shape{.collective = schedule_.collective,
                               .size = placement_.ranks(),
                               .count = bytes_ / size_of(options_.type),
                               .counts = {},
                               .element_size = size_of(options_.type),
                               .in_place = papcoll::has_one_buffer(schedule_.collective)};
    return papcoll::simulate(
               papcoll::schedule_named(schedule_.schedule(segment), papcoll::catalogue()), shape,
               papcoll::static_order(shape), model)
        .time();
  }

  const Modelled& schedule_;
  std::size_t bytes_;
  const Options& options_;
  const Placement& placement_;
  Contest& contest_;
};

bool quicker(const ChunkChoice::Timed& a, const ChunkChoice::Timed& b) {
  return a.seconds < b.seconds;
}

}  // namespace

double ChunkChoice::above_best(std::size_t chunks) const {
  for (const Timed& t : compared) {
    if (t.chunks == chunks) return t.seconds / best.seconds - 1;
  }
  return std::numeric_limits<double>::infinity();
}

const char* ChunkChoice::source() const {
  if (best.chunks == by_form) return "closed form";
  return best.chunks == by_simulation ? "simulation" : "measured around both";
}

ChunkChoice search_chunks(const Modelled& schedule, const CostFit& fit, std::size_t bytes,
                          const Options& options, const Placement& placement,
                          const papcoll::LogGops& model, Contest& contest) {
  Search search{schedule, bytes, options, placement, contest};
  ChunkChoice choice;
  choice.by_form = search.by_form(fit);
  choice.by_simulation = search.by_simulation(model);
  choice.searched = search.measured(
      counts_around(std::array{choice.by_form, choice.by_simulation}, most_chunks), 1);
  std::vector<ChunkChoice::Timed> ascending = choice.searched;
  std::sort(ascending.begin(), ascending.end(), quicker);
  std::vector<std::size_t> counts{choice.by_form, choice.by_simulation};
  for (std::size_t i = 0; i < std::min(finalists, ascending.size()); ++i) {
    counts.push_back(ascending[i].chunks);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  choice.compared = search.measured(counts, sweeps);
  choice.best = *std::min_element(choice.compared.begin(), choice.compared.end(), quicker);
  return choice;
}

}  // namespace bench
