// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include "fit/chunk_counts.hpp"
#include "fit/modelled.hpp"
#include "fit/schedule_fit.hpp"

#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <vector>

TEST_CASE("how many chunks are best", "[bench]") {
  const double l = 6;
  const auto seconds = [&](std::size_t n) {
    const auto chunks = static_cast<double>(n);
    return (l + chunks - 1) * (2e-6 + 3e-10 * 1e6 / chunks);
  };
  // √((l−1)βm/α) = √(5 · 3e-4 / 2e-6).
  CHECK(bench::best_count(100, seconds) == 27);
  CHECK(bench::best_count(10, seconds) == 10);
  CHECK(bench::best_count(100, [](std::size_t) { return 1.0; }) == 1);
  int questions = 0;
  const auto counted = [&](std::size_t n) {
    ++questions;
    return seconds(n);
  };
  CHECK(bench::best_count_coarsely(256, counted) == 27);
  CHECK(questions < 35);
  CHECK(bench::best_count_coarsely(10, seconds) == 10);
  CHECK(bench::best_count_coarsely(1, seconds) == 1);
}

TEST_CASE("the counts that are measured", "[bench]") {
  using Counts = std::vector<std::size_t>;
  CHECK(bench::counts_around(Counts{30}, 1000) == Counts{10, 15, 20, 30, 40, 50, 60});
  CHECK(bench::counts_around(Counts{5, 12}, 27) == Counts{2, 5, 6, 10, 12, 15, 22, 24, 25, 27});
  CHECK(bench::counts_around({}, 10).empty());
}

namespace {

bench::SharedPipeline pipeline(papcoll::Collective c, std::string_view algorithm, int ranks,
                               int processors) {
  for (const bench::Modelled& m : bench::modelled) {
    if (m.collective == c && m.algorithm == algorithm) return m.on_shared(ranks, processors);
  }
  throw std::runtime_error("no such schedule");
}

}  // namespace

TEST_CASE("segments on processors that ranks share", "[bench]") {
  using enum papcoll::Collective;
  const papcoll::Hockney h{1, 0.5, 0.25};
  // 0→1, 0→2, 1→3: rank 3 receives when 1 has; one of two processors has two of the receivers.
  CHECK(pipeline(bcast, "PipelinedBinaryTree", 4, 2).seconds(h, 8, 8) == Approx(2 * (1 + 4)));
  CHECK(pipeline(bcast, "PipelinedBinaryTree", 4, 2).seconds(h, 8, 2) == Approx(4 * 2 * (1 + 1)));
  CHECK(pipeline(bcast, "PipelinedChain", 4, 2).seconds(h, 8, 8) == Approx(3 * (1 + 4)));
  CHECK(pipeline(bcast, "PipelinedChain", 4, 2).seconds(h, 8, 2) ==
        Approx(3 * (1 + 1) + 3 * 2 * (1 + 1)));
  CHECK(pipeline(reduce, "PipelinedChain", 4, 2).seconds(h, 8, 8) == Approx(3 * (1 + 4 + 2)));
  // 0 receives from 2 while 1 receives from 3.
  CHECK(pipeline(reduce, "PipelinedBinaryTree", 4, 4).receipts.hops == 2);
  CHECK(pipeline(reduce, "PipelinedBinaryTree", 7, 7).receipts.hops == 4);
  CHECK(pipeline(reduce, "PipelinedBinaryTree", 7, 2).receipts.passes == 3);
  CHECK(pipeline(reduce, "PipelinedBinaryTree", 3, 1).receipts.passes == 2);
  // Three receipts a rank of two that share a processor, twice round; half of them are combined.
  CHECK(pipeline(allreduce, "SegmentedRing", 4, 2).seconds(h, 16, 4) ==
        Approx(2 * 3 * 2 * (1 + 4 * (0.5 + 0.125))));
}

TEST_CASE("the form that explains runs on shared processors is found", "[bench]") {
  const bench::Modelled* chain = nullptr;
  for (const bench::Modelled& m : bench::modelled) {
    if (m.collective == papcoll::Collective::bcast &&
        m.algorithm == std::string_view("PipelinedChain"))
      chain = &m;
  }
  REQUIRE(chain != nullptr);
  const papcoll::Hockney truth{4e-6, 1e-10, 1e-10};
  const papcoll::Hockney guess{1e-6, 1e-9, 1e-10};
  std::vector<bench::Run> runs;
  for (double m = 65536; m <= 1 << 22; m *= 2) {
    for (const double n : {1.0, 4.0, 16.0}) {
      // Twice as quick a byte at one size, as where its buffers are in another cache.
      const double beta = m == 1 << 20 ? truth.beta / 2 : truth.beta;
      runs.push_back(
          {m, m / n, chain->on_shared(4, 2).seconds({truth.alpha, beta, truth.gamma}, m, m / n)});
    }
  }
  const bench::ScheduleFit fit = bench::fit_schedule(*chain, runs, guess, {4, 2});
  CHECK(fit.shared);
  CHECK(bench::fit_schedule(*chain, runs, guess, {4, 4}).shared == false);
  const bench::ScheduleFit here = bench::fit_schedule_at(1 << 20, *chain, runs, guess, {4, 2}, fit);
  CHECK(here.costs.parameters.beta == Approx(truth.beta / 2).epsilon(1e-3));
  CHECK(here.costs.parameters.alpha == Approx(truth.alpha).epsilon(1e-3));
  CHECK(bench::fit_schedule_at(12345, *chain, runs, guess, {4, 2}, fit).costs.parameters ==
        fit.costs.parameters);
}
