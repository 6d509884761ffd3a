// SPDX-License-Identifier: BSD-3-Clause
// Is what PeerProbe finds the faster way? Two threads, on processors 0 and 1, probe as two ranks of
// a new communicator do, and then pass 4 KB to 256 KB to each other by plain and streamed copies,
// in turns, 300 times each: medians of writing, a signal, and reading. Where plain copies use fast
// string instructions, there is nothing to choose; without them in the C library, 100 fresh
// processes:
//
//     export GLIBC_TUNABLES=glibc.cpu.hwcaps=-ERMS,-FSRM
//     for i in {1..100}; do peer_probe_bench; done | grep -c right

#include <papcoll/base/copying.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using papcoll::CopyMethod;
using papcoll::detail::CopyRule;
using papcoll::detail::PeerProbe;

constexpr std::array sizes{4096UL, 16384UL, 65536UL, 262144UL};
constexpr std::array methods{CopyMethod::plain, CopyMethod::streamed};
constexpr std::size_t largest = sizes.back();

void stay_on(int processor) {
  papcoll::ProcessorSet one;
  one.add(processor);
  if (!one.bind_this_thread()) {
    std::fprintf(stderr, "processor %d is not to be had: the times are of no use\n", processor);
  }
}

/// Zeros that begin at a page, as a node's memory does.
struct Pages {
  explicit Pages(std::size_t n)
      : data(static_cast<std::byte*>(::operator new (n, std::align_val_t{4096}))) {
    std::memset(data, 0, n);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::operator delete (data, std::align_val_t{4096}); }
  std::byte* data;
};

struct alignas(256) Word {
  std::atomic<int> step{0};  // release after the data, acquire before: nothing else is shared
};

/// What both threads do and share.
struct Trial {
  void run(int rank) {
    stay_on(rank);
    PeerProbe probe{probed.data, rank, 2};
    meet.arrive_and_wait();
    const auto start = Clock::now();
    PeerProbe::Found trial;
    const bool is_known = probe.run(trial);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    if (rank == 0) {
      if (is_known) found = trial.faster;
      probe_us = took.count();
    }
    meet.arrive_and_wait();
    std::vector<std::byte> own(2 * largest);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      std::array<std::vector<double>, methods.size()> times;
      for (int i = 0; i < 300; ++i) {
        for (std::size_t m = 0; m < methods.size(); ++m) {
          times[m].push_back(exchange(rank, methods[m], sizes[s], own));
        }
      }
      if (rank != 0) continue;
      for (std::size_t m = 0; m < methods.size(); ++m) us[s][m] = papcoll::median(times[m]);
    }
  }

  double exchange(int rank, CopyMethod method, std::size_t n, std::vector<std::byte>& own) {
    const auto start = Clock::now();
    std::byte* const mine = data.data + static_cast<std::size_t>(rank) * largest;
    const std::byte* const theirs = data.data + static_cast<std::size_t>(1 - rank) * largest;
    papcoll::detail::copy_for_others(CopyRule::by(method), mine, own.data(), n);
    step(rank);
    std::memmove(own.data() + largest, theirs, n);
    step(rank);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

  void step(int rank) {
    std::atomic<int>& mine = words[static_cast<std::size_t>(rank)].step;
    const int now = mine.load(std::memory_order_relaxed) + 1;
    mine.store(now, std::memory_order_release);
    while (words[static_cast<std::size_t>(1 - rank)].step.load(std::memory_order_acquire) < now) {
      papcoll::detail::cpu_pause();
    }
  }

  Pages probed{PeerProbe::bytes(2)};
  Pages data{2 * largest};
  std::array<Word, 2> words;
  std::barrier<> meet{2};
  std::optional<CopyMethod> found;
  double probe_us = 0;
  std::array<std::array<double, methods.size()>, sizes.size()> us{};
};

}  // namespace

int main() {
  Trial trial;
  {
    std::jthread other([&] { trial.run(1); });
    trial.run(0);
  }
  double streamed_over_plain = 0;  // logarithms, of all sizes
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    std::printf("%zu bytes: %.2f plain, %.2f us streamed; ", sizes[s], trial.us[s][0],
                trial.us[s][1]);
    streamed_over_plain += std::log(trial.us[s][1] / trial.us[s][0]);
  }
  const CopyMethod faster = streamed_over_plain < 0 ? CopyMethod::streamed : CopyMethod::plain;
  const bool is_right = trial.found == faster;
  std::printf("found %s in %.0f us: %s\n",
              trial.found ? papcoll::name_of(*trial.found).data() : "nothing", trial.probe_us,
              is_right ? "right" : "wrong");
}
