// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>

#include <cstddef>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What papcoll::gpu's collectives run where no schedule is named, and why.
struct DeviceChoice {
  std::string_view algorithm;  ///< a static schedule
  std::string_view reason;     ///< a sentence without its end
};

inline constexpr std::size_t device_short_bytes = std::size_t{16} << 10U;  ///< up to here: latency
inline constexpr std::size_t device_long_bytes = std::size_t{4} << 20U;    ///< beyond: in segments

/// Few messages for short vectors, little data for long ones. `bytes` as Call::bytes(). The limits
/// of an allreduce are those of Temuçin et al., HOTI 2021, section V-B.
constexpr DeviceChoice choose_on_device(Collective c, bool commutative,
                                        std::size_t bytes) noexcept {
  switch (c) {
    case Collective::allreduce:
      if (!commutative) return {"RecursiveDoubling", "the operator is not known to commute"};
      if (bytes > device_long_bytes) {
        return {"SegmentedRing", "more than 4 MB: least data, in segments"};
      }
      if (bytes > device_short_bytes) return {"Ring", "more than 16 KB: least data"};
      return {"RecursiveDoubling", "up to 16 KB: fewest rounds"};
    case Collective::reduce:
    case Collective::bcast:
      if (bytes > device_long_bytes) return {"PipelinedChain", "more than 4 MB: in segments"};
      return {"Binomial", "up to 4 MB: fewest rounds"};
    case Collective::reduce_scatter:
      if (!commutative) return {"Linear", "the operator is not known to commute"};
      return {"Pairwise", "each rank's blocks once over each link"};
    case Collective::alltoall: return {"Pairwise", "each rank's blocks once over each link"};
    case Collective::allgather: return {"Ring", "each block once over each link"};
    case Collective::gather:
    case Collective::scatter: return {"Linear", "each block straight to where it belongs"};
    default: return {"", "papcoll::gpu has no such collective"};
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI
