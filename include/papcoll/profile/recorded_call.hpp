#pragma once

#include <papcoll/profile/clock.hpp>
#include <papcoll/profile/messages.hpp>
#include <papcoll/profile/profiled_run.hpp>
#include <papcoll/profile/recorder.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace profile {

/// Persistent collectives by request: what a record of their start says.
class PersistentCalls {
 public:
  struct About {
    MPI_Comm comm;
    MpiCollective collective;
    Message message;
  };

  /// MPI_…_init has made a request.
  void add(MPI_Request request, const About& about) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      calls_[bits_of(request)] = about;
      any_.store(true, std::memory_order_relaxed);
    } catch (...) {  // without memory it is not recorded
    }
  }

  /// A request ends. Another may have the same handle from then on.
  void remove(MPI_Request request) noexcept {
    if (!any_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    calls_.erase(bits_of(request));
  }

  /// Writes to `about` and returns true for a collective's request. Programs without any pay a
  /// load.
  bool find(MPI_Request request, About& about) noexcept {
    // Relaxed: a program starts what it made itself, in the same thread or ordered after it.
    if (!any_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(bits_of(request));
    if (found == calls_.end()) return false;
    about = found->second;
    return true;
  }

 private:
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, About> calls_;  // under the lock
};

/// An object that is never destroyed: threads may be in calls to the very end of the process.
template <class T>
class Everlasting {
 public:
  Everlasting() { new (&bytes_) T; }
  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(&bytes_)); }

 private:
  alignas(T) std::array<std::byte, sizeof(T)> bytes_;
};

/// The profile of this process.
inline ProfiledRun& this_run() noexcept {
  static Everlasting<ProfiledRun> run;
  return *run;
}

/// The persistent collectives of this process.
inline PersistentCalls& persistent_calls() noexcept {
  static Everlasting<PersistentCalls> calls;
  return *calls;
}

/// While it lives, what this thread calls is a recorded call's own.
class Inside {
 public:
  explicit Inside(ThreadState& thread) noexcept : thread_(thread) { thread_.is_inside = true; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { thread_.is_inside = false; }

 private:
  ThreadState& thread_;
};

/// Runs a collective call, `real`, and records it. `caller`: the address that the call returns to.
/// `describe(Describe)` gives its Message.
template <class DescribeCall, class Real>
int recorded(MpiCollective collective, std::uint32_t flags, MPI_Comm comm, const void* caller,
             const DescribeCall& describe, const Real& real) {
  Recorder* const recorder = this_run().recorder();
  ThreadState& thread = this_thread();
  if (recorder == nullptr || thread.is_inside) return real();
  const std::uint64_t arrival = now();
  const std::uint64_t address =
      thread.fortran_site != 0 ? thread.fortran_site : reinterpret_cast<std::uint64_t>(caller);
  const std::uint32_t site = recorder->log().sites().find(address);
  if (site == Sites::of_mpi) return real();
  KnownCommunicator* const known = recorder->communicators().find(comm);
  if (known == nullptr) return real();
  Message message = describe(Describe(*recorder, *known));
  message.flags |= flags;
  const CallLog::Begun begun =
      recorder->log().begin(arrival, site, known->entry, *known->calls, collective, message);
  const int status = [&] {
    const Inside inside(thread);
    return real();
  }();
  recorder->log().end(begun, now());
  return status;
}

/// Runs MPI_…_init, `real`, and keeps in mind what its request will do.
template <class DescribeCall, class Real>
int recorded_init(MpiCollective collective, std::uint32_t flags, MPI_Comm comm,
                  MPI_Request* request, const DescribeCall& describe, const Real& real) {
  Recorder* const recorder = this_run().recorder();
  ThreadState& thread = this_thread();
  if (recorder == nullptr || thread.is_inside) return real();
  KnownCommunicator* const known = recorder->communicators().find(comm);
  if (known == nullptr) return real();
  Message message = describe(Describe(*recorder, *known));
  message.flags |= flags;
  const int status = [&] {
    const Inside inside(thread);
    return real();
  }();
  if (status == MPI_SUCCESS) persistent_calls().add(*request, {comm, collective, message});
  return status;
}

/// Runs MPI_Start or MPI_Startall of n requests, `real`, and records the collectives among them.
template <class Real>
int recorded_start(int n, const MPI_Request* requests, const void* caller, const Real& real) {
  // Each is recorded around those after it, and the last around the call itself.
  for (int i = 0; i < n; ++i) {
    PersistentCalls::About about;
    if (!persistent_calls().find(requests[i], about)) continue;
    return recorded(
        about.collective, 0, about.comm, caller, [&](const Describe&) { return about.message; },
        [&] {
          this_thread().is_inside = false;
          return recorded_start(n - i - 1, requests + i + 1, caller, real);
        });
  }
  return real();
}

/// A communicator was made, if the call that makes one has succeeded.
inline void made(const MPI_Comm* there, int status) noexcept {
  Recorder* const recorder = this_run().recorder();
  if (recorder == nullptr || status != MPI_SUCCESS || *there == MPI_COMM_NULL) return;
  // What a tool made on the way was seen there.
  recorder->communicators().find(*there);
}

}  // namespace profile
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
