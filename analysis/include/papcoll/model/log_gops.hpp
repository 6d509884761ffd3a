// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// What messages and local work cost, all in seconds and bytes: the parameters of LogGOPS (Hoefler,
/// Schneider, Lumsdaine 2010; L, o, g, G, O and S) and those of the work between messages. P is not
/// among them: the call has it.
///
/// The defaults are those with which SUARA was published (Cray Aries: 1.5 µs, 16 GB/s, 0.2 ns a
/// byte combined); overheads and copies, which it does not have, are free.
struct LogGops {
  double latency = 1.5e-6;  ///< L: from one port to the other
  double overhead = 0;      ///< o: of the processor, each time a message is sent or received
  double gap = 0;           ///< g: from the start of a message to the next on a port, at least
  double gap_per_byte = 6.25e-11;   ///< G: a byte on a port
  double overhead_per_byte = 0;     ///< O: of the processor, with each overhead
  std::size_t rendezvous = 65536;   ///< S: messages this long and longer wait for their receive
  double combine_per_byte = 2e-10;  ///< γ: of the processor, a byte of the result
  double copy_per_byte = 0;         ///< of the processor

  friend bool operator==(const LogGops&, const LogGops&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI
