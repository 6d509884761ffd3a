// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_call_context.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Bytes of memory that peers may map.
struct DeviceAddress {
  std::uint64_t allocation = 0;  ///< the owner's number of the memory; 0: no place
  std::uint64_t offset = 0;      ///< there
  gpu::MemoryHandle memory{};    ///< of that memory
};

/// What a rank announces in a call.
struct DeviceAnnouncement {
  std::uint64_t bytes = 0;      ///< of the vector
  std::uint32_t algorithm = 0;  ///< its number
  DeviceAddress contribution{};
  DeviceAddress result{};
};

/// What a rank shows all others in calls that depend on arrivals. It begins as zeros.
struct DeviceControlBlock {
  /// The event of a signal, and the last call in which it was given. The owner records the event
  /// before it stores the call's number. It records it anew only in a later call, which it enters
  /// when all have called wait() for this one: see DeviceCallContext.
  struct Signal {
    /// Release: makes `event`, `post` and the record visible to who acquires it. Numbers of calls
    /// are the same on all ranks, and a rank is in one at a time, so that equality is enough.
    alignas(cache_line) std::atomic<std::uint32_t> call{0};
    gpu::EventHandle event{};  ///< of the owner, from the first signal on
  };

  /// Of rank 0: how many tickets were drawn, size() in each call that draws any. Relaxed: a ticket
  /// says who is last, and what the others wrote is seen by their signals.
  alignas(cache_line) std::atomic<std::uint32_t> tickets{0};
  /// Written before `given`. A rank that has read it signals before the owner's next call.
  alignas(cache_line) DeviceAnnouncement post{};
  std::array<Signal, device_signals> signals{};
};
static_assert(std::is_trivially_destructible_v<DeviceControlBlock>);

/// One rank's call context of arrival-driven algorithms on memory of devices, see
/// DeviceCallContext. It works in the first lane of its endpoint, so that calls of all kinds are
/// ordered by the endpoint's ordering stream.
///
///     begin(call, …)  → the lane is ordered behind the user's stream
///     Run::step()     → until it says that all is in streams
///     end()           → the user's stream is ordered behind all of it
class DeviceNodeContext {
 public:
  /// `steps` and `imports`, which the endpoint's messages have in common with it, and the control
  /// blocks of all ranks stay longer.
  DeviceNodeContext(DeviceSteps& steps, MemoryImports& imports, int rank,
                    const std::vector<DeviceControlBlock*>& control_blocks)
      : steps_(&steps), imports_(&imports), rank_(rank), peers_(control_blocks.size()) {
    for (std::size_t r = 0; r < control_blocks.size(); ++r) peers_[r].control = control_blocks[r];
  }

  /// A call begins; all ranks begin the same ones in the same order. `sequence` numbers it among
  /// all calls of the team. Throws argument_error if there is no kernel for its operator.
  void begin(const Call& call, std::uint32_t sequence, std::uint32_t algorithm) {
    ++call_;
    user_ = static_cast<gpu::Stream>(call.stream);
    reducer_ = steps_->reducer_for(call.reducer);
    bytes_ = call.bytes();
    algorithm_ = algorithm;
    lane_ = steps_->streams().of(sequence, 0, user_);
    is_asked_ = false;
    if (call.in != nullptr)
      steps_->streams().order(lane_, {call.in, bytes_}, StreamPool::Use::reads);
    if (call.out != nullptr)
      steps_->streams().order(lane_, {call.out, bytes_}, StreamPool::Use::writes);
  }

  /// Ends the call, of which everything is in streams.
  void end() {
    for (std::byte* p : taken_) steps_->memory()->give_back(p, lane_);
    taken_.clear();
    steps_->streams().finish(user_);
    imports_->trim(steps_->streams().order_stream());
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(peers_.size()); }

  int draw_ticket() noexcept {
    const auto ranks = static_cast<std::uint32_t>(size());
    const std::uint32_t drawn = control_block(0).tickets.fetch_add(1, std::memory_order_relaxed);
    return static_cast<int>(drawn - draws_++ * ranks);
  }

  bool is_shown(const std::byte* p) const { return steps_->memory()->find(p) != nullptr; }

  std::byte* take(std::size_t bytes) {
    std::byte* const p = steps_->memory()->take(bytes, lane_);
    taken_.push_back(p);
    // A plan's messages may still be pulled from there.
    steps_->streams().order(lane_, {p, bytes}, StreamPool::Use::writes);
    return p;
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    steps_->api().copy(to, from, bytes, stream());
    is_asked_ = false;
  }

  void combine(const gpu::Operands& operands, std::size_t n) {
    steps_->api().combine(operands, n, reducer_, stream());
    is_asked_ = false;
  }

  bool is_idle() {
    if (!asked_) asked_ = {steps_->api(), steps_->api().make_event(steps_->device(), false)};
    if (!is_asked_) steps_->api().record(asked_.get(), stream());
    is_asked_ = true;
    return steps_->api().is_complete(asked_.get());
  }

  void announce(const std::byte* contribution, const std::byte* result) {
    control_block(rank_).post = {bytes_, algorithm_, place(contribution), place(result)};
  }

  void signal(DeviceSignal s) {
    const auto i = static_cast<std::size_t>(s);
    DeviceControlBlock::Signal& shown = control_block(rank_).signals[i];
    gpu::OwnedEvent& event = peer(rank_).events[i];
    if (!event) {
      event = {steps_->api(), steps_->api().make_event(steps_->device(), true)};
      shown.event = steps_->api().export_event(event.get());
    }
    steps_->api().record(event.get(), stream());
    shown.call.store(call_, std::memory_order_release);
  }

  bool has_signalled(int r, DeviceSignal s) const {
    const DeviceControlBlock& of_r = control_block(r);
    const auto& call = of_r.signals[static_cast<std::size_t>(s)].call;
    if (call.load(std::memory_order_acquire) != call_) return false;
    if (s == DeviceSignal::given) check(r, of_r.post);
    return true;
  }

  void wait(int r, DeviceSignal s) { steps_->api().wait(stream(), event_of(r, s)); }

  const std::byte* contribution_of(int r) { return mapped(r, control_block(r).post.contribution); }
  std::byte* result_of(int r) { return mapped(r, control_block(r).post.result); }

  void pull(int r, std::byte* to, const std::byte* from, std::size_t bytes) {
    gpu::OwnedStream& pulls = peer(r).pulls;
    if (!pulls) pulls = {steps_->api(), steps_->api().make_stream(steps_->device())};
    steps_->api().wait(pulls.get(), event_of(r, DeviceSignal::ready));
    steps_->api().copy(to, from, bytes, pulls.get());
    steps_->streams().used_by(lane_, {to, bytes}, StreamPool::Use::writes, pulls.get());
  }

  void join(const std::byte* to, std::size_t bytes) {
    steps_->streams().order(lane_, {to, bytes}, StreamPool::Use::writes);
  }

 private:
  struct Peer {
    DeviceControlBlock* control = nullptr;
    std::array<gpu::OwnedEvent, device_signals> events{};  ///< imported; of this rank its own
    gpu::OwnedStream pulls{};                              ///< from its memory
  };

  Peer& peer(int r) noexcept { return peers_[static_cast<std::size_t>(r)]; }
  DeviceControlBlock& control_block(int r) const noexcept {
    return *peers_[static_cast<std::size_t>(r)].control;
  }
  gpu::Stream stream() const noexcept { return steps_->streams().stream(lane_); }

  gpu::Event event_of(int r, DeviceSignal s) {
    const auto i = static_cast<std::size_t>(s);
    gpu::OwnedEvent& event = peer(r).events[i];
    if (!event) {
      const gpu::EventHandle& handle = control_block(r).signals[i].event;
      event = {steps_->api(), steps_->api().import_event(steps_->device(), handle)};
    }
    return event.get();
  }

  DeviceAddress place(const std::byte* p) const {
    DeviceMemory::Allocation* const has = p == nullptr ? nullptr : steps_->memory()->find(p);
    if (has == nullptr) return {};
    return {has->number, static_cast<std::uint64_t>(p - has->base),
            steps_->memory()->handle_of(*has)};
  }

  std::byte* mapped(int r, const DeviceAddress& p) {
    return imports_->find(r, p.allocation, p.memory) + p.offset;
  }

  void check(int r, const DeviceAnnouncement& post) const {
    if (post.bytes == bytes_ && post.algorithm == algorithm_) return;
    throw peer_error(papcoll::detail::joined(
        {"papcoll: rank ", r, " combines ", post.bytes, " bytes of devices where rank ", rank_,
         " combines ", bytes_, post.algorithm == algorithm_ ? "" : ", and by another algorithm",
         ": all ranks must pass the same count, type and policies"}));
  }

  DeviceSteps* steps_;
  MemoryImports* imports_;
  int rank_;
  std::vector<Peer> peers_;
  std::uint32_t call_ = 0;   ///< its number among those of this context
  std::uint32_t draws_ = 0;  ///< calls in which tickets were drawn
  gpu::Stream user_ = nullptr;
  gpu::DeviceReducer reducer_{};
  std::size_t bytes_ = 0;
  std::uint32_t algorithm_ = 0;
  std::size_t lane_ = 0;
  std::vector<std::byte*> taken_;  ///< in this call
  gpu::OwnedEvent asked_{};        ///< of is_idle()
  bool is_asked_ = false;          ///< behind all copies and kernels of the call
};
static_assert(DeviceCallContext<DeviceNodeContext>);

}  // namespace papcoll::inline PAPCOLL_ABI
