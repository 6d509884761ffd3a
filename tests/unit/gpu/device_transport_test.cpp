#include "catch.hpp"

#include <papcoll/algorithms/device/device_slices.hpp>
#include <papcoll/algorithms/device/shared_device.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/arrival/on_topology.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/built_in_on_host.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Collectives of papcoll::gpu among threads, each a process of the model with a device of its own.

using namespace papcoll;

namespace {

/// The devices of a model; a thread is a process of it.
struct ModelDevices {
  static constexpr std::string_view transport_name = "ModelTransport";
  static inline thread_local gpu::Api* own = nullptr;

  static std::string unavailable() { return own == nullptr ? "this thread has no devices" : ""; }
  static gpu::Api& api() { return *own; }
  static gpu::DeviceReducer find_reducer(const Reducer& r) {
    if (const gpu::DeviceReducer* own_one = gpu::device_reducer_of(r)) return *own_one;
    if (const gpu::DeviceReducer* found = gpu::built_in_host_reducer(r.built_in)) return *found;
    throw argument_error("papcoll: this operator has no kernel: pass one of papcoll's");
  }
};
using ModelTransport = DeviceTransport<ModelDevices>;
static_assert(TransportPolicy<ModelTransport>);

/// A thread's device, and memory on it.
class Device {
 public:
  Device(gpu::Model& model, int rank) : model_(model), api_(model.process(rank)) {
    model.set_current_device(rank, rank % api_.devices());
    ModelDevices::own = &api_;
    stream = api_.make_stream(api_.current_device());
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    model_.set_capturing(stream, false);
    wait();
    for (std::byte* m : memory_) api_.free(m);
    api_.destroy_stream(stream);
  }

  /// Memory with these elements.
  int* put(const std::vector<int>& values) {
    std::byte* const at = api_.allocate(api_.current_device(), values.size() * sizeof(int));
    std::memcpy(model_.reach(at), values.data(), values.size() * sizeof(int));
    memory_.push_back(at);
    return reinterpret_cast<int*>(at);
  }
  /// What is there when the stream has come to its end.
  std::vector<int> get(const int* at, std::size_t n) {
    wait();
    std::vector<int> values(n);
    std::memcpy(values.data(), model_.reach(at), n * sizeof(int));
    return values;
  }

  gpu::Stream stream = nullptr;

 private:
  void wait() {
    const gpu::Event event = api_.make_event(api_.current_device(), false);
    api_.record(event, stream);
    while (!api_.is_complete(event)) std::this_thread::yield();
    api_.destroy_event(event);
  }

  gpu::Model& model_;
  gpu::Api& api_;
  std::vector<std::byte*> memory_;
};

std::vector<int> numbers(int rank, std::size_t n) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = 1000 * (rank + 1) + static_cast<int>(i % 97);
  return values;
}

/// Runs f(rank, device) on every rank; what the model found.
template <class F>
std::string problem_of(int ranks, F&& f) {
  gpu::Model model{gpu::DeviceMachine::linked(ranks, 72e9, 60e9, 6e-6)};
  std::vector<char> wrong(static_cast<std::size_t>(ranks));
  {
    ThreadTeam team{ranks};
    team.run([&](ThreadTeam::Rank& rank) {
      Device device{model, rank.rank()};
      wrong[static_cast<std::size_t>(rank.rank())] = f(rank, device) ? 0 : 1;
    });
  }
  for (const char w : wrong) {
    if (w != 0) return "a result is wrong";
  }
  if (!model.problems().empty()) return model.problems().front();
  return model.leftovers().empty() ? "" : model.leftovers().front();
}

}  // namespace

TEST_CASE("collectives on memory of devices, among threads", "[gpu]") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{40'000}}) {
      CAPTURE(ranks, n);
      const auto total = [&](std::size_t i) {
        int t = 0;
        for (int r = 0; r < ranks; ++r) t += numbers(r, n)[i];
        return t;
      };
      const auto is_total = [&](const std::vector<int>& got) {
        for (std::size_t i = 0; i < got.size(); i += 1 + got.size() / 50) {
          if (got[i] != total(i)) return false;
        }
        return true;
      };
      CHECK(problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
              int* const data = d.put(numbers(rank.rank(), n));
              gpu::allreduce<ModelTransport>(rank, data, n, sum, d.stream);
              bool right = is_total(d.get(data, n));
              const int* const in = d.put(numbers(rank.rank(), n));
              int* const out = d.put(std::vector<int>(n));
              gpu::allreduce<ThreeStage, ModelTransport>(rank, in, out, n, sum, d.stream);
              right &= is_total(d.get(out, n)) && d.get(in, n) == numbers(rank.rank(), n);
              return right;
            }) == "");
      CHECK(problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
              const int last = rank.size() - 1;
              int* const data = d.put(numbers(rank.rank(), n));
              gpu::bcast<ModelTransport>(rank, data, n, root{last}, d.stream);
              bool right = d.get(data, n) == numbers(last, n);
              int* const sums = d.put(numbers(rank.rank(), n));
              gpu::reduce<ModelTransport>(rank, sums, n, root{last}, sum, d.stream);
              if (rank.rank() == last) right &= is_total(d.get(sums, n));
              return right;
            }) == "");
      CHECK(problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
              const auto all = static_cast<std::size_t>(rank.size()) * n;
              const int* const in = d.put(numbers(rank.rank(), n));
              int* const out = d.put(std::vector<int>(all));
              gpu::allgather<ModelTransport>(rank, in, out, n, d.stream);
              std::vector<int> wanted;
              for (int r = 0; r < rank.size(); ++r) {
                const auto of_r = numbers(r, n);
                wanted.insert(wanted.end(), of_r.begin(), of_r.end());
              }
              bool right = d.get(out, all) == wanted;
              int* const back = d.put(std::vector<int>(n));
              gpu::scatter<ModelTransport>(rank, out, back, n, root{0}, d.stream);
              right &= d.get(back, n) == numbers(rank.rank(), n);
              gpu::gather<ModelTransport>(rank, back, out, n, root{0}, d.stream);
              if (rank.rank() == 0) right &= d.get(out, all) == wanted;
              gpu::reduce_scatter<ModelTransport>(rank, out, back, n, max, d.stream);
              int* const blocks = d.put(std::vector<int>(all));
              gpu::alltoall<ModelTransport>(rank, out, blocks, n, d.stream);
              // All ranks had the same in `out`.
              const auto own = numbers(rank.rank(), n);
              right &= d.get(back, n) == own;
              const auto got = d.get(blocks, all);
              for (std::size_t i = 0; i < all; ++i) right &= got[i] == own[i % n];
              return right;
            }) == "");
    }
  }
}

TEST_CASE("non-blocking calls on devices, several at once, and an operator of one's own", "[gpu]") {
  struct Larger {
    int operator()(int low, int high) const { return low < high ? high : low; }
  };
  static constexpr Larger larger{};
  for (const int ranks : {2, 3, 8}) {
    CAPTURE(ranks);
    CHECK(problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
            // Under an order along the machine, too.
            int* const ordered = d.put(numbers(rank.rank(), 10));
            gpu::bcast<OnTopology, Binomial, ModelTransport>(rank, ordered, 10, root{1}, d.stream);
            if (d.get(ordered, 10) != numbers(1, 10)) return false;
            constexpr std::size_t n = 3000;
            const auto all = static_cast<std::size_t>(rank.size()) * n;
            const auto own = numbers(rank.rank(), n);
            int* const a = d.put(own);
            int* const b = d.put(own);
            int* const c = d.put(std::vector<int>(all));
            const gpu::DeviceOperator<int, true> op{gpu::host_reducer<int>(larger)};
            Request first = gpu::iallreduce<Ring, ModelTransport>(rank, a, n, op, d.stream);
            Request second = gpu::ibcast<ModelTransport>(rank, b, n, root{1}, d.stream);
            Request third = gpu::iallgather<ModelTransport>(rank, d.put(own), c, n, d.stream);
            third.wait();
            second.wait();
            first.wait();
            const auto highest = numbers(rank.size() - 1, n);
            bool right = d.get(a, n) == highest && d.get(b, n) == numbers(1, n);
            const auto gathered = d.get(c, all);
            right &= std::equal(highest.begin(), highest.end(),
                                gathered.end() - static_cast<std::ptrdiff_t>(n));
            gpu::allreduce<ModelTransport>(rank, a, n, op, d.stream);
            return right && d.get(a, n) == highest;
          }) == "");
  }
}

TEST_CASE("a schedule that is named on devices is what runs, whatever else is named", "[gpu]") {
  const auto named = [](const AlgorithmSpec& spec) { return spec.schedule.name(); };
  const Call short_call;
  CHECK(named(gpu::detail::spec_for<Allreduce, true, ModelTransport>(short_call)) ==
        "RecursiveDoubling");
  CHECK(named(gpu::detail::spec_for<Allreduce, true, Ring, ModelTransport>(short_call)) == "Ring");
  CHECK(named(gpu::detail::spec_for<Allreduce, true, OnTopology, Ring, ModelTransport>(
            short_call)) == "Ring");
}

TEST_CASE("memory that cannot be had or shared on one rank is told to all", "[gpu]") {
  // What each rank was told, in calls of which the k-th allocation fails; empty: nothing.
  const auto told_where = [](auto&& fault) {
    gpu::Model model{gpu::DeviceMachine::linked(3, 72e9, 60e9, 6e-6)};
    std::vector<std::string> told(3);
    std::barrier all_there{3};
    {
      ThreadTeam team{3};
      team.run([&](ThreadTeam::Rank& rank) {
        Device device{model, rank.rank()};
        int* const data = device.put(numbers(rank.rank(), 50'000));
        all_there.arrive_and_wait();
        if (rank.rank() == 0) fault(model);
        all_there.arrive_and_wait();
        try {
          gpu::allreduce<ModelTransport>(rank, data, 50'000, sum, device.stream);
        } catch (const gpu::device_error& e) {
          told[static_cast<std::size_t>(rank.rank())] = std::string("device: ") + e.what();
        } catch (const peer_error& e) {
          told[static_cast<std::size_t>(rank.rank())] = std::string("peer: ") + e.what();
        }
      });
    }
    return told;
  };
  std::size_t k = 0;
  for (;; ++k) {
    CAPTURE(k);
    const auto told = told_where([k](gpu::Model& model) { model.fail_allocation(k); });
    const auto device = std::count_if(told.begin(), told.end(), [](const std::string& t) {
      return t.rfind("device: papcoll: ", 0) == 0;
    });
    const auto nothing = std::count(told.begin(), told.end(), "");
    if (nothing == 3) break;  // there are no more allocations
    CHECK(device == 1);
    CHECK(k < 100);
  }
  CHECK(k >= 3);
  const auto told = told_where([](gpu::Model& model) { model.refuse_ipc(1); });
  CHECK_THAT(told[1], Catch::Matchers::StartsWith("device: papcoll: "));
}

TEST_CASE("calls on devices refuse what they cannot reach, on all ranks", "[gpu]") {
  gpu::Model model{gpu::DeviceMachine::linked(2, 72e9, 60e9, 6e-6)};
  ThreadTeam team{2};
  std::vector<std::string> told(2);
  const auto call = [&](auto&& wrong_call) {
    team.run([&](ThreadTeam::Rank& rank) {
      Device device{model, rank.rank()};
      std::string& text = told[static_cast<std::size_t>(rank.rank())];
      text.clear();
      try {
        wrong_call(rank, device);
      } catch (const argument_error& e) {
        text = std::string("argument: ") + e.what();
      } catch (const peer_error& e) {
        text = std::string("peer: ") + e.what();
      }
    });
  };
  std::vector<int> on_host(10);
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = rank.rank() == 0 ? on_host.data() : d.put(on_host);
    gpu::allreduce<ModelTransport>(rank, data, 10, sum, d.stream);
  });
  CHECK_THAT(told[0], Catch::Matchers::StartsWith("argument: papcoll: ") &&
                          Catch::Matchers::Contains("a buffer is in the host's memory"));
  CHECK_THAT(told[1], Catch::Matchers::StartsWith("peer: "));
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = d.put(on_host);
    gpu::allreduce<ModelTransport>(rank, data, rank.rank() == 0 ? 11 : 10, sum, d.stream);
  });
  CHECK_THAT(told[0], Catch::Matchers::Contains("longer than the memory that it is in"));
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = d.put(on_host);
    if (rank.rank() == 1) model.set_capturing(d.stream, true);
    gpu::allreduce<ModelTransport>(rank, data, 10, sum, d.stream);
  });
  CHECK_THAT(told[1], Catch::Matchers::Contains("captured as a graph"));
  call([&](ThreadTeam::Rank& rank, Device& d) {
    int* const data = d.put(on_host);
    gpu::allreduce<ModelTransport>(
        rank, data, 10, [](int a, int b) { return a ^ b; }, d.stream);
  });
  CHECK_THAT(told[0], Catch::Matchers::Contains("no kernel"));
}

TEST_CASE("arrival-driven algorithms on devices, among threads", "[gpu]") {
  struct ThriceLow {
    int operator()(int low, int high) const { return 3 * low + high; }
  };
  static constexpr ThriceLow in_order{};
  for (const int ranks : {1, 2, 3, 5, 8, 17}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}}) {
      CAPTURE(ranks, n);
      std::vector<int> totals(n);
      std::vector<int> ordered = numbers(0, n);
      for (int r = 0; r < ranks; ++r) {
        const std::vector<int> of_r = numbers(r, n);
        for (std::size_t i = 0; i < n; ++i) totals[i] += of_r[i];
        for (std::size_t i = 0; i < n && r > 0; ++i) ordered[i] = in_order(ordered[i], of_r[i]);
      }
      const auto run = [&]<class A>(A) {
        return problem_of(ranks, [&](ThreadTeam::Rank& rank, Device& d) {
          const int last = rank.size() - 1;
          bool right = true;
          for (int round = 0; round < 3; ++round) {
            int* const data = d.put(numbers(rank.rank(), n));
            gpu::allreduce<A, ModelTransport>(rank, data, n, sum, d.stream);
            // Between them what passes messages.
            gpu::bcast<ModelTransport>(rank, data, n, root{round % rank.size()}, d.stream);
            right &= d.get(data, n) == totals;
            const int* const in = d.put(numbers(rank.rank(), n));
            int* const out = d.put(std::vector<int>(n));
            const gpu::DeviceOperator<int> op{gpu::host_reducer<int>(in_order)};
            gpu::allreduce<ModelTransport, A, Reproducible>(rank, in, out, n, op, d.stream);
            right &= d.get(out, n) == ordered && d.get(in, n) == numbers(rank.rank(), n);
            int* const sums = d.put(numbers(rank.rank(), n));
            gpu::reduce<A, ModelTransport>(rank, sums, n, root{last}, sum, d.stream);
            right &= d.get(sums, n) == (rank.rank() == last ? totals : numbers(rank.rank(), n));
            gpu::allreduce<A, ModelTransport>(rank, data, 0, sum, d.stream);
          }
          return right;
        });
      };
      CHECK(run(SharedDevice{}) == "");
      CHECK(run(DeviceSlices{}) == "");
    }
  }
}

TEST_CASE("a rank that fails in an arrival-driven algorithm on devices strands nobody", "[gpu]") {
  const auto told_where = [](auto algorithm, auto&& fault, auto&& count) {
    using A = decltype(algorithm);
    gpu::Model model{gpu::DeviceMachine::linked(3, 72e9, 60e9, 6e-6)};
    std::vector<std::string> told(3);
    std::barrier all_there{3};
    ThreadTeam team{3};
    team.run([&](ThreadTeam::Rank& rank) {
      Device device{model, rank.rank()};
      int* const data = device.put(numbers(rank.rank(), 50'000));
      all_there.arrive_and_wait();
      if (rank.rank() == 0) fault(model);
      all_there.arrive_and_wait();
      try {
        gpu::allreduce<A, ModelTransport>(rank, data, count(rank.rank()), sum, device.stream);
      } catch (const gpu::device_error&) {
        told[static_cast<std::size_t>(rank.rank())] = "device";
      } catch (const peer_error&) {
        told[static_cast<std::size_t>(rank.rank())] = "peer";
      }
    });
    return told;
  };
  const auto same = [](int) { return 50'000; };
  const auto check = [&](auto algorithm) {
    for (std::size_t k = 0;; ++k) {
      CAPTURE(k);
      const auto told = told_where(
          algorithm, [k](gpu::Model& model) { model.fail_allocation(k); }, same);
      const auto nothing = std::count(told.begin(), told.end(), "");
      if (nothing == 3) {  // there are no more allocations
        CHECK(k >= 2);
        break;
      }
      CHECK(std::count(told.begin(), told.end(), "device") == 1);
      REQUIRE(k < 100);
    }
    const auto refused = told_where(
        algorithm, [](gpu::Model& model) { model.refuse_ipc(1); }, same);
    CHECK(std::count(refused.begin(), refused.end(), "") == 0);
    const auto differ = told_where(
        algorithm, [](gpu::Model&) {}, [](int r) { return r == 1 ? 40'000 : 50'000; });
    CHECK(std::count(differ.begin(), differ.end(), "peer") == 3);
  };
  check(SharedDevice{});
  check(DeviceSlices{});
}
