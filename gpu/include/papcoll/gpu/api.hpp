// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/gpu/device_reducer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

// The interface to GPUs: all that algorithms ask of them. CudaRuntime (cuda_runtime.hpp) implements
// it by CUDA, Model (model.hpp) by memory of the host in virtual time.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// What went wrong on a device, as far as that decides what can be done about it.
enum class Fault : unsigned char {
  no_gpu,          ///< no driver, or no GPU
  out_of_memory,   ///< smaller staging rings may do
  no_peer_access,  ///< a device that cannot reach another's memory: go through the host
  ipc_refused,     ///< memory that cannot be shared between processes: go through the host
  misuse,          ///< an argument is invalid
  lost,            ///< the device, or an earlier operation, failed: nothing of it is usable
};

/// An operation on a device failed.
struct device_error : error {
  /// For the library.
  device_error(Fault fault_, const std::string& text) : error(text), fault(fault_) {}
  Fault fault;  ///< what may be done about it
};

/// Operations of one stream are performed in their order.
using Stream = struct OpaqueStream*;
/// A place in a stream that other streams, other processes and the host can wait for.
using Event = struct OpaqueEvent*;

/// Where some memory is: what can access it.
enum class Memory : unsigned char {
  host,     ///< the host: memory that no GPU knows
  pinned,   ///< host and devices: memory of the host that stays in its place
  device,   ///< devices only
  managed,  ///< host and devices: memory that moves to who uses it
};

/// What is known of an address.
struct Place {
  Memory memory = Memory::host;  ///< who reaches it
  int device = -1;               ///< whose memory it is, or -1
  std::byte* base = nullptr;     ///< the first byte of the allocation; null for the host's
  std::size_t bytes = 0;         ///< of the allocation
  /// Of the allocation; no other of this process ever gets it, whereas addresses are used again.
  std::uint64_t id = 0;
};

/// An allocation as another process imports it: plain bytes that may travel through shared memory.
struct MemoryHandle {
  std::array<std::byte, 64> bytes{};  ///< as the implementation fills them
};

/// An event as another process imports it.
struct EventHandle {
  std::array<std::byte, 64> bytes{};  ///< as the implementation fills them
};

/// Operations of GPUs as one process sees them, on devices 0 to devices() − 1. No function waits.
/// Functions throw device_error; those that are noexcept give up the process's claim to their
/// argument, and ignore errors. One thread at a time uses a stream.
class Api : Pinned {
 public:
  virtual ~Api() = default;

  /// The number of devices that this process sees, at least 1.
  virtual int devices() = 0;
  /// The calling thread's current device.
  virtual int current_device() = 0;
  /// A number of the physical device, the same in all processes of the node.
  virtual std::uint64_t physical_device(int device) = 0;
  /// Returns true if device `from` may read and write memory of device `to` once access is enabled.
  virtual bool can_access(int from, int to) = 0;
  /// Enables device `from` to access memory of device `to`. Has no effect if access is already
  /// enabled.
  virtual void enable_access(int from, int to) = 0;

  /// Allocates memory of a device, aligned to 256 bytes. Requires `bytes` > 0.
  virtual std::byte* allocate(int device, std::size_t bytes) = 0;
  /// Frees memory of allocate(). Requires that no process has it imported and no operation uses it.
  virtual void free(std::byte* base) noexcept = 0;
  /// Allocates pinned memory of the host.
  virtual std::byte* allocate_host(std::size_t bytes) = 0;
  /// Frees memory of allocate_host().
  virtual void free_host(std::byte* base) noexcept = 0;
  /// Pins memory of the host that others allocated, such as memory shared by processes.
  virtual void pin(std::byte* base, std::size_t bytes) = 0;
  /// Undoes pin().
  virtual void unpin(std::byte* base) noexcept = 0;
  /// Returns where an address is: on the host if no GPU knows it.
  virtual Place place(const void* address) = 0;

  /// Returns a handle by which other processes import an allocation; `base` is its first byte.
  virtual MemoryHandle export_memory(std::byte* base) = 0;
  /// Maps memory of another process for a device of this one; returns the address of the first
  /// byte.
  virtual std::byte* import_memory(int device, const MemoryHandle& handle) = 0;
  /// Unmaps imported memory. Requires that no operation uses it any more.
  virtual void close_memory(std::byte* base) noexcept = 0;

  /// Creates a stream of a device, which waits for no other stream by itself.
  virtual Stream make_stream(int device) = 0;
  /// Destroys a stream once its operations are complete.
  virtual void destroy_stream(Stream stream) noexcept = 0;
  /// Returns true if the stream is being captured as a graph instead of performed.
  virtual bool is_capturing(Stream stream) = 0;
  /// The device of a stream; of the null stream, the current device.
  virtual int device_of(Stream stream) = 0;

  /// Creates an event of a device; it is complete until it is first recorded.
  virtual Event make_event(int device, bool between_processes) = 0;
  /// Destroys an event.
  virtual void destroy_event(Event event) noexcept = 0;
  /// Returns a handle for other processes. Requires an event made with `between_processes`.
  virtual EventHandle export_event(Event event) = 0;
  /// Returns an event of another process.
  virtual Event import_event(int device, const EventHandle& handle) = 0;
  /// Records the event: it is complete once all that is in the stream now is complete.
  virtual void record(Event event, Stream stream) = 0;
  /// Makes later operations of the stream wait for the event's last record so far.
  virtual void wait(Stream stream, Event event) = 0;
  /// Returns true if the event's last record is complete. The host waits by calling it repeatedly,
  /// and in no other way.
  virtual bool is_complete(Event event) = 0;

  /// Copies bytes between any memory that the stream's device reaches, in the stream's order.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  /// Returns a number for what this process knows to be complete. It goes with a notification to
  /// another process in host memory, which passes it to hear(), once. Used only by a model, which
  /// finds accesses that nothing orders.
  virtual std::uint64_t publish() { return 0; }
  /// Receives the number of another process's tell(); 0: none.
  virtual void on_published(std::uint64_t /*published*/) {}

  /// Combines n elements on the stream's device, in the stream's order. The reducer is copied; its
  /// operator must stay until the operation is complete.
  virtual void combine(const Operands& operands, std::size_t n, const DeviceReducer& reducer,
                       Stream stream) = 0;
};

/// Owns what an Api made: gives it back at the end. The Api must outlive it.
template <class Handle, void (Api::*end)(Handle) noexcept> class Owned {
 public:
  Owned() = default;
  /// Takes over `handle`.
  Owned(Api& api, Handle handle) noexcept : api_(&api), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) (api_->*end)(handle_);
  }

  /// Returns the handle that it owns, or null.
  Handle get() const noexcept { return handle_; }
  /// Never gives it back: something may still use it.
  Handle release() noexcept { return std::exchange(handle_, nullptr); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  Api* api_ = nullptr;
  Handle handle_ = nullptr;
};

using OwnedStream = Owned<Stream, &Api::destroy_stream>;       ///< a stream
using OwnedEvent = Owned<Event, &Api::destroy_event>;          ///< an event, made or imported
using OwnedMemory = Owned<std::byte*, &Api::free>;             ///< memory of a device
using OwnedHostMemory = Owned<std::byte*, &Api::free_host>;    ///< pinned memory
using PinnedMemory = Owned<std::byte*, &Api::unpin>;           ///< pinned memory of others
using ImportedMemory = Owned<std::byte*, &Api::close_memory>;  ///< memory of another process

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
