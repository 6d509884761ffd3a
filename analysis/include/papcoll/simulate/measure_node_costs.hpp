#pragma once

#include <papcoll/barrier.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/op.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// A second thread on a processor of its own, which does what it is told while the first one waits.
class OtherProcessor {
 public:
  explicit OtherProcessor(int processor) : thread_([this, processor] { serve(processor); }) {}
  OtherProcessor(const OtherProcessor&) = delete;
  OtherProcessor& operator=(const OtherProcessor&) = delete;
  ~OtherProcessor() {
    work_ = nullptr;
    post();
    thread_.join();
  }

  void does(const std::function<void()>& work) {
    begins(work);
    is_done();
  }
  /// The same, and goes on at once; is_done() must follow.
  void begins(const std::function<void()>& work) {
    work_ = &work;
    post();
  }
  void is_done() const {
    while (done_.load(std::memory_order_acquire) != posted_.load(std::memory_order_relaxed)) {
      cpu_pause();
    }
  }

  static void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(processor), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }

 private:
  void post() { posted_.fetch_add(1, std::memory_order_release); }
  void serve(int processor) {
    pin(processor);
    for (std::uint32_t next = 1;; ++next) {
      while (posted_.load(std::memory_order_acquire) != next) cpu_pause();
      if (work_ == nullptr) return;
      (*work_)();
      done_.store(next, std::memory_order_release);
    }
  }

  alignas(cache_line) std::atomic<std::uint32_t> posted_{0};
  alignas(cache_line) std::atomic<std::uint32_t> done_{0};
  const std::function<void()>* work_ = nullptr;
  std::thread thread_;
};

/// The calling thread's processors, which it gets back at the end.
class OwnProcessors {
 public:
  OwnProcessors() { pthread_getaffinity_np(pthread_self(), sizeof set_, &set_); }
  OwnProcessors(const OwnProcessors&) = delete;
  OwnProcessors& operator=(const OwnProcessors&) = delete;
  ~OwnProcessors() { pthread_setaffinity_np(pthread_self(), sizeof set_, &set_); }

  std::vector<int> all() const {
    std::vector<int> found;
    for (int p = 0; p < CPU_SETSIZE; ++p) {
      if (CPU_ISSET(static_cast<unsigned>(p), &set_)) found.push_back(p);
    }
    return found;
  }

 private:
  cpu_set_t set_{};
};

class NodeCostMeter {
  using Clock = std::chrono::steady_clock;

 public:
  NodeCostMeter(int first, int second) : other_(second) {
    OtherProcessor::pin(first);
    for (std::vector<std::byte>* area : {&own_, &own_too_, &common_}) area->resize(area_bytes);
  }

  NodeCosts measure() {
    NodeCosts costs;
    costs.own_cache = cache_of(_SC_LEVEL2_CACHE_SIZE, costs.own_cache);
    costs.shared_cache =
        std::max(cache_of(_SC_LEVEL3_CACHE_SIZE, costs.shared_cache), costs.own_cache);
    costs.clock = median_of([] { return 0.0; }, [] {});
    clock_ = costs.clock;
    alignas(cache_line) std::atomic<std::uint64_t> word{0};
    costs.locked = each_of(1000, [&](std::size_t) { word.fetch_add(1); });
    locked_ = costs.locked;
    costs.hit = 1e-9;
    costs.poll = each_of(1000, [&](std::size_t) {
      static_cast<void>(word.load(std::memory_order_acquire));
      cpu_pause();
    });
    costs.copy = by_size([this](std::size_t n) { return copying(n); });
    costs.combine = by_size([this](std::size_t n) { return combining(n); });
    measure_large(costs);
    PairCosts pair;
    pair.known = true;
    pair.signal = signal();
    pair.fetch = fetching();
    pair.take = taking();
    pair.read = by_size([this](std::size_t n) { return reading(n); });
    pair.write = by_size([this](std::size_t n) { return writing(n); });
    (pair.signal < apart_from ? costs.near : costs.apart) = pair;
    costs.call = calling(costs);
    return costs;
  }

 private:
  /// Seconds of a signal from which on two processors share no cache. Zen 4: 45 to 60 ns where they
  /// share one, else 180 to 250.
  static constexpr double apart_from = 110e-9;
  static constexpr std::array<std::size_t, 7> sizes{64, 256, 1024, 4096, 16384, 65536, 262144};
  static constexpr std::size_t area_bytes = std::size_t{2} << 20U;
  static constexpr std::size_t lines = 64;

  static std::size_t cache_of(int what, std::size_t otherwise) {
    const long bytes = sysconf(what);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
  }

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  template <class Measure>
  static CostBySize by_size(Measure&& measure) {
    std::vector<CostBySize::Point> points;
    for (const std::size_t n : sizes) {
      points.push_back({static_cast<double>(n), std::max(measure(n), 1e-10)});
    }
    return points;
  }

  /// The median of what `work` takes, after `before`. So another program disturbs little.
  template <class Before, class Work>
  static double median_of(Before&& before, Work&& work, int times = 41) {
    std::vector<double> taken;
    for (int i = 0; i < times; ++i) {
      before();
      const Clock::time_point start = Clock::now();
      work();
      taken.push_back(seconds_since(start));
    }
    return median(taken);
  }

  /// One of so many pieces of work in a row.
  template <class Work>
  double each_of(std::size_t count, Work&& work) {
    return (median_of([] {},
                      [&] {
                        for (std::size_t i = 0; i < count; ++i) work(i);
                      }) -
            clock_) /
           static_cast<double>(count);
  }

  /// Makes the compiler believe that the memory behind p is read and written here.
  static void touch(void* p) { asm volatile("" : : "r"(p) : "memory"); }

  static std::size_t repeats(std::size_t n) { return std::max<std::size_t>(2, 65536 / n); }

  double copying(std::size_t n) {
    return each_of(repeats(n), [&](std::size_t) {
      std::memcpy(own_.data(), own_too_.data(), n);
      touch(own_.data());
    });
  }
  double combining(std::size_t n) {
    const Reducer sum = reducer<double>(papcoll::sum);
    return each_of(repeats(n), [&](std::size_t) {
      sum.apply(own_.data(), own_.data() + area_bytes / 2, own_too_.data(), n / sizeof(double),
                nullptr);
      touch(own_.data());
    });
  }

  /// What a processor's own cache does not hold.
  void measure_large(NodeCosts& costs) {
    constexpr std::size_t most = std::size_t{128} << 20U;
    const std::size_t in_cache = std::clamp<std::size_t>(costs.shared_cache / 8, 2 * costs.own_cache,
                                            most);
    const std::size_t beyond = std::min(2 * costs.shared_cache, most);
    const std::vector<std::byte> from(beyond, std::byte{1});
    std::vector<std::byte> to(beyond, std::byte{1});
    const auto in_turns = [&](std::size_t n, std::size_t within, int times) {
      std::size_t at = 0;
      const std::size_t count = within / n;
      return median_of([] {},
                       [&] {
                         for (std::size_t i = 0; i < count; ++i, at = (at + n) % within) {
                           std::memcpy(to.data() + at, from.data() + at, n);
                         }
                         touch(to.data());
                       },
                       times) /
             static_cast<double>(count);
    };
    costs.copy_shared_cache = by_size([&](std::size_t n) { return in_turns(n, in_cache, 5); });
    costs.memory_per_byte = in_turns(262144, beyond / 262144 * 262144, 3) / 262144;
  }

  /// Half of a round trip.
  double signal() {
    constexpr std::uint32_t trips = 200;
    alignas(cache_line) std::atomic<std::uint32_t> mine{0};
    alignas(cache_line) std::atomic<std::uint32_t> theirs{0};
    std::uint32_t base = 0;
    const std::function<void()> answer = [&] {
      for (std::uint32_t i = base + 1; i <= base + trips; ++i) {
        while (mine.load(std::memory_order_seq_cst) != i) cpu_pause();
        theirs.store(i, std::memory_order_seq_cst);
      }
    };
    return median_of([] {},
                     [&] {
                       other_.begins(answer);
                       for (std::uint32_t i = base + 1; i <= base + trips; ++i) {
                         mine.store(i, std::memory_order_seq_cst);
                         while (theirs.load(std::memory_order_seq_cst) != i) cpu_pause();
                       }
                       other_.is_done();
                       base += trips;
                     }) /
           (2 * trips);
  }

  /// Lines far from each other, in an order that no prefetcher foresees.
  std::byte* line(std::size_t i) {
    return common_.data() + (i * 37 % lines) * (area_bytes / lines) + (i * 5 % lines) * cache_line;
  }

  double fetching() {
    const std::function<void()> write = [&] {
      for (std::size_t i = 0; i < lines; ++i) {
        std::byte* const next = line((i + 1) % lines);
        std::memcpy(line(i), &next, sizeof next);
      }
    };
    const double all = median_of([&] { other_.does(write); },
                                 [&] {
                                   std::byte* at = line(0);
                                   for (std::size_t i = 0; i < lines; ++i) {
                                     std::memcpy(&at, at, sizeof at);
                                   }
                                   touch(at);
                                 });
    return (all - clock_) / lines;
  }

  double taking() {
    const std::function<void()> look = [&] {
      for (std::size_t i = 0; i < lines; ++i) touch(reinterpret_cast<void*>(load(line(i))));
    };
    const double all = median_of([&] { other_.does(look); },
                                 [&] {
                                   for (std::size_t i = 0; i < lines; ++i) {
                                     __atomic_fetch_add(
                                         reinterpret_cast<std::uint64_t*>(line(i)), 1,
                                         __ATOMIC_SEQ_CST);
                                   }
                                 });
    return (all - clock_) / lines;
  }

  static std::uint64_t load(const std::byte* p) {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(p), __ATOMIC_RELAXED);
  }

  /// Of short pieces several are timed in a row, each in a place of its own.
  static std::size_t pieces(std::size_t n) { return n <= 4096 ? 32 : 1; }
  std::byte* piece(std::vector<std::byte>& area, std::size_t i) {
    return area.data() + (i * 13 % 32) * (area_bytes / 32);
  }

  double reading(std::size_t n) {
    const std::size_t count = pieces(n);
    const std::function<void()> write = [&] {
      for (std::size_t i = 0; i < count; ++i) std::memset(piece(common_, i), 0, n);
      touch(common_.data());
    };
    const double all = median_of(
        [&] { other_.does(write); },
        [&] {
          std::uint64_t zero = 0;
          for (std::size_t i = 0; i < count; ++i) {  // each copy waits for the one before it
            std::memcpy(own_.data(), piece(common_, i) + zero, n);
            touch(own_.data());
            std::memcpy(&zero, own_.data() + n - sizeof zero, sizeof zero);
          }
        });
    return (all - clock_) / static_cast<double>(count);
  }

  double writing(std::size_t n) {
    const std::size_t count = pieces(n);
    const CopyRule rule = CopyChoice{CopyMethod::best, 0}.rule();
    alignas(cache_line) std::atomic<std::uint64_t> word{0};
    const std::function<void()> look = [&] {
      for (std::size_t i = 0; i < count; ++i) {
        const std::byte* const p = piece(common_, i);
        for (std::size_t at = 0; at < n; at += cache_line) {
          touch(reinterpret_cast<void*>(load(p + at)));
        }
      }
    };
    const double all = median_of([&] { other_.does(look); },
                                 [&] {
                                   for (std::size_t i = 0; i < count; ++i) {
                                     copy_for_others(rule, piece(common_, i), own_.data(), n);
                                     word.fetch_add(1);
                                   }
                                 });
    return (all - clock_) / static_cast<double>(count) - locked_;
  }

  /// What a call takes on one rank beside what it takes in virtual time.
  double calling(NodeCosts costs) {
    ThreadTeam team{1};
    double seconds = 0;
    team.run([&](ThreadTeam::Rank& me) {
      seconds = each_of(1000, [&](std::size_t) { barrier<Exchange, ThreadTransport>(me); });
    });
    costs.call = 0;
    Shape shape;
    shape.collective = Collective::barrier;
    shape.size = 1;
    shape.count = 1;
    shape.element_size = 1;
    const Simulated known =
        simulate_on_node(*find_virtual_algorithm(Exchange::name), shape, costs);
    return std::max(0.0, seconds - known.tail());
  }

  OtherProcessor other_;
  std::vector<std::byte> own_;
  std::vector<std::byte> own_too_;
  std::vector<std::byte> common_;
  double clock_ = 0;
  double locked_ = 0;
};

}  // namespace detail

/// Measures them on two processors of this machine, the first two that this thread may use, in
/// about a second. It fills `near` or `apart`, as a signal shows which of them the two are. Other
/// work on them makes it wrong. Throws argument_error if there is one processor.
inline NodeCosts measure_node_costs() {
  const detail::OwnProcessors own;
  const std::vector<int> all = own.all();
  if (all.size() < 2) {
    throw argument_error(
        "papcoll: to measure what a signal costs takes two processors, and there is one");
  }
  return detail::NodeCostMeter{all[0], all[1]}.measure();
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
