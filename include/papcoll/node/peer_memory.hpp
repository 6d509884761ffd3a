#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <sys/uio.h>

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

/// The buffers of a rank's call, as it tells them to its peers. One that it does not have is of
/// no bytes.
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

  /// The same for some of the node's ranks, named by their numbers here.
  PeerMemory among(const std::vector<std::size_t>& ranks) const {
    PeerMemory some{*this};
    some.pids_.clear();
    for (const std::size_t r : ranks) {
      if (pulls()) some.pids_.push_back(pids_[r]);
    }
    return some;
  }

  /// Is there memory that processes read and write where it is?
  bool maps() const noexcept { return bytes_ != 0; }
  /// May private memory of processes be copied?
  bool pulls() const noexcept { return !pids_.empty(); }
  /// Rather than go through staged chunks, where both would do?
  bool prefers_pulls() const noexcept { return pulls() && prefers_pulls_; }
  /// Is all memory everyone's?
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

}  // namespace papcoll::inline PAPCOLL_ABI
