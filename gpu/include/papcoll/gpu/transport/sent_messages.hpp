// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/multi_path.hpp>
#include <papcoll/gpu/paths.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/host_staged_part.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The paths by which a rank receives the messages of one peer, and what goes by which.
class MessagePaths {
 public:
  /// Shorter messages go directly.
  static constexpr std::size_t least_shared_out = std::size_t{128} << 10U;

  /// From one device to another of this process. No paths: everything goes directly.
  MessagePaths(gpu::Api& api, int from, int to, std::vector<gpu::Path> paths,
               const gpu::ShareLimits& limits = {})
      : api_(&api), from_(from), to_(to), paths_(std::move(paths)), limits_(limits) {
    const bool has_direct = std::any_of(paths_.begin(), paths_.end(), [](const gpu::Path& p) {
      return p.via == gpu::Path::direct;
    });
    if (!has_direct || paths_.size() == 1) paths_.clear();
    for (const gpu::Path& p : paths_) {
      if (p.via != gpu::Path::host) pulled_.push_back(p);
    }
  }

  /// Returns true if a message of that many bytes is shared out among paths.
  bool shares_out(std::size_t bytes) const noexcept {
    return !paths_.empty() && bytes >= least_shared_out;
  }
  /// Returns true if a third device carries a part. Then the peer's memory is mapped for that
  /// device, too.
  bool uses_others() const noexcept { return pulled_.size() > 1; }
  /// The device that messages come from.
  int from() const noexcept { return from_; }

  /// Shares out a message, more than least_shared_out; what goes through the host, or no bytes.
  const gpu::PathShare& share_out(std::size_t bytes) {
    if (bytes == bytes_) return by_host_;
    bytes_ = bytes;
    by_host_ = {};
    shares_.clear();
    for (const gpu::PathShare& s : gpu::share_out(paths_, bytes, limits_)) {
      if (s.path.via == gpu::Path::host) by_host_ = s;
      if (s.path.via != gpu::Path::host) shares_.push_back(s);
    }
    return by_host_;
  }

  /// Copies what share_out() left, in the order of the stream. `mapped` is where streams of the
  /// peer's device see the message, if uses_others().
  void copy(std::byte* to, const std::byte* from, const std::byte* mapped, gpu::Stream stream) {
    const bool staged = std::any_of(shares_.begin(), shares_.end(),
                                    [](const gpu::PathShare& s) { return s.path.is_staged(); });
    if (staged) {
      if (!copies_) copies_ = detail::make_owned<gpu::MultiPath>(*api_, from_, to_, pulled_);
      copies_->copy(to, {from, mapped}, shares_, stream);
      return;
    }
    for (const gpu::PathShare& s : shares_) {
      api_->copy(to + s.offset, from + s.offset, s.bytes, stream);
    }
  }

  /// Never gives back staging memory: something may still use it.
  void abandon() noexcept {
    if (copies_) copies_->leak();
  }

 private:
  gpu::Api* api_;
  int from_;
  int to_;
  std::vector<gpu::Path> paths_;
  gpu::ShareLimits limits_;
  std::vector<gpu::Path> pulled_;  ///< those that the receiver drives alone
  detail::Owned<gpu::MultiPath> copies_;
  std::size_t bytes_ = 0;     ///< of the message that was shared out last
  gpu::PathShare by_host_{};  ///< and how
  std::vector<gpu::PathShare> shares_;
};

/// The messages that a rank has sent and whose receivers have not pulled them yet.
///
/// Memory of the caller is not exposed to peers, since memory that others have mapped must not be
/// freed: its messages are copied to memory of the rank first. Memory for which share() was called
/// is exposed.
class SentMessages {
 public:
  /// More bytes than any message has.
  static constexpr std::size_t none = ~std::size_t{0};

  /// `steps` stays longer. Receivers may ask that a part of a message of `least_shared_out` or more
  /// bytes goes through the host.
  SentMessages(DeviceSteps& steps, std::size_t least_shared_out)
      : api_(&steps.api()),
        streams_(&steps.streams()),
        memory_(steps.memory()),
        least_shared_out_(least_shared_out) {}

  /// Announces a send in that lane to its receiver.
  void start(const TransportOp& work, std::size_t lane, MailboxEndpoint& endpoint) {
    Sent sent;
    sent.waits = true;
    sent.work = work;
    sent.lane = lane;
    sent.range = {work.a, work.bytes()};
    streams_->order(lane, sent.range, Use::reads);
    DeviceMemory::Allocation* has = work.n == 0 ? nullptr : memory_->find(work.a);
    if (has == nullptr && work.n != 0) {
      sent.staged = memory_->take(work.bytes(), lane);
      sent.range.lo = sent.staged;
      streams_->order(lane, sent.range, Use::writes);
      api_->copy(sent.staged, work.a, work.bytes(), streams_->stream(lane));
      has = memory_->find(sent.staged);
    }
    if (work.bytes() >= least_shared_out_) {
      sent.ready = streams_->events().take();
      api_->record(sent.ready.get(), streams_->stream(lane));
    }
    ControlMessage control = about(work, ControlKind::message);
    if (has != nullptr) {
      control.allocation = has->number;
      control.offset = static_cast<std::uint64_t>(sent.range.lo - has->base);
      control.memory = memory_->handle_of(*has);
    }
    control.ticket = ticket_for(std::move(sent));
    endpoint.send(control, streams_->stream(lane));
  }

  /// Returns what a receiver wants of a message through the host.
  HostStagedPart::Part part(const ControlMessage& wanted) {
    Sent& sent = sent_.at(wanted.ticket);
    return {.ticket = wanted.ticket,
            .from = sent.range.lo + wanted.offset,
            .bytes = wanted.bytes,
            .piece_bytes = wanted.allocation,
            .ready = std::move(sent.ready)};
  }

  /// The receiver has pulled it when what is in the stream now is complete: the lane will wait for
  /// that before it overwrites the bytes. Returns what has been sent.
  TransportOp answered(const ControlMessage& answer, gpu::Stream stream) {
    Sent& sent = sent_.at(answer.ticket);
    sent.waits = false;
    streams_->used_by(sent.lane, sent.range, Use::reads, stream);
    if (sent.staged != nullptr) memory_->give_back(sent.staged, sent.lane);
    if (sent.ready) streams_->events().give_back(std::move(sent.ready));
    return sent.work;
  }

  /// Forgets all.
  void abandon() noexcept { sent_.clear(); }

 private:
  using Use = StreamPool::Use;

  struct Sent {
    bool waits = false;
    TransportOp work{};
    std::size_t lane = 0;
    DeviceRange range{};          ///< what the peer pulls
    std::byte* staged = nullptr;  ///< where it was copied to, or null
    gpu::OwnedEvent ready{};  ///< the lane has what is sent, for part(); none for short messages
  };

  std::uint32_t ticket_for(Sent sent) {
    auto free = std::find_if(sent_.begin(), sent_.end(), [](const Sent& s) { return !s.waits; });
    if (free == sent_.end()) free = sent_.insert(free, Sent{});
    *free = std::move(sent);
    return static_cast<std::uint32_t>(free - sent_.begin());
  }

  gpu::Api* api_;
  StreamPool* streams_;
  detail::Shared<DeviceMemory> memory_;
  std::size_t least_shared_out_;
  std::vector<Sent> sent_;  ///< by ticket
};

}  // namespace papcoll::inline PAPCOLL_ABI
