#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/runtime/basis.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

// Why a team is lost: as a number that fits NodeBoard::Abort::reason, a text and an exception.

/// This rank gave up.
inline std::uint32_t gave_up(const TeamBasis& basis) noexcept {
  return NodeBoard::Abort::gave_up + static_cast<std::uint32_t>(basis.shown(basis.rank()));
}

inline bool somebody_gave_up(std::uint32_t reason) noexcept {
  return reason != NodeBoard::Abort::deadline && (reason & NodeBoard::Abort::gave_up) != 0;
}

/// What the exception says whose handler this is called in.
inline std::uint32_t handled_reason(const TeamBasis& basis) noexcept {
  if (const auto* const lost = handled_as<lost_rank>()) {
    return static_cast<std::uint32_t>(lost->rank) + 1;
  }
  return handled_as<deadline_exceeded>() != nullptr ? NodeBoard::Abort::deadline : gave_up(basis);
}

/// `missing`: who has not come to the call under way, a sentence, or nothing.
[[gnu::cold]] inline std::string lost_text(std::uint32_t reason, const TeamBasis& basis,
                                           const std::string& missing) {
  const std::string here = std::to_string(basis.shown(basis.rank()));
  const std::string seen = detail::joined({", seen on rank ", here});
  if (reason == NodeBoard::Abort::deadline) {
    return detail::joined({"papcoll: a peer of rank ", here,
                           " gave up at the deadline of the communicator",
                           (missing.empty() ? "" : detail::joined({": ", missing}))});
  }
  if (somebody_gave_up(reason)) {
    return detail::joined({"papcoll: rank ", reason - NodeBoard::Abort::gave_up,
                           " could not complete a call", seen, "; its exception says why"});
  }
  if (!basis.surroundings.processes) {
    return detail::joined(
        {"papcoll: the thread of rank ", reason - 1, " ended by an exception", seen});
  }
  return detail::joined({"papcoll: rank ", reason - 1, " died", seen,
                         ": make a new communicator among the ranks that are left"});
}

[[noreturn, gnu::cold]] inline void throw_lost(std::uint32_t reason, const std::string& why) {
  if (reason == NodeBoard::Abort::deadline) throw deadline_exceeded(why);
  if (somebody_gave_up(reason)) throw peer_error(why);
  throw lost_rank(why, static_cast<int>(reason) - 1);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
