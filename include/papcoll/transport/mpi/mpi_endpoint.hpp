#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/plan/endpoint.hpp>
#include <papcoll/plan/run.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/wide_count.hpp>

#include <chrono>
#include <cstddef>
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

  bool progress() override { return ask(&MPI_Testsome, "MPI_Testsome"); }

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
  }

  std::uint32_t sequences_at_once() const noexcept override { return link_.sequences_at_once(); }
  bool holds_on() const noexcept override { return holds_on_; }

 protected:
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

  /// Asks MPI for what is complete, and reports it; true if anything is.
  template <class Ask>
  bool ask(Ask* some, const char* call) {
    if (requests_.empty()) return false;
    const int count = static_cast<int>(requests_.size());
    statuses_.resize(requests_.size());
    int complete = 0;
    const int code = some(count, requests_.data(), &complete, indices_.data(), statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < complete; ++i) check_status(i);
    }
    detail::check(code, call, where);
    if (complete <= 0) return false;
    for (int i = 0; i < complete; ++i) {
      const auto at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
      if (works_[at].kind == OpKind::receive) check_length(i);
    }
    // complete() starts further steps: take the lists away first.
    sent_.clear();
    received_.clear();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) {
        (works_[i].kind == OpKind::send ? sent_ : received_).push_back(works_[i]);
        continue;
      }
      requests_[kept] = requests_[i];
      works_[kept] = works_[i];
      ++kept;
    }
    requests_.resize(kept);
    works_.resize(kept);
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

  [[noreturn]] void mismatch(int i, const std::string& what) const {
    const TransportOp& w = works_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])];
    throw peer_error(w.owner->refuse(w, what));
  }

  void check_status(int i) const {
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    if (status.MPI_ERROR == MPI_SUCCESS) return;
    int error_class = 0;
    MPI_Error_class(status.MPI_ERROR, &error_class);
    if (error_class == MPI_ERR_TRUNCATE) mismatch(i, "more bytes");
    detail::throw_mpi_error(status.MPI_ERROR, "MPI_Testsome", where);
  }

  void check_length(int i) const {
    const TransportOp& w = works_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])];
    const MPI_Count bytes = detail::received_bytes(statuses_[static_cast<std::size_t>(i)], where);
    if (static_cast<std::size_t>(bytes) != w.bytes()) {
      mismatch(i, detail::joined({bytes, " bytes"}));
    }
  }

  MpiLink& link_;
  std::vector<MPI_Request> requests_;
  std::vector<TransportOp> works_;  ///< of the requests, index by index
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
