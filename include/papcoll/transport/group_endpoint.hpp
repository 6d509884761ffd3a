#pragma once

#include <papcoll/schedule/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The endpoint of some ranks of a team, over the team's own: their messages are the team's, under
/// the number of the team's present call. That call is made of phases, calls of groups, which each
/// rank runs one after the other, two ranks that share several in the same order; so messages of
/// two phases that share a number are distinguished by their order, which endpoints keep.
class GroupEndpoint final : public Endpoint {
 public:
  /// `calls`: of the team, blocking ones. It and the endpoint must live longer.
  GroupEndpoint(Endpoint& team, std::vector<int> ranks, const std::uint32_t& calls)
      : team_(team), ranks_(std::move(ranks)), calls_(calls) {}

  bool start(const TransportOp& work) override {
    TransportOp translated = work;
    if (work.peer >= 0) translated.peer = ranks_[static_cast<std::size_t>(work.peer)];
    translated.sequence = 2 * calls_;
    return team_.start(translated);
  }

  bool progress() override { return team_.progress(); }
  bool run_to_end(const PlanRun& plan_run) override { return team_.run_to_end(plan_run); }
  void abandon() noexcept override { team_.abandon(); }
  std::uint32_t sequences_at_once() const noexcept override { return team_.sequences_at_once(); }
  bool holds_on() const noexcept override { return team_.holds_on(); }

 private:
  Endpoint& team_;
  std::vector<int> ranks_;  ///< of the team, by their numbers in the group
  const std::uint32_t& calls_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
