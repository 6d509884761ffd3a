// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/waiting/liveness.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/setup/machine_of_ranks.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/process_failures.hpp>
#include <papcoll/transport/shm/node_segments.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/types.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// True once stay_loaded() was called in this shared object. Hidden, so that each object has its
/// own. Relaxed: nothing depends on it, and calling twice does no harm.
[[gnu::visibility("hidden")]] inline std::atomic<bool> stays_loaded{false};

/// Keeps the object whose code this is, such as a plug-in, loaded until the process ends. For
/// functions that are given to MPI: it calls them in MPI_Comm_free and MPI_Finalize.
[[gnu::visibility("hidden")]] inline void stay_loaded() noexcept {
  if (stays_loaded.exchange(true, std::memory_order_relaxed)) return;
  Dl_info found{};
  void* map = nullptr;
  // Nobody unloads the program itself, whose name is empty, nor what the loader does not know.
  if (dladdr1(&stays_loaded, &found, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return;
  const char* const name = static_cast<const link_map*>(map)->l_name;
  if (*name == '\0') return;
  // The handle is never closed. If there is none, the object only has to be kept by who loaded it.
  static_cast<void>(dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

/// What ranks that have made a communicator, with these Options, know of each other, and what they
/// share on their node: enough to make another one of the same ranks in the same order.
struct RankSetInfo {
  std::vector<int> world_ranks;  ///< the communicator's, in its order, in MPI_COMM_WORLD
  Options options;
  NodeRanks here;
  MachineOfRanks where;
  std::string files;  ///< see selection_texts.hpp
  Shared<NodeSegmentPool> share;
  NodeSegmentPool::AreaRequest area;  ///< what a communicator has there
  Vector<pid_t> copies_from;          ///< see probe_copies()
  std::string why_no_cma;             ///< see probe_copies()
  Shared<CopyChoice> copies;          ///< how this rank copies for others
  /// A buffer may be from any of their arenas, which are one.
  Shared<BufferWatch> watch = detail::make_shared<BufferWatch>();

  bool are(const std::vector<int>& ranks, const Options& wanted) const {
    return world_ranks == ranks && options == wanted;
  }

  /// Returns a number equal on all ranks; it differs if they share something else or run on other
  /// processors.
  std::uint64_t id() const noexcept { return share->segment().id() ^ where.id; }
};

/// The RankSetInfos of a process: those that communicators have, and the four that were wanted
/// last, each with a descriptor, since programs make and free communicators of the same ranks again
/// and again. Thread-safe.
class RankSetCache {
 public:
  /// `world_ranks`: the communicator's, in its order. Null: none.
  [[gnu::cold]] Shared<RankSetInfo> find(const std::vector<int>& world_ranks,
                                         const Options& options) {
    const std::lock_guard lock{mutex_};
    for (Shared<RankSetInfo>* entry = all_.begin(); entry != all_.end(); ++entry) {
      if (!(*entry)->are(world_ranks, options)) continue;
      std::rotate(entry, entry + 1, all_.end());
      return all_.back();
    }
    return nullptr;
  }

  /// Instead of what was kept for the same ranks and Options, if anything.
  [[gnu::cold]] void keep(const Shared<RankSetInfo>& known) {
    const std::lock_guard lock{mutex_};
    all_.erase_if([&](const auto& one) { return one->are(known->world_ranks, known->options); });
    all_.push_back(known);
    drop(4);
  }

  /// Drops those that no communicator has, but for the last `most`.
  [[gnu::cold]] void forget(std::size_t most = 0) noexcept {
    const std::lock_guard lock{mutex_};
    drop(most);
  }
  /// A communicator does not have its own any more.
  [[gnu::cold]] void give_back(Shared<RankSetInfo>& known) noexcept {
    known = nullptr;
    forget(4);
  }

  /// MPI ends.
  [[gnu::cold]] void clear() noexcept {
    const std::lock_guard lock{mutex_};
    all_.clear();
  }

 private:
  void drop(std::size_t most) noexcept {
    std::size_t left = all_.size();
    all_.erase_if([&](const auto& one) { return left-- > most && one.is_only(); });
  }

  std::mutex mutex_;
  Vector<Shared<RankSetInfo>> all_;  ///< the one wanted last is the last
};

/// State that papcoll attaches to an MPI communicator and that ends with it.
class Attached : Pinned {
 public:
  virtual ~Attached() = default;

  /// The MPI communicator, or MPI itself, is about to go: last chance for MPI calls. Never waits
  /// for peers; may be called more than once.
  virtual void close() noexcept = 0;

  /// Returns true if an object of the user's that does not keep it alive refers to it.
  virtual bool in_use() const noexcept { return false; }
};

/// The attribute keys under which papcoll finds its state: the library's only global variable. One
/// is for the state of communicators, one for why a communicator has none because making it failed,
/// and one for the state of the process, since MPI_COMM_SELF has both.
class Keyvals {
 public:
  [[gnu::cold]] static const Keyvals& get() {
    static const Keyvals keyvals;
    return keyvals;
  }

  int comm = MPI_KEYVAL_INVALID;
  int failure = MPI_KEYVAL_INVALID;
  int process = MPI_KEYVAL_INVALID;
  mutable std::mutex making_process;  ///< held across calls of MPI on MPI_COMM_SELF only

 private:
  [[gnu::cold]] Keyvals() {
    for (int* key : {&comm, &failure, &process}) {
      check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Keyvals::on_delete, key, nullptr),
            "MPI_Comm_create_keyval", "papcoll's first use in this process");
    }
  }

  static int on_delete(MPI_Comm, int, void* value, void*) {
    Owned<Shared<Attached>> holder{static_cast<Shared<Attached>*>(value)};
    (*holder)->close();
    // A request of a communicator that is freed too early still asks it: it is kept for ever.
    if ((*holder)->in_use()) static_cast<void>(holder.release());
    return MPI_SUCCESS;
  }
};

inline Shared<Attached> find_attached(MPI_Comm comm, int key) {
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, key, &value, &found), "MPI_Comm_get_attr",
        "papcoll's look-up of a communicator");
  return found != 0 ? *static_cast<Shared<Attached>*>(value) : nullptr;
}

[[gnu::cold]] inline void attach(MPI_Comm comm, int key, Owned<Shared<Attached>> holder) {
  // MPI calls what this leads to at a time when a plug-in may have been closed.
  stay_loaded();
  check(MPI_Comm_set_attr(comm, key, holder.get()), "MPI_Comm_set_attr",
        "papcoll's set-up of a communicator");
  static_cast<void>(holder.release());
}

[[gnu::cold]] inline void attach(MPI_Comm comm, int key, Shared<Attached> state) {
  attach(comm, key, make_owned<Shared<Attached>>(std::move(state)));
}

/// What papcoll keeps for the process, as an attribute of MPI_COMM_SELF, whose attributes are the
/// first that MPI_Finalize deletes: at that moment everything of papcoll that still uses MPI ends.
class MpiProcess final : public Attached, public WaitHooks {
  using Clock = std::chrono::steady_clock;

 public:
  [[gnu::cold]] static Shared<MpiProcess> get() {
    const std::lock_guard lock{Keyvals::get().making_process};
    if (auto state = find_attached(MPI_COMM_SELF, Keyvals::get().process)) {
      return static_shared_cast<MpiProcess>(std::move(state));
    }
    auto state = detail::make_shared<MpiProcess>();
    attach(MPI_COMM_SELF, Keyvals::get().process, state);
    return state;
  }

  [[gnu::cold]] MpiProcess() {
    const auto query = [](void*, MPI_Status*) -> int { return MPI_SUCCESS; };
    const auto free = [](void*) -> int { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
    detail::check(MPI_Grequest_start(query, free, cancel, nullptr, &never_), "MPI_Grequest_start",
                  "papcoll's first use in this process");
  }

  /// Lets MPI move messages along, by asking after a request that is never complete; threads may
  /// ask at once. A probe will not do: where it can match it returns at once when something is
  /// queued, and MPI_PROC_NULL, or under MPICH a communicator of one rank, moves nothing.
  void poke_mpi() const {
    int complete = 0;
    detail::check(MPI_Request_get_status(never_, &complete, MPI_STATUS_IGNORE),
                  "MPI_Request_get_status", "papcoll's wait");
  }

  /// Returns what communicators of the same ranks share.
  RankSetCache& known_ranks() noexcept { return known_ranks_; }

  /// Makes room for one more add() by each thread that has called it.
  [[gnu::cold]] void make_room() {
    const std::lock_guard lock{mutex_};
    open_.erase_if([](const Weak<Attached>& w) { return w.expired(); });
    ++making_;
    if (open_.capacity() < open_.size() + making_) open_.reserve(2 * open_.size() + making_);
  }

  /// Adds a state that is to be closed when MPI ends.
  [[gnu::cold]] void add(const Shared<Attached>& state) {
    const std::lock_guard lock{mutex_};
    if (making_ != 0) --making_;
    open_.push_back(state);
  }

  const ProcessId& id() const noexcept { return id_; }
  const ProcessFailures& failures() const noexcept { return failures_; }

  /// Records that a program that computes had the processor for a time slice while a communicator
  /// was made.
  void record_preemption() noexcept {
    lost_slice_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// Within the last second: it is likely to be still there.
  bool was_preempted_lately() const noexcept {
    const Clock::rep lost = lost_slice_.load(std::memory_order_relaxed);
    if (lost == 0) return false;
    return Clock::now() < Clock::time_point{Clock::duration{lost}} + std::chrono::seconds{1};
  }

  /// Keeps which process a rank of MPI_COMM_WORLD is, if it is one (and not MPI_UNDEFINED).
  [[gnu::cold]] void keep_process(int world_rank, const ProcessId& id) {
    if (world_rank < 0 || !id_.sees(id)) return;
    const std::lock_guard lock{mutex_};
    const auto at = static_cast<std::size_t>(world_rank);
    if (at >= processes_.size()) processes_.resize(at + 1);
    processes_[at] = id;
  }

  /// Returns the process of a rank, if it is known to this one and can be watched.
  [[gnu::cold]] ProcessId process_of(int world_rank) {
    const std::lock_guard lock{mutex_};
    const auto at = static_cast<std::size_t>(world_rank);
    return world_rank >= 0 && at < processes_.size() ? processes_[at] : ProcessId{};
  }

  /// Says that from now on this thread's waits, on whatever communicator, also move the team's
  /// requests; or no longer.
  void set_outstanding(TeamCore* core, bool any) {
    const std::lock_guard lock{mutex_};
    if (any) {
      busy_.push_back({core, pthread_self()});
    } else {
      busy_.erase_if([core](const Busy& b) { return b.core == core; });
    }
  }

  /// Returns true if requests are in flight on teams other than `core`.
  bool is_busy(const TeamCore* core) {
    const std::lock_guard lock{mutex_};
    for (const Busy& b : busy_) {
      if (b.core != core) return true;
    }
    return false;
  }

  /// Moves this thread's requests on all teams but `waiting`.
  void progress_others(const TeamCore* waiting) {
    Vector<TeamCore*> mine;
    {
      const std::lock_guard lock{mutex_};
      for (const Busy& b : busy_) {
        if (b.core != waiting && pthread_equal(b.thread, pthread_self()) != 0)
          mine.push_back(b.core);
      }
    }
    for (TeamCore* core : mine) {
      try {
        core->progress();
      } catch (const error& problem) {
        core->mark_broken(problem.what());  // its own wait will say so
      }
    }
  }

  /// Called while a thread waits in what belongs to no team.
  void make_progress(bool /*mpi_alone*/) override { progress_others(nullptr); }

  [[gnu::cold]] void close() noexcept override {
    Vector<Weak<Attached>> open;
    {
      const std::lock_guard lock{mutex_};
      open.swap(open_);
    }
    for (auto& w : open) {
      if (auto state = w.lock()) state->close();
    }
    known_ranks_.clear();
    if (never_ == MPI_REQUEST_NULL) return;
    MPI_Grequest_complete(never_);
    MPI_Request_free(&never_);
  }

 private:
  struct Busy {
    TeamCore* core;
    pthread_t thread;
  };

  MPI_Request never_ = MPI_REQUEST_NULL;
  std::mutex mutex_;  ///< of the lists; never held across a call of MPI
  Vector<Weak<Attached>> open_;
  std::size_t making_ = 0;  ///< communicators that may be added
  Vector<Busy> busy_;
  /// When any thread last did; 0: never. Relaxed: how a wait begins depends on it, nothing else.
  std::atomic<Clock::rep> lost_slice_{0};
  ProcessId id_ = own_process();
  const ProcessFailures failures_;
  RankSetCache known_ranks_;
  Vector<ProcessId> processes_;  ///< by their ranks in MPI_COMM_WORLD, as far as known
};

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_outside_mpi() {
  int begun = 0;
  MPI_Initialized(&begun);
  throw argument_error(begun == 0 ? "papcoll: a collective or a Communicator before MPI_Init: call "
                                    "MPI_Init first"
                                  : "papcoll: a collective or a Communicator after MPI_Finalize");
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_null() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  throw argument_error(
      joined({"papcoll: a collective or a Communicator on MPI_COMM_NULL, on rank ", rank,
              " of MPI_COMM_WORLD: ranks outside a group must not call its collectives"}));
}

/// Throws argument_error unless MPI is in use and `comm` is an intra-communicator.
inline void require_usable_by_papcoll(MPI_Comm comm) {
  if (!mpi_is_usable()) refuse_outside_mpi();
  if (comm == MPI_COMM_NULL) refuse_null();
  int inter = 0;
  check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter", "a papcoll call");
  if (inter != 0) {
    throw argument_error(
        "papcoll: inter-communicators are not served: merge it with MPI_Intercomm_merge first");
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
