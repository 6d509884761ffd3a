#pragma once

#include <papcoll/config.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The streams of a rank's endpoint. Each block of a plan that is in flight has one, its lane, in
/// which all its steps are performed in their order; blocks do not wait for each other.
///
/// Calls are ordered by a stream of their own, the trunk: a call's lanes begin after what is in the
/// trunk when the call begins, which is what the user's stream has by then and what calls that
/// were finished before have done. finish() lets the trunk, and by it the user's stream, wait for
/// all lanes.
///
/// No streams wait in a circle: a stream only waits for events that were recorded before the wait
/// was called, so that every operation waits for operations that were called before it.
class Lanes {
 public:
  static constexpr std::size_t count = 4;             ///< lanes; blocks in flight beyond share them
  static constexpr std::uint32_t calls_at_once = 16;  ///< that may be in flight

  /// For a device.
  Lanes(gpu::Api& api, int device)
      : api_(&api),
        trunk_(api, api.make_stream(device)),
        entered_(api, api.make_event(device, false)) {
    for (Lane& lane : lanes_) {
      lane.stream = {api, api.make_stream(device)};
      lane.end = {api, api.make_event(device, false)};
    }
    for (Begun& call : begun_) call.event = {api, api.make_event(device, false)};
    left_ = {api, api.make_event(device, false)};
  }

  /// The stream for block slot `slot` of a call, which is ordered after what `user` has when the
  /// call first asks.
  gpu::Stream of(std::uint32_t sequence, std::uint32_t slot, gpu::Stream user) {
    Begun& call = begun_[sequence % calls_at_once];
    if (!call.any || call.sequence != sequence) begin(call, sequence, user);
    const std::size_t i = slot % count;
    const gpu::Stream lane = lanes_[i].stream.get();
    if (!call.joined[i]) {
      call.joined[i] = true;
      api_->wait(lane, call.event.get());
    }
    return lane;
  }

  /// What comes later in `user` begins when all that is in the lanes now is complete.
  void finish(gpu::Stream user) {
    for (Lane& lane : lanes_) {
      api_->record(lane.end.get(), lane.stream.get());
      api_->wait(trunk_.get(), lane.end.get());
    }
    api_->record(left_.get(), trunk_.get());
    api_->wait(user, left_.get());
  }

  /// Has all that was finished been performed?
  bool is_idle() { return api_->is_complete(left_.get()); }

  /// The stream to which finish() joins all others.
  gpu::Stream trunk() const noexcept { return trunk_.get(); }

 private:
  struct Lane {
    gpu::OwnedStream stream;
    gpu::OwnedEvent end;
  };
  struct Begun {
    bool any = false;
    std::uint32_t sequence = 0;
    std::array<bool, count> joined{};  ///< lanes that wait for the event already
    gpu::OwnedEvent event;
  };

  void begin(Begun& call, std::uint32_t sequence, gpu::Stream user) {
    call.any = true;
    call.sequence = sequence;
    call.joined.fill(false);
    api_->record(entered_.get(), user);
    api_->wait(trunk_.get(), entered_.get());
    api_->record(call.event.get(), trunk_.get());
  }

  gpu::Api* api_;
  gpu::OwnedStream trunk_;
  gpu::OwnedEvent entered_;  ///< where the user's stream is when a call begins
  gpu::OwnedEvent left_;     ///< where the trunk is when calls were finished
  std::array<Lane, count> lanes_{};
  std::array<Begun, calls_at_once> begun_{};
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
