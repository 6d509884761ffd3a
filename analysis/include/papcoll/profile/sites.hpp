// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/loaded_objects.hpp>
#include <papcoll/profile/rank_file.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// Adds to a word of a trace file that several threads may write. Relaxed: readers take counters
/// one by one, and nothing else is to be seen by them.
inline std::uint64_t add(std::uint64_t& word, std::uint64_t n) noexcept {
  return std::atomic_ref(word).fetch_add(n, std::memory_order_relaxed);
}

/// Entries of the table of sites by the address that a call returns to. What has been seen is found
/// without a lock; what is new is added under one, with the object that it lies in.
class Sites {
 public:
  /// What find() says of calls that MPI makes itself, such as those of MPI-IO: not the program's.
  static constexpr std::uint32_t of_mpi = 0xfffffffeU;

  /// `library`: path of the MPI library, whose own calls are distinguished; may be empty.
  Sites(RankFile& file, std::string library)
      : file_(file), library_(std::move(library)), slots_(slots_of(file.header().sites)) {}

  /// The entry of an address; of_mpi; or no_entry if the table is full.
  std::uint32_t find(std::uint64_t address) noexcept {
    for (std::size_t i = hashed(address);; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      // Acquire: the entry was written before the address.
      const std::uint64_t there = slot.address.load(std::memory_order_acquire);
      if (there != address && there != 0) continue;
      const std::uint32_t entry = there == 0 ? add_new(address) : slot.entry;
      if (entry == no_entry) add(file_.header().sites_lost, 1);
      return entry;
    }
  }

 private:
  // An address is stored once, after its entry, and never changes.
  struct Slot {
    std::atomic<std::uint64_t> address{0};
    std::uint32_t entry = 0;
  };

  static std::size_t slots_of(std::uint64_t sites) {
    std::size_t n = 16;
    while (n < 4 * sites) n *= 2;
    return n;
  }

  static std::size_t hashed(std::uint64_t address) noexcept {
    return static_cast<std::size_t>((address * 0x9e3779b97f4a7c15U) >> 40U);
  }

  std::uint32_t add_new(std::uint64_t address) noexcept {
    // Half of the slots stay free, so that a search ends soon and always.
    if (known_.load(std::memory_order_relaxed) >= slots_.size() / 2) return no_entry;
    const std::lock_guard lock(adding_);
    std::size_t i = hashed(address);
    for (;; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      const std::uint64_t there = slot.address.load(std::memory_order_relaxed);
      if (there == address) return slot.entry;
      if (there == 0) break;
    }
    Slot& slot = slots_[i & (slots_.size() - 1)];
    try {
      slot.entry = noted(address);
    } catch (...) {
      return no_entry;
    }
    known_.fetch_add(1, std::memory_order_relaxed);
    slot.address.store(address, std::memory_order_release);
    return slot.entry;
  }

  std::uint32_t noted(std::uint64_t address) {
    const LoadedObject object = object_of(address);
    if (is_of_mpi(object.name) || is_of_mpi(object.path)) return of_mpi;
    FileHeader& h = file_.header();
    const std::uint64_t n = h.sites_used;
    if (n >= h.sites) return no_entry;
    Site& site = file_.sites()[n];
    site.address = address;
    site.offset = address - object.base;
    site.module = object.path.empty() ? no_entry : module_of(object);
    // Release: a reader of the counter sees the entry.
    std::atomic_ref(h.sites_used).store(n + 1, std::memory_order_release);
    return static_cast<std::uint32_t>(n);
  }

  // MPI's Fortran libraries are not meant: they call for the program.
  bool is_of_mpi(std::string_view path) const {
    if (path.empty()) return false;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return path == library_ || name.starts_with("mca_") || name.starts_with("libmca_");
  }

  std::uint32_t module_of(const LoadedObject& object) {
    FileHeader& h = file_.header();
    const std::uint64_t n = h.modules_used;
    for (std::uint64_t i = 0; i < n; ++i) {
      const Module& m = file_.modules()[i];
      if (m.base == object.base && m.path_bytes == std::min(object.path.size(), m.path.size()) &&
          object.path.compare(0, m.path_bytes, m.path.data(), m.path_bytes) == 0) {
        return static_cast<std::uint32_t>(i);
      }
    }
    if (n >= h.modules) return no_entry;
    Module& m = file_.modules()[n];
    m.base = object.base;
    m.path_bytes = static_cast<std::uint32_t>(std::min(object.path.size(), m.path.size()));
    std::copy_n(object.path.data(), m.path_bytes, m.path.data());
    m.build_id = object.build_id;
    m.build_id_bytes = object.build_id_bytes;
    std::atomic_ref(h.modules_used).store(n + 1, std::memory_order_release);
    return static_cast<std::uint32_t>(n);
  }

  RankFile& file_;
  const std::string library_;
  std::vector<Slot> slots_;
  std::mutex adding_;
  std::atomic<std::size_t> known_{0};  // grows under the lock; relaxed: only a bound
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
