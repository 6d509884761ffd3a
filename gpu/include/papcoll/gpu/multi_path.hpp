// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/paths.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// Copies from one device to another over several paths at once: streams, events and staging memory
/// of one direction, made once.
///
/// Phases of a copy: every path begins when the work before it in the caller's stream is complete.
///   The direct one copies its share at once. A staged one copies chunk after chunk into slots of
///   its staging memory in a stream of the sending device, and on from there in a stream of the
///   receiving one. The caller's stream waits for all of them.
/// Cost: paths.hpp. Staging memory: `slots` times `slot_bytes` a staged path; longer shares take
///   more chunks.
/// Limits: one copy is launched at a time. This process sees both devices.
///
/// Each slot has two events, which order its users: `filled` after the copy into it, `drained`
/// after the copy out of it. The copy out of a slot waits for `filled`, the next one into it for
/// `drained`; the next message's, too, since the events stay.
class MultiPath {
 public:
  static constexpr std::size_t default_slot_bytes = std::size_t{4} << 20U;  ///< of staging memory
  static constexpr int slots = 3;  ///< of each staged path: one fills, one drains, one is between

  /// Throws device_error where memory, streams or events cannot be had, or a device does not reach
  /// another one that a path needs.
  MultiPath(Api& api, int from, int to, std::vector<Path> paths, ShareLimits limits = {},
            std::size_t slot_bytes = default_slot_bytes)
      : api_(&api), paths_(std::move(paths)), limits_(limits), slot_bytes_(slot_bytes) {
    limits_.chunks.most_bytes =
        std::min(limits_.chunks.most_bytes, static_cast<double>(slot_bytes));
    ready_ = {api, api.make_event(to, false)};
    lanes_.reserve(paths_.size());
    for (const Path& path : paths_) lanes_.push_back(make_lane(path, from, to));
  }

  /// Copies in the order of `stream`, which is one of the receiving device: after what is in it,
  /// and before what comes later.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    if (bytes == 0) return;
    copy(to, from, share_out(paths_, bytes, limits_), stream);
  }

  /// Where the message is: memory of another process may have an address for each device.
  struct Source {
    const std::byte* for_receiver = nullptr;  ///< as streams of the receiving device reach it
    const std::byte* for_sender = nullptr;    ///< and those of the sending one
  };

  /// Copies by given shares, whose paths must be among this object's.
  void copy(std::byte* to, const std::byte* from, const std::vector<PathShare>& shares,
            Stream stream) {
    copy(to, Source{from, from}, shares, stream);
  }
  /// Copies by given shares from memory that two devices have mapped.
  void copy(std::byte* to, const Source& from, const std::vector<PathShare>& shares,
            Stream stream) {
    api_->record(ready_.get(), stream);
    for (const PathShare& share : shares) {
      Lane& lane = lane_of(share.path);
      if (share.path.is_staged()) {
        copy_staged(lane, to + share.offset, from.for_sender + share.offset, share);
      } else {
        api_->wait(lane.last.get(), ready_.get());
        api_->copy(to + share.offset, from.for_receiver + share.offset, share.bytes,
                   lane.last.get());
      }
      api_->record(lane.done.get(), lane.last.get());
      api_->wait(stream, lane.done.get());
    }
  }

  /// Never gives its staging memory back: operations may still use it.
  void leak() noexcept {
    for (Lane& lane : lanes_) {
      static_cast<void>(lane.on_device.release());
      static_cast<void>(lane.on_host.release());
    }
  }

 private:
  struct Slot {
    OwnedEvent filled;
    OwnedEvent drained;
  };
  struct Lane {
    int via = Path::direct;
    OwnedMemory on_device;    ///< staging memory, or none
    OwnedHostMemory on_host;  ///< on the host
    OwnedStream first;        ///< into the staging memory
    OwnedStream last;         ///< out of it, or all the way
    std::array<Slot, slots> each{};
    OwnedEvent done;
    std::size_t chunks = 0;  ///< that went through so far: chunk i uses slot i modulo `slots`
  };

  Lane make_lane(const Path& path, int from, int to) {
    Lane lane;
    lane.via = path.via;
    lane.last = {*api_, api_->make_stream(to)};
    lane.done = {*api_, api_->make_event(to, false)};
    if (!path.is_staged()) {
      api_->enable_access(to, from);
      return lane;
    }
    const std::size_t bytes = slots * slot_bytes_;
    if (path.via == Path::host) {
      lane.on_host = {*api_, api_->allocate_host(bytes)};
    } else {
      api_->enable_access(from, path.via);
      api_->enable_access(to, path.via);
      lane.on_device = {*api_, api_->allocate(path.via, bytes)};
    }
    lane.first = {*api_, api_->make_stream(from)};
    for (Slot& slot : lane.each) {
      slot.filled = {*api_, api_->make_event(from, false)};
      slot.drained = {*api_, api_->make_event(to, false)};
    }
    return lane;
  }

  Lane& lane_of(const Path& path) {
    const auto it = std::find_if(lanes_.begin(), lanes_.end(),
                                 [&](const Lane& lane) { return lane.via == path.via; });
    if (it != lanes_.end()) return *it;
    throw device_error(Fault::misuse,
                       "papcoll: a share names a path that this copy does not have: "
                       "make the shares of the paths it was made with");
  }

  void copy_staged(Lane& lane, std::byte* to, const std::byte* from, const PathShare& share) {
    std::byte* const staging = lane.on_host ? lane.on_host.get() : lane.on_device.get();
    const std::size_t fewest = (share.bytes + slot_bytes_ - 1) / slot_bytes_;
    const std::size_t chunks = std::max(fewest, static_cast<std::size_t>(share.chunks));
    const std::size_t chunk = (share.bytes + chunks - 1) / chunks;
    api_->wait(lane.first.get(), ready_.get());
    api_->wait(lane.last.get(), ready_.get());  // what the caller's stream still does with `to`
    for (std::size_t at = 0; at < share.bytes; at += chunk) {
      const std::size_t number = lane.chunks++ % slots;
      const Slot& slot = lane.each[number];
      std::byte* const memory = staging + number * slot_bytes_;
      const std::size_t bytes = std::min(chunk, share.bytes - at);
      api_->wait(lane.first.get(), slot.drained.get());
      api_->copy(memory, from + at, bytes, lane.first.get());
      api_->record(slot.filled.get(), lane.first.get());
      api_->wait(lane.last.get(), slot.filled.get());
      api_->copy(to + at, memory, bytes, lane.last.get());
      api_->record(slot.drained.get(), lane.last.get());
    }
  }

  Api* api_;
  std::vector<Path> paths_;
  ShareLimits limits_;
  std::size_t slot_bytes_;
  OwnedEvent ready_;
  std::vector<Lane> lanes_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
