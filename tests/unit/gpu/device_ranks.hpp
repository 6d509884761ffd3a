// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Threads as ranks, each a process of a model of GPUs with a device of its own, and the collectives
// of papcoll::gpu among them; or processes (tests/gpu/).

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/arrival/policies.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/built_in_on_host.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace device_ranks {

using namespace papcoll;

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

inline std::vector<int> numbers(int rank, std::size_t n) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = 1000 * (rank + 1) + static_cast<int>(i % 97);
  return values;
}

/// Runs f(rank, device) on every rank of a model; what the model found.
template <class F> std::string problem_on(gpu::Model& model, int ranks, F&& f) {
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

inline gpu::DeviceMachine linked(int devices) {
  return gpu::DeviceMachine::linked(devices, 72e9, 60e9, 6e-6);
}

/// The same on a model of as many devices, all of them linked.
template <class F> std::string problem_of(int ranks, F&& f) {
  gpu::Model model{linked(ranks)};
  return problem_on(model, ranks, f);
}

/// Each collective of papcoll::gpu, with n elements.
template <class T = ModelTransport, class R>
bool collectives_are_right(R& rank, Device& d, std::size_t n) {
  const int me = rank.rank();
  const int last = rank.size() - 1;
  const auto all = static_cast<std::size_t>(rank.size()) * n;
  std::vector<int> total(n);
  std::vector<int> gathered;
  for (int r = 0; r < rank.size(); ++r) {
    const auto of_r = numbers(r, n);
    for (std::size_t i = 0; i < n; ++i) total[i] += of_r[i];
    gathered.insert(gathered.end(), of_r.begin(), of_r.end());
  }
  const auto own = numbers(me, n);

  int* const data = d.put(own);
  gpu::allreduce<T>(rank, data, n, sum, d.stream);
  bool right = d.get(data, n) == total;
  const int* const in = d.put(own);
  int* const out = d.put(std::vector<int>(n));
  gpu::allreduce<ThreeStage, T>(rank, in, out, n, sum, d.stream);
  right &= d.get(out, n) == total && d.get(in, n) == own;

  int* const sent = d.put(own);
  gpu::bcast<T>(rank, sent, n, root{last}, d.stream);
  right &= d.get(sent, n) == numbers(last, n);
  int* const sums = d.put(own);
  gpu::reduce<T>(rank, sums, n, root{last}, sum, d.stream);
  if (me == last) right &= d.get(sums, n) == total;

  int* const blocks = d.put(std::vector<int>(all));
  gpu::allgather<T>(rank, in, blocks, n, d.stream);
  right &= d.get(blocks, all) == gathered;
  int* const back = d.put(std::vector<int>(n));
  gpu::scatter<T>(rank, blocks, back, n, root{0}, d.stream);
  right &= d.get(back, n) == own;
  gpu::gather<T>(rank, back, blocks, n, root{0}, d.stream);
  if (me == 0) right &= d.get(blocks, all) == gathered;
  // All ranks have the same in `blocks`.
  gpu::reduce_scatter<T>(rank, blocks, back, n, max, d.stream);
  int* const exchanged = d.put(std::vector<int>(all));
  gpu::alltoall<T>(rank, blocks, exchanged, n, d.stream);
  right &= d.get(back, n) == own;
  const auto got = d.get(exchanged, all);
  for (std::size_t i = 0; i < all; ++i) right &= got[i] == own[i % n];
  return right;
}

struct Larger {
  int operator()(int low, int high) const { return low < high ? high : low; }
};

/// Requests, several at once, with an operator of one's own.
template <class R> bool requests_are_right(R& rank, Device& d) {
  static constexpr Larger larger{};
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
  right &=
      std::equal(highest.begin(), highest.end(), gathered.end() - static_cast<std::ptrdiff_t>(n));
  gpu::allreduce<ModelTransport>(rank, a, n, op, d.stream);
  return right && d.get(a, n) == highest;
}

}  // namespace device_ranks
