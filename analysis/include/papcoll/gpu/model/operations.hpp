// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

// A copy or a kernel, from what the program passes to what the model does in its time.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// Who moves the bytes.
enum class Mover : unsigned char {
  copy,    ///< straight from the one memory to the other
  kernel,  ///< by way of the device that runs it
};

/// A buffer of an operation.
struct Operand {
  std::shared_ptr<Mapping> mapping;  ///< null: memory of the host that no GPU knows
  std::byte* bytes_at = nullptr;     ///< where the model has them

  /// A device, or the host.
  int end() const { return mapping == nullptr ? DeviceMachine::host : mapping->block->device; }
};

/// An operation that takes time, of one stream.
class Operation {
 public:
  /// Finds the buffers, `bytes` long each. Throws where the device would fail.
  Operation(ModelState& model, Queue& queue, Mover mover, const Operands& operands,
            std::size_t bytes)
      : model_(model), queue_(queue), mover_(mover), bytes_(bytes) {
    at_.inputs = operands.inputs;
    at_.outputs = operands.outputs;
    if (bytes == 0) return;
    for (int k = 0; k < operands.inputs; ++k) {
      inputs_.push_back(find(operands.in[k]));
      at_.in[k] = inputs_.back().bytes_at;
    }
    for (int k = 0; k < operands.outputs; ++k) {
      outputs_.push_back(find(operands.out[k]));
      at_.out[k] = outputs_.back().bytes_at;
    }
    check_overlaps();
  }

  /// Appends it to its stream; `perform` does it on the host's memory.
  void push(std::function<void(const Operands&)> perform) {
    Work work;
    work.bytes = static_cast<double>(bytes_);
    work.latency = add_routes(work.loads);
    queue_.clock.join(model_.processes[queue_.process].host);
    queue_.clock.add(queue_.number, ++queue_.pushed);
    for (const Operand& input : inputs_) note(input, false);
    for (const Operand& output : outputs_) note(output, true);
    std::vector<InUse> uses;
    for (const std::vector<Operand>* side : {&inputs_, &outputs_}) {
      for (const Operand& o : *side) {
        if (o.mapping != nullptr) uses.emplace_back(o.mapping);
      }
    }
    const bool moves = !model_.options.move_no_data && bytes_ != 0;
    if (moves && model_.options.poison) {
      work.begin = [at = at_, bytes = bytes_] { poison(at, bytes); };
    }
    work.end = [at = at_, moves, perform = std::move(perform), uses = std::move(uses)] {
      if (moves) perform(at);
    };
    model_.queues.push(queue_, std::move(work));
  }

 private:
  /// The buffer that begins at an address; throws if the stream's device does not reach it.
  Operand find(const void* address) const {
    const std::shared_ptr<Mapping> found = model_.memories.find(queue_.process, address);
    if (found == nullptr) return find_unpinned(address);
    const Block& block = *found->block;
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - found->base);
    if (bytes_ > block.bytes - offset) {
      misuse({"papcoll: ", bytes_, " bytes from offset ", offset, " on are not all in ",
              found->name(), ": pass buffers that are"});
    }
    const bool reached =
        block.memory != Memory::device || block.device == queue_.device ||
        model_.processes[queue_.process].enabled.count({queue_.device, block.device}) != 0;
    if (!reached) {
      throw device_error(
          Fault::no_peer_access,
          papcoll::detail::joined({"papcoll: device ", queue_.device, " does not reach ",
                                   found->name(), ": enable access, or go through the host"}));
    }
    return {found, block.bytes_at + offset};
  }

  Operand find_unpinned(const void* address) const {
    if (address == nullptr) misuse({"papcoll: a buffer is null: pass memory"});
    if (model_.memories.has(address)) {
      misuse({"papcoll: process ", queue_.process,
              " uses memory that was freed, or that another "
              "process has: keep it, or import it"});
    }
    if (mover_ == Mover::kernel) {
      misuse({"papcoll: a kernel of process ", queue_.process,
              " uses memory of the host that is "
              "not pinned: pin it, or copy"});
    }
    return {nullptr, static_cast<std::byte*>(const_cast<void*>(address))};
  }

  static bool overlap(const void* a, const void* b, std::size_t bytes) {
    return is_within(a, b, bytes) || is_within(b, a, bytes);
  }

  /// Only a kernel's output may be an input, and then all of it.
  void check_overlaps() const {
    for (int k = 0; k < at_.outputs; ++k) {
      bool fits = true;
      for (int j = 0; j < at_.inputs; ++j) {
        const bool same = mover_ == Mover::kernel && at_.out[k] == at_.in[j];
        fits = fits && (same || !overlap(at_.out[k], at_.in[j], bytes_));
      }
      for (int j = 0; j < k; ++j) fits = fits && !overlap(at_.out[k], at_.out[j], bytes_);
      if (!fits) misuse({"papcoll: an output overlaps another buffer: pass buffers that do not"});
    }
  }

  /// Adds what the operation loads; returns the seconds until bytes flow.
  double add_routes(std::vector<Load>& loads) {
    std::map<std::size_t, double> weights;
    double latency = 0;
    const auto cross = [&](int from, int to) {
      const Route& route = model_.machine.route(from, to);
      latency = std::max(latency, route.latency);
      for (const int link : route.links) weights[static_cast<std::size_t>(link)] += 1;
    };
    for (const Operand& input : inputs_) {
      weights[model_.memory_of(input.end())] += 1;
      cross(input.end(), mover_ == Mover::copy ? outputs_[0].end() : queue_.device);
    }
    for (const Operand& output : outputs_) {
      weights[model_.memory_of(output.end())] += 1;
      if (mover_ == Mover::kernel) cross(queue_.device, output.end());
    }
    for (const auto& [resource, weight] : weights) loads.push_back({resource, weight});
    const double jitter = model_.options.jitter;
    if (jitter > 0) latency += std::uniform_real_distribution<>(0, jitter)(model_.random);
    return model_.machine.launch + latency;
  }

  /// Compares with former accesses. Who uses memory of the host that no GPU knows, the model does
  /// not know either: it is not compared.
  void note(const Operand& operand, bool writes) {
    if (operand.mapping == nullptr) return;
    const Block& block = *operand.mapping->block;
    const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const std::size_t first =
        address(operand.bytes_at) - (block.number == 0 ? 0 : address(block.bytes_at));
    Access access;
    access.by = {mover_ == Mover::copy ? "copy" : "combine", queue_.process, queue_.device,
                 queue_.number, queue_.pushed};
    access.writes = writes;
    access.first = first;
    access.last = first + bytes_;
    const std::size_t origin = block.number == 0 ? address(block.bytes_at) : 0;
    model_.races.add({block.number, origin, operand.mapping->name()}, access, queue_.clock,
                     model_.problems);
  }

  /// Outputs have wrong bytes until the operation is complete, unless they are inputs.
  static void poison(const Operands& at, std::size_t bytes) {
    for (int k = 0; k < at.outputs; ++k) {
      if (std::find(at.in, at.in + at.inputs, at.out[k]) != at.in + at.inputs) continue;
      std::memset(at.out[k], 0x5A, bytes);
    }
  }

  ModelState& model_;
  Queue& queue_;
  Mover mover_;
  std::size_t bytes_;
  std::vector<Operand> inputs_, outputs_;
  Operands at_;  ///< where the model has the bytes
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
