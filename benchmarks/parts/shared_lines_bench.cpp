// SPDX-License-Identifier: BSD-3-Clause
// Times what one core writes for another: each method of base/copying.hpp, from the first byte
// written until the other core has read the last and said so; and then the best of them where
// rounds use a longer piece of memory in turns, so that the reader's cache has lost what is written
// again (see node/pool.hpp). A writer's own time would mislead: a store past the caches is quick
// for it, and slow for who reads. One thread on processor 0 writes, one on processor 1 reads; each
// figure is the median of 400 rounds.

#include <papcoll/base/copying.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using papcoll::CopyMethod;
using papcoll::detail::CopyRule;

void stay_on(int processor) {
  papcoll::ProcessorSet one;
  one.add(processor);
  if (!one.bind_this_thread()) {
    std::fprintf(stderr, "processor %d is not to be had: the times are of no use\n", processor);
  }
}

/// Nanoseconds of each of so many rounds, in which `write` comes before the signal on this core,
/// and `read` after it on the other.
template <class Write, class Read> std::vector<double> rounds(int n, Write&& write, Read&& read) {
  struct alignas(papcoll::cache_line) Line {
    std::atomic<int> turn{0};  // release after the data, acquire before: nothing else is shared
  };
  Line written;
  Line done;
  std::jthread reader([&] {
    stay_on(1);
    for (int i = 1; i <= n; ++i) {
      while (written.turn.load(std::memory_order_acquire) != i) continue;
      read();
      done.turn.store(i, std::memory_order_release);
    }
  });
  stay_on(0);
  std::vector<double> all;
  for (int i = 1; i <= n; ++i) {
    const auto begin = Clock::now();
    write();
    written.turn.store(i, std::memory_order_release);
    while (done.turn.load(std::memory_order_acquire) != i) continue;
    all.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return all;
}

/// Rounds use `window` bytes in turns; 0: one place.
double time_of(CopyRule rule, std::size_t n, std::size_t window = 0) {
  const std::size_t places = std::max<std::size_t>(1, window / n);
  std::vector<std::byte> source(n, std::byte{1});
  std::vector<std::byte> shared(places * n, std::byte{1});
  std::vector<std::byte> target(n, std::byte{1});
  std::size_t writes = 0;
  std::size_t reads = 0;
  const auto next = [&](std::size_t& i) { return shared.data() + i++ % places * n; };
  return papcoll::median(rounds(
      400, [&] { papcoll::detail::copy_for_others(rule, next(writes), source.data(), n); },
      [&] { std::memcpy(target.data(), next(reads), n); }));
}

}  // namespace

int main() {
  const std::vector<double> signals = rounds(
      1000, [] {}, [] {});
  std::printf("a line there and back: %.0f ns at least\n",
              *std::min_element(signals.begin(), signals.end()));
  std::printf("%10s %12s %12s %12s   ns to write, tell and read\n", "bytes", "plain", "string",
              "streamed");
  for (std::size_t n = 1024; n <= std::size_t{4} << 20U; n *= 2) {
    std::printf("%10zu %12.0f %12.0f %12.0f\n", n, time_of({}, n),
                time_of({CopyMethod::string, 0}, n), time_of({CopyMethod::streamed, 0}, n));
  }
  constexpr std::size_t megabyte = std::size_t{1} << 20U;
  std::printf("\n%10s %12s %12s %12s %12s   ns by string instruction, in turns\n", "bytes",
              "one place", "of 1 MB", "of 2 MB", "of 4 MB");
  for (std::size_t n = 4096; n <= megabyte; n *= 2) {
    std::printf("%10zu", n);
    for (const std::size_t window : {std::size_t{0}, megabyte, 2 * megabyte, 4 * megabyte}) {
      std::printf(" %12.0f", time_of({CopyMethod::string, 0}, n, window));
    }
    std::printf("\n");
  }
}
