// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/handle.hpp>
#include <papcoll/gpu/model/pages.hpp>
#include <papcoll/gpu/model/shared_file.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// Memory of the model: blocks of bytes, and where each process has them. What only devices reach
// has its bytes elsewhere than at the address that the program gets, which cannot be dereferenced.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// Bytes of an allocation, or of pinned memory that others allocated.
struct Block {
  Memory memory = Memory::device;  ///< who reaches it
  int device = -1;                 ///< whose memory it is, or -1
  std::size_t bytes = 0;           ///< as asked for
  std::size_t number = 0;          ///< of blocks; 0: memory that others allocated
  std::unique_ptr<Pages> pages;    ///< where the bytes are, but for memory that others allocated
  std::optional<SharedFile> file;  ///< that other processes' models map
  std::byte* bytes_at = nullptr;   ///< the first byte, for the model
  int imports = 0;                 ///< how many mappings beside the owner's
};

/// A block as one process has it.
struct Mapping {
  int process = 0;               ///< whose it is
  bool imported = false;         ///< from another process
  std::uint64_t id = 0;          ///< as Place::id
  std::byte* base = nullptr;     ///< the address that the program has
  std::unique_ptr<Pages> pages;  ///< of that address, where it is not the bytes'
  std::shared_ptr<Block> block;  ///< the bytes
  int users = 0;                 ///< operations that are not complete

  /// "allocation 3 of process 1 (4096 bytes of device 0)"
  std::string name() const {
    const char* const what = block->number == 0 ? "pinning " : imported ? "import " : "allocation ";
    const std::string where = block->device < 0
                                  ? std::string("the host")
                                  : papcoll::detail::joined({"device ", block->device});
    return papcoll::detail::joined(
        {what, id, " of process ", process, " (", block->bytes, " bytes of ", where, ")"});
  }
};

/// Counts as a user of a mapping, and keeps its bytes.
class InUse {
 public:
  /// Operations are not complete that use it.
  explicit InUse(std::shared_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {
    ++mapping_->users;
  }
  InUse(const InUse& other) : InUse(other.mapping_) {}
  InUse& operator=(const InUse&) = delete;
  ~InUse() { --mapping_->users; }

 private:
  std::shared_ptr<Mapping> mapping_;
};

/// All memory of a model.
class Memories {
 public:
  /// Operations may keep it longer than the process has it.
  using MappingPtr = std::shared_ptr<Mapping>;

  /// `in_files`: other processes' models can map memory of devices.
  explicit Memories(bool in_files) : in_files_(in_files) {}

  /// New memory.
  MappingPtr add(int process, Memory memory, int device, std::size_t bytes) {
    auto block = std::make_shared<Block>();
    block->memory = memory;
    block->device = device;
    block->bytes = bytes;
    block->number = ++blocks_;
    if (in_files_ && memory == Memory::device) {
      block->pages = std::make_unique<Pages>(space_, block->file.emplace(Pages::whole(bytes)));
    } else {
      block->pages = std::make_unique<Pages>(space_, bytes, true);
    }
    block->bytes_at = block->pages->base();
    MappingPtr made = map(process, block);
    if (memory == Memory::device) used_[device] += bytes;
    return made;
  }

  /// The block of that number for another process; null if its owner has freed it.
  MappingPtr import(int process, std::size_t number) {
    for (const auto& [base, mapping] : mappings_) {
      if (mapping->block->number != number || mapping->imported) continue;
      MappingPtr made = map(process, mapping->block);
      made->imported = true;
      ++made->block->imports;
      return made;
    }
    return nullptr;
  }

  /// Memory of another process's model. Throws device_error.
  MappingPtr import_elsewhere(int process, const HandleWords& handle) {
    auto block = std::make_shared<Block>();
    block->device = static_cast<int>(handle.device);
    block->bytes = static_cast<std::size_t>(handle.place);
    block->number = ++blocks_;
    block->pages = std::make_unique<Pages>(space_, SharedFile{handle.file});
    block->bytes_at = block->pages->base();
    block->imports = 1;
    MappingPtr made = map(process, block);
    made->imported = true;
    return made;
  }

  /// Memory that others allocated, for one process.
  void pin(int process, std::byte* base, std::size_t bytes) {
    const auto block = std::make_shared<Block>();
    block->memory = Memory::pinned;
    block->bytes = bytes;
    block->bytes_at = base;
    auto made = std::make_shared<Mapping>();
    made->process = process;
    made->id = ++ids_[process];
    made->base = base;
    made->block = block;
    pinned_[{process, base}] = made;
  }

  /// It is the process's no more; operations may still keep the bytes.
  void remove(const Mapping& mapping) {
    if (mapping.block->number == 0) {
      pinned_.erase({mapping.process, mapping.base});
      return;
    }
    if (mapping.imported) {
      --mapping.block->imports;
    } else if (mapping.block->memory == Memory::device) {
      used_[mapping.block->device] -= mapping.block->bytes;
    }
    mappings_.erase(mapping.base);
  }

  /// The process's memory that has the address, or null.
  MappingPtr find(int process, const void* address) const {
    const MappingPtr found = find(address);
    if (found != nullptr) return found->process == process ? found : nullptr;
    auto it = pinned_.upper_bound({process, as_key(address)});
    if (it == pinned_.begin()) return nullptr;
    const MappingPtr& pinned = (--it)->second;
    const bool has =
        pinned->process == process && is_within(address, pinned->base, pinned->block->bytes);
    return has ? pinned : nullptr;
  }

  /// Memory of any process, without what others allocated.
  MappingPtr find(const void* address) const {
    auto it = mappings_.upper_bound(as_key(address));
    if (it == mappings_.begin()) return nullptr;
    const MappingPtr& found = (--it)->second;
    return is_within(address, found->base, found->block->bytes) ? found : nullptr;
  }

  /// Returns true if the address belongs, or once belonged, to the model, in any process.
  bool has(const void* address) const { return space_.has(address); }

  /// Returns true if any process has pinned memory there that others allocated.
  bool has_pinned(const std::byte* base, std::size_t bytes) const {
    for (const auto& [key, pinned] : pinned_) {
      if (is_within(base, pinned->base, pinned->block->bytes) ||
          is_within(pinned->base, base, bytes)) {
        return true;
      }
    }
    return false;
  }

  /// Bytes that are allocated on a device.
  std::size_t used(int device) const {
    const auto found = used_.find(device);
    return found == used_.end() ? 0 : found->second;
  }

  /// Calls f(mapping) for each mapping that a process has.
  template <class F> void for_each(F f) const {
    for (const auto& [base, mapping] : mappings_) f(*mapping);
    for (const auto& [key, mapping] : pinned_) f(*mapping);
  }

 private:
  static std::byte* as_key(const void* address) {
    return static_cast<std::byte*>(const_cast<void*>(address));
  }

  MappingPtr map(int process, const std::shared_ptr<Block>& block) {
    auto made = std::make_shared<Mapping>();
    made->process = process;
    made->id = ++ids_[process];
    made->block = block;
    made->base = block->bytes_at;
    if (block->memory == Memory::device) {
      made->pages = std::make_unique<Pages>(space_, block->bytes, false);
      made->base = made->pages->base();
    }
    mappings_[made->base] = made;
    return made;
  }

  bool in_files_;
  AddressSpace space_;
  std::map<std::byte*, MappingPtr> mappings_;                ///< by address
  std::map<std::pair<int, std::byte*>, MappingPtr> pinned_;  ///< by process and address
  std::map<int, std::uint64_t> ids_;                         ///< the last of each process
  std::map<int, std::size_t> used_;                          ///< bytes of each device
  std::size_t blocks_ = 0;                                   ///< the last number
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
