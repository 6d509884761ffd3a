#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/clock.hpp>
#include <papcoll/gpu/model/events.hpp>
#include <papcoll/gpu/model/machine.hpp>
#include <papcoll/gpu/model/memory.hpp>
#include <papcoll/gpu/model/queues.hpp>
#include <papcoll/gpu/model/races.hpp>

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

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace gpu {

/// How a Model behaves.
struct ModelOptions {
  /// Fresh memory, and outputs of operations under way, have bytes that no test expects.
  bool poison = true;
  /// Times only: operations neither copy nor combine.
  bool move_no_data = false;
  /// Each operation takes up to so many seconds longer, at random.
  double jitter = 0;
  /// Of that.
  std::uint64_t seed = 1;
};

namespace detail {

/// What the model knows of a process.
struct ProcessState {
  int current_device = 0;                 ///< as Api::current_device()
  bool refuses_ipc = false;               ///< memory and events are not shared
  Clock host;                             ///< what its program knows to be complete
  std::set<DeviceMachine::Ends> enabled;  ///< (from, to): access that it has asked for
  std::map<int, Queue*> null_streams;     ///< of each device
};

/// All of a model; whoever uses it holds the mutex.
struct ModelState {
  /// Nothing is in it yet.
  ModelState(DeviceMachine machine_, const ModelOptions& options_)
      : machine(std::move(machine_)),
        options(options_),
        random(options_.seed),
        queues(rates(machine)) {}

  const DeviceMachine machine;                          ///< what there is
  const ModelOptions options;                           ///< as given
  std::mutex mutex;                                     ///< of all below
  std::mt19937_64 random;                               ///< for jitter
  std::map<int, ProcessState> processes;                ///< by number
  std::vector<std::string> problems;                    ///< found so far
  Memories memories;                                    ///< all memory
  Races races;                                          ///< all accesses
  std::vector<std::unique_ptr<EventOfProcess>> events;  ///< all that were ever made
  Queues queues;                                        ///< all streams, and the time
  std::size_t waits = 0;                                ///< calls of wait()
  std::set<std::size_t> left_out;                       ///< numbers of those that do nothing
  std::optional<std::size_t> failing;                   ///< allocations until one fails
  std::uint64_t tellings = 0;                           ///< calls of tell()
  std::map<std::uint64_t, Clock> told;                  ///< what was told and not heard yet

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
}  // namespace gpu
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
