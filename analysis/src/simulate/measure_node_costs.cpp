// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/simulate/measure_node_costs.hpp>

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/simulate/measure/measure_call_costs.hpp>
#include <papcoll/simulate/measure/processors.hpp>
#include <papcoll/simulate/measure/work_timer.hpp>
#include <papcoll/simulate/node_costs.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {
namespace {

class NodeCostMeter {
 public:
  NodeCostMeter(int first, int second) : first_(first), other_(second) {
    OtherProcessor::pin(first);
    for (std::vector<std::byte>* area : {&own_, &own_too_, &common_}) area->resize(area_bytes);
  }

  NodeCosts measure() {
    NodeCosts costs;
    costs.nearest_cache = cache_of(first_, 1, costs.nearest_cache);
    costs.own_cache = cache_of(first_, 2, costs.own_cache);
    costs.shared_cache = std::max(cache_of(first_, 3, costs.shared_cache), costs.own_cache);
    costs.clock = timer_.median_of([] { return 0.0; }, [] {});
    timer_.clock = costs.clock;
    alignas(cache_line) std::atomic<std::uint64_t> word{0};
    costs.locked = timer_.each_of(1000, [&](std::size_t) { word.fetch_add(1); });
    locked_ = costs.locked;
    costs.hit = 1e-9;
    costs.poll = timer_.each_of(1000, [&](std::size_t) {
      static_cast<void>(word.load(std::memory_order_acquire));
      cpu_pause();
    });
    costs.copy = by_size([this](std::size_t n) { return copying(n); });
    costs.combine = by_size([this](std::size_t n) { return combining(n); });
    measure_large(costs);
    measure_pair(costs);
    measure_call_costs(costs, timer_);
    return costs;
  }

  /// Only what passes between the two, unless it is known what passes between such.
  void measure_pair(NodeCosts& costs) {
    timer_.clock = costs.clock;
    locked_ = costs.locked;
    PairCosts pair;
    pair.known = true;
    pair.signal = signal();
    PairCosts& kind = pair.signal < cross_from ? costs.same_l3 : costs.cross_l3;
    if (kind.known) return;
    pair.fetch = fetching();
    pair.take = taking();
    // Who touches the lines before, in this order.
    pair.read = by_size([this](std::size_t n) { return reading(n, {other_write}); });
    pair.reread = by_size([this](std::size_t n) { return reading(n, {own_write, other_read}); });
    pair.write = by_size([this](std::size_t n) {
      return writing(n, {other_write, own_read, other_read});
    });
    pair.write_lent = by_size([this](std::size_t n) {
      return writing(n, {own_write, other_read});
    });
    pair.write_over = by_size([this](std::size_t n) { return writing(n, {other_write}); });
    pair.write_after = by_size([this](std::size_t n) {
      return writing(n, {other_write, own_read});
    });
    kind = pair;
  }

 private:
  /// Seconds of a signal from which on two processors share no cache. Zen 4: 45 to 60 ns where they
  /// share one, else 180 to 250.
  static constexpr double cross_from = 110e-9;
  static constexpr std::array<std::size_t, 7> sizes{64, 256, 1024, 4096, 16384, 65536, 262144};
  static constexpr std::size_t area_bytes = std::size_t{2} << 20U;
  static constexpr std::size_t lines = 64;

  template <class Measure> static CostBySize by_size(Measure&& measure) {
    std::vector<CostBySize::Point> points;
    points.reserve(sizes.size());
    for (const std::size_t n : sizes) {
      points.push_back({static_cast<double>(n), std::max(measure(n), 1e-10)});
    }
    return points;
  }

  /// Makes the compiler believe that the memory behind p is read and written here.
  static void touch(void* p) { asm volatile("" : : "r"(p) : "memory"); }

  static std::size_t repeats(std::size_t n) { return std::max<std::size_t>(2, 65536 / n); }

  double copying(std::size_t n) {
    return timer_.each_of(repeats(n), [&](std::size_t) {
      std::memcpy(own_.data(), own_too_.data(), n);
      touch(own_.data());
    });
  }
  double combining(std::size_t n) {
    const Reducer sum = reducer<double>(papcoll::sum);
    return timer_.each_of(repeats(n), [&](std::size_t) {
      sum.apply(own_.data(), own_.data() + area_bytes / 2, own_too_.data(), n / sizeof(double),
                nullptr);
      touch(own_.data());
    });
  }

  /// What a processor's own cache does not hold.
  void measure_large(NodeCosts& costs) {
    constexpr std::size_t most = std::size_t{128} << 20U;
    const std::size_t in_cache =
        std::clamp<std::size_t>(costs.shared_cache / 8, 2 * costs.own_cache, most);
    const std::size_t beyond = std::min(2 * costs.shared_cache, most);
    const std::vector<std::byte> from(beyond, std::byte{1});
    std::vector<std::byte> to(beyond, std::byte{1});
    const auto in_turns = [&](std::size_t n, std::size_t within, int times) {
      std::size_t at = 0;
      const std::size_t count = within / n;
      return timer_.median_of([] {},
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
    return timer_.median_of([] {},
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
    const double all = timer_.median_of([&] { other_.does(write); },
                                        [&] {
                                          std::byte* at = line(0);
                                          for (std::size_t i = 0; i < lines; ++i) {
                                            std::byte* next = nullptr;
                                            std::memcpy(&next, at, sizeof(std::byte*));
                                            at = next;
                                          }
                                          touch(at);
                                        });
    return (all - timer_.clock) / lines;
  }

  double taking() {
    const std::function<void()> look = [&] {
      for (std::size_t i = 0; i < lines; ++i) {
        touch(reinterpret_cast<void*>(load(line(i))));  // NOLINT(performance-no-int-to-ptr)
      }
    };
    const double all = timer_.median_of(
        [&] { other_.does(look); },
        [&] {
          for (std::size_t i = 0; i < lines; ++i) {
            __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(line(i)), 1, __ATOMIC_SEQ_CST);
          }
        });
    return (all - timer_.clock) / lines;
  }

  static std::uint64_t load(const std::byte* p) {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(p), __ATOMIC_RELAXED);
  }

  /// Of short pieces several are timed in a row, each in a place of its own, all of which the
  /// nearest cache holds.
  static std::size_t pieces(std::size_t n) { return std::clamp<std::size_t>(4096 / n, 1, 16); }
  std::byte* piece(std::vector<std::byte>& area, std::size_t i) {
    return area.data() + (i * 13 % 32) * (area_bytes / 32);
  }

  enum Act { own_write, own_read, other_write, other_read };
  using Acts = std::vector<Act>;

  /// The two processors touch the pieces, one after the other.
  void prepare(std::size_t n, const Acts& acts) {
    const std::function<void()> write = [&] {
      for (std::size_t i = 0; i < pieces(n); ++i) std::memset(piece(common_, i), 0, n);
      touch(common_.data());
    };
    const std::function<void()> look = [&] {
      for (std::size_t i = 0; i < pieces(n); ++i) {
        const std::byte* const p = piece(common_, i);
        for (std::size_t at = 0; at < n; at += cache_line) {
          touch(reinterpret_cast<void*>(load(p + at)));  // NOLINT(performance-no-int-to-ptr)
        }
      }
    };
    for (const Act act : acts) {
      const std::function<void()>& work = act == own_write || act == other_write ? write : look;
      if (act == own_write || act == own_read) {
        work();
      } else {
        other_.does(work);
      }
    }
  }

  double reading(std::size_t n, const Acts& before) {
    const std::size_t count = pieces(n);
    const double all = timer_.median_of(
        [&] { prepare(n, before); },
        [&] {
          std::uint64_t zero = 0;
          for (std::size_t i = 0; i < count; ++i) {  // each copy waits for the one before it
            std::memcpy(own_.data(), piece(common_, i) + zero, n);
            touch(own_.data());
            std::memcpy(&zero, own_.data() + n - sizeof zero, sizeof zero);
          }
        });
    return (all - timer_.clock) / static_cast<double>(count);
  }

  double writing(std::size_t n, const Acts& before) {
    const std::size_t count = pieces(n);
    const CopyRule rule = CopyChoice{CopyMethod::best, 0}.rule();
    alignas(cache_line) std::atomic<std::uint64_t> word{0};
    const double all =
        timer_.median_of([&] { prepare(n, before); },
                         [&] {
                           for (std::size_t i = 0; i < count; ++i) {
                             copy_for_others(rule, piece(common_, i), own_.data(), n);
                             word.fetch_add(1);  // which waits until it is there
                           }
                         });
    return (all - timer_.clock) / static_cast<double>(count) - locked_;
  }

  int first_;
  OtherProcessor other_;
  std::vector<std::byte> own_;
  std::vector<std::byte> own_too_;
  std::vector<std::byte> common_;
  WorkTimer timer_;
  double locked_ = 0;
};
}  // namespace
}  // namespace detail

NodeCosts measure_node_costs() {
  const detail::AllProcessors all;
  std::vector<int> others = detail::AllProcessors::numbers();
  const int first = others.at(0);
  others.erase(std::remove_if(others.begin(), others.end(),
                              [&](int p) { return detail::are_one_core(first, p); }),
               others.end());
  if (others.empty()) {
    throw argument_error(
        "papcoll: to measure what a signal costs takes two processors, and there is one");
  }
  NodeCosts costs = detail::NodeCostMeter{first, others.front()}.measure();
  if (others.size() > 1) detail::NodeCostMeter{first, others.back()}.measure_pair(costs);
  return costs;
}

}  // namespace papcoll::inline PAPCOLL_ABI
