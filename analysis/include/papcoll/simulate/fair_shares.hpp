// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Flows between ports that share them max-min fairly: no flow can have more without another, that
/// has no more than it, having less. Each rank has a port out and a port in; a flow uses its
/// sender's out and its receiver's in, of both the same share.
///
///     three flows 0→2, 1→2, 1→3                out 0 ──½──→ in 2      Port in 2 (or out 1) is the
///     all have ½; when 1→2 ends, the two            ½   ↗             fullest: its flows get ½
///     others have all of their ports          out 1 ──½──→ in 3       each, the rest what is left.
///
/// Only what is connected to a flow that began or ended is computed again.
class FairShares {
 public:
  /// Constructs the ports of so many ranks, without a flow.
  explicit FairShares(std::size_t ranks) : ranks_(ranks), ports_(2 * ranks) {}

  /// Flow `id` begins; alone it would take `seconds`.
  void add(std::uint32_t id, std::size_t from, std::size_t to, double seconds, double now) {
    if (flows_.size() <= id) flows_.resize(id + std::size_t{1});
    Flow& f = flows_[id];
    f.ports[0] = from;
    f.ports[1] = ranks_ + to;
    f.left = seconds;
    f.since = now;
    f.share = 0;
    ++f.version;
    for (std::size_t side = 0; side < 2; ++side) {
      Port& p = ports_[f.ports[side]];
      f.at[side] = p.flows.size();
      p.flows.push_back(id);
      changed_.push_back(f.ports[side]);
    }
  }

  /// Flow `id` has ended.
  void remove(std::uint32_t id) {
    Flow& f = flows_[id];
    ++f.version;
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<std::uint32_t>& at_port = ports_[f.ports[side]].flows;
      at_port[f.at[side]] = at_port.back();
      flows_[at_port.back()].at[side] = f.at[side];
      at_port.pop_back();
      changed_.push_back(f.ports[side]);
    }
  }

  /// Returns true if the flow's share is still that of the version that settle() returned.
  bool is_current(std::uint32_t id, std::uint32_t version) const noexcept {
    return flows_[id].version == version;
  }

  /// After all that began or ended at this moment: shares out anew, and calls
  /// ends(id, version, time) for each flow whose end is new.
  template <class Ends> void update(double now, Ends&& ends) {
    if (changed_.empty()) return;
    ++round_;
    connect();
    share_out();
    for (const std::uint32_t id : touched_) {
      Flow& f = flows_[id];
      if (std::abs(f.fresh - f.share) <= same * f.share) continue;
      f.left = std::max(0.0, f.left - (now - f.since) * f.share);
      f.since = now;
      f.share = f.fresh;
      ++f.version;
      ends(id, f.version, now + f.left / f.share);
    }
  }

 private:
  struct Flow {
    std::size_t ports[2] = {};
    std::size_t at[2] = {};  ///< its place in each port's list
    double left = 0;         ///< seconds it would take alone, at the time `since`
    double since = 0;
    double share = 0;
    double fresh = 0;
    std::uint64_t reached = 0;  ///< the round in which it was found, and that in which it was given
    std::uint64_t given = 0;    ///< its share
    std::uint32_t version = 0;
  };
  struct Port {
    std::vector<std::uint32_t> flows;
    double left = 1;
    std::size_t waiting = 0;  ///< flows without a share
    std::uint64_t reached = 0;
    double each() const noexcept { return left / static_cast<double>(waiting); }
  };
  using Offer = std::pair<double, std::size_t>;

  static constexpr double same = 1e-12;  ///< shares that differ by less are rounded differently

  /// Finds all ports and flows that are connected to a changed port.
  void connect() {
    touched_.clear();
    offers_.clear();
    while (!changed_.empty()) {
      const std::size_t port = changed_.back();
      changed_.pop_back();
      Port& p = ports_[port];
      if (p.reached == round_) continue;
      p.reached = round_;
      p.left = 1;
      p.waiting = p.flows.size();
      if (p.waiting == 0) continue;
      offers_.push_back({p.each(), port});
      for (const std::uint32_t id : p.flows) {
        Flow& f = flows_[id];
        if (f.reached == round_) continue;
        f.reached = round_;
        touched_.push_back(id);
        changed_.push_back(f.ports[port < ranks_ ? 1 : 0]);
      }
    }
  }

  /// The fullest port gives its flows equal shares; so on with what that leaves of the others.
  void share_out() {
    auto fuller = [](const Offer& a, const Offer& b) { return a > b; };
    std::sort(offers_.begin(), offers_.end());
    raised_.clear();
    for (std::size_t next = 0; next < offers_.size() || !raised_.empty();) {
      Offer offer;
      if (raised_.empty() || (next < offers_.size() && offers_[next] < raised_.front())) {
        offer = offers_[next++];
      } else {
        std::pop_heap(raised_.begin(), raised_.end(), fuller);
        offer = raised_.back();
        raised_.pop_back();
      }
      Port& p = ports_[offer.second];
      if (p.waiting == 0) continue;
      // Shares of a port only grow while others are given theirs.
      if (const double each = p.each(); each > offer.first * (1 + same)) {
        raised_.push_back({each, offer.second});
        std::push_heap(raised_.begin(), raised_.end(), fuller);
        continue;
      }
      for (const std::uint32_t id : p.flows) {
        Flow& f = flows_[id];
        if (f.given == round_) continue;
        f.given = round_;
        f.fresh = offer.first;
        for (const std::size_t port : f.ports) {
          ports_[port].left -= offer.first;
          --ports_[port].waiting;
        }
      }
    }
  }

  std::size_t ranks_;
  std::vector<Port> ports_;  ///< out of each rank, then into each
  std::vector<Flow> flows_;
  std::vector<std::size_t> changed_;
  std::vector<std::uint32_t> touched_;
  std::vector<Offer> offers_;
  std::vector<Offer> raised_;  ///< those that grew meanwhile, a heap
  std::uint64_t round_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
