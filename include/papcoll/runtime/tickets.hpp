#pragma once

#include <papcoll/arrival/remote_tickets.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/plan_runs.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// The tickets of a team whose ranks pass messages, if its transport has any.
class Tickets final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::tickets;

  /// Is it not known yet whether there are any?
  bool are_open() const noexcept { return !board_ && none_.empty(); }

  /// Does the team draw any?
  bool are_drawn() const noexcept { return board_ != nullptr; }

  /// Why calls that want them run in predicted order, or nothing if they do not, or if there were
  /// none.
  const std::string& none() const noexcept { return none_; }

  void refuse(const TransportTable& t) {
    none_ = detail::joined({t.name, " has no tickets for this kind of team"});
  }

  /// Makes them, if they can be had. May wait for all ranks, as the transport says.
  void open(const TransportTable& t, const TeamEnvironment& s, const Options& options) {
    try {
      board_ = detail::make_owned<RemoteTicketCounter>(
          t.open_atomics(s, RemoteTicketCounter::words(s.size), options.tickets), s.rank, s.size,
          options.first_epoch);
    } catch (const transport_unavailable& why) {
      none_ = detail::joined(
          {t.name, " gives no tickets, so calls run in predicted order: ", why.what()});
    }
  }

  RemoteTicketCounter& board() noexcept { return *board_; }

  void close(bool broken) noexcept override {
    if (board_) board_->close(broken);
    board_.reset();
  }

 private:
  detail::Owned<RemoteTicketCounter> board_;
  std::string none_;
};

/// A chain in which a rank's position is how many others come after it: data flow towards position
/// 0, the last to come. Of the others, a rank needs to know the two beside it, and the root of a
/// reduce where the result comes together: see plan_one_block().
class TicketedChain {
 public:
  TicketedChain(RemoteTicketCounter& board, PlanRuns& executions, PlanRun& plan_run, Endpoint& e,
                const AnySchedule& schedule, const Call& call, std::uint32_t sequence, int rank,
                int size)
      : board_(board),
        plan_runs_(executions),
        plan_run_(plan_run),
        endpoint_(e),
        schedule_(schedule),
        call_(call),
        sequence_(sequence),
        far_(size - 1),
        rooted_(is_rooted(call.collective)),
        is_root_(rooted_ && call.root == rank) {
    board_.begin(rooted_ ? call.root : -1);
  }

  /// Moves the call; true: it is done.
  bool step() {
    if (board_.step()) {
      if (position_ < 0) begin();
      if (board_.before() >= 0) plan_run_.know(position_ + 1, board_.before());
      if (board_.after() >= 0) plan_run_.know(position_ - 1, board_.after());
      if (board_.last() >= 0 && position_ != 0) plan_run_.know(0, board_.last());
    }
    endpoint_.progress();
    return position_ >= 0 && plan_run_.done() && board_.done();
  }

  /// After that.
  void end() noexcept { board_.end(!rooted_ || is_root_ || position_ == 0); }

 private:
  void begin() {
    position_ = far_ - board_.ticket();
    const int root = is_root_ ? position_ : position_ == 0 ? far_ : 0;
    plan_runs_.begin_at(plan_run_, endpoint_, schedule_, call_, sequence_, position_, root);
    if (rooted_ && !is_root_ && position_ == 0) plan_run_.know(far_, call_.root);
  }

  RemoteTicketCounter& board_;
  PlanRuns& plan_runs_;
  PlanRun& plan_run_;
  Endpoint& endpoint_;
  const AnySchedule& schedule_;
  const Call& call_;
  std::uint32_t sequence_;
  int far_;
  bool rooted_;
  bool is_root_;
  int position_ = -1;  ///< not known yet
};

}  // namespace papcoll::inline PAPCOLL_ABI
