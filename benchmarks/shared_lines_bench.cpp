// Times what it costs to copy into memory that another core has just read, and to read it there:
// memcpy beside the copy past the caches (detail/streaming.hpp). One thread on processor 0 writes,
// one on processor 1 reads; each figure is the median of 400 rounds.

#include <papcoll/base/streaming.hpp>
#include <papcoll/statistics/median.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace {

using Clock = std::chrono::steady_clock;
using Copy = void(std::byte*, const std::byte*, std::size_t) noexcept;

void cached(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  std::memcpy(to, from, n);
}

void stay_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::fprintf(stderr, "processor %d is not to be had: the times are of no use\n", processor);
  }
}

double microseconds_of(Copy& copy, std::byte* to, const std::byte* from, std::size_t n) {
  const auto begin = Clock::now();
  copy(to, from, n);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void measure(const char* name, Copy& copy, std::size_t n) {
  constexpr int rounds = 400;
  std::vector<std::byte> source(n, std::byte{1});
  std::vector<std::byte> shared(n, std::byte{1});
  std::vector<std::byte> target(n, std::byte{1});
  std::atomic<int> turn{0};
  std::vector<double> writing;
  std::vector<double> reading;
  std::jthread reader([&] {
    stay_on(1);
    for (int i = 0; i < rounds; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i + 1) continue;
      reading.push_back(microseconds_of(cached, target.data(), shared.data(), n));
      turn.store(2 * i + 2, std::memory_order_release);
    }
  });
  stay_on(0);
  for (int i = 0; i < rounds; ++i) {
    while (turn.load(std::memory_order_acquire) != 2 * i) continue;
    writing.push_back(microseconds_of(copy, shared.data(), source.data(), n));
    turn.store(2 * i + 1, std::memory_order_release);
  }
  reader.join();
  const auto rate = [n](double us) { return static_cast<double>(n) / us / 1000; };
  const double w = papcoll::median(writing);
  const double r = papcoll::median(reading);
  std::printf("%8zu bytes  %-8s  written in %8.2f us (%5.1f GB/s), read in %8.2f us (%5.1f GB/s)\n",
              n, name, w, rate(w), r, rate(r));
}

}  // namespace

int main() {
  for (std::size_t n = 1024; n <= std::size_t{1} << 20U; n *= 4) {
    measure("cached", cached, n);
    measure("streamed", papcoll::detail::copy_for_others, n);
  }
}
