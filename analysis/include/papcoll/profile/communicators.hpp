// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/profile/clock.hpp>
#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/rank_file.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// What the recorder knows of a communicator of this rank; lives as an attribute of it.
struct KnownCommunicator {
  MPI_Comm handle = MPI_COMM_NULL;
  std::uint32_t entry = no_entry;  ///< of the table of communicators
  std::uint64_t members = 0;       ///< hash of its members
  std::uint64_t identity = 0;      ///< the same on all of its members, and on no other communicator
  int rank = 0;                    ///< of this process in its group
  int size = 0;                    ///< of its group
  int peers = 0;                   ///< ranks that a collective call exchanges data with
  int neighbours = -1;             ///< to which neighbourhood collectives send; −1: not asked yet
  bool inter = false;
  std::uint64_t own_calls = 0;     ///< counts where the table was full
  std::uint64_t* calls = nullptr;  ///< CommunicatorEntry::calls, or own_calls
};

/// What a communicator was made of: distinguishes it from others with the same members. All members
/// make the communicators of one parent (with one tag) in the same order.
struct Origin {
  std::uint64_t parent = 0;  ///< identity, or 0: not known, or not the same on all members
  int tag = 0;               ///< where only the members call, or groups meet
};

/// Communicators by handle. The members of one agree on its identity without a message: a hash of
/// their world ranks in order and of its origin, and how many with the same hash this rank had
/// before.
class Communicators : Pinned {
 public:
  Communicators(RankFile& file, const MpiCalls& mpi) : file_(file), mpi_(mpi) {
    check_mpi(mpi_.Comm_create_keyval(&not_copied, &freed, &keyval_, this),
              "MPI_Comm_create_keyval");
    check_mpi(mpi_.Comm_group(MPI_COMM_WORLD, &world_), "MPI_Comm_group");
  }

  /// Gives what MPI holds back to it, at MPI_Finalize; nothing is noted any more.
  void end() noexcept {
    if (world_ != MPI_GROUP_NULL) mpi_.Group_free(&world_);
    if (keyval_ != MPI_KEYVAL_INVALID) mpi_.Comm_free_keyval(&keyval_);
  }

  /// Returns what is known of a communicator, or null for one that MPI knows nothing of. 3 ns for
  /// the same as in this thread's call before.
  KnownCommunicator* find(MPI_Comm comm) noexcept {
    struct Last {
      const Communicators* owner;
      MPI_Comm comm;
      KnownCommunicator* known;
      std::uint64_t generation;
    };
    static thread_local Last last{nullptr, MPI_COMM_NULL, nullptr, 0};
    // Acquire: a handle that was freed may stand for another communicator since. Frees are ordered
    // before calls on the new one by the program.
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    if (last.owner == this && last.comm == comm && last.generation == generation) {
      return last.known;
    }
    if (comm == MPI_COMM_NULL) return nullptr;
    void* value = nullptr;
    int is_there = 0;
    if (mpi_.Comm_get_attr(comm, keyval_, &value, &is_there) != MPI_SUCCESS) return nullptr;
    auto* const known = is_there != 0 ? static_cast<KnownCommunicator*>(value) : note(comm);
    if (known != nullptr) last = {this, comm, known, generation};
    return known;
  }

  /// Returns true if the communicator was recorded.
  bool is_known(MPI_Comm comm) const noexcept {
    void* value = nullptr;
    int is_there = 0;
    return mpi_.Comm_get_attr(comm, keyval_, &value, &is_there) == MPI_SUCCESS && is_there != 0;
  }

  /// Notes a communicator that was made just now. Null if memory or attributes are exhausted.
  KnownCommunicator* note(MPI_Comm comm, const Origin& origin = {}) noexcept {
    try {
      return added(comm, origin);
    } catch (...) {
      return nullptr;
    }
  }

  /// A duplicate of `parent` is being made, which has no attributes before that is complete: draws
  /// its identity now, since its first use may come in another order on each rank.
  void expect(MPI_Comm comm, const KnownCommunicator& parent) noexcept {
    try {
      const Origin origin{parent.identity, 0};
      const std::lock_guard lock(adding_);
      expected_[handle_bits(comm)] = drawn(hash_with(parent.members, origin));
    } catch (...) {  // NOLINT(bugprone-empty-catch): without memory it is noted at its first use
    }
  }

 private:
  static int not_copied(MPI_Comm, int, void*, void*, void*, int* is_copied) noexcept {
    *is_copied = 0;
    return MPI_SUCCESS;
  }

  // May run after MPI_Finalize has begun: it calls nothing of MPI.
  static int freed(MPI_Comm, int, void* value, void* self) noexcept {
    auto& communicators = *static_cast<Communicators*>(self);
    auto* const known = static_cast<KnownCommunicator*>(value);
    communicators.generation_.fetch_add(1, std::memory_order_acq_rel);
    if (known->entry != no_entry) {
      std::atomic_ref(communicators.file_.communicators()[known->entry].flags)
          .fetch_or(communicator_freed, std::memory_order_relaxed);
    }
    // Persistent requests may outlive it, and they count there where the table was full.
    if (known->calls != &known->own_calls) delete known;
    return MPI_SUCCESS;
  }

  struct Members {
    std::vector<int> world_ranks;
    int lowest = 0;  // MPI_UNDEFINED if one of them is of another world
    bool foreign = false;
  };

  Members members_of(MPI_Group group) const {
    int size = 0;
    check_mpi(mpi_.Group_size(group, &size), "MPI_Group_size");
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    Members m;
    m.world_ranks.resize(ranks.size());
    check_mpi(mpi_.Group_translate_ranks(group, size, ranks.data(), world_, m.world_ranks.data()),
              "MPI_Group_translate_ranks");
    for (int& r : m.world_ranks) {
      if (r == MPI_UNDEFINED) {
        r = -1;
        m.foreign = true;
      }
    }
    m.lowest = size == 0 ? 0 : *std::min_element(m.world_ranks.begin(), m.world_ranks.end());
    return m;
  }

  KnownCommunicator* added(MPI_Comm comm, const Origin& origin) {
    auto known = std::make_unique<KnownCommunicator>();
    known->handle = comm;
    known->calls = &known->own_calls;
    int is_inter = 0;
    check_mpi(mpi_.Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
    check_mpi(mpi_.Comm_rank(comm, &known->rank), "MPI_Comm_rank");
    known->inter = is_inter != 0;
    MPI_Group group = MPI_GROUP_NULL;
    check_mpi(mpi_.Comm_group(comm, &group), "MPI_Comm_group");
    Members all = members_of(group);
    mpi_.Group_free(&group);
    known->size = static_cast<int>(all.world_ranks.size());
    known->peers = known->size;
    int position = known->rank;
    if (known->inter) {
      check_mpi(mpi_.Comm_remote_group(comm, &group), "MPI_Comm_remote_group");
      Members remote = members_of(group);
      mpi_.Group_free(&group);
      known->peers = static_cast<int>(remote.world_ranks.size());
      // Both sides count in the same order.
      if (remote.lowest < all.lowest) {
        position += known->peers;
        std::swap(all, remote);
      }
      all.world_ranks.insert(all.world_ranks.end(), remote.world_ranks.begin(),
                             remote.world_ranks.end());
      all.foreign = all.foreign || remote.foreign;
    }
    known->members = hash_of(all.world_ranks.data(), all.world_ranks.size() * sizeof(int),
                             hash_of(&is_inter, sizeof is_inter));
    enter(comm, *known, all, origin, position);
    check_mpi(mpi_.Comm_set_attr(comm, keyval_, known.get()), "MPI_Comm_set_attr");
    return known.release();
  }

  struct Identity {
    std::uint64_t hash = 0;
    std::uint32_t ordinal = 0;
  };

  static std::uint64_t handle_bits(MPI_Comm comm) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &comm,
                sizeof(MPI_Comm));  // NOLINT(bugprone-sizeof-expression): or a pointer
    return bits;
  }

  static std::uint64_t hash_with(std::uint64_t members, const Origin& origin) noexcept {
    const std::array<std::uint64_t, 2> parts{origin.parent, static_cast<std::uint64_t>(origin.tag)};
    return hash_of(parts.data(), sizeof parts, members);
  }

  // Under the lock.
  Identity drawn(std::uint64_t hash) { return {hash, had_[hash]++}; }

  Identity identity_of(MPI_Comm comm, const KnownCommunicator& known, const Origin& origin) {
    const auto expected = expected_.find(handle_bits(comm));
    if (expected == expected_.end()) return drawn(hash_with(known.members, origin));
    const Identity found = expected->second;
    expected_.erase(expected);
    return found;
  }

  void enter(MPI_Comm comm, KnownCommunicator& known, const Members& all, const Origin& origin,
             int position) {
    const std::lock_guard lock(adding_);
    const Identity identity = identity_of(comm, known, origin);
    known.identity = hash_of(&identity.ordinal, sizeof identity.ordinal, identity.hash);
    FileHeader& h = file_.header();
    const std::uint64_t n = h.communicators_used;
    if (n >= h.communicators) {
      std::atomic_ref(h.communicators_lost).fetch_add(1, std::memory_order_relaxed);
      return;
    }
    CommunicatorEntry& entry = file_.communicators()[n];
    entry.members_hash = identity.hash;
    entry.ordinal = identity.ordinal;
    entry.rank = position;
    entry.size = static_cast<std::int32_t>(all.world_ranks.size());
    entry.flags = (known.inter ? std::uint32_t{communicator_inter} : 0U) |
                  (all.foreign ? std::uint32_t{communicator_foreign} : 0U);
    std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
    int length = 0;
    if (mpi_.Comm_get_name(comm, name.data(), &length) == MPI_SUCCESS) {
      std::copy_n(name.data(), entry.name.size() - 1, entry.name.data());
    }
    known.entry = static_cast<std::uint32_t>(n);
    known.calls = &entry.calls;
    // Release: a reader of the counter sees the entry.
    std::atomic_ref(h.communicators_used).store(n + 1, std::memory_order_release);
  }

  RankFile& file_;
  const MpiCalls& mpi_;
  int keyval_ = MPI_KEYVAL_INVALID;
  MPI_Group world_ = MPI_GROUP_NULL;
  // Changes whenever a communicator is freed, so that no handle is taken for one that is gone.
  std::atomic<std::uint64_t> generation_{1};
  std::mutex adding_;
  // Under the lock:
  std::unordered_map<std::uint64_t, std::uint32_t> had_;
  std::unordered_map<std::uint64_t, Identity> expected_;  // by handle
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
