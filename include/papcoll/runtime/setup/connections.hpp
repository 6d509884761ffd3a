// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
  bool may_still_access_buffers() const noexcept override {
    return team_.may_still_access_buffers();
  }

 private:
  Endpoint& team_;
  std::vector<int> ranks_;  ///< of the team, by their numbers in the group
  const std::uint32_t& calls_;
};

/// The transports of a team, and a rank's endpoints of those that have been used.
class Connections {
 public:
  /// `environment` must live longer.
  explicit Connections(const TeamEnvironment& environment) : environment_(environment) {}

  /// The team is one of `parent`'s, whose ranks `ranks` are its own: messages of MPI go that way,
  /// under the number `calls` of the parent's present call.
  [[gnu::cold]] void go_through(Connections& parent, std::vector<int> ranks,
                                const std::uint32_t& calls) {
    parent_ = &parent;
    ranks_ = std::move(ranks);
    parent_calls_ = &calls;
  }

  /// Throws transport_unavailable if the transport cannot serve this team.
  [[gnu::cold]] void require(const TransportTable& t) const {
    if (&t == required_) return;
    if (std::string why = t.unavailable(environment_); !why.empty()) {
      throw transport_unavailable(
          detail::joined({"papcoll: ", t.name, " is not available on rank ", here(), ": ", why}));
    }
    required_ = &t;
  }

  /// Returns what endpoint_or_native() would return, where that is known at once; else null.
  Endpoint* ready(const TransportTable& t) const noexcept {
    return substitution_.empty() ? find(t) : nullptr;
  }

  /// This rank's endpoint; made, by all ranks, at the first call that needs it. If messages of MPI
  /// are behind it, that call waits for all ranks, even if it is a non-blocking one.
  Endpoint& endpoint(const TransportTable& t) {
    if (Endpoint* const e = find(t)) return *e;
    require(t);
    if (parent_ != nullptr && (t.offers & capability::node_memory) == 0) {
      auto* const made = new GroupEndpoint(parent_->endpoint(t), ranks_, *parent_calls_);
      connected_.push_back({&t, std::unique_ptr<Endpoint>{made}});
    } else {
      connected_.push_back({&t, t.connect(environment_)});
    }
    return *connected_.back().endpoint;
  }

  /// The endpoint; null if MPI had no communicator left for it, so that its own collectives must
  /// do. All ranks get the same.
  Endpoint* endpoint_or_native(const TransportTable& t) {
    constexpr unsigned no_substitute = capability::node_memory | capability::device_memory;
    if ((t.offers & no_substitute) != 0) return &endpoint(t);
    if (!substitution_.empty()) return nullptr;
    try {
      return &endpoint(t);
    } catch (const transport_unavailable& why) {
      substitution_ = why.what();
      return nullptr;
    }
  }

  /// Why calls over MPI's messages run by MPI's own collectives, or nothing if they do not.
  const std::string& substitution() const noexcept { return substitution_; }

  /// Why messages between devices go through the host, or nothing if they do not.
  const std::string& why_no_ipc() const noexcept {
    static const std::string nothing;
    for (const auto& c : connected_) {
      if (const std::string& why = c.endpoint->why_no_ipc(); !why.empty()) return why;
    }
    return nothing;
  }

  /// Returns true if connecting the transport blocks in MPI until all ranks have arrived.
  bool connecting_blocks(const TransportTable& t) const noexcept {
    return parent_ == nullptr && (t.offers & capability::node_memory) == 0 &&
           substitution_.empty() && find(t) == nullptr;
  }

  /// The endpoint, if there is just one.
  Endpoint* only() const noexcept {
    return connected_.size() == 1 ? connected_.front().endpoint.get() : nullptr;
  }

  /// Moves all that is under way.
  void progress() {
    for (auto& c : connected_) c.endpoint->progress();
  }

  /// Endpoint::may_mean_peer_death().
  [[gnu::cold]] bool may_mean_peer_death() const noexcept {
    return std::any_of(connected_.begin(), connected_.end(),
                       [](const Connected& c) { return c.endpoint->may_mean_peer_death(); });
  }

  /// The team ends, in order.
  void end() noexcept {
    for (auto& c : connected_) c.endpoint->end();
  }

  /// Called after the team broke. Returns true if something may still use the memory of what was in
  /// flight.
  [[gnu::cold]] bool abandon() noexcept {
    bool may_still_access_buffers = false;
    for (auto& c : connected_) {
      c.endpoint->abandon();
      may_still_access_buffers |= c.endpoint->may_still_access_buffers();
    }
    return may_still_access_buffers;
  }

 private:
  struct Connected {
    const TransportTable* table;
    std::unique_ptr<Endpoint> endpoint;
  };

  std::string here() const { return std::to_string(environment_.rank); }

  Endpoint* find(const TransportTable& t) const noexcept {
    for (const Connected& c : connected_) {
      if (c.table == &t || c.table->name == t.name) return c.endpoint.get();
    }
    return nullptr;
  }

  const TeamEnvironment& environment_;
  mutable const TransportTable* required_ = nullptr;  ///< the last that can serve the team
  detail::Vector<Connected> connected_;
  std::string substitution_;
  Connections* parent_ = nullptr;
  std::vector<int> ranks_;  ///< the team's, as ranks of the parent
  const std::uint32_t* parent_calls_ = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI
