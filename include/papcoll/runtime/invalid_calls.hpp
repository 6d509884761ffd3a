#pragma once

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/compare_calls.hpp>
#include <papcoll/op.hpp>
#include <papcoll/options.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/runtime/frames.hpp>
#include <papcoll/runtime/refused_requests.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// What happens to calls that are invalid on this rank or on another, or that do not match: the
/// ranks that made good ones must not be stranded.
class TeamInvalidCalls : public TeamFrames {
 public:
  /// This rank's call is invalid: tells the peers, who throw peer_error, and throws argument_error.
  [[noreturn]] void refuse(Collective collective, bool non_blocking, const std::string& text) {
    const std::string what = std::string(name_of(collective)) + " on rank " +
                             std::to_string(rank()) + " of " + std::to_string(size()) + ": " + text;
    throw argument_error("papcoll: " + what + tell_refusal(non_blocking, what));
  }

  /// Tells the peers that this rank's call is invalid. If all ranks make such a call at once, the
  /// team stays as it was. Returns what is to be added to the exception of this rank, which may
  /// hear only here that an earlier call did not match; or nothing.
  std::string tell_refusal(bool non_blocking, const std::string& what) {
    if (broken()) return {};
    if (!non_blocking) return refuse_call(detail::bare(what));
    refuse_request(detail::bare(what));
    return {};
  }

 protected:
  TeamInvalidCalls(Surroundings surroundings, std::vector<const TransportTable*> transports,
                   const Options& options)
      : TeamFrames(std::move(surroundings), std::move(transports), options) {
    if (site_) refused_requests_.emplace(site_->board(), rank());
  }
  ~TeamInvalidCalls() = default;

  /// Throws peer_error, on all ranks and with nothing in flight, if the ranks' calls differ.
  void compare(const CallWords& words, std::string_view refusal) {
    if (size() == 1) return;
    if (site_) return compare_on_board();
    Endpoint* const e = endpoint_or_native(default_transport());
    if (e == nullptr) return;
    ComparedCalls calls{words, rank(), refusal};
    run_plan(AnySchedule::of<RecursiveDoubling>(), *e, default_transport().rings, calls.call());
    ++blocking_calls_;  // the call itself has a number of its own
    if (calls.differ) mismatch(calls.describe());
  }

  /// How many numbers a non-blocking call takes: if it is compared, that has one of its own.
  std::uint32_t numbers_of_request() const noexcept {
    return assertion_level >= 2 && size() > 1 ? 2 : 1;
  }

  /// Has a peer refused a non-blocking call that this rank has started? Throws peer_error; the team
  /// is broken then.
  void look_for_refused_requests() {
    if (!refused_requests_) return;
    const int r = refused_requests_->find(requests_);
    if (r < 0) return;
    mismatch("rank " + std::to_string(r) +
             " made an invalid non-blocking call; its exception says why");
  }

 private:
  std::string refuse_call(const std::string& what) {
    std::string earlier;
    CallWords words;
    words.what = CallWords::invalid;
    ++blocking_calls_;
    if (site_) {
      const Reducer none;
      site_->begin(words, none);
      enter_frame(nullptr);
      if (!site_->last_in_frame_matched()) {
        waiter_.until([&] { return site_->failed(); });  // another may say so first
        earlier = "; and " + site_->failure_text();
      }
      site_->fail_with("another rank's call is invalid: " + what);
      announce_only();
      site_->leave();
    } else if constexpr (assertion_level >= 2) {
      try {
        compare(words, what);
      } catch (const peer_error&) {  // NOLINT(bugprone-empty-catch): this rank knows
      }
    } else if (hooks.refused) {
      hooks.refused(hooks.context, calls() - 1, PeerNotice::invalid_call, what);
    }
    return earlier;
  }

  void refuse_request(const std::string& what) {
    requests_ += numbers_of_request();
    if (refused_requests_) {
      refused_requests_->refuse(requests_);
    } else if (hooks.refused) {
      hooks.refused(hooks.context, calls() - 1, PeerNotice::invalid_call, what);
    }
  }

  std::optional<RefusedRequests> refused_requests_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
