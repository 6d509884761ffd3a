// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/transport/mpi/link.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {

/// Words in an MPI window. Every operation is an MPI_Rget_accumulate that is asked after, not an
/// MPI_Fetch_and_op that is waited for inside MPI: there no deadline would end the wait for a rank
/// that is gone.
///
/// MPI_Win_allocate and MPI_Win_free have no such form: ranks wait for each other just before, and
/// one that dies between that and their end can leave the others inside MPI.
///
/// Within a node Open MPI's operations may lock all words of the rank they are on. A process that
/// is killed in the midst of one leaves the lock closed, and whoever changes a word of that rank
/// afterwards hangs inside MPI. So a rank that waits looks at its memory: it would else spend all
/// of its time in such a lock.
class RmaAtomics final : public RemoteAtomics {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long rank 0, whose memory has the words, stays outside MPI while the others time an
  /// operation on them.
  static constexpr std::chrono::milliseconds outside{2};
  /// The longest time of an operation at which tickets are used. A ticket costs each rank two or
  /// three operations in a row, and a chain pays for large messages only.
  static constexpr std::chrono::microseconds bearable{50};
  static constexpr int tries = 3;  ///< since a rank may miss them for want of a processor

  /// `n` words on each of the link's ranks, which are on so many nodes. Collective. Throws
  /// transport_unavailable, on all ranks and with nothing left behind, if MPI cannot have them or
  /// tickets would not be fast.
  RmaAtomics(MpiLink& link, int nodes, std::size_t n, RemoteTickets tickets) : RmaAtomics() {
    if (tickets == RemoteTickets::never) {
      detail::throw_error<transport_unavailable>({"the Options forbid tickets by RMA"});
    }
    if constexpr (!detail::sees_locked_windows) {
      detail::throw_error<transport_unavailable>(
          {"ranks cannot look at windows that they have locked"});
    }
    const detail::PolledCollectives all_ranks = link.all_ranks();
    rank_ = all_ranks.rank(where);
    size_ = all_ranks.size(where);
    refuse_windows_of_others(nodes);
    allocate(all_ranks, n + own_words);
    own_words_at_ = n;
    if (tickets == RemoteTickets::always) return;
    const std::string slow = trial(all_ranks);
    if (slow.empty()) return;
    all_ranks.barrier(where);
    free();
    throw transport_unavailable(slow);
  }
  ~RmaAtomics() override { leak(); }

  void start(int rank, std::size_t word, Change change, std::int64_t operand) override {
    MPI_Op op = change == Change::none ? MPI_NO_OP : change == Change::add ? MPI_SUM : MPI_REPLACE;
    operand_->value = operand;
    detail::check(MPI_Rget_accumulate(&operand_->value, 1, MPI_INT64_T, &operand_->before, 1,
                                      MPI_INT64_T, rank, static_cast<MPI_Aint>(word), 1,
                                      MPI_INT64_T, op, window_, &request_),
                  "MPI_Rget_accumulate", where);
  }

  bool progress() override {
    int done = 1;
    if (request_ != MPI_REQUEST_NULL) {
      detail::check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test", where);
    }
    return done != 0;
  }

  std::int64_t before() const noexcept override { return operand_->before; }

  // MPI 4.0, section 12.4, allows to wait in this way for a value in a unified window. Relaxed, as
  // nothing but the word itself is read because of it. std::atomic_ref is not in libc++ before 19.
  std::int64_t own(std::size_t word) const override {
    return __atomic_load_n(&memory_[word], __ATOMIC_RELAXED);
  }

  bool part(std::chrono::nanoseconds patience) noexcept override {
    if (window_ == MPI_WIN_NULL || !detail::mpi_is_usable()) return false;
    try {
      AllOrNone agreement{*this, own_words_at_ + parting_word, rank_, size_};
      // While this process was stopped the others may have agreed without it.
      TimeWaited time{std::chrono::milliseconds{10}};
      bool begins = false;  // once what the team was in the midst of is over
      for (;;) {
        const Clock::duration waited = time.look();
        begins = begins || progress();
        if (!begins && waited > patience) return false;
        if (begins) {
          const auto outcome = agreement.step(waited > patience);
          if (outcome != AllOrNone::Outcome::open) return outcome == AllOrNone::Outcome::together;
        }
        if (waited > most_patiences * patience) return false;  // rank 0 died in the midst of it
        poke();
        sched_yield();
      }
    } catch (const std::exception&) {
      return false;
    }
  }

  void free() noexcept override {
    if (MPI_Win_unlock_all(window_) != MPI_SUCCESS) return leak();
    MPI_Win_free(&window_);
    window_ = MPI_WIN_NULL;
  }

 private:
  /// From here on the destructor runs, whatever the rest of making one throws.
  RmaAtomics() : operand_(detail::make_owned<Operand>()) {}

  static constexpr const char* where = "papcoll's tickets over RmaTransport";
  static constexpr int most_patiences = 30;
  /// Words of this class's own, behind the others.
  enum OwnWords : std::size_t { trial_word, parting_word, own_words };

  struct Operand {
    std::int64_t value = 0;
    std::int64_t before = 0;
  };

  /// Ranks that are alone on their nodes share no file; and if all ranks take part there are no
  /// others.
  void refuse_windows_of_others(int nodes) const {
    int all = 0;
    detail::check(MPI_Comm_size(MPI_COMM_WORLD, &all), "MPI_Comm_size", where);
    if (!detail::mixes_windows_up || size_ == nodes || size_ == all) return;
    detail::throw_error<transport_unavailable>(
        {"MPI_Win_allocate of Open MPI before 5.0 can give communicators that share a node and no "
         "rank one window: take a communicator with one rank a node, or with all ranks"});
  }

  void allocate(const detail::PolledCollectives& all_ranks, std::size_t n) {
    const auto bytes = static_cast<MPI_Aint>(n * sizeof(std::int64_t));
    bool is_unified = false;
    all_ranks.barrier(where);
    std::string problem = detail::caught<mpi_error>([&] {
      detail::check(MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, all_ranks.comm(),
                                     &memory_, &window_),
                    "MPI_Win_allocate", where);
      detail::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler",
                    where);
      int* model = nullptr;
      int found = 0;
      detail::check(MPI_Win_get_attr(window_, MPI_WIN_MODEL, &model, &found), "MPI_Win_get_attr",
                    where);
      is_unified = found != 0 && *model == MPI_WIN_UNIFIED;
      std::fill_n(memory_, n, 0);
      detail::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all", where);
      detail::check(MPI_Win_sync(window_), "MPI_Win_sync", where);
    });
    if (problem.empty() && !is_unified) problem = "this MPI keeps a window and its memory apart";
    problem = detail::first_problem(all_ranks, problem, where);
    if (!problem.empty()) throw transport_unavailable(problem);
  }

  /// Returns why tickets would not be fast, the same on all ranks; empty if they are. Rank
  /// 0 stays outside MPI for a while, and shows that in its memory: a rank that reads this
  /// meanwhile needs no action of rank 0.
  std::string trial(const detail::PolledCollectives& all_ranks) {
    int least = 0;
    for (int i = 0; i < tries; ++i) {
      const std::int64_t is_outside = 2 * i + 1;
      all_ranks.barrier(where);
      const int mine = rank_ == 0 ? stay_outside(is_outside) : fastest(all_ranks, is_outside);
      least = all_ranks.allreduce(mine, MPI_MAX, where);
      if (least < std::chrono::nanoseconds{bearable}.count()) return {};
    }
    if (least == never) {
      return detail::joined(
          {"an atomic operation on rank 0's memory waits until rank 0 calls MPI (tried for ",
           outside.count(), " ms)"});
    }
    return detail::joined({"an atomic operation on rank 0's memory takes ", least / 1000,
                           " µs, and more than ", bearable.count(), " is too slow"});
  }

  int stay_outside(std::int64_t is_outside) {
    std::int64_t* const shown = &memory_[own_words_at_ + trial_word];
    __atomic_store_n(shown, is_outside, __ATOMIC_SEQ_CST);
    detail::sleep_for(outside);
    __atomic_store_n(shown, is_outside + 1, __ATOMIC_SEQ_CST);
    return 0;
  }

  /// Returns the nanoseconds of the fastest read of rank 0's memory while rank 0 was outside MPI,
  /// or `never`.
  int fastest(const detail::PolledCollectives& all_ranks, std::int64_t is_outside) {
    std::int64_t best = never;
    bool looks = false;
    Clock::time_point begun;
    all_ranks.until(
        [&] {
          if (!looks) {
            begun = Clock::now();
            start(0, own_words_at_ + trial_word, Change::none, 0);
          }
          looks = !progress();
          if (looks) return false;
          const std::chrono::nanoseconds took = Clock::now() - begun;
          if (before() == is_outside) best = std::min<std::int64_t>(best, took.count());
          return before() > is_outside;
        },
        where);
    return static_cast<int>(best);
  }

  /// Makes progress on the operations of others on this rank's memory, which its own operations
  /// there need not do. The team's communicator may have been freed; no rank receives what this
  /// probes for.
  void poke() const {
    int self = 0;
    int there = 0;
    detail::check(MPI_Comm_rank(MPI_COMM_WORLD, &self), "MPI_Comm_rank", where);
    detail::check(MPI_Iprobe(self, least_tag_bound, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE),
                  "MPI_Iprobe", where);
  }

  /// MPI may still use the operand of an operation under way.
  void leak() noexcept {
    window_ = MPI_WIN_NULL;
    if (request_ != MPI_REQUEST_NULL) static_cast<void>(operand_.release());
    request_ = MPI_REQUEST_NULL;
  }

  static constexpr int least_tag_bound = 32767;  ///< that the standard grants
  static constexpr int never = std::numeric_limits<int>::max();

  int rank_ = 0;
  int size_ = 1;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t* memory_ = nullptr;  ///< the window's
  std::size_t own_words_at_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
  detail::Owned<Operand> operand_;
};

namespace detail {

template <class = void>
[[gnu::cold]] std::unique_ptr<RemoteAtomics> open_atomics(MpiLink& link, int nodes, std::size_t n,
                                                          RemoteTickets tickets) {
  return std::unique_ptr<RemoteAtomics>(new RmaAtomics(link, nodes, n, tickets));
}
PAPCOLL_COMPILE_ONCE(std::unique_ptr<RemoteAtomics> open_atomics<>(MpiLink&, int, std::size_t,
                                                                   RemoteTickets))

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
