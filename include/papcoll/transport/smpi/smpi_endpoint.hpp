#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/transport/mpi/mpi_endpoint.hpp>
#include <papcoll/transport/smpi/simulated_time.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Of a block's receives from one rank, only the next few are posted: in a simulation a wait costs
/// real time in proportion to what is posted, and a ring of P ranks could post 2P − 2 receives at
/// once. Who has the next numbers is never held back, nor are a few others: where a reduce and a
/// bcast go on at once, the bcast's numbers are beyond all of the reduce's.
class PostedReceives {
 public:
  /// May it be posted now? If not it is kept.
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
  template <class Post>
  void complete(const TransportOp& receive, Post&& post) {
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

namespace papcoll::inline PAPCOLL_ABI {

/// MpiEndpoint for ranks that SMPI simulates: it charges time for combining, posts few receives at
/// a time, and waits inside MPI, where a simulated rank has to wait.
class SmpiEndpoint final : public MpiEndpoint {
 public:
  using MpiEndpoint::MpiEndpoint;

  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::reduce) detail::charge_combining(work.bytes());
    if (work.kind == OpKind::receive && !posted_.admit(work)) return false;
    return MpiEndpoint::start(work);
  }

  bool run_to_end(const PlanRun& plan_run) override {
    // While a rank combines it sees nothing: what is complete has to be seen before.
    const bool all = detail::simulated_gamma() > 0;
    while (!plan_run.done() &&
           (all ? ask(&MPI_Waitsome, "MPI_Waitsome") : ask(&wait_for_one, "MPI_Waitany"))) {
    }
    return plan_run.done();
  }

  void abandon() noexcept override {
    MpiEndpoint::abandon();
    posted_.forget();
  }

 private:
  void received(std::span<const TransportOp> receives) override {
    for (const TransportOp& w : receives) {
      posted_.complete(w, [this](const TransportOp& next) { post(next); });
    }
  }

  /// MPI_Waitsome that tells of one request. SimGrid 3.32's own tests all others, too, which takes
  /// simulated time for each, and leaves an entry for each message of 64 KB and more in a list of
  /// the rank's that is searched for every later message.
  static int wait_for_one(int count, MPI_Request* requests, int* complete, int* indices,
                          MPI_Status* statuses) {
    const int code = MPI_Waitany(count, requests, indices, statuses);
    *complete = *indices == MPI_UNDEFINED ? 0 : 1;
    if (code == MPI_SUCCESS || *complete == 0) return code;
    statuses->MPI_ERROR = code;
    return MPI_ERR_IN_STATUS;
  }

  detail::PostedReceives posted_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
