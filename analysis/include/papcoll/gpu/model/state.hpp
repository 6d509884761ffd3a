// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/clock.hpp>
#include <papcoll/gpu/model/events.hpp>
#include <papcoll/gpu/model/machine.hpp>
#include <papcoll/gpu/model/memory.hpp>
#include <papcoll/gpu/model/queues.hpp>
#include <papcoll/gpu/model/races.hpp>
#include <papcoll/gpu/model/shared_events.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

// All that the processes of a model share.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// How a Model behaves.
struct ModelOptions {
  /// Fresh memory, and outputs of operations under way, have bytes that no test expects.
  bool poison = true;
  /// Times only: operations neither copy nor combine.
  bool move_no_data = false;
  /// Each operation takes up to so many seconds longer, at random.
  double jitter = 0;
  /// The seed of `jitter`.
  std::uint64_t seed = 1;
  /// The ranks are processes, each with a Model of its own of the same machine: they import memory
  /// and events of each other, and a thread lets time pass. Times then mean nothing, since each
  /// model has its own; the race check sees the accesses of its own process, and takes whatever
  /// comes from another one for the end of all that it has announced. Whether freed memory is still
  /// imported, nobody sees. All of it is gone with the processes, however they end.
  bool between_processes = false;
};

namespace detail {

/// What the model knows of a process.
struct ProcessState {
  int current_device = 0;                     ///< as Api::current_device()
  bool refuses_ipc = false;                   ///< memory and events are not shared
  std::size_t most_pinned = ~std::size_t{0};  ///< bytes of others' memory that one pin() takes
  Clock host;                                 ///< what its program knows to be complete
  std::set<DeviceMachine::Ends> enabled;      ///< (from, to): access that it has asked for
  std::map<int, Queue*> null_streams;         ///< of each device
};

/// All of a model; its user holds the mutex.
struct ModelState {
  /// Nothing is in it yet.
  ModelState(DeviceMachine machine_, const ModelOptions& options_)
      : machine(std::move(machine_)),
        options(options_),
        random(options_.seed),
        memories(options_.between_processes),
        queues(rates(machine)) {}

  const DeviceMachine machine;                          ///< what there is
  const ModelOptions options;                           ///< as given
  std::mutex mutex;                                     ///< of all below
  std::mt19937_64 random;                               ///< for jitter
  std::map<int, ProcessState> processes;                ///< by number
  std::vector<std::string> problems;                    ///< found so far
  Memories memories;                                    ///< all memory
  Races races;                                          ///< all accesses
  SharedEvents shared_events;                           ///< those of other processes' models
  std::vector<std::unique_ptr<EventOfProcess>> events;  ///< all that were ever made
  Queues queues;                                        ///< all streams, and the time
  std::size_t waits = 0;                                ///< calls of wait()
  std::set<std::size_t> left_out;                       ///< numbers of those that do nothing
  std::optional<std::size_t> failing;                   ///< allocations until one fails
  std::uint64_t publications = 0;                       ///< calls of publish()
  std::map<std::uint64_t, Clock> published;             ///< what was sent and not received yet
  Clock told_elsewhere;          ///< what other processes' models may know to be complete
  std::condition_variable more;  ///< something was put into a stream; only between processes

  /// A resource of Load: the memory of a device, or of the host.
  std::size_t memory_of(int end) const {
    const auto n = static_cast<std::size_t>(end == DeviceMachine::host ? machine.size() : end);
    return machine.links.size() + n;
  }

  /// Notes what functions that are noexcept found.
  void problem(std::initializer_list<papcoll::detail::MessagePart> parts) {
    problems.push_back(papcoll::detail::joined(parts));
  }

 private:
  /// Of all resources: links, memories of devices, memory of the host.
  static std::vector<double> rates(const DeviceMachine& machine) {
    std::vector<double> all;
    for (const Link& link : machine.links) all.push_back(link.rate);
    for (const DeviceMachine::Device& device : machine.devices) all.push_back(device.memory_rate);
    all.push_back(machine.host_memory_rate);
    return all;
  }
};

/// The caller passed something that CUDA would refuse, or worse, would not.
[[noreturn]] inline void misuse(std::initializer_list<papcoll::detail::MessagePart> parts) {
  throw device_error(Fault::misuse, papcoll::detail::joined(parts));
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
