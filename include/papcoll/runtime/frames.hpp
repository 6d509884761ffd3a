#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/peer_memory.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/messages.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// How blocking calls enter and leave the frames of a node's board, and watch who arrives when.
/// Every one does, whatever it runs: this is where calls are compared.
class TeamFrames : public TeamMessages {
 public:
  /// Changes whenever what the ranks of a node know of arrivals and processors may have changed.
  /// Only where they share memory.
  std::uint32_t looks() const noexcept { return imbalance_->looks() + looks_from_; }

 protected:
  TeamFrames(Surroundings surroundings, std::vector<const TransportTable*> transports,
             const Options& options)
      : TeamMessages(std::move(surroundings), std::move(transports), options) {
    if (site_) imbalance_.emplace(site_->board(), rank());
  }
  ~TeamFrames() = default;

  /// One blocking call from entering its frame to leaving it.
  class Epoch {
   public:
    /// Always inline, so that a call costs the same however many kinds of calls a program makes.
    [[gnu::always_inline]] Epoch(TeamFrames& team, const CallWords& words, const Call& call)
        : team_(team) {
      team.require_usable();
      if (team.outstanding_ != 0) team.move_requests();
      ++team.blocking_calls_;
      if (!team.site_) {
        team.called_ = words;
        return;
      }
      team.site_->begin(words, call.reducer);
      team.enter_frame(&call);
      team.in_epoch_ = true;
      if (!team.site_->last_in_frame_matched()) fail_for_earlier_call();
    }
    Epoch(const Epoch&) = delete;
    Epoch& operator=(const Epoch&) = delete;
    ~Epoch() {
      if (team_.site_) {
        end();
      } else {
        team_.called_.what = CallWords::invalid;
      }
    }

   private:
    [[noreturn, gnu::noinline, gnu::cold]] void fail_for_earlier_call() {
      team_.announce_only();
      team_.waiter_.until([&] { return team_.site_->failed(); });  // another may say so first
      const std::string text = team_.site_->failure_text();
      end();
      team_.mismatch(text);
    }
    void end() noexcept {
      team_.site_->leave();
      team_.in_epoch_ = false;
    }

    TeamFrames& team_;
  };

  /// Enters the frame of the call that has just begun, and watches arrivals; `call` is null where
  /// there is none.
  void enter_frame(const Call* call) {
    const std::uint32_t epoch = site_->epoch();
    const WatchedClass kind = call != nullptr ? kind_of(*call) : WatchedClass{};
    const bool notes = ArrivalMonitor::notes(epoch, kind);
    const auto arrival = notes ? Waiter::Clock::now() : Waiter::Clock::time_point{};
    if (!site_->enter()) waiter_.until([&] { return site_->enter(); }, Naps::brief);
    if (notes) {
      imbalance_->note(epoch, static_cast<std::uint64_t>(arrival.time_since_epoch().count()), kind,
                       call != nullptr && is_in_arena(*call));
    }
    if (ArrivalMonitor::looks(epoch)) imbalance_->look(epoch);
  }

  void announce_only() noexcept { site_->announce(nullptr, 0, 0); }

  /// What the ranks of a node have learnt of arrivals in calls of this kind; nothing elsewhere.
  Imbalance seen_on_board(const Call& call) const noexcept {
    return imbalance_ ? imbalance_->of(kind_of(call)) : Imbalance{};
  }

  /// Throws peer_error, on all ranks and with nothing in flight, if those of a node differ in the
  /// call under way.
  void compare_on_board() {
    waiter_.until([&] {
      for (int r = 0; r < size(); ++r) {
        if (!site_->arrived(r, 0)) return false;
      }
      return true;
    });
    site_->all_arrived();
    for (int r = 0; r < size(); ++r) {
      if (site_->matches(r)) continue;
      site_->compare_calls();
      waiter_.until([&] { return site_->failed(); });
      mismatch(site_->failure_text());
    }
  }

  /// From now on no peer begins to work on buffers of the call under way. What failed may be known
  /// to a team that this one is a part of, and not to the ranks of this one.
  void stop_readers(const std::exception& problem) noexcept {
    if (!site_->failed()) abort_node(reason_of(problem));
  }

  /// After stop_readers(). The user has his buffers back with the exception that passes here, to
  /// free or to write them: returns when no peer is at work on them any more, after one of their
  /// steps. A dead peer is not waited for, and one that is stopped until the deadline; from then on
  /// the communicator is broken.
  void take_buffers_back() noexcept {
    site_->end_reading();  // an exception may have come in between
    struct Patience {
      TeamFrames& team;
      bool over = false;
    } patience{*this};
    Waiter waiter = waiter_;
    if (!surroundings_.processes) waiter.deadline = {};
    waiter.hooks = {};
    waiter.hooks.context = &patience;
    waiter.hooks.watch = [](void* p) { static_cast<Patience*>(p)->team.forget_dead_readers(); };
    waiter.hooks.expired = [](void* p) { static_cast<Patience*>(p)->over = true; };
    waiter.until([&] { return patience.over || site_->reader() < 0; }, Naps::brief);
    if (!patience.over) return;
    abort_node(NodeBoard::Abort::deadline);
    give_up("a peer is stopped in the midst of a call that failed");
  }

 private:
  [[gnu::noinline, gnu::cold]] void move_requests() {
    require_own_thread();
    progress();
  }

  void forget_dead_readers() noexcept {
    const Hooks& h = outermost().hooks;
    for (int r = 0; r < size() && h.is_gone != nullptr; ++r) {
      if (site_->is_reading(r) && h.is_gone(h.context, shown(r))) site_->forget_reader(r);
    }
  }

  static WatchedClass kind_of(const Call& call) noexcept {
    return WatchedClass::of(call.collective, call.bytes());
  }

  bool is_in_arena(const Call& call) const noexcept {
    const PeerMemory& peers = site_->peers();
    const auto seen = [&](const std::byte* p) {
      return p == nullptr || peers.place(p, call.bytes()).mapped != 0;
    };
    return seen(call.in) && seen(call.out);
  }

  std::optional<ArrivalMonitor> imbalance_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
