#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/cuda_driver.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

// The seam by CUDA, for any compiler of C++: the only header that needs the CUDA Toolkit's, of 11.8
// or newer. The target papcoll::gpu brings them, and the runtime's library.

namespace papcoll::inline PAPCOLL_ABI::gpu {

namespace detail {

/// What kind of function failed, where its codes have more than one meaning.
enum class Asked : unsigned char { any, sharing, pinning };

/// Returns true if the code is one of these.
constexpr bool is_any_of(cudaError_t code, auto... codes) noexcept {
  return ((code == codes) || ...);
}

/// What may be done about a code of CUDA.
inline Fault fault_of(cudaError_t code, Asked asked) noexcept {
  if (is_any_of(code, cudaErrorInsufficientDriver, cudaErrorNoDevice, cudaErrorStubLibrary,
                cudaErrorSystemDriverMismatch)) {
    return Fault::no_gpu;
  }
  if (code == cudaErrorMemoryAllocation) return Fault::out_of_memory;
  if (is_any_of(code, cudaErrorPeerAccessUnsupported, cudaErrorPeerAccessNotEnabled,
                cudaErrorTooManyPeers)) {
    return Fault::no_peer_access;
  }
  // The device is lost whatever was asked of it.
  if (is_any_of(code, cudaErrorIllegalAddress, cudaErrorIllegalInstruction,
                cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,
                cudaErrorHardwareStackError, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
                cudaErrorAssert, cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable,
                cudaErrorContextIsDestroyed, cudaErrorDevicesUnavailable,
                cudaErrorInitializationError, cudaErrorCudartUnloading)) {
    return Fault::lost;
  }
  // Memory that must not be shared is an invalid value to CUDA, among others.
  if (asked == Asked::sharing) return Fault::ipc_refused;
  // The system lets no more be pinned (ulimit -l).
  if (asked == Asked::pinning && code == cudaErrorOperatingSystem) return Fault::out_of_memory;
  // cudaErrorDeviceUninitialized is CUDA_ERROR_INVALID_CONTEXT, too.
  const bool is_misuse = is_any_of(
      code, cudaErrorInvalidValue, cudaErrorInvalidDevice, cudaErrorDeviceUninitialized,
      cudaErrorInvalidDevicePointer, cudaErrorInvalidMemcpyDirection,
      cudaErrorInvalidResourceHandle, cudaErrorInvalidConfiguration, cudaErrorInvalidDeviceFunction,
      cudaErrorNoKernelImageForDevice, cudaErrorNotSupported, cudaErrorNotPermitted,
      cudaErrorHostMemoryAlreadyRegistered, cudaErrorHostMemoryNotRegistered,
      cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated,
      cudaErrorStreamCaptureMerge, cudaErrorStreamCaptureUnmatched, cudaErrorStreamCaptureUnjoined,
      cudaErrorStreamCaptureIsolation, cudaErrorStreamCaptureImplicit,
      cudaErrorStreamCaptureWrongThread, cudaErrorCapturedEvent);
  return is_misuse ? Fault::misuse : Fault::lost;
}

/// What a reader of the message can do.
inline const char* advice_on(Fault fault, cudaError_t code) noexcept {
  switch (fault) {
    case Fault::no_gpu:
      return code == cudaErrorNoDevice
                 ? "run where there is a GPU, and let this process see it (CUDA_VISIBLE_DEVICES, "
                   "the container's options)"
                 : "install an NVIDIA driver that serves this version of CUDA (nvidia-smi shows "
                   "which it serves), or run on a machine that has one";
    case Fault::out_of_memory:
      return "free memory, or ask for less at a time; for pinned memory, raise the limit that "
             "'ulimit -l' shows";
    case Fault::no_peer_access:
      return "these devices cannot reach each other's memory: copy through the host";
    case Fault::ipc_refused:
      return "only memory of cudaMalloc can be shared between processes, and only by those that "
             "see each other (of one container): copy from other memory to such, or through the "
             "host";
    case Fault::misuse:
      return code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction
                 ? "compile the kernels for this device's architecture, see "
                   "PAPCOLL_CUDA_ARCHITECTURES"
                 : "check the addresses, devices, streams and events that it was given, and that "
                   "they still exist";
    case Fault::lost:
      break;
  }
  return code == cudaErrorInitializationError
             ? "a process that was forked after its parent began to use CUDA cannot use it: fork "
               "before, or start a program anew"
             : "this or an earlier operation failed, and the process can no longer use the device: "
               "end it, and look for the cause by compute-sanitizer";
}

/// CUDA remembers errors, and an unaware caller's next check would find ours. Another error, of
/// someone else, stays.
inline void forget(cudaError_t code) noexcept {
  if (cudaPeekAtLastError() == code) cudaGetLastError();
}

/// In its lifetime, calls of its thread that a capture of streams elsewhere would forbid are none
/// of the capture's business, and do not break it.
class BesideCaptures : Pinned {
 public:
  BesideCaptures() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace detail

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
    check(cudaGetDevice(&device), "cudaGetDevice");
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
    check(cudaDeviceCanAccessPeer(&yes, from, to), "cudaDeviceCanAccessPeer", from);
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
      check(code, "cudaDeviceEnablePeerAccess", from);
    }
  }

  std::byte* allocate(int device, std::size_t bytes) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    void* base = nullptr;
    check(cudaMalloc(&base, bytes), "cudaMalloc", device, bytes);
    return static_cast<std::byte*>(base);
  }

  /// Waits for all of the device, as cudaFree does.
  void free(std::byte* base) noexcept override { end(cudaFree, base); }

  std::byte* allocate_host(std::size_t bytes) override {
    const detail::BesideCaptures beside;
    void* base = nullptr;
    check(cudaHostAlloc(&base, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc",
          no_device, bytes, detail::Asked::pinning);
    return static_cast<std::byte*>(base);
  }

  void free_host(std::byte* base) noexcept override { end(cudaFreeHost, base); }

  void pin(std::byte* base, std::size_t bytes) override {
    const detail::BesideCaptures beside;
    check(cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
          "cudaHostRegister", no_device, bytes, detail::Asked::pinning);
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
        "cuPointerGetAttributes", no_device);
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
    check(cudaIpcGetMemHandle(&exported, base), "cudaIpcGetMemHandle", found.device, 0,
          detail::Asked::sharing);
    return bytes_of<MemoryHandle>(exported);
  }

  std::byte* import_memory(int device, const MemoryHandle& handle) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    const std::lock_guard lock(imports_mutex_);
    imports_.reserve(imports_.size() + 1);
    void* base = nullptr;
    check(cudaIpcOpenMemHandle(&base, from_bytes<cudaIpcMemHandle_t>(handle),
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
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags",
          device);
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
    check_driver(driver_.stream_context(stream, &context), "cuStreamGetCtx", no_device);
    const detail::CurrentContext current(driver_, context);
    check_driver(current.code(), "cuCtxPushCurrent", no_device);
    int handle = 0;
    check_driver(driver_.context_device(&handle), "cuCtxGetDevice", no_device);
    return number_of(handle);
  }

  Event make_event(int device, bool between_processes) override {
    const Current current(*this, device);
    const detail::BesideCaptures beside;
    cudaEvent_t made = nullptr;
    const unsigned flags = between_processes ? unsigned{cudaEventInterprocess} : 0U;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | flags),
          "cudaEventCreateWithFlags", device);
    return reinterpret_cast<Event>(made);
  }

  void destroy_event(Event event) noexcept override { end(cudaEventDestroy, of(event)); }

  EventHandle export_event(Event event) override {
    cudaIpcEventHandle_t exported;
    check(cudaIpcGetEventHandle(&exported, of(event)), "cudaIpcGetEventHandle", no_device, 0,
          detail::Asked::sharing);
    return bytes_of<EventHandle>(exported);
  }

  Event import_event(int device, const EventHandle& handle) override {
    const Current current(*this, device);
    cudaEvent_t opened = nullptr;
    check(cudaIpcOpenEventHandle(&opened, from_bytes<cudaIpcEventHandle_t>(handle)),
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
    check(code, "cudaEventQuery");
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
    check(static_cast<cudaError_t>(
              reducer.launch(operands, n, reducer.op, at(device).multiprocessors, of(stream))),
          "cudaLaunchKernel", device);
  }

 private:
  static constexpr int no_device = -1;  // unknown: the message names the current one

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
    check_driver(driver_.init(0), "cuInit", no_device);
    int number = 0;
    for (Device& device : devices_) {
      check_driver(driver_.device(&device.handle, number), "cuDeviceGet", number);
      check(cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, number),
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

  template <class Bytes, class Handle>
  static Bytes bytes_of(const Handle& handle) noexcept {
    static_assert(sizeof(Bytes) == sizeof(Handle));
    Bytes made;
    std::memcpy(made.bytes.data(), &handle, sizeof handle);
    return made;
  }

  template <class Handle, class Bytes>
  static Handle from_bytes(const Bytes& from) noexcept {
    static_assert(sizeof(Bytes) == sizeof(Handle));
    Handle made;
    std::memcpy(&made, from.bytes.data(), sizeof made);
    return made;
  }

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
    return no_device;
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

  void check(cudaError_t code, const char* function, int device = no_device, std::size_t bytes = 0,
             detail::Asked asked = detail::Asked::any) {
    if (code == cudaSuccess) [[likely]] {
      return;
    }
    detail::forget(code);
    fail(detail::fault_of(code, asked), function, bytes, device,
         papcoll::detail::joined({cudaGetErrorName(code), " (", cudaGetErrorString(code), ")"}),
         code);
  }

  // The device of a stream is asked for only if something failed.
  void check_in(cudaError_t code, const char* function, Stream stream) {
    if (code == cudaSuccess) [[likely]] {
      return;
    }
    detail::forget(code);
    int device = no_device;
    try {
      device = device_of(stream);
    } catch (const device_error&) {  // of an invalid one, no device is known
    }
    check(code, function, device);
  }

  // The driver's codes are the runtime's.
  void check_driver(int code, const char* function, int device) {
    if (code == detail::CudaDriver::success) [[likely]] {
      return;
    }
    const auto same = static_cast<cudaError_t>(code);
    fail(detail::fault_of(same, detail::Asked::any), function, 0, device, driver_.name_of(code),
         same);
  }

  [[noreturn, gnu::cold]] static void fail(Fault fault, const char* function, std::size_t bytes,
                                           int device, const std::string& reason,
                                           cudaError_t code) {
    std::string where;
    if (device != no_device) {
      where = papcoll::detail::joined({" on device ", device});
    } else if (cudaGetDevice(&device) == cudaSuccess) {
      where = papcoll::detail::joined({" (current device: ", device, ")"});
    }
    std::string of_bytes;
    if (bytes != 0) of_bytes = papcoll::detail::joined({" of ", bytes, " bytes"});
    throw device_error(
        fault, papcoll::detail::joined({"papcoll: ", function, of_bytes, where, " failed: ", reason,
                                        "; ", detail::advice_on(fault, code)}));
  }

  detail::CudaDriver driver_;
  std::vector<Device> devices_;
  std::mutex imports_mutex_;
  std::vector<Import> imports_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
