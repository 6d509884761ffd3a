// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/cuda_driver.hpp>
#include <papcoll/gpu/cuda_faults.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

// The interface to GPUs by CUDA, for any compiler of C++. This and cuda_faults.hpp need the CUDA
// Toolkit's headers, of 11.8 or newer. The target papcoll::gpu brings them, and the runtime's
// library.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// Operations of GPUs by CUDA's runtime: what the calling process sees, in the order of
/// cudaSetDevice. Every function leaves its thread's current device as it was. Functions may be
/// called by several threads. A device's context begins when the device is first used, and stays.
/// Errors name CUDA's function, its own name of the error, and the device.
class CudaRuntime : public Api {
 public:
  /// Throws device_error of Fault::no_gpu where there is no driver or no GPU.
  CudaRuntime() : CudaRuntime(count_devices()) {}

  int devices() override { return static_cast<int>(devices_.size()); }

  int current_device() override {
    int device = 0;
    detail::check(cudaGetDevice(&device), "cudaGetDevice");
    return device;
  }

  std::uint64_t physical_device(int device) override {
    std::uint64_t halves[2] = {};
    check_driver(driver_.uuid(halves, at(device).handle), "cuDeviceGetUuid", device);
    return halves[0] * 0x9e3779b97f4a7c15U ^ halves[1];
  }

  bool can_access(int from, int to) override {
    at(from);
    at(to);
    if (from == to) return true;
    int yes = 0;
    detail::check(cudaDeviceCanAccessPeer(&yes, from, to), "cudaDeviceCanAccessPeer", from);
    return yes != 0;
  }

  void enable_access(int from, int to) override {
    at(to);
    if (from == to) return;
    const Current current(*this, from);
    const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
      detail::forget(code);
    } else {
      detail::check(code, "cudaDeviceEnablePeerAccess", from);
    }
  }

  std::byte* allocate(int device, std::size_t bytes) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    void* base = nullptr;
    detail::check(cudaMalloc(&base, bytes), "cudaMalloc", device, bytes);
    return static_cast<std::byte*>(base);
  }

  /// Waits for all of the device, as cudaFree does.
  void free(std::byte* base) noexcept override { end(cudaFree, base); }

  std::byte* allocate_host(std::size_t bytes) override {
    const detail::BesideCaptures beside;
    void* base = nullptr;
    detail::check(cudaHostAlloc(&base, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
                  "cudaHostAlloc", detail::no_device, bytes, detail::Asked::pinning);
    return static_cast<std::byte*>(base);
  }

  void free_host(std::byte* base) noexcept override { end(cudaFreeHost, base); }

  void pin(std::byte* base, std::size_t bytes) override {
    const detail::BesideCaptures beside;
    detail::check(cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
                  "cudaHostRegister", detail::no_device, bytes, detail::Asked::pinning);
  }

  void unpin(std::byte* base) noexcept override { end(cudaHostUnregister, base); }

  Place place(const void* address) override {
    // Of what CUDA does not know all stay as they are. The runtime's function would make a context.
    unsigned type = 0;
    int handle = 0;
    unsigned managed = 0;
    void* base = nullptr;
    std::size_t bytes = 0;
    unsigned long long id = 0;
    int names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void* values[] = {&type, &handle, &managed, &base, &bytes, &id};
    check_driver(
        driver_.pointer_attributes(6, names, values, reinterpret_cast<unsigned long long>(address)),
        "cuPointerGetAttributes", detail::no_device);
    Place found;
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE) return found;
    found.memory = managed != 0                   ? Memory::managed
                   : type == CU_MEMORYTYPE_DEVICE ? Memory::device
                                                  : Memory::pinned;
    if (found.memory != Memory::pinned) found.device = number_of(handle);
    found.base = static_cast<std::byte*>(base);
    found.bytes = bytes;
    found.id = id;
    return found;
  }

  MemoryHandle export_memory(std::byte* base) override {
    const Place found = place(base);
    if (found.memory != Memory::device) {
      throw device_error(Fault::ipc_refused,
                         papcoll::detail::joined(
                             {"papcoll: memory cannot be shared between processes: it is not a "
                              "device's; ",
                              detail::advice_on(Fault::ipc_refused, cudaErrorInvalidValue)}));
    }
    const Current current(*this, found.device);
    cudaIpcMemHandle_t exported;
    detail::check(cudaIpcGetMemHandle(&exported, base), "cudaIpcGetMemHandle", found.device, 0,
                  detail::Asked::sharing);
    return detail::bytes_of<MemoryHandle>(exported);
  }

  std::byte* import_memory(int device, const MemoryHandle& handle) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    const std::lock_guard lock(imports_mutex_);
    imports_.reserve(imports_.size() + 1);
    void* base = nullptr;
    detail::check(cudaIpcOpenMemHandle(&base, detail::from_bytes<cudaIpcMemHandle_t>(handle),
                                       cudaIpcMemLazyEnablePeerAccess),
                  "cudaIpcOpenMemHandle", device, 0, detail::Asked::sharing);
    imports_.push_back({static_cast<std::byte*>(base), device});
    return static_cast<std::byte*>(base);
  }

  void close_memory(std::byte* base) noexcept override {
    const std::lock_guard lock(imports_mutex_);
    const auto found = std::find_if(imports_.begin(), imports_.end(),
                                    [&](const Import& import) { return import.base == base; });
    if (found == imports_.end()) return;
    const detail::CurrentContext current(driver_, devices_[index(found->device)].context);
    end(cudaIpcCloseMemHandle, base);
    *found = imports_.back();
    imports_.pop_back();
  }

  Stream make_stream(int device) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    cudaStream_t made = nullptr;
    detail::check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
                  "cudaStreamCreateWithFlags", device);
    return reinterpret_cast<Stream>(made);
  }

  void destroy_stream(Stream stream) noexcept override { end(cudaStreamDestroy, of(stream)); }

  bool is_capturing(Stream stream) override {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check_in(cudaStreamIsCapturing(of(stream), &status), "cudaStreamIsCapturing", stream);
    return status != cudaStreamCaptureStatusNone;
  }

  int device_of(Stream stream) override {
    // CUDA's default streams have no owner: they are the caller's.
    if (stream == nullptr || of(stream) == cudaStreamLegacy || of(stream) == cudaStreamPerThread) {
      return current_device();
    }
    // cudaStreamGetDevice came with 12.8.
    detail::CudaDriver::Context context = nullptr;
    check_driver(driver_.stream_context(stream, &context), "cuStreamGetCtx", detail::no_device);
    const detail::CurrentContext current(driver_, context);
    check_driver(current.code(), "cuCtxPushCurrent", detail::no_device);
    int handle = 0;
    check_driver(driver_.context_device(&handle), "cuCtxGetDevice", detail::no_device);
    return number_of(handle);
  }

  Event make_event(int device, bool between_processes) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    cudaEvent_t made = nullptr;
    const unsigned flags = between_processes ? unsigned{cudaEventInterprocess} : 0U;
    detail::check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | flags),
                  "cudaEventCreateWithFlags", device);
    return reinterpret_cast<Event>(made);
  }

  void destroy_event(Event event) noexcept override { end(cudaEventDestroy, of(event)); }

  EventHandle export_event(Event event) override {
    cudaIpcEventHandle_t exported;
    detail::check(cudaIpcGetEventHandle(&exported, of(event)), "cudaIpcGetEventHandle",
                  detail::no_device, 0, detail::Asked::sharing);
    return detail::bytes_of<EventHandle>(exported);
  }

  Event import_event(int device, const EventHandle& handle) override {
    const Current current(*this, device);
    cudaEvent_t opened = nullptr;
    detail::check(cudaIpcOpenEventHandle(&opened, detail::from_bytes<cudaIpcEventHandle_t>(handle)),
                  "cudaIpcOpenEventHandle", device, 0, detail::Asked::sharing);
    return reinterpret_cast<Event>(opened);
  }

  void record(Event event, Stream stream) override {
    check_in(cudaEventRecord(of(event), of(stream)), "cudaEventRecord", stream);
  }

  void wait(Stream stream, Event event) override {
    check_in(cudaStreamWaitEvent(of(stream), of(event), 0), "cudaStreamWaitEvent", stream);
  }

  bool is_complete(Event event) override {
    const detail::BesideCaptures beside;
    const cudaError_t code = cudaEventQuery(of(event));
    if (code == cudaErrorNotReady) {
      detail::forget(code);
      return false;
    }
    detail::check(code, "cudaEventQuery");
    return true;
  }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    check_in(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(stream)), "cudaMemcpyAsync",
             stream);
  }

  void combine(const Operands& operands, std::size_t n, const DeviceReducer& reducer,
               Stream stream) override {
    if (reducer.launch == nullptr) {
      throw device_error(
          Fault::misuse,
          "papcoll: this operator is compiled for the host only, and a device is to "
          "combine by it: make its reducer by papcoll::gpu::device_operator in a .cu "
          "file");
    }
    const int device = device_of(stream);
    const Current current(*this, device);
    detail::check(static_cast<cudaError_t>(reducer.launch(operands, n, reducer.op,
                                                          at(device).multiprocessors, of(stream))),
                  "cudaLaunchKernel", device);
  }

 private:
  struct Device {
    int handle = 0;  // a CUdevice
    int multiprocessors = 0;
    std::atomic<detail::CudaDriver::Context> context = nullptr;  // the primary one, once it is used
  };

  struct Import {
    std::byte* base;
    int device;
  };

  // A device is its thread's current one.
  class Current {
   public:
    Current(CudaRuntime& runtime, int device)
        : context_(runtime.driver_, runtime.context_of(device)) {
      runtime.check_driver(context_.code(), "cuCtxPushCurrent", device);
    }

   private:
    const detail::CurrentContext context_;
  };

  explicit CudaRuntime(std::size_t count) : devices_(count) {
    check_driver(driver_.init(0), "cuInit", detail::no_device);
    int number = 0;
    for (Device& device : devices_) {
      check_driver(driver_.device(&device.handle, number), "cuDeviceGet", number);
      detail::check(
          cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, number),
          "cudaDeviceGetAttribute", number);
      ++number;
    }
  }

  static std::size_t count_devices() {
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0) return static_cast<std::size_t>(count);
    detail::forget(code);
    if (code == cudaSuccess) code = cudaErrorNoDevice;
    const Fault advised = code == cudaErrorInitializationError  ? Fault::lost
                          : code == cudaErrorDevicesUnavailable ? Fault::lost
                                                                : Fault::no_gpu;
    throw device_error(
        Fault::no_gpu,
        papcoll::detail::joined({"papcoll: no GPU can be used: cudaGetDeviceCount of CUDA ",
                                 CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10, " gives ",
                                 cudaGetErrorName(code), " (", cudaGetErrorString(code), "); ",
                                 detail::advice_on(advised, code)}));
  }

  static cudaStream_t of(Stream stream) noexcept { return reinterpret_cast<cudaStream_t>(stream); }
  static cudaEvent_t of(Event event) noexcept { return reinterpret_cast<cudaEvent_t>(event); }
  static std::size_t index(int device) noexcept { return static_cast<std::size_t>(device); }

  Device& at(int device) {
    if (device < 0 || index(device) >= devices_.size()) {
      throw device_error(
          Fault::misuse,
          papcoll::detail::joined({"papcoll: there is no device ", device, ": this process sees ",
                                   devices_.size(), ", counted from 0 (CUDA_VISIBLE_DEVICES)"}));
    }
    return devices_[index(device)];
  }

  int number_of(int handle) const noexcept {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].handle == handle) return static_cast<int>(i);
    }
    return detail::no_device;
  }

  detail::CudaDriver::Context context_of(int number) {
    Device& device = at(number);
    detail::CudaDriver::Context context = device.context;
    if (context == nullptr) {
      check_driver(driver_.retain_primary_context(&context, device.handle),
                   "cuDevicePrimaryCtxRetain", number);
      device.context = context;
    }
    return context;
  }

  // There is nothing to be done about a failure.
  static void end(auto function, auto* handle) noexcept {
    const detail::BesideCaptures beside;
    const cudaError_t code = function(handle);
    if (code != cudaSuccess) detail::forget(code);
  }

  // The device of a stream is asked for only if something failed.
  void check_in(cudaError_t code, const char* function, Stream stream) {
    if (code == cudaSuccess) [[likely]] {
      return;
    }
    detail::forget(code);
    int device = detail::no_device;
    try {
      device = device_of(stream);
    } catch (const device_error&) {  // of an invalid one, no device is known
    }
    detail::check(code, function, device);
  }

  // The driver's codes are the runtime's.
  void check_driver(int code, const char* function, int device) {
    if (code == detail::CudaDriver::success) [[likely]] {
      return;
    }
    const auto same = static_cast<cudaError_t>(code);
    detail::fail(detail::fault_of(same, detail::Asked::any), function, 0, device,
                 driver_.name_of(code), same);
  }

  detail::CudaDriver driver_;
  std::vector<Device> devices_;
  std::mutex imports_mutex_;
  std::vector<Import> imports_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
