#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/transport/mpi/asked_in_turn.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/wide_count.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {

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
    holds_on_ |= !drained();
    requests_.clear();
    works_.clear();
    ended_ = 0;
  }

  std::uint32_t sequences_at_once() const noexcept override { return link_.sequences_at_once(); }
  bool holds_on() const noexcept override { return holds_on_; }
  bool may_be_of_death() const noexcept override {
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

  /// Asks MPI for what is complete of all, and reports it; true if anything is.
  template <class Ask>
  bool ask(Ask* some, const char* call) {
    return ask(some, call, {0, requests_.size()});
  }

  /// The same of some of them.
  template <class Ask>
  bool ask(Ask* some, const char* call, InTurn::Range range) {
    if (range.count == 0) return false;
    if (statuses_.size() < range.count) statuses_.resize(range.count);
    int complete = 0;
    const int code = some(static_cast<int>(range.count), requests_.data() + range.first, &complete,
                          indices_.data(), statuses_.data());
    for (int i = 0; i < complete; ++i) index(i) += static_cast<int>(range.first);
    if (code == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < complete; ++i) check_status(i);
    }
    detail::check(code, call, where);
    if (complete <= 0) return false;
    for (int i = 0; i < complete; ++i) {
      if (work(i).kind == OpKind::receive) check_length(i);
    }
    std::sort(indices_.begin(), indices_.begin() + complete);
    // complete() starts further steps: take the lists away first.
    sent_.clear();
    received_.clear();
    for (int i = 0; i < complete; ++i) {
      (work(i).kind == OpKind::send ? sent_ : received_).push_back(work(i));
    }
    ended_ += static_cast<std::size_t>(complete);
    if (requests_.size() <= InTurn::at_once || 2 * ended_ >= requests_.size()) drop_ended();
    received(received_);
    // What waits for a send should not also wait until this rank has combined what it received.
    for (const TransportOp& w : sent_) tell(w);
    for (const TransportOp& w : received_) tell(w);
    return true;
  }

 private:
  /// These receives are complete, and nothing has been told of it.
  virtual void received(const std::vector<TransportOp>& /*receives*/) {}
  /// Says that the message is complete to who wants to hear.
  virtual void tell(const TransportOp& w) { w.owner->complete(w.slot, w.step); }

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

  /// Of those that MPI named: the i-th one's number, and its step.
  int& index(int i) noexcept { return indices_[static_cast<std::size_t>(i)]; }
  const TransportOp& work(int i) noexcept { return works_[static_cast<std::size_t>(index(i))]; }

  /// Lets what MPI is in the middle of come to its end, since it may read the caller's buffers
  /// until then. The peers that live do the same at this time. True if nothing is left.
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

  [[noreturn]] void mismatch(int i, const std::string& what) {
    throw peer_error(work(i).owner->refuse(work(i).peer, work(i).bytes(), what));
  }

  void check_status(int i) {
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    if (status.MPI_ERROR == MPI_SUCCESS) return;
    int error_class = 0;
    MPI_Error_class(status.MPI_ERROR, &error_class);
    if (error_class == MPI_ERR_TRUNCATE) mismatch(i, "more bytes");
    detail::throw_mpi_error(status.MPI_ERROR, "MPI_Testsome", where);
  }

  void check_length(int i) {
    const MPI_Count bytes = detail::received_bytes(statuses_[static_cast<std::size_t>(i)], where);
    if (static_cast<std::size_t>(bytes) != work(i).bytes()) {
      mismatch(i, detail::joined({bytes, " bytes"}));
    }
  }

  MpiLink& link_;
  std::vector<MPI_Request> requests_;  ///< as they were posted; null: ended, and told of
  std::vector<TransportOp> works_;     ///< of the requests, index by index
  std::size_t ended_ = 0;              ///< of the requests
  InTurn turn_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<TransportOp> sent_;      ///< what ended and is being reported
  std::vector<TransportOp> received_;  ///< the same
  bool holds_on_ = false;
};

/// The same, which tells a function of messages that are complete.
class ToldMpiEndpoint final : public MpiEndpoint {
 public:
  /// `told` is called by progress().
  ToldMpiEndpoint(MpiLink& link, std::function<void(const TransportOp&)> told)
      : MpiEndpoint(link), told_(std::move(told)) {}

 private:
  void tell(const TransportOp& w) override { told_(w); }

  std::function<void(const TransportOp&)> told_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
