// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace on_host {

/// Memory that the pretended CUDA knows of.
struct Allocation {
  enum Kind : unsigned char { none, device, pinned, registered, imported };
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  Kind kind = none;
  int descriptor = -1;  ///< of what another process may open by /proc
  std::uint64_t id = 0;
};

class Allocations {
 public:
  /// Null if there is no memory.
  void* make(std::size_t bytes, Allocation::Kind kind) {
    const int descriptor = memfd_create("cuda_on_host", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return nullptr;
    return mapped(bytes, kind, descriptor);
  }

  /// Null if the process or its memory is gone.
  void* import(int process, int theirs, std::size_t bytes) {
    const std::string file = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(theirs);
    const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
    return descriptor < 0 ? nullptr : mapped(bytes, Allocation::imported, descriptor);
  }

  void add(void* base, std::size_t bytes, Allocation::Kind kind, int descriptor) {
    const std::lock_guard lock(mutex_);
    auto* const first = static_cast<std::byte*>(base);
    all_[first] = {first, bytes, kind, descriptor, ++last_id_};
  }

  /// Was there one that began there?
  bool end(void* base) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(static_cast<std::byte*>(base));
    if (found == all_.end()) return false;
    if (found->second.kind != Allocation::registered) {
      munmap(base, found->second.bytes);
      close(found->second.descriptor);
    }
    all_.erase(found);
    return true;
  }

  /// What an address lies in; its base is null if nothing has it.
  Allocation find(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto* const at = static_cast<const std::byte*>(address);
    auto next = all_.upper_bound(const_cast<std::byte*>(at));
    if (next == all_.begin()) return {};
    const Allocation& before = (--next)->second;
    return at < before.base + before.bytes ? before : Allocation{};
  }

  /// Of all that this process has allocated on the device.
  std::size_t device_bytes() {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& [base, one] : all_) sum += one.kind == Allocation::device ? one.bytes : 0;
    return sum;
  }

 private:
  void* mapped(std::size_t bytes, Allocation::Kind kind, int descriptor) {
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED) {
      close(descriptor);
      return nullptr;
    }
    add(base, bytes, kind, descriptor);
    return base;
  }

  std::mutex mutex_;
  std::map<std::byte*, Allocation> all_;
  std::uint64_t last_id_ = 0;
};

/// Of this process; stay until it ends, since static objects of others are ended after them.
inline Allocations& allocations() {
  static auto* const all = new Allocations;
  return *all;
}

}  // namespace on_host
