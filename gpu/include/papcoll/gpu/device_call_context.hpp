// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_reducer.hpp>

#include <concepts>
#include <cstddef>

// What arrival-driven algorithms on memory of devices ask: as CallContext for memory of the host.
// The host sees who has arrived; what devices do is ordered by events, for which streams wait and
// the host never does.

namespace papcoll::inline PAPCOLL_ABI {

/// The signals of a rank to its peers in a call, each at most once. With each goes an event, which
/// is complete once all is complete that was in the rank's stream by then.
enum class DeviceSignal : unsigned char {
  given,  ///< its contribution is where it announced it
  ready,  ///< so is its result
  taken,  ///< it reads nothing of peers any more
};
inline constexpr int device_signals = 3;

/// A rank's side of one call. All work is in one stream of the rank, in its order, but for pulls.
///
/// Before a rank leaves a call, all others have called wait() for what it signalled there, or never
/// will: that is the algorithm's duty, since the next call records the same events anew, and
/// announces other places.
template <class S>
concept DeviceCallContext = requires(S& s, int rank, std::byte* to, const std::byte* from,
                                     std::size_t n, DeviceSignal signal,
                                     const gpu::Operands& operands) {
  { s.rank() } -> std::same_as<int>;
  { s.size() } -> std::same_as<int>;
  /// This rank's place in the order of arrival, from 0; once in a call.
  { s.draw_ticket() } -> std::same_as<int>;
  /// Returns true if peers may map the memory that has this address.
  { s.is_shown(from) } -> std::same_as<bool>;
  /// Memory that peers may map, of so many bytes, until the call ends.
  { s.take(n) } -> std::same_as<std::byte*>;
  /// Copies n bytes, of which none is both read and written.
  s.copy(to, from, n);
  /// Combines n elements with the call's operator.
  s.combine(operands, n);
  /// Returns true if the device has done all that is in the stream.
  { s.is_idle() } -> std::same_as<bool>;
  /// Where peers find this rank's contribution and result, in memory that they may map; null where
  /// they need not. Before `given`.
  s.announce(from, to);
  s.signal(signal);
  /// Returns true if the other rank has sent the signal. Throws peer_error if it makes another
  /// call.
  { s.has_signalled(rank, signal) } -> std::same_as<bool>;
  /// Makes later operations of this rank's stream wait for the event that `rank` recorded with
  /// `signal`. Requires that has_signalled(rank, signal) was true.
  s.wait(rank, signal);
  /// What the other rank announced, where this one has mapped it.
  { s.contribution_of(rank) } -> std::same_as<const std::byte*>;
  { s.result_of(rank) } -> std::same_as<std::byte*>;
  /// Copies n bytes of another rank's memory when that rank is ready; from several ranks at once.
  /// That rank has waited for this one's `given`, and so the copy is behind what was in the stream
  /// by then; it is not behind what came later.
  s.pull(rank, to, from, n);
  /// What comes later in the stream begins when n bytes have been pulled to this address.
  s.join(to, n);
};

}  // namespace papcoll::inline PAPCOLL_ABI
