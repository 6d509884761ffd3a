// SPDX-License-Identifier: BSD-3-Clause
// After the training: how good is the network, and do all ranks hold the same one?
#pragma once

#include "digits.hpp"
#include "network.hpp"

#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ddp {

/// The part of the digits that the network reads right; each rank looks at its share. Collective.
inline double accuracy(papcoll::Communicator& comm, Network& network,
                       const std::vector<Digit>& digits) {
  int right = 0;
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (std::size_t i = static_cast<std::size_t>(comm.rank()); i < digits.size(); i += ranks) {
    if (network.classify(digits[i]) == digits[i].label) ++right;
  }
  return papcoll::allreduce(comm, right) / static_cast<double>(digits.size());
}

/// A number for the bits of the weights (FNV-1a).
inline std::uint64_t hash(std::span<const float> weights) {
  std::uint64_t h = 14695981039346656037U;
  for (const std::byte b : std::as_bytes(weights)) {
    h = (h ^ static_cast<std::uint64_t>(b)) * 1099511628211U;
  }
  return h;
}

/// Have all ranks passed the same number? Collective.
inline bool all_agree(papcoll::Communicator& comm, std::uint64_t number) {
  const auto least = papcoll::allreduce(comm, number, papcoll::min);
  return least == papcoll::allreduce(comm, number, papcoll::max);
}

}  // namespace ddp
