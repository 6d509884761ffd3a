// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/handle.hpp>
#include <papcoll/gpu/model/state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// A process of the model: what is asked of devices and of memory.
class ProcessMemory : public Api {
 public:
  /// Process number `process` of the model.
  ProcessMemory(ModelState& model, int process) : model_(model), process_(process) {}

  int devices() override { return model_.machine.size(); }

  int current_device() override {
    const std::lock_guard lock(model_.mutex);
    return state().current_device;
  }

  std::uint64_t physical_device(int device) override {
    check_device(device);
    return 0x100U + static_cast<std::uint64_t>(device);
  }

  bool can_access(int from, int to) override {
    check_device(from);
    check_device(to);
    return model_.machine.can_access(from, to);
  }

  void enable_access(int from, int to) override {
    const std::lock_guard lock(model_.mutex);
    check_device(from);
    check_device(to);
    check_access(from, to);
    state().enabled.insert({from, to});
  }

  std::byte* allocate(int device, std::size_t bytes) override {
    const std::lock_guard lock(model_.mutex);
    check_device(device);
    check_not_lost(device);
    return add(Memory::device, device, bytes);
  }

  std::byte* allocate_host(std::size_t bytes) override {
    const std::lock_guard lock(model_.mutex);
    return add(Memory::pinned, DeviceMachine::host, bytes);
  }

  /// Memory that host and devices reach; free() gives it back.
  std::byte* allocate_managed(int device, std::size_t bytes) {
    const std::lock_guard lock(model_.mutex);
    check_device(device);
    return add(Memory::managed, device, bytes);
  }

  void free(std::byte* base) noexcept override {
    end(base, "frees",
        [](const Mapping& m) { return !m.imported && m.block->memory != Memory::pinned; });
  }

  void free_host(std::byte* base) noexcept override {
    end(base, "frees pinned",
        [](const Mapping& m) { return m.block->memory == Memory::pinned && m.block->number != 0; });
  }

  void pin(std::byte* base, std::size_t bytes) override {
    const std::lock_guard lock(model_.mutex);
    if (base == nullptr || bytes == 0) misuse({"papcoll: no memory is pinned: pass some"});
    if (model_.memories.find(process_, base) != nullptr ||
        model_.memories.find(process_, base + bytes - 1) != nullptr) {
      misuse({"papcoll: process ", process_,
              " pins memory that it has pinned already: unpin it "
              "first"});
    }
    if (bytes > state().most_pinned) throw_no_room(DeviceMachine::host, bytes);
    model_.memories.pin(process_, base, bytes);
  }

  void unpin(std::byte* base) noexcept override {
    end(base, "unpins", [](const Mapping& m) { return m.block->number == 0; });
  }

  Place place(const void* address) override {
    const std::lock_guard lock(model_.mutex);
    const auto found = model_.memories.find(process_, address);
    if (found == nullptr) return {};
    const Block& block = *found->block;
    return {block.memory, block.device, found->base, block.bytes, found->id};
  }

  MemoryHandle export_memory(std::byte* base) override {
    const std::lock_guard lock(model_.mutex);
    check_ipc();
    const auto found = model_.memories.find(process_, base);
    if (found == nullptr || found->imported || found->base != base ||
        found->block->memory != Memory::device) {
      misuse({"papcoll: process ", process_,
              " exports what is no allocation of a device by this "
              "process: pass the first byte of one"});
    }
    const Block& block = *found->block;
    HandleWords words{handle_of_memory, block.number, block.device, block.bytes, {}};
    if (block.file) words.file = block.file->place();
    return make_handle<MemoryHandle>(words);
  }

  std::byte* import_memory(int device, const MemoryHandle& handle) override {
    const std::lock_guard lock(model_.mutex);
    check_ipc();
    check_device(device);
    const HandleWords words = words_in(handle_of_memory, handle);
    const auto made = words.is_elsewhere() ? model_.memories.import_elsewhere(process_, words)
                      : words.number == 0  ? nullptr
                                           : model_.memories.import(process_, words.number);
    if (made == nullptr) {
      misuse({"papcoll: process ", process_,
              " imports memory that is not there: keep what is "
              "exported"});
    }
    const int owner = made->block->device;
    if (!model_.machine.can_access(device, owner)) model_.memories.remove(*made);
    check_access(device, owner);
    state().enabled.insert({device, owner});
    return made->base;
  }

  void close_memory(std::byte* base) noexcept override {
    end(base, "closes", [](const Mapping& m) { return m.imported; });
  }

 protected:
  /// Returns the state of this process.
  ProcessState& state() { return model_.processes[process_]; }

  /// Throws unless there is such a device.
  void check_device(int device) const {
    if (device >= 0 && device < model_.machine.size()) return;
    misuse({"papcoll: there is no device ", device, ": the machine has ", model_.machine.size()});
  }

  /// Sharing between processes is allowed.
  void check_ipc() {
    if (!state().refuses_ipc) return;
    throw device_error(Fault::ipc_refused,
                       papcoll::detail::joined({"papcoll: process ", process_,
                                                " may not share "
                                                "memory and events: go through the host"}));
  }

  /// The device works.
  void check_not_lost(int device) const {
    if (model_.queues.is_lost(device)) throw_lost(device);
  }

  /// It does not.
  [[noreturn]] static void throw_lost(int device) {
    throw device_error(Fault::lost,
                       papcoll::detail::joined(
                           {"papcoll: device ", device, " failed: end the program that uses it"}));
  }

  ModelState& model_;  ///< all of the model
  const int process_;  ///< the number of this process

 private:
  void check_access(int from, int to) const {
    if (model_.machine.can_access(from, to)) return;
    throw device_error(Fault::no_peer_access,
                       papcoll::detail::joined({"papcoll: device ", from, " cannot reach device ",
                                                to, ": go through the host"}));
  }

  [[noreturn]] static void throw_no_room(int device, std::size_t bytes) {
    throw device_error(
        Fault::out_of_memory,
        papcoll::detail::joined({"papcoll: no room for ", bytes, " bytes on ",
                                 device < 0 ? "the host" : "the device", ": use less"}));
  }

  std::byte* add(Memory memory, int device, std::size_t bytes) {
    if (bytes == 0) misuse({"papcoll: 0 bytes are allocated: ask for some"});
    const bool fails = model_.failing && (*model_.failing)-- == 0;
    if (fails) model_.failing.reset();
    if (fails || (memory == Memory::device && !has_room(device, bytes))) {
      throw_no_room(device, bytes);
    }
    const auto made = model_.memories.add(process_, memory, device, bytes);
    const bool poison = model_.options.poison && !model_.options.move_no_data;
    if (poison) std::memset(made->block->bytes_at, 0xA5, bytes);
    return made->base;
  }

  bool has_room(int device, std::size_t bytes) const {
    const std::size_t capacity = model_.machine.devices[static_cast<std::size_t>(device)].capacity;
    const std::size_t used = model_.memories.used(device);
    return used <= capacity && bytes <= capacity - used;
  }

  /// Ends a mapping if it is what the function is for, and notes all that is wrong with that.
  template <class Fits> void end(std::byte* base, const char* does, Fits fits) noexcept {
    const std::lock_guard lock(model_.mutex);
    const auto found = model_.memories.find(process_, base);
    if (found == nullptr || found->base != base || !fits(*found)) {
      model_.problem({"papcoll: process ", process_, " ", does, " memory that it does not have"});
      return;
    }
    const Block& block = *found->block;
    model_.queues.begin_ready();
    if (found->users != 0) {
      model_.problem({"papcoll: process ", process_, " ", does, " ", found->name(), ", which ",
                      found->users, " buffers of incomplete operations use: wait for them first"});
    }
    if (!found->imported && block.imports != 0) {
      model_.problem({"papcoll: process ", process_, " ", does, " ", found->name(), ", of which ",
                      block.imports, " imports are open: close them first"});
    }
    model_.memories.remove(*found);
    forget_accesses(*found);
  }

  void forget_accesses(const Mapping& ended) {
    const Block& block = *ended.block;
    if (block.number != 0) {
      if (!ended.imported) model_.races.forget(block.number);
      return;
    }
    if (model_.memories.has_pinned(block.bytes_at, block.bytes)) return;
    const auto first = reinterpret_cast<std::uintptr_t>(block.bytes_at);
    model_.races.forget(0, first, first + block.bytes);
  }
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
