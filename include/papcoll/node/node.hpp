// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

/// A copy from the memory of a rank of the node that did not work: ESRCH if the rank has died.
struct failed_copy : system_error {
  failed_copy(int rank_, int number_)
      : system_error(detail::joined({"papcoll: cannot copy from the memory of rank ", rank_}),
                     number_),
        rank(rank_) {}
  int rank;
};

/// Where a buffer is, in words that mean the same to every rank of a node.
struct BufferPlace {
  std::uint64_t at = 0;      ///< mapped: bytes into the node's memory; else an address of its owner
  std::uint32_t mapped = 0;  ///< all ranks of the node see it
};

/// The buffers of a rank's call, as its peers see them. A buffer that it does not have has no
/// bytes.
struct BufferDescriptor {
  BufferPlace in;
  BufferPlace out;
};

/// How a rank gets at the buffers of its peers: memory that all of them map is read and written
/// where it is; any other is copied by the kernel (cross-memory attach), if that is permitted.
/// Copies are only ever pulled: a copy pushed by a late rank could land in memory that its owner
/// has freed.
class PeerMemory {
 public:
  /// Threads: all memory is everyone's.
  PeerMemory() = default;

  /// Processes that map [base, base + bytes) alike. `pids` of the node's ranks if each may copy
  /// from each, else empty. `prefers_pulls`: that comes before staged chunks.
  PeerMemory(std::byte* base, std::size_t bytes, detail::Vector<pid_t> pids,
             bool prefers_pulls = false)
      : base_(base), bytes_(bytes), pids_(std::move(pids)), prefers_pulls_(prefers_pulls) {}

  /// The access to some of the node's ranks, whose new numbers are their indices in `ranks`.
  PeerMemory among(const std::vector<std::size_t>& ranks) const {
    PeerMemory some{*this};
    some.pids_.clear();
    for (const std::size_t r : ranks) {
      if (pulls()) some.pids_.push_back(pids_[r]);
    }
    return some;
  }

  /// Returns true if there is memory that the node's processes read and write in place.
  bool maps() const noexcept { return bytes_ != 0; }
  /// Returns true if private memory of the other processes can be copied (cross-memory attach).
  bool pulls() const noexcept { return !pids_.empty(); }
  /// Returns true if such copies are preferred to staging in chunks where both are possible.
  bool prefers_pulls() const noexcept { return pulls() && prefers_pulls_; }
  /// Returns true if all ranks share one address space.
  bool is_common() const noexcept { return base_ == nullptr; }

  /// A buffer of this rank. One that is only partly in the node's memory counts as private.
  BufferPlace place(const void* buffer, std::size_t n) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(buffer);
    const auto begin = reinterpret_cast<std::uintptr_t>(base_);
    if (address < begin || n > bytes_ || address - begin > bytes_ - n) return {address, 0};
    return {address - begin, 1};
  }

  /// A mapped buffer of any rank, as this rank sees it.
  std::byte* see(const BufferPlace& p) const noexcept {
    // The addresses of threads come back whole: they are counted from 0.
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(base_) + p.at;
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  /// Copies from a private buffer of rank r. Throws failed_copy.
  void pull(void* to, int r, std::uint64_t from, std::size_t n) const {
    auto* out = static_cast<std::byte*>(to);
    while (n != 0) {
      const iovec local{out, n};
      const iovec remote{reinterpret_cast<void*>(from), n};  // NOLINT(performance-no-int-to-ptr)
      const ssize_t copied =
          process_vm_readv(pids_[static_cast<std::size_t>(r)], &local, 1, &remote, 1, 0);
      if (copied <= 0) throw failed_copy(r, copied == 0 ? EFAULT : errno);
      out += copied;
      from += static_cast<std::uint64_t>(copied);
      n -= static_cast<std::size_t>(copied);
    }
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = SIZE_MAX;
  detail::Vector<pid_t> pids_;
  bool prefers_pulls_ = false;
};

namespace detail {
class ArenaHeap;
class TakenPools;
}  // namespace detail

/// Bytes of a Mailbox (gpu/transport/mailbox.hpp), which this room does not know.
inline constexpr std::size_t device_mailbox_bytes = 1600;

/// Memory that ranks of a node share and whose pages do not come by themselves.
class NodePages : Pinned {
 public:
  virtual ~NodePages() = default;

  /// Makes sure that there are pages behind [at, at + bytes) before the first touch, so that a full
  /// /dev/shm is an exception and not a SIGBUS. Throws system_error.
  virtual void reserve(const std::byte* at, std::size_t bytes) const = 0;
  /// Maps [at, at + bytes), whole pages that are reserved, once more, and returns where. Whoever
  /// asks unmaps it. Throws system_error. There if there are arenas, as what follows.
  virtual std::byte* map_again(const std::byte*, std::size_t) const { return nullptr; }
  /// `broken`: the word of a control block in this memory that is not 0 once it is broken.
  virtual void watch(const std::atomic<std::uint32_t>& /*broken*/) {}
  /// Returns true if a team that has the same arenas is broken, and not all of its ranks have left
  /// it. May be called by several threads at once.
  virtual bool any_broken() noexcept { return false; }
};

/// What the ranks of one node share, as one of them sees it: memory that begins as zeros, mapped by
/// processes or common to threads.
struct Node {
  int rank = 0;
  int size = 1;
  std::byte* bells = nullptr;
  std::byte* control = nullptr;       ///< the epoch slots of arrival-driven algorithms: the words,
  std::byte* buffers = nullptr;       ///< and the chunk buffers
  std::byte* channels = nullptr;      ///< the mailboxes of static schedules
  std::byte* ticket_words = nullptr;  ///< SharedWords
  std::byte* device_mailboxes =
      nullptr;  ///< of messages between devices: device_mailbox_bytes for each pair of ranks
  /// The memory through which the bytes of those messages go if devices cannot reach each other:
  /// device_staging_ring_bytes() bytes for each pair of ranks.
  std::byte* device_staging_rings = nullptr;

  detail::Shared<NodePages> pages{};  ///< keeps all this memory mapped; null: it needs nothing
  PeerMemory peers{};
  /// The groups of ranks that are near each other, see CallContext. Equal on all ranks of the node
  /// from their first call on; the bits of results may depend on them.
  detail::Shared<const Groups> groups{};
  /// How this rank copies to memory that the others read.
  detail::Shared<detail::CopyChoice> copies = detail::make_shared<detail::CopyChoice>();
  std::byte* peer_probe = nullptr;  ///< PeerProbe's; null: there is none
  // This rank's part of the arena: first what the library has for itself, then its user's.
  std::byte* pool = nullptr;
  std::size_t pool_bytes = 0;
  /// Set if other teams of these ranks have pools there, too: allocates memory in that range, which
  /// stays until it is returned or all ranks have left the team. Null: the range is this team's.
  detail::TakenPools* taken_pools = nullptr;
  detail::ArenaHeap* arena = nullptr;  ///< valid as long as `pages`; null: there is none

  /// See NodePages::reserve().
  void reserve(const std::byte* at, std::size_t bytes) const {
    if (pages != nullptr) pages->reserve(at, bytes);
  }

  /// The library's share of a rank's part of the arena.
  static constexpr std::size_t pool_of(std::size_t bytes_a_rank) noexcept {
    return bytes_a_rank / 4;
  }

  /// Pools only, one after the other at `pools`.
  void set_pool(std::byte* pools, std::size_t bytes_a_rank) noexcept {
    pool = pools + static_cast<std::size_t>(rank) * bytes_a_rank;
    pool_bytes = bytes_a_rank;
  }
};

namespace detail {

/// The bytes of a page of memory.
inline std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

inline std::size_t page_aligned(std::size_t bytes) noexcept {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

/// Bytes of the staging ring from one rank of a node to another, through which their devices'
/// messages go (gpu/transport/host_staged_part.hpp): whole pages. The more ranks, the fewer, so
/// that those from one rank take 24 to 48 MB, of which pages are made for what is used.
inline std::size_t device_staging_ring_bytes(int ranks) noexcept {
  const std::size_t all = std::size_t{24} << 20U;
  const std::size_t each = all / std::bit_ceil(static_cast<std::size_t>(ranks));
  return page_bytes() + page_aligned(std::max(each, std::size_t{1}));
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
