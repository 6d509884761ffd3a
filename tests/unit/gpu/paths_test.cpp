// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/gpu/paths.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

// Shares of a message over several paths, against searches over shares and chunks.

using namespace papcoll::gpu;

namespace {

constexpr double GB = 1e9;
constexpr double us = 1e-6;
constexpr ChunkLimits chunks{};

Path nvlink(double rate = 72 * GB) { return {Path::direct, rate, rate, 10 * us}; }
Path through_host(double down = 60 * GB, double up = 60 * GB) {
  return {Path::host, down, up, 10 * us};
}

/// The least time over every share in steps of 1/512 and every number of chunks.
double searched(const Path& a, const Path& b, double bytes) {
  double best = 1e9;
  const auto least = [&](const Path& path, double x) {
    double t = 1e9;
    for (int k = 1; k <= chunks.most; ++k) t = std::min(t, path.seconds(x, k));
    return t;
  };
  for (int i = 0; i <= 512; ++i) {
    const double x = bytes * i / 512;
    best = std::min(best, std::max(least(a, bytes - x), least(b, x)));
  }
  return best;
}

double single(const std::vector<Path>& paths, std::size_t bytes) {
  double best = 1e9;
  for (const Path& p : paths) {
    const double x = static_cast<double>(bytes);
    best = std::min(best, p.seconds(x, p.best_chunks(x, chunks)));
  }
  return best;
}

double gain(const std::vector<Path>& paths, std::size_t bytes) {
  return single(paths, bytes) / seconds_of(share_out(paths, bytes));
}

}  // namespace

TEST_CASE("what a path carries by a time is the inverse of the time that it takes", "[paths]") {
  for (const Path& path : {nvlink(), through_host(), through_host(12 * GB, 60 * GB)}) {
    for (double bytes = 1e3; bytes < 1e10; bytes *= 3) {
      const double t = path.seconds(bytes, path.best_chunks(bytes, chunks));
      // Whole numbers of chunks take a little longer, so that the path would carry a little more.
      const double carried = path.bytes_by(t, chunks);
      CHECK(carried >= bytes * (1 - 1e-9));
      CHECK(carried <= bytes * 1.07);
    }
  }
}

TEST_CASE("no number of chunks is better than the best one", "[paths]") {
  for (const Path& path : {through_host(), through_host(12 * GB, 60 * GB)}) {
    for (double bytes = 1e3; bytes < 1e10; bytes *= 1.7) {
      const double best = path.seconds(bytes, path.best_chunks(bytes, chunks));
      for (int k = 1; k <= chunks.most; ++k) CHECK(best <= path.seconds(bytes, k) * (1 + 1e-12));
    }
  }
}

TEST_CASE("shares by the closed form are within 2 % of a search, and never slower than one path",
          "[paths]") {
  const std::vector<std::vector<Path>> machines{
      {nvlink(), through_host()},
      {nvlink(), through_host(12 * GB, 12 * GB)},
      {nvlink(25 * GB), through_host(12 * GB, 60 * GB)},
      {nvlink(300 * GB), {1, 300 * GB, 300 * GB, 3 * us}}};
  for (const auto& paths : machines) {
    for (std::size_t bytes = 4096; bytes <= (std::size_t{1} << 30U); bytes = bytes * 3 / 2) {
      CAPTURE(bytes);
      const auto shares = share_out(paths, bytes);
      std::size_t carried = 0;
      for (const PathShare& s : shares) carried += s.bytes;
      CHECK(carried == bytes);
      CHECK(seconds_of(shares) <= 1.02 * searched(paths[0], paths[1], static_cast<double>(bytes)));
      CHECK(gain(paths, bytes) >= 1.0);
    }
  }
}

TEST_CASE("several paths gain what their rates promise", "[paths]") {
  const std::size_t bytes = std::size_t{64} << 20U;
  CHECK(gain({nvlink(), through_host()}, bytes) >= 1.6);
  const Path second{2, 72 * GB, 72 * GB, 10 * us};
  const Path third{3, 72 * GB, 72 * GB, 10 * us};
  CHECK(gain({nvlink(), second, third, through_host()}, bytes) >= 2.7);
  // A short message goes one way.
  CHECK(share_out(std::vector{nvlink(), through_host()}, 8192).size() == 1);
}

TEST_CASE("shares cover the message, one after the other", "[paths]") {
  const std::vector<Path> paths{nvlink(), {1, 72 * GB, 60 * GB, 5 * us}, through_host()};
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{10'000'001}}) {
    auto shares = share_out(paths, bytes);
    std::sort(shares.begin(), shares.end(),
              [](const PathShare& a, const PathShare& b) { return a.offset < b.offset; });
    std::size_t at = 0;
    for (const PathShare& s : shares) {
      CHECK(s.offset == at);
      CHECK(s.bytes > 0);
      at += s.bytes;
    }
    CHECK(at == bytes);
  }
}

TEST_CASE("a tuning table goes ahead of the model", "[paths]") {
  const std::vector<Path> paths{nvlink(), through_host()};
  const std::vector<TunedShare> table{{1U << 20U, 0, 1}, {64U << 20U, 0.25, 4}};
  ShareLimits limits;
  limits.tuned = table;
  const auto small = share_out(paths, 1U << 20U, limits);
  REQUIRE(small.size() == 1);
  CHECK(small[0].path.via == Path::direct);
  const auto large = share_out(paths, 64U << 20U, limits);
  REQUIRE(large.size() == 2);
  CHECK(large[0].bytes == 48U << 20U);
  CHECK(large[1].bytes == 16U << 20U);
  CHECK(large[1].chunks == 4);
  // Beyond the table: the model.
  CHECK(share_out(paths, 128U << 20U, limits)[0].bytes !=
        share_out(paths, 64U << 20U, limits)[0].bytes * 2);
}
