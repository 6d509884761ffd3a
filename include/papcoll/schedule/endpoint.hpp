// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/schedule/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

class PlanRun;

/// One step of a plan made concrete: addresses, a rank, and what is notified of its completion.
struct TransportOp {
  OpKind kind = OpKind::copy;        ///< send, receive, reduce or copy
  int peer = -1;                     ///< a rank of the team
  std::uint32_t sequence = 0;        ///< number of the collective call on its communicator
  std::uint32_t block = 0;           ///< block of the plan
  std::uint32_t number = 0;          ///< message of this block between the two ranks
  std::byte* to = nullptr;           ///< where a receive or a local step writes
  const std::byte* a = nullptr;      ///< what is sent or copied, or the lower operand
  const std::byte* b = nullptr;      ///< the higher operand
  std::size_t n = 0;                 ///< elements
  const Reducer* reducer = nullptr;  ///< the element's size, and the operator
  PlanRun* owner = nullptr;          ///< is notified: owner->complete(slot, step)
  std::uint32_t slot = 0;            ///< for the owner
  std::uint32_t step = 0;            ///< for the owner
  bool is_noncontiguous = false;     ///< a local step with operands that are not contiguous

  /// Bytes of the step's elements.
  std::size_t bytes() const noexcept { return n * reducer->size; }
};

/// Calls f with local steps that make up this one, in each of which the elements of every operand
/// are contiguous. In plan_run.hpp.
void for_each_piece(const TransportOp& w, auto&& f);

/// perform_locally() of each piece. In plan_run.hpp.
[[gnu::cold]] void perform_pieces(const TransportOp& w) noexcept;

/// Does a local step here and now.
inline void perform_locally(const TransportOp& w) noexcept {
  if (w.is_noncontiguous) return perform_pieces(w);
  if (w.kind == OpKind::reduce) {
    w.reducer->apply(w.to, w.a, w.b, w.n, w.reducer->context);
  } else if (w.n != 0) {
    std::memmove(w.to, w.a, w.bytes());
  }
}

/// One rank's end of a transport: what a PlanRun needs of it, and all that a new transport has to
/// write. A message is identified by (sequence, block, number) between two ranks; sends and
/// receives may be started in any order and must not wait for each other's progress.
class Endpoint : Pinned {
 public:
  virtual ~Endpoint() = default;

  /// Begins the step. True: it is complete already. False: progress() will call
  /// owner->complete(slot, step). Never waits.
  /// A transport that combines or copies by itself begins reductions and copies like messages:
  /// work.reducer->built_in names those it may have a kernel for, work.owner->call() the memory and
  /// the stream. All others call perform_locally().
  virtual bool start(const TransportOp& work) = 0;

  /// Returns true if it runs local steps of this kind in the order in which they were started, one
  /// after the other, as the stream of a GPU does. Such a step is started before others of such
  /// kinds that it depends on are complete.
  virtual bool in_order(OpKind) const noexcept { return false; }

  /// All steps of a call whose buffers are not in the host's memory are complete. What its stream
  /// does later is ordered after them from here on.
  virtual void finish(const Call& /*call*/) {}

  /// Scratch memory for calls whose buffers are not in the host's memory: `bytes`, aligned to cache
  /// lines, where the transport's steps reach it. Null: the host's memory does.
  virtual detail::Shared<std::byte> scratch(std::size_t /*bytes*/, MemoryKind) { return nullptr; }

  /// Moves what can be moved and reports what became complete; true if anything did. Never waits.
  virtual bool progress() = 0;

  /// Waits until the run is done, if the transport has a better way than to ask progress() again
  /// and again; false if it has not. Only where nothing but this endpoint needs moving meanwhile.
  virtual bool run_to_end(const PlanRun&) { return false; }

  /// Called when the communicator ends, on all ranks at about the same time, and nothing is in
  /// flight: unmaps what peers have exposed. abandon() may follow.
  virtual void end() noexcept {}

  /// Returns true if the exception in whose handler it is called may be the effect of a peer's
  /// death.
  virtual bool may_mean_peer_death() const noexcept { return false; }

  /// Forgets all that is in flight, after the communicator broke: nothing may touch the buffers of
  /// a call from here on.
  virtual void abandon() noexcept = 0;

  /// Calls whose sequence numbers lie this far apart must not be in flight together.
  virtual std::uint32_t sequences_at_once() const noexcept { return ~std::uint32_t{0}; }

  /// Returns the reason why messages between devices go through the host; empty if they do not.
  virtual const std::string& why_no_ipc() const noexcept {
    static const std::string nothing;
    return nothing;
  }

  /// After abandon(): returns true if the memory of a call that was in flight may still be accessed
  /// by a lower layer.
  virtual bool may_still_access_buffers() const noexcept { return false; }
};

}  // namespace papcoll::inline PAPCOLL_ABI
