// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/simulate/measure_node_costs.hpp>

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/thread_team.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {
namespace {

/// A second thread on a processor of its own, which does work while the first one waits.
class OtherProcessor : Pinned {
 public:
  explicit OtherProcessor(int processor) : thread_([this, processor] { serve(processor); }) {}
  ~OtherProcessor() {
    work_ = nullptr;
    post();
    thread_.join();
  }

  void does(const std::function<void()>& work) {
    begins(work);
    is_done();
  }
  /// Starts work and returns at once; is_done() must follow.
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
    ProcessorSet one;
    one.add(processor);
    static_cast<void>(one.bind_this_thread());
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

/// As long as it lives, the calling thread may use all processors that its process could have, also
/// those that a launcher has not given it.
class AllProcessors : Pinned {
 public:
  AllProcessors() {
    ProcessorSet all;
    for (int p = 0; p < ProcessorSet::most; ++p) all.add(p);
    static_cast<void>(all.bind_this_thread());
  }
  ~AllProcessors() { static_cast<void>(before_.bind_this_thread()); }

  static std::vector<int> numbers() {
    const ProcessorSet set = ProcessorSet::of_this_thread();
    std::vector<int> found;
    for (int p = 0; p < set.end(); ++p) {
      if (set.has(p)) found.push_back(p);
    }
    return found;
  }

 private:
  ProcessorSet before_ = ProcessorSet::of_this_thread();
};

/// Returns true if two processors are threads of one core, as far as Linux says.
bool are_one_core(int a, int b) {
  const auto core = [](int processor) {
    const std::string place =
        "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
    std::string text;
    for (const char* const name : {"physical_package_id", "die_id", "core_id"}) {
      std::ifstream file{place + name};
      std::string number;
      file >> number;
      text += number + " ";
    }
    return text;
  };
  return a == b || core(a) == core(b);
}

class NodeCostMeter {
  using Clock = std::chrono::steady_clock;

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
    measure_pair(costs);
    measure_calls(costs, ArrivalAlgorithms{});
    return costs;
  }

  /// Only what passes between the two, unless it is known what passes between such.
  void measure_pair(NodeCosts& costs) {
    clock_ = costs.clock;
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

  /// Bytes of the processor's data cache of that level, as Linux says. (sysconf() has it that a
  /// last-level cache of 32 MB, on a virtual machine, has 320.)
  static std::size_t cache_of(int processor, int level, std::size_t otherwise) {
    constexpr int most = 8;
    for (int i = 0; i < most; ++i) {
      const std::string place = "/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                                "/cache/index" + std::to_string(i) + "/";
      int found = 0;
      std::string type;
      std::size_t kilobytes = 0;
      std::ifstream{place + "level"} >> found;
      std::ifstream{place + "type"} >> type;
      std::ifstream{place + "size"} >> kilobytes;
      if (found == level && type != "Instruction" && kilobytes != 0) return kilobytes * 1024;
    }
    return otherwise;
  }

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  template <class Measure> static CostBySize by_size(Measure&& measure) {
    std::vector<CostBySize::Point> points;
    points.reserve(sizes.size());
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
    const auto middle = taken.begin() + times / 2;
    std::nth_element(taken.begin(), middle, taken.end());
    return *middle;
  }

  /// One of so many pieces of work in a row.
  template <class Work> double each_of(std::size_t count, Work&& work) {
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
    const std::size_t in_cache =
        std::clamp<std::size_t>(costs.shared_cache / 8, 2 * costs.own_cache, most);
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
                                     std::byte* next = nullptr;
                                     std::memcpy(&next, at, sizeof(std::byte*));
                                     at = next;
                                   }
                                   touch(at);
                                 });
    return (all - clock_) / lines;
  }

  double taking() {
    const std::function<void()> look = [&] {
      for (std::size_t i = 0; i < lines; ++i) {
        touch(reinterpret_cast<void*>(load(line(i))));  // NOLINT(performance-no-int-to-ptr)
      }
    };
    const double all = median_of([&] { other_.does(look); },
                                 [&] {
                                   for (std::size_t i = 0; i < lines; ++i) {
                                     __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(line(i)),
                                                        1, __ATOMIC_SEQ_CST);
                                   }
                                 });
    return (all - clock_) / lines;
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
    const double all = median_of([&] { prepare(n, before); },
                                 [&] {
                                   std::uint64_t zero = 0;
                                   for (std::size_t i = 0; i < count;
                                        ++i) {  // each copy waits for the one before it
                                     std::memcpy(own_.data(), piece(common_, i) + zero, n);
                                     touch(own_.data());
                                     std::memcpy(&zero, own_.data() + n - sizeof zero, sizeof zero);
                                   }
                                 });
    return (all - clock_) / static_cast<double>(count);
  }

  double writing(std::size_t n, const Acts& before) {
    const std::size_t count = pieces(n);
    const CopyRule rule = CopyChoice{CopyMethod::best, 0}.rule();
    alignas(cache_line) std::atomic<std::uint64_t> word{0};
    const double all = median_of([&] { prepare(n, before); },
                                 [&] {
                                   for (std::size_t i = 0; i < count; ++i) {
                                     copy_for_others(rule, piece(common_, i), own_.data(), n);
                                     word.fetch_add(1);  // which waits until it is there
                                   }
                                 });
    return (all - clock_) / static_cast<double>(count) - locked_;
  }

  /// One rank's calls of an algorithm, on papcoll's own site, without a team.
  template <class Run> double running(const Call& call) {
    constexpr std::size_t chunk = 65536;
    LazyMemory memory{NodeControlBlock::bytes(1, chunk) + Doorbells::bytes(1)};
    Doorbells::initialise(memory.data(), 1);
    NodeContext site{NodeControlBlock{memory.data() + Doorbells::bytes(1), 1, chunk},
                     Doorbells{memory.data(), 1}, 0};
    return each_of(1000, [&](std::size_t) {
      site.begin(CallFingerprint::of(call.count, call.collective, 1, 0, 0), call.reducer);
      while (!site.enter()) {
      }
      Run run;
      while (!run.step(site, call)) {
      }
      site.leave();
    });
  }

  template <class Driven>
  void measure_code(const NodeCosts& costs, std::map<std::string, double, std::less<>>& code) {
    double number = 1;
    double result = 0;
    Call call;
    call.in = reinterpret_cast<const std::byte*>(&number);
    call.out = reinterpret_cast<std::byte*>(&result);
    call.count = 1;
    call.reducer = reducer<double>(papcoll::sum);
    for (std::size_t i = 0; i < collective_count; ++i) {
      call.collective = static_cast<Collective>(i);
      if (!Driven::Schedule::serves(call.collective)) continue;
      Shape shape;
      shape.collective = call.collective;
      shape.size = 1;
      shape.count = 1;
      shape.element_size = sizeof number;
      const double known =
          simulate_on_node(*find_virtual_algorithm(Driven::name), shape, costs).tail();
      code[std::string(Driven::name)] = std::max(0.0, running<typename Driven::Run>(call) - known);
      return;
    }
  }

  /// What a call takes on one rank beside what it takes in virtual time.
  template <class... Listed> void measure_calls(NodeCosts& costs, ArrivalAlgorithmList<Listed...>) {
    costs.call = 0;
    NodeCosts measured = costs;  // while `costs` has no code
    (measure_code<ArrivalDriven<typename Listed::Arrival, typename Listed::Schedule>>(
         costs, measured.code),
     ...);
    costs = std::move(measured);
    ThreadTeam team{1};
    double in_team = 0;
    team.run([&](ThreadTeam::Rank& me) {
      in_team = each_of(1000, [&](std::size_t) { barrier<Exchange, ThreadTransport>(me); });
    });
    std::byte token{};
    costs.call = std::max(0.0, in_team - running<Exchange::Run>(barrier_call(&token)));
  }

  int first_;
  OtherProcessor other_;
  std::vector<std::byte> own_;
  std::vector<std::byte> own_too_;
  std::vector<std::byte> common_;
  double clock_ = 0;
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
