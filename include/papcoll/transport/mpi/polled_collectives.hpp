// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Small collectives of MPI on a communicator, each begun by its non-blocking form and asked after
/// until it is complete, so that a rank that waits in one does not sit inside MPI: it can move its
/// other requests, look after its peers and keep a deadline. What their hooks throw leaves the
/// collective unfinished; its buffer then belongs to MPI for ever.
class PolledCollectives {
 public:
  /// Constructs one that watches no peer, and waits without limit.
  PolledCollectives(MPI_Comm comm)  // NOLINT(google-explicit-constructor): as MPI's own
      : comm_(comm) {}
  /// `hooks` of the waits, whose WaitHooks::doing has where they are.
  PolledCollectives(MPI_Comm comm, std::chrono::nanoseconds deadline, WaitHooks& hooks)
      : comm_(comm), deadline_(deadline), hooks_(&hooks) {}

  MPI_Comm comm() const noexcept { return comm_; }
  /// Returns an object that runs the same on another communicator of these ranks.
  [[gnu::cold]] PolledCollectives on(MPI_Comm comm) const {
    PolledCollectives other = *this;
    other.comm_ = comm;
    return other;
  }

  /// As Waiter's, of the latest yield.
  std::chrono::nanoseconds yield_took() const noexcept { return yield_took_; }
  /// A yield in one of these waits ended with the time slice of a program that computes.
  bool was_preempted() const noexcept { return was_preempted_; }
  /// Says what other waits of this process have found: a program that computes has the processor.
  void expect_preemption() noexcept { yield_took_ = 2 * WaitTimes{}.slice; }

  [[gnu::cold]] void barrier(const char* where) const {
    wait(0, "MPI_Ibarrier", where,
         [this](std::byte*, MPI_Request* r) { return nonblocking().barrier(r); });
  }

  /// `bytes` of each rank to all, in rank order.
  [[gnu::cold]] void allgather(const void* mine, std::size_t bytes, void* all,
                               const char* where) const {
    const std::size_t total = bytes * static_cast<std::size_t>(size(where));
    const Memory memory =
        wait(bytes + total, "MPI_Iallgather", where, [&](std::byte* at, MPI_Request* r) {
          std::memcpy(at, mine, bytes);
          return nonblocking().allgather(at, static_cast<int>(bytes), at + bytes, r);
        });
    std::memcpy(all, memory.get() + bytes, total);
  }

  [[gnu::cold]] void bcast(void* data, std::size_t bytes, int root, const char* where) const {
    const Memory memory = wait(bytes, "MPI_Ibcast", where, [&](std::byte* at, MPI_Request* r) {
      std::memcpy(at, data, bytes);
      return nonblocking().bcast(at, static_cast<int>(bytes), root, r);
    });
    std::memcpy(data, memory.get(), bytes);
  }

  /// Combines one number of each rank by `op`.
  [[gnu::cold]] int allreduce(int mine, MPI_Op op, const char* where) const {
    const Memory memory =
        wait(2 * sizeof(int), "MPI_Iallreduce", where, [&](std::byte* at, MPI_Request* r) {
          std::memcpy(at, &mine, sizeof mine);
          return nonblocking().allreduce(at, at + sizeof mine, op, r);
        });
    int result = 0;
    std::memcpy(&result, memory.get() + sizeof mine, sizeof result);
    return result;
  }

  /// Runs another collective of MPI, which `start` begins on a communicator.
  using Start = FunctionRef<int(MPI_Comm, MPI_Request*)>;
  [[gnu::cold, gnu::noinline]] void run(const char* call, const char* where, Start start) const {
    const ErrorsReturned guard{comm_, where};
    MPI_Request request = MPI_REQUEST_NULL;
    checked(start(comm_, &request), call, where);
    complete(request, call, where);
  }

  /// Waits for another collective, which has begun.
  [[gnu::cold]] void complete(MPI_Request& request, const char* call, const char* where) const {
    until(
        [&] {
          int done = 0;
          checked(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call, where);
          return done != 0;
        },
        where);
  }

  /// A duplicate of the communicator whose errors are returned and not fatal. Throws mpi_error if
  /// the MPI library has run out of communicators.
  [[gnu::cold]] OwnedComm duplicate(const char* where) const {
    const Memory memory =
        wait(sizeof(MPI_Comm), "MPI_Comm_idup", where, [this](std::byte* at, MPI_Request* r) {
          return nonblocking().duplicate(new (at) MPI_Comm{MPI_COMM_NULL}, r);
        });
    OwnedComm copy =
        OwnedComm::take(*std::launder(reinterpret_cast<const MPI_Comm*>(memory.get())));
    check(MPI_Comm_set_errhandler(copy.get(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", where);
    return copy;
  }

  [[gnu::cold, gnu::noinline]] void until(FunctionRef<bool()> step, const char* where) const {
    if (hooks_ != nullptr) hooks_->doing = where;
    Waiter waiter;
    waiter.yield_took = yield_took_;
    waiter.deadline = deadline_;
    waiter.hooks = hooks_;
    waiter.until(step, Naps::none);
    const bool has_yielded = waiter.yield_took != std::exchange(yield_took_, waiter.yield_took);
    was_preempted_ = was_preempted_ || (has_yielded && waiter.was_preempted());
  }

  [[gnu::cold]] int rank(const char* where) const {
    int r = 0;
    check(MPI_Comm_rank(comm_, &r), "MPI_Comm_rank", where);
    return r;
  }
  [[gnu::cold]] int size(const char* where) const {
    int n = 0;
    check(MPI_Comm_size(comm_, &n), "MPI_Comm_size", where);
    return n;
  }

 private:
  using Memory = Owned<std::byte[]>;

  /// If a peer has just died, MPI may fail to connect to it before the next look for dead peers:
  /// the death is what is reported.
  [[gnu::cold]] void checked(int code, const char* call, const char* where) const {
    if (code != MPI_SUCCESS && hooks_ != nullptr) {
      hooks_->doing = where;
      hooks_->watch();
      hooks_->check();
    }
    check(code, call, where);
  }

  NonblockingCollectives nonblocking() const noexcept { return {comm_, hooks_ == nullptr}; }

  /// Returns the memory that the collective worked in.
  [[gnu::cold, gnu::noinline]] Memory wait(std::size_t bytes, const char* call, const char* where,
                                           FunctionRef<int(std::byte*, MPI_Request*)> start) const {
    const ErrorsReturned guard{comm_, where};
    // Not make_unique, which would write zeros.
    Memory memory{new std::byte[bytes == 0 ? 1 : bytes]};  // NOLINT(modernize-make-unique)
    MPI_Request request = MPI_REQUEST_NULL;
    checked(start(memory.get(), &request), call, where);
    try {
      if (request != MPI_REQUEST_NULL) complete(request, call, where);
    } catch (...) {
      static_cast<void>(memory.release());  // it is MPI's for ever
      throw;
    }
    return memory;
  }

  MPI_Comm comm_;
  std::chrono::nanoseconds deadline_{0};
  WaitHooks* hooks_ = nullptr;
  /// As Waiter's. At first the ranks are assumed to share their processors.
  mutable std::chrono::nanoseconds yield_took_ = 2 * WaitTimes{}.given_away;
  mutable bool was_preempted_ = false;
};

/// Returns the problem of the lowest rank that has one; empty if no rank has. Collective: each rank
/// passes its own problem, or an empty text. Costs one MPI_Iallreduce if all is well.
inline std::string first_problem(const PolledCollectives& all_ranks, std::string_view mine,
                                 const char* where) {
  const int rank = all_ranks.rank(where);
  const int size = all_ranks.size(where);
  const int candidate = mine.empty() ? size : rank;
  const int first = all_ranks.allreduce(candidate, MPI_MIN, where);
  if (first == size) return {};
  std::array<char, 512> text{};
  const std::size_t n = std::min(mine.size(), text.size() - 1);
  if (n != 0) std::memcpy(text.data(), mine.data(), n);
  all_ranks.bcast(text.data(), text.size(), first, where);
  return joined({"rank ", first, ": ", text.data()});
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
