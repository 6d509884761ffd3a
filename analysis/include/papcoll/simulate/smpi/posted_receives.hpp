// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/endpoint.hpp>

#include <cstdint>
#include <map>
#include <tuple>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Posts only the next few of a block's receives from one rank: in a simulation a wait costs real
/// time in proportion to what is posted, and a ring of P ranks could post 2P − 2 receives at once.
/// Who has the next numbers is never held back, nor are a few others: where a reduce and a bcast go
/// on at once, the bcast's numbers are beyond all of the reduce's.
class PostedReceives {
 public:
  /// Returns true if it may be posted now; otherwise it is kept.
  bool admit(const TransportOp& receive) {
    Messages& m = messages_[key(receive)];
    if (m.sequence != receive.sequence || m.block != receive.block) {
      m = {receive.sequence, receive.block, 0, 0, {}};
    }
    if (!may_be_posted(m, receive.number)) {
      m.held.emplace(receive.number, receive);
      return false;
    }
    ++m.posted;
    return true;
  }

  /// A receive is complete: calls post(receive) with those that may be posted now.
  template <class Post> void complete(const TransportOp& receive, Post&& post) {
    Messages& m = messages_[key(receive)];
    ++m.complete;
    while (!m.held.empty() && may_be_posted(m, m.held.begin()->first)) {
      const TransportOp next = m.held.begin()->second;
      m.held.erase(m.held.begin());
      ++m.posted;
      post(next);
    }
  }

  void forget() noexcept { messages_.clear(); }

 private:
  static constexpr std::uint32_t next_numbers = 4;
  static constexpr std::uint32_t at_once = 8;
  using Key = std::tuple<const PlanRun*, std::uint32_t, int>;  // the block's slot, and the peer
  struct Messages {
    std::uint32_t sequence = 0;
    std::uint32_t block = 0;
    std::uint32_t complete = 0;  ///< so that the next to come has this number, or a lower one
    std::uint32_t posted = 0;    ///< those complete included
    std::map<std::uint32_t, TransportOp> held;
  };

  static bool may_be_posted(const Messages& m, std::uint32_t number) noexcept {
    return number < m.complete + next_numbers || m.posted - m.complete < at_once;
  }

  static Key key(const TransportOp& w) { return {w.owner, w.slot, w.peer}; }

  std::map<Key, Messages> messages_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
