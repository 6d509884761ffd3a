// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/transport/mpi/asked_in_turn.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/transport.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {

/// The endpoint of static schedules over MPI point-to-point messages on the team's private
/// communicator.
class MpiEndpoint : public Endpoint {
 public:
  [[gnu::cold]] explicit MpiEndpoint(MpiLink& link) : link_(link) {
    static_cast<void>(link.comm());
  }

  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::reduce || work.kind == OpKind::copy) {
      perform_locally(work);
      return true;
    }
    post(work);
    return false;
  }

  bool progress() override {
    const bool many = requests_.size() > InTurn::at_once;
    const bool any = ask(&MPI_Testsome, "MPI_Testsome", InTurn::newest(requests_.size()));
    if (!many) return any;
    return ask(&MPI_Testsome, "MPI_Testsome", turn_.next(requests_.size())) || any;
  }

  /// Receives are cancelled, and messages under way get time to end. What does not end, a message
  /// to or from a peer that is dead or stopped, is forgotten: MPI may still use its buffer.
  [[gnu::cold]] void abandon() noexcept override {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (works_[i].kind == OpKind::receive && requests_[i] != MPI_REQUEST_NULL) {
        MPI_Cancel(&requests_[i]);
      }
    }
    may_still_access_buffers_ |= !drained();
    requests_.clear();
    works_.clear();
    ended_ = 0;
  }

  std::uint32_t sequences_at_once() const noexcept override { return link_.sequences_at_once(); }
  bool may_still_access_buffers() const noexcept override { return may_still_access_buffers_; }
  bool may_mean_peer_death() const noexcept override {
    return detail::handled_as<peer_lost>() != nullptr &&
           detail::handled_as<detail::lost_rank>() == nullptr;
  }

 protected:
  using InTurn = detail::AskedInTurn;

  void post(const TransportOp& work) {
    const int tag = link_.tag(work.sequence, work.block, work.number);
    const detail::WideCount wide{work.bytes()};
    MPI_Request request = MPI_REQUEST_NULL;
    if (work.kind == OpKind::send) {
      detail::check(
          MPI_Isend(work.a, wide.count(), wide.type(), work.peer, tag, link_.comm(), &request),
          "MPI_Isend", where);
    } else {
      detail::check(
          MPI_Irecv(work.to, wide.count(), wide.type(), work.peer, tag, link_.comm(), &request),
          "MPI_Irecv", where);
    }
    requests_.push_back(request);
    works_.push_back(work);
    indices_.resize(requests_.size());
  }

  /// Asks MPI which requests are complete, and reports them. Returns true if any is.
  template <class Ask> bool ask(Ask* some, const char* call) {
    return ask(some, call, {0, requests_.size()});
  }

  /// Tests some of the requests.
  template <class Ask> bool ask(Ask* some, const char* call, InTurn::Range range) {
    if (range.count == 0) return false;
    if (statuses_.size() < range.count) statuses_.resize(range.count);
    int complete = 0;
    const int code = some(static_cast<int>(range.count), requests_.data() + range.first, &complete,
                          indices_.data(), statuses_.data());
    const auto n = static_cast<std::size_t>(complete > 0 ? complete : 0);
    for (std::size_t i = 0; i < n; ++i) indices_[i] += static_cast<int>(range.first);
    if (code != MPI_SUCCESS) [[unlikely]]
      fail(code, call, n);
    if (n == 0) return false;
    for (std::size_t i = 0; i < n; ++i) {
      if (work(i).kind == OpKind::receive) check_length(i);
      // In the order in which they were posted, which is that of most MPI libraries.
      for (std::size_t k = i; k != 0 && indices_[k] < indices_[k - 1]; --k) {
        std::swap(indices_[k], indices_[k - 1]);
      }
    }
    // complete() starts further steps: take the list away first. Sends come first: what waits
    // for one should not also wait until this rank has combined what it received.
    ended_works_.clear();
    std::size_t sends = 0;
    for (const OpKind kind : {OpKind::send, OpKind::receive}) {
      sends = ended_works_.size();
      for (std::size_t i = 0; i < n; ++i) {
        if (work(i).kind == kind) ended_works_.push_back(work(i));
      }
    }
    ended_ += n;
    if (requests_.size() <= InTurn::at_once || 2 * ended_ >= requests_.size()) drop_ended();
    received({ended_works_.data() + sends, n - sends});
    for (std::size_t i = 0; i < n; ++i) report_complete(ended_works_[i]);
    return true;
  }

 private:
  /// Called when these receives are complete, before anything is notified of it.
  virtual void received(std::span<const TransportOp> /*receives*/) {}
  /// Notifies the owner that the message is complete.
  virtual void report_complete(const TransportOp& w) { w.owner->complete(w.slot, w.step); }

  void drop_ended() noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      works_[kept] = works_[i];
      ++kept;
    }
    requests_.resize(kept);
    works_.resize(kept);
    ended_ = 0;
  }

  /// The step of the i-th one that MPI named.
  const TransportOp& work(std::size_t i) noexcept {
    return works_[static_cast<std::size_t>(indices_[i])];
  }

  /// Lets MPI complete what it is in the middle of, since it may read the caller's buffers until
  /// then. The peers that live do the same at this time. Returns true if nothing is left.
  [[gnu::cold]] bool drained() noexcept {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds patience{100};  ///< after the last message that ended
    constexpr int turns = 500;  ///< looks at least, between which other processes run
    const int count = static_cast<int>(requests_.size());
    Clock::time_point last = Clock::now();
    for (int turn = 0; turn < turns || Clock::now() - last < patience; ++turn, sched_yield()) {
      int complete = 0;
      const int code =
          MPI_Testsome(count, requests_.data(), &complete, indices_.data(), MPI_STATUSES_IGNORE);
      if (complete == MPI_UNDEFINED) return true;
      if (code != MPI_SUCCESS) return false;
      if (complete > 0) {
        last = Clock::now();
        turn = 0;
      }
    }
    return false;
  }

  static constexpr const char* where = "a collective over MpiTransport";

  [[noreturn, gnu::cold, gnu::noinline]] void mismatch(std::size_t i, const std::string& what) {
    throw peer_error(work(i).owner->refuse(work(i).peer, work(i).bytes(), what));
  }

  /// MPI failed; it had named n messages.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(int code, const char* call, std::size_t n) {
    for (std::size_t i = 0; code == MPI_ERR_IN_STATUS && i < n; ++i) {
      const int error = statuses_[i].MPI_ERROR;
      if (error == MPI_SUCCESS) continue;
      int error_class = 0;
      MPI_Error_class(error, &error_class);
      if (error_class == MPI_ERR_TRUNCATE) mismatch(i, "more bytes");
      detail::throw_mpi_error(error, "MPI_Testsome", where);
    }
    detail::throw_mpi_error(code, call, where);
  }

  void check_length(std::size_t i) {
    const MPI_Count bytes = detail::received_bytes(statuses_[i], where);
    if (static_cast<std::size_t>(bytes) != work(i).bytes()) {
      mismatch(i, detail::joined({bytes, " bytes"}));
    }
  }

  MpiLink& link_;

  detail::Vector<MPI_Request> requests_;  ///< as they were posted; null: ended, and reported
  detail::Vector<TransportOp> works_;     ///< of the requests, index by index
  std::size_t ended_ = 0;                 ///< of the requests
  InTurn turn_;
  detail::Vector<int> indices_;
  detail::Vector<MPI_Status> statuses_;
  detail::Vector<TransportOp> ended_works_;  ///< what ended and is being reported
  bool may_still_access_buffers_ = false;
};

/// An MpiEndpoint that notifies a function of completed messages.
class NotifyingMpiEndpoint final : public MpiEndpoint {
 public:
  /// `notify` is called by progress().
  NotifyingMpiEndpoint(MpiLink& link, std::function<void(const TransportOp&)> notify)
      : MpiEndpoint(link), notify_(std::move(notify)) {}

 private:
  void report_complete(const TransportOp& w) override { notify_(w); }

  std::function<void(const TransportOp&)> notify_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
