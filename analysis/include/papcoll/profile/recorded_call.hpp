// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
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

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// Persistent collectives by request: what a record of their start says.
class PersistentCalls {
 public:
  struct About {
    std::uint32_t entry = no_entry;  ///< of the table of communicators
    std::uint64_t* calls = nullptr;  ///< on it
    MpiCollective collective{};
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
template <class T> class Everlasting {
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

/// While it lives, what this thread calls from deeper frames is a recorded call's own. An error
/// handler that leaves the call by longjmp leaves a frame behind that counts no more for callers
/// above it.
class Inside : Pinned {
 public:
  explicit Inside(ThreadState& thread) noexcept : thread_(thread), outer_(thread.inside) {
    thread_.inside = here();
  }
  ~Inside() { thread_.inside = outer_; }

  /// Returns true if this thread is inside a recorded call. Stacks grow downwards.
  static bool is(const ThreadState& thread) noexcept {
    return thread.inside != 0 && here() < thread.inside;
  }

 private:
  static std::uint64_t here() noexcept {
    return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  }
  ThreadState& thread_;
  const std::uint64_t outer_;
};

/// The place that a call comes from: where Fortran called, or the caller.
inline std::uint64_t caller_of(const ThreadState& thread, const void* caller) noexcept {
  const bool is_fortran =
      thread.fortran_site != 0 &&
      reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) < thread.fortran_frame;
  return is_fortran ? thread.fortran_site : reinterpret_cast<std::uint64_t>(caller);
}

/// Runs a collective call, `real`, and records it. `caller`: the address that the call returns to.
/// `describe(Describe)` gives its Message.
template <class DescribeCall, class Real>
int recorded(MpiCollective collective, std::uint32_t flags, MPI_Comm comm, const void* caller,
             const DescribeCall& describe, const Real& real) {
  Recorder* const recorder = this_run().recorder();
  ThreadState& thread = this_thread();
  if (recorder == nullptr) this_run().call_missed();
  if (recorder == nullptr || Inside::is(thread)) return real();
  const std::uint64_t arrival = now();
  const std::uint32_t site = recorder->log().sites().find(caller_of(thread, caller));
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
  if (recorder == nullptr || Inside::is(thread)) return real();
  KnownCommunicator* const known = recorder->communicators().find(comm);
  if (known == nullptr) return real();
  Message message = describe(Describe(*recorder, *known));
  message.flags |= flags;
  const int status = [&] {
    const Inside inside(thread);
    return real();
  }();
  if (status == MPI_SUCCESS) {
    persistent_calls().add(*request, {known->entry, known->calls, collective, message});
  }
  return status;
}

/// Runs MPI_Start or MPI_Startall of n requests, `real`, and records the collectives among them.
template <class Real>
int recorded_start(int n, const MPI_Request* requests, const void* caller, const Real& real) {
  Recorder* const recorder = this_run().recorder();
  ThreadState& thread = this_thread();
  if (recorder == nullptr || requests == nullptr || Inside::is(thread)) return real();
  // Each is recorded around those after it, and the last around the call itself.
  for (int i = 0; i < n; ++i) {
    PersistentCalls::About about;
    if (!persistent_calls().find(requests[i], about)) continue;
    const std::uint64_t arrival = now();
    const std::uint32_t site = recorder->log().sites().find(caller_of(thread, caller));
    if (site == Sites::of_mpi) return real();
    const CallLog::Begun begun = recorder->log().begin(arrival, site, about.entry, *about.calls,
                                                       about.collective, about.message);
    const int status = recorded_start(n - i - 1, requests + i + 1, caller, real);
    recorder->log().end(begun, now());
    return status;
  }
  const Inside inside(thread);
  return real();
}

/// MPI_Pcontrol: 0 pauses recording and 1 resumes it; other levels have no effect.
inline void controlled(int level) noexcept {
  Recorder* const recorder = this_run().recorder();
  if (recorder != nullptr && (level == 0 || level == 1)) recorder->log().pause(level == 0);
}

/// A communicator was made of `parent`, if the call that makes one has succeeded.
inline void made(const MPI_Comm* there, int status, MPI_Comm parent, int tag) noexcept {
  Recorder* const recorder = this_run().recorder();
  if (recorder == nullptr || status != MPI_SUCCESS || *there == MPI_COMM_NULL) return;
  Communicators& all = recorder->communicators();
  if (all.is_known(*there)) return;  // by a tool that made it on the way
  const KnownCommunicator* const of = parent == MPI_COMM_NULL ? nullptr : all.find(parent);
  all.note(*there, {of == nullptr ? 0 : of->identity, tag});
}

/// MPI_Comm_idup has begun to make a duplicate of `parent`.
inline void being_made(const MPI_Comm* there, int status, MPI_Comm parent) noexcept {
  Recorder* const recorder = this_run().recorder();
  if (recorder == nullptr || status != MPI_SUCCESS || *there == MPI_COMM_NULL) return;
  const KnownCommunicator* const of = recorder->communicators().find(parent);
  if (of != nullptr) recorder->communicators().expect(*there, *of);
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
