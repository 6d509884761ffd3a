// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/machine.hpp>
#include <papcoll/gpu/model/process.hpp>
#include <papcoll/gpu/model/state.hpp>
#include <papcoll/gpu/model/stepper.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// GPUs that are not there: what algorithms ask of Api, by memory of the host in virtual time. It
/// finds what hardware rarely shows: memory that the host must not touch, accesses that no event
/// orders, memory that ends too early, what is never given back.
///
/// Processes of the model may be threads of one; all calls take one mutex. Time passes only in
/// is_complete() and run(); and in a thread, if processes have a model each
/// (ModelOptions::between_processes).
///
///     Model model(DeviceMachine::linked(4, 72e9, 60e9, 10e-6));
///     Api& api = model.process(0);
///     ...
///     CHECK(model.problems().empty());
class Model {
 public:
  /// Constructs a model of `machine`.
  explicit Model(DeviceMachine machine, const ModelOptions& options = {})
      : state_(std::move(machine), options) {
    if (options.between_processes) stepper_.emplace(state_);
  }

  /// The devices as process number i sees them; stays until the model ends.
  Api& process(int i) { return made(i); }

  /// Which device process number i uses; 0 unless it is set.
  void set_current_device(int process, int device) {
    const std::lock_guard lock(state_.mutex);
    state_.processes[process].current_device = device;
  }

  /// Seconds since the model began.
  double now() {
    const std::lock_guard lock(state_.mutex);
    return state_.queues.now();
  }

  /// All that can be performed is.
  void run() {
    const std::lock_guard lock(state_.mutex);
    while (state_.queues.step()) {
    }
  }

  /// Nothing is under way, and yet a stream waits: for a record of a device that failed,
  /// or of another process.
  bool stuck() {
    const std::lock_guard lock(state_.mutex);
    return state_.queues.stuck();
  }

  /// Returns where a test may read and write what a process has at an address: the same address,
  /// but for memory that only devices reach.
  std::byte* reach(const void* address) {
    const std::lock_guard lock(state_.mutex);
    auto* const bytes = static_cast<std::byte*>(const_cast<void*>(address));
    const auto found = state_.memories.find(address);
    return found == nullptr ? bytes : found->block->bytes_at + (bytes - found->base);
  }

  /// Managed memory of a device, for a process; Api::free() gives it back.
  std::byte* allocate_managed(int process, int device, std::size_t bytes) {
    return made(process).allocate_managed(device, bytes);
  }

  /// What process `from` knows to be complete, process `to` knows now: a message between them.
  void order_hosts(int from, int to) {
    const std::lock_guard lock(state_.mutex);
    state_.processes[to].host.join(state_.processes[from].host);
  }

  /// Returns what programs did wrong without an error: races, memory freed too early, what was
  /// freed twice.
  std::vector<std::string> problems() {
    const std::lock_guard lock(state_.mutex);
    return state_.problems;
  }

  /// Returns what each process has still: allocations, imports, pinned memory, streams, events.
  std::vector<std::string> leftovers() {
    const std::lock_guard lock(state_.mutex);
    std::vector<std::string> all;
    state_.memories.for_each(
        [&all](const detail::Mapping& m) { all.push_back("papcoll: left over: " + m.name()); });
    state_.queues.for_each([&all](const detail::Queue& q) {
      if (!q.alive || q.is_null) return;
      all.push_back(
          papcoll::detail::joined({"papcoll: left over: stream ", q.number, " of process ",
                                   q.process, " (device ", q.device, ")"}));
    });
    for (const auto& e : state_.events) {
      if (!e->alive) continue;
      const char* const what = e->imported ? "imported event " : "event ";
      all.push_back(
          papcoll::detail::joined({"papcoll: left over: ", what, e->shared->number, " of process ",
                                   e->process, " (device ", e->shared->device, ")"}));
    }
    return all;
  }

  /// Returns the number of calls of wait().
  std::size_t waits() {
    const std::lock_guard lock(state_.mutex);
    return state_.waits;
  }
  /// The k-th call of wait() does nothing; the first of the model is number 0.
  void leave_out_wait(std::size_t k) {
    const std::lock_guard lock(state_.mutex);
    state_.left_out.insert(k);
  }

  /// Makes the allocation after k more fail.
  void fail_allocation(std::size_t k) {
    const std::lock_guard lock(state_.mutex);
    state_.failing = k;
  }
  /// The process may not share memory and events.
  void refuse_ipc(int process) {
    const std::lock_guard lock(state_.mutex);
    state_.processes[process].refuses_ipc = true;
  }
  /// The process cannot pin more memory than that at once.
  void limit_pinning(int process, std::size_t bytes) {
    const std::lock_guard lock(state_.mutex);
    state_.processes[process].most_pinned = bytes;
  }
  /// The device fails: its operations are never complete, and using it throws.
  void lose_device(int device) {
    const std::lock_guard lock(state_.mutex);
    state_.queues.lose(device);
  }
  /// The device fails when so many more of its operations are complete.
  void lose_device_after(int device, std::size_t operations) {
    const std::lock_guard lock(state_.mutex);
    state_.queues.lose_after(device, operations);
  }
  /// The stream is recorded as a graph, or no more.
  void set_capturing(Stream stream, bool capturing) {
    const std::lock_guard lock(state_.mutex);
    reinterpret_cast<detail::Queue*>(stream)->capturing = capturing;
  }

 private:
  detail::ModelProcess& made(int process) {
    const std::lock_guard lock(state_.mutex);
    papcoll::detail::Owned<detail::ModelProcess>& found = processes_[process];
    if (found == nullptr)
      found = papcoll::detail::make_owned<detail::ModelProcess>(state_, process);
    return *found;
  }

  detail::ModelState state_;
  std::map<int, papcoll::detail::Owned<detail::ModelProcess>> processes_;
  std::optional<detail::Stepper> stepper_;  ///< last: it uses the others
};

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
