#pragma once

#include <papcoll/algorithms/static/each_to_each.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/arrival/agreement.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/capability.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/runtime/failures.hpp>
#include <papcoll/runtime/node_rendezvous.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// How a team passes messages: by plans on its endpoints, waited for or, for what it agrees on from
/// time to time, not.
class TeamMessages : public TeamFailures {
 public:
  PlanCache& plans() noexcept { return plan_runs_.plans(); }

  const std::vector<const TransportTable*>& transports() const noexcept {
    return connections_.transports();
  }
  /// These four are as in Connections.
  const TransportTable& default_transport() const noexcept {
    return connections_.default_transport();
  }
  const TransportTable& transport(std::string_view name) const {
    return connections_.transport(name);
  }
  void require(const TransportTable& t) const { connections_.require(t); }
  const std::string& substitution() const noexcept { return connections_.substitution(); }

  /// What a predictor's calls on this team have led to, so far: what order calls run in, and why.
  const Predictions& predictions(const AnyPredictor& predictor) {
    return agreements_.predictions_by(predictor);
  }

 protected:
  TeamMessages(Surroundings surroundings, std::vector<const TransportTable*> transports,
               const Options& options)
      : TeamFailures(std::move(surroundings), std::move(transports), options) {
    if (site_) rendezvous_.emplace(site_->board(), *bells_);
  }
  ~TeamMessages() = default;

  /// As Connections::endpoint_or_native(), where the team has native collectives.
  Endpoint* endpoint_or_native(const TransportTable& t) {
    return hooks.native == nullptr ? &connections_.endpoint(t) : connections_.endpoint_or_native(t);
  }

  void run_plan(const AnySchedule& schedule, Endpoint& e, bool rings, const Call& call,
                const Predictions* predictions = nullptr) {
    PlanRun& plan_run = plan_runs_.idle();
    or_fail_everywhere([&] {
      plan_runs_.begin(plan_run, e, schedule, call, 2 * blocking_calls_, predictions);
      if (waited_in_endpoint(plan_run)) return;
      waiter_.until(
          [&] {
            e.progress();
            return plan_run.done();
          },
          rings ? Naps::until_rung : Naps::none);
    });
  }

  /// May a call of this sequence number be in flight beside those that are? Moves them.
  bool has_room(Endpoint& e, std::uint32_t sequence) {
    if (!agreements_.blocks(e, sequence) &&
        (outstanding_ == 0 || !plan_runs_.blocks(e, sequence))) {
      return true;
    }
    progress();
    return false;
  }

  /// The last exchange of what `figures` has collected takes effect, and the next one begins: at
  /// the same call on all ranks. The first is waited for if it is not complete.
  template <class Figures, class Adopt>
  [[gnu::noinline, gnu::cold]] void renew(Figures& figures, Endpoint& e, bool rings,
                                          Adopt&& adopt) {
    or_fail_everywhere([&] {
      if (complete(figures.agreement())) adopt();
      const std::uint32_t sequence = 2 * ++requests_ + 1;  // of a request that nobody holds
      waiter_.until([&] { return has_room(e, sequence); }, Naps::none);
      figures.begin(e, rings, exchange_over(rings), plans(), sequence);
    });
  }

  /// Returns when all ranks have come, so that none is alone in what blocks in MPI. `look` is
  /// called while this rank waits, and may throw. A rank that cannot go on closes the gate; if all
  /// have come by then, it connects like the others before it throws.
  template <class Look>
  void meet_on_node(const TransportTable& t, Look&& look) {
    if (!rendezvous_) return;
    rendezvous_->arrive();
    try {
      waiter_.until([&] {
        look();
        if (rendezvous_->is_closed()) check();
        return rendezvous_->is_open();
      });
    } catch (const std::exception& problem) {
      fail_everywhere(problem);
      if (!rendezvous_->close()) {
        try {
          static_cast<void>(t.connect(surroundings_));
        } catch (const error&) {  // NOLINT(bugprone-empty-catch): why it came to this matters more
        }
      }
      throw;
    }
  }

 private:
  /// Completes the exchange that is under way. False: none is.
  bool complete(Agreement& a) {
    if (!a.is_under_way()) return false;
    waiter_.until([&a] { return a.progress(); }, a.rings() ? Naps::until_rung : Naps::none);
    return true;
  }

  /// In shared memory few pairs of ranks talk, since each pair that does takes memory for it.
  static AnySchedule exchange_over(bool rings) {
    return rings ? AnySchedule::of<RecursiveDoubling>() : AnySchedule::of<EachToEach>();
  }

  std::optional<NodeRendezvous> rendezvous_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
