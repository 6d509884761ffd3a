// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Memory of other ranks that this one has mapped, by their number of the allocation: an address
/// may come back for other memory, a number never does.
class MemoryImports {
 public:
  /// Constructs the imports of a device. Beyond `most` imports those that were not used for the
  /// longest time are closed.
  MemoryImports(gpu::Api& api, int device, std::size_t most)
      : api_(&api), device_(device), most_(most) {}

  /// Returns where the peer's allocation begins for this rank's device.
  std::byte* find(int peer, std::uint64_t allocation, const gpu::MemoryHandle& handle) {
    return find(peer, allocation, handle, device_);
  }
  /// As above, for another device of this process.
  std::byte* find(int peer, std::uint64_t allocation, const gpu::MemoryHandle& handle, int device) {
    const auto it = std::find_if(open_.begin(), open_.end(), [&](const Import& i) {
      return i.peer == peer && i.allocation == allocation && i.device == device;
    });
    if (it != open_.end()) {
      it->used = ++clock_;
      return it->memory.get();
    }
    gpu::ImportedMemory memory{*api_, api_->import_memory(device, handle)};
    open_.push_back({peer, allocation, device, ++clock_, std::move(memory)});
    return open_.back().memory.get();
  }

  /// Puts down what is beyond the limit, to be closed when all that is in the stream now is
  /// complete; and closes what was put down and is no longer in use. Every stream that pulls has
  /// been joined to this one.
  void trim(gpu::Stream joined) {
    while (open_.size() > most_) {
      const auto oldest =
          std::min_element(open_.begin(), open_.end(),
                           [](const Import& a, const Import& b) { return a.used < b.used; });
      gpu::OwnedEvent unused{*api_, api_->make_event(device_, false)};
      api_->record(unused.get(), joined);
      closing_.push_back({std::move(oldest->memory), std::move(unused)});
      open_.erase(oldest);
    }
    std::erase_if(closing_, [this](const Closing& c) { return api_->is_complete(c.unused.get()); });
  }

  /// Returns the number of allocations that are mapped, with those that are being closed.
  std::size_t size() const noexcept { return open_.size() + closing_.size(); }

  /// Closes all of them. Nothing may be in flight.
  void close() noexcept {
    open_.clear();
    closing_.clear();
  }

  /// Never closes them: something may still be in flight.
  void leak() noexcept {
    for (Import& i : open_) static_cast<void>(i.memory.release());
    for (Closing& c : closing_) static_cast<void>(c.memory.release());
    close();
  }

 private:
  struct Import {
    int peer;
    std::uint64_t allocation;
    int device;
    std::uint64_t used;  ///< a time, by clock_
    gpu::ImportedMemory memory;
  };
  struct Closing {
    gpu::ImportedMemory memory;
    gpu::OwnedEvent unused;
  };

  gpu::Api* api_;
  int device_;
  std::size_t most_;
  std::uint64_t clock_ = 0;
  std::vector<Import> open_;
  std::vector<Closing> closing_;
};

/// A rank's device as plans use it: its lanes, its memory, and the steps that need no other rank.
class DeviceSteps {
 public:
  /// Finds the reducer for a device; throws argument_error if there is none.
  using FindReducer = gpu::DeviceReducer (*)(const Reducer&);
  using Use = StreamPool::Use;  ///< what a step does with bytes

  /// Users of own memory that are in no lane.
  static constexpr std::size_t scratch_order = StreamPool::count;

  /// On a device of the api's.
  DeviceSteps(gpu::Api& api, int device, FindReducer find)
      : api_(&api),
        device_(device),
        find_reducer_(find),
        memory_(detail::make_shared<DeviceMemory>(api, device)),
        streams_(api, device) {}

  /// The operations of devices.
  gpu::Api& api() const noexcept { return *api_; }
  /// The rank's device.
  int device() const noexcept { return device_; }
  /// Returns what combines for the device as the reducer does for the host.
  gpu::DeviceReducer reducer_for(const Reducer& reducer) const { return find_reducer_(reducer); }
  /// The streams of its steps.
  StreamPool& streams() noexcept { return streams_; }
  /// The memory that peers may have mapped.
  const detail::Shared<DeviceMemory>& memory() const noexcept { return memory_; }

  /// The lane of a step, whose call begins with its first one.
  std::size_t lane_of(const TransportOp& work) {
    return streams_.of(work.sequence, work.slot,
                       static_cast<gpu::Stream>(work.owner->call().stream));
  }

  /// Puts a local step into a lane.
  void start(const TransportOp& work, std::size_t lane) {
    if (!work.is_noncontiguous) return perform(work, lane);
    for_each_piece(work, [&](const TransportOp& piece) { perform(piece, lane); });
  }

  /// Own memory for the runs of plans.
  detail::Shared<std::byte> scratch(std::size_t bytes) {
    auto taken = detail::make_shared<Scratch>(memory_);
    taken->bytes = memory_->take(bytes, scratch_order);
    std::byte* const at = taken->bytes;
    return {std::move(taken), at};
  }

 private:
  struct Scratch : Pinned {
    explicit Scratch(detail::Shared<DeviceMemory> from) noexcept : memory(std::move(from)) {}
    ~Scratch() {
      if (bytes != nullptr) memory->give_back(bytes, scratch_order);
    }
    detail::Shared<DeviceMemory> memory;
    std::byte* bytes = nullptr;
  };

  void perform(const TransportOp& work, std::size_t lane) {
    if (work.n == 0) return;
    const std::size_t bytes = work.bytes();
    streams_.order(lane, {work.a, bytes}, Use::reads);
    if (work.kind == OpKind::reduce) streams_.order(lane, {work.b, bytes}, Use::reads);
    streams_.order(lane, {work.to, bytes}, Use::writes);
    if (work.kind == OpKind::copy) return copy(work, lane);
    gpu::Operands operands;
    operands.inputs = 2;
    operands.in[0] = work.a;
    operands.in[1] = work.b;
    operands.outputs = 1;
    operands.out[0] = work.to;
    api_->combine(operands, work.n, find_reducer_(*work.reducer), streams_.stream(lane));
  }

  /// Devices copy between ranges that overlap in no order that anybody knows.
  void copy(const TransportOp& work, std::size_t lane) {
    const std::size_t bytes = work.bytes();
    const gpu::Stream stream = streams_.stream(lane);
    if (work.to == work.a) return;
    if (!DeviceRange{work.a, bytes}.overlaps({work.to, bytes})) {
      return api_->copy(work.to, work.a, bytes, stream);
    }
    std::byte* const between = memory_->take(bytes, lane);
    streams_.order(lane, {between, bytes}, Use::writes);
    api_->copy(between, work.a, bytes, stream);
    api_->copy(work.to, between, bytes, stream);
    memory_->give_back(between, lane);
  }

  gpu::Api* api_;
  int device_;
  FindReducer find_reducer_;
  detail::Shared<DeviceMemory> memory_;
  StreamPool streams_;
};

/// How the messages of a device's plans get from rank to rank.
class DeviceMessages : Pinned {
 public:
  virtual ~DeviceMessages() = default;

  /// As Endpoint::start(), of a send or a receive in that lane.
  virtual bool start(const TransportOp& work, std::size_t lane) = 0;
  /// As Endpoint::progress().
  virtual bool progress() = 0;
  /// A call was finished: every stream has been joined to the ordering stream.
  virtual void finish() {}
  /// Closes what it has mapped of peers. Nothing is in flight.
  virtual void close() noexcept = 0;
  /// Forgets what is in flight, and never ends what it has mapped or pinned.
  virtual void abandon() noexcept = 0;
  /// Returns what it has mapped of peers; null if it maps nothing.
  virtual MemoryImports* imports() noexcept { return nullptr; }
};

}  // namespace papcoll::inline PAPCOLL_ABI
