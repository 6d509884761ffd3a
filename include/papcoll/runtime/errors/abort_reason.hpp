#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

// Why a team is lost: as a number that fits NodeBoard::Abort::reason, a text and an exception.

/// What this rank tells of itself, or of the rank that died.
inline std::uint32_t reason_of(PeerFailureNotice what, const TeamContext& basis) noexcept {
  if (what >= PeerFailureNotice::lost) return static_cast<std::uint32_t>(what) + 1;
  const auto me = static_cast<std::uint32_t>(basis.shown(basis.rank()));
  return me + (what == PeerFailureNotice::revoked ? NodeBoard::Abort::revoked
                                                  : NodeBoard::Abort::gave_up);
}

/// What the exception says of the team whose handler this is called in.
inline PeerFailureNotice handled_notice() noexcept {
  if (const auto* const lost = handled_as<lost_rank>())
    return static_cast<PeerFailureNotice>(lost->rank);
  return handled_as<peer_lost>() != nullptr ? PeerFailureNotice::revoked
                                            : PeerFailureNotice::gave_up;
}

inline bool somebody_gave_up(std::uint32_t reason) noexcept {
  return (reason & NodeBoard::Abort::revoked) == NodeBoard::Abort::gave_up;
}
inline bool is_revoked(std::uint32_t reason) noexcept {
  return reason != NodeBoard::Abort::deadline &&
         (reason & NodeBoard::Abort::revoked) == NodeBoard::Abort::revoked;
}

/// What the exception says whose handler this is called in.
inline std::uint32_t handled_reason(const TeamContext& basis) noexcept {
  if (handled_as<deadline_exceeded>() != nullptr) return NodeBoard::Abort::deadline;
  return reason_of(handled_notice(), basis);
}

/// `missing`: who has not come to the call under way, a sentence, or nothing.
[[gnu::cold]] inline std::string lost_text(std::uint32_t reason, const TeamContext& basis,
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
  if (is_revoked(reason)) {
    return detail::joined({"papcoll: rank ", reason - NodeBoard::Abort::revoked,
                           " has left this communicator after a death or by papcoll::revoke", seen,
                           ": ", recovery_advice});
  }
  if (!basis.surroundings.processes) {
    return detail::joined(
        {"papcoll: the thread of rank ", reason - 1, " ended by an exception", seen});
  }
  return detail::joined({"papcoll: rank ", reason - 1, " died", seen, ": ", recovery_advice});
}

[[noreturn, gnu::cold]] inline void throw_lost(std::uint32_t reason, const std::string& why) {
  if (reason == NodeBoard::Abort::deadline) throw deadline_exceeded(why);
  if (somebody_gave_up(reason)) throw peer_error(why);
  if (is_revoked(reason)) throw peer_lost(why);
  throw lost_rank(why, static_cast<int>(reason) - 1);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
