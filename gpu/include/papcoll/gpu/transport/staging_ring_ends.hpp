#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/handles.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/staging_ring.hpp>
#include <papcoll/gpu/transport/stream_pool.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What both ends of a window have: it is pinned for the rank's device, which copies in a stream of
/// its own, and each cell has an event that says when it has.
class StagingEnd {
 public:
  /// Pins the window, or as much of it as can be pinned, with smaller cells. `steps` stays longer.
  /// Throws device_error.
  StagingEnd(DeviceSteps& steps, const WindowPlace& window)
      : steps_(&steps),
        window_(window),
        stream_(steps.api(), steps.api().make_stream(steps.device())) {
    for (gpu::OwnedEvent& e : copied_) {
      e = {steps.api(), steps.api().make_event(steps.device(), false)};
    }
    pin();
    pinned_ = {steps.api(), window.data};
  }

  /// Never unpins it: something may still be in flight.
  void leak() noexcept { static_cast<void>(pinned_.release()); }

 protected:
  gpu::Api& api() const noexcept { return steps_->api(); }
  StreamPool& lanes() const noexcept { return steps_->lanes(); }
  gpu::Stream stream() const noexcept { return stream_.get(); }
  StagingRing& words() const noexcept { return *window_.words; }
  StagingRing::Cell& cell(std::uint32_t i) const noexcept {
    return window_.words->each[i % StagingRing::cells];
  }
  std::byte* data() const noexcept { return window_.data; }
  std::size_t cell_bytes() const noexcept { return window_.cell_bytes; }

  /// The next cell's copy is in the stream.
  void begun_one() {
    api().record(copied_[begun_ % StagingRing::cells].get(), stream());
    ++begun_;
  }
  /// Cells whose copies are in the stream, from the beginning of time.
  std::uint32_t begun() const noexcept { return begun_; }

  /// Gives cells whose copies are complete to the other end by incrementing `count`.
  bool give(std::atomic<std::uint32_t>& count) {
    const std::uint32_t before = given_;
    while (given_ != begun_ && api().is_complete(copied_[given_ % StagingRing::cells].get())) {
      cell(given_).told = api().tell();
      count.store(++given_, std::memory_order_release);
    }
    return given_ != before;
  }
  /// Cells that were given, from the beginning of time.
  std::uint32_t given() const noexcept { return given_; }

 private:
  void pin() {
    for (;; window_.cell_bytes /= 2) {
      try {
        return api().pin(window_.data, window_.bytes());
      } catch (const gpu::device_error& problem) {
        const bool is_least = window_.bytes() <= detail::page_bytes();
        if (problem.fault != gpu::Fault::out_of_memory || is_least) throw;
      }
    }
  }

  DeviceSteps* steps_;
  WindowPlace window_;
  gpu::PinnedMemory pinned_;
  gpu::OwnedStream stream_;
  std::array<gpu::OwnedEvent, StagingRing::cells> copied_{};
  std::uint32_t begun_ = 0;
  std::uint32_t given_ = 0;
};

/// The end of a window that belongs to the sender.
class StagingWriter : public StagingEnd {
 public:
  using StagingEnd::StagingEnd;

  /// A send that the peer has a receive for.
  struct Message {
    TransportOp work{};
    gpu::OwnedEvent ready{};   ///< the lane has what is sent
    std::uint32_t ticket = 0;  ///< of the peer's receive
  };

  /// It goes behind those that were sent before.
  void send(Message message) { messages_.push_back(std::move(message)); }

  /// Moves what can be moved; sends that are complete are appended to `completed`. A send is, when
  /// this host has seen that all copies to the window are: so no lane need wait for them.
  bool progress(std::vector<TransportOp>& completed) {
    bool moved = give(words().filled);
    while (!ends_.empty() && static_cast<std::int32_t>(given() - ends_.front().cells) >= 0) {
      completed.push_back(ends_.front().work);
      ends_.pop_front();
    }
    while (!messages_.empty() &&
           begun() - words().emptied.load(std::memory_order_acquire) < StagingRing::cells) {
      fill();
      moved = true;
    }
    return moved;
  }

  /// Forgets all.
  void abandon() noexcept {
    messages_.clear();
    ends_.clear();
    leak();
  }

 private:
  /// A send whose copies are in the stream.
  struct End {
    TransportOp work;
    std::uint32_t cells;  ///< given(), when all of it has been given
  };

  void fill() {
    Message& m = messages_.front();
    StagingRing::Cell& c = cell(begun());
    const std::size_t total = m.work.bytes();
    // Both ends have pinned that much.
    const std::size_t most =
        std::min<std::size_t>(cell_bytes(), words().readable.load(std::memory_order_relaxed));
    const std::size_t n = std::min(most, total - sent_);
    const std::size_t at = begun() % StagingRing::cells * most;
    api().hear(c.told);
    c = {m.ticket, n, sent_, total, at, 0};
    if (sent_ == 0) api().wait(stream(), m.ready.get());
    if (n != 0) api().copy(data() + at, m.work.a + sent_, n, stream());
    begun_one();
    sent_ += n;
    if (sent_ != total) return;
    sent_ = 0;
    lanes().events().give_back(std::move(m.ready));
    ends_.push_back({m.work, begun()});
    messages_.pop_front();
  }

  std::deque<Message> messages_;
  std::size_t sent_ = 0;  ///< bytes of the first whose copies are in the stream
  std::deque<End> ends_;
};

/// The end of a window that belongs to the receiver.
class StagingReader : public StagingEnd {
 public:
  /// Pins it, and tells the writer how much.
  StagingReader(DeviceSteps& steps, const WindowPlace& window) : StagingEnd(steps, window) {
    words().readable.store(cell_bytes(), std::memory_order_relaxed);
  }

  /// A receive that the sender has been told of.
  struct Receive {
    bool waits = false;
    TransportOp work{};
    std::size_t lane = 0;
    gpu::OwnedEvent ready{};  ///< the lane has done with the bytes before
  };

  /// Its ticket.
  std::uint32_t receive(Receive receive) {
    auto free =
        std::find_if(receives_.begin(), receives_.end(), [](const Receive& r) { return !r.waits; });
    if (free == receives_.end()) free = receives_.insert(free, Receive{});
    *free = std::move(receive);
    return static_cast<std::uint32_t>(free - receives_.begin());
  }

  /// Moves what can be moved; receives that are complete, since all of them is in the stream, are
  /// appended to `completed`. Throws peer_error if a message is not as long as its receive.
  bool progress(std::vector<TransportOp>& completed) {
    bool moved = false;
    while (begun() != words().filled.load(std::memory_order_acquire)) {
      empty(completed);
      moved = true;
    }
    return give(words().emptied) || moved;
  }

  /// Forgets all.
  void abandon() noexcept {
    receives_.clear();
    leak();
  }

 private:
  void empty(std::vector<TransportOp>& completed) {
    const StagingRing::Cell& c = cell(begun());
    Receive& r = receives_.at(c.ticket);
    api().hear(c.told);
    if (c.total != r.work.bytes()) {
      throw peer_error(
          r.work.owner->refuse(r.work.peer, r.work.bytes(), detail::joined({c.total, " bytes"})));
    }
    if (c.offset == 0) api().wait(stream(), r.ready.get());
    if (c.bytes != 0) api().copy(r.work.to + c.offset, data() + c.at, c.bytes, stream());
    const bool whole = c.offset + c.bytes == c.total;
    begun_one();
    if (!whole) return;
    lanes().used_by(r.lane, {r.work.to, r.work.bytes()}, StreamPool::Use::writes, stream());
    lanes().events().give_back(std::move(r.ready));
    r.waits = false;
    completed.push_back(r.work);
  }

  std::vector<Receive> receives_;  ///< by ticket
};

}  // namespace papcoll::inline PAPCOLL_ABI
