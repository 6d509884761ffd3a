// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

// What CudaRuntime makes of CUDA's errors: a device_error with a sentence.

namespace papcoll::inline PAPCOLL_ABI::gpu::detail {

/// What kind of function failed, where its codes have more than one meaning.
enum class Asked : unsigned char { any, sharing, pinning };

/// Returns true if the code is one of these.
constexpr bool is_any_of(cudaError_t code, auto... codes) noexcept {
  return ((code == codes) || ...);
}

/// Returns the kind of fault that a code of CUDA stands for.
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

/// Returns a text on what a reader of the message can do.
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
    case Fault::lost: break;
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

/// Of a message that names the current device.
inline constexpr int no_device = -1;

[[noreturn, gnu::cold]] inline void fail(Fault fault, const char* function, std::size_t bytes,
                                         int device, const std::string& reason, cudaError_t code) {
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
                                      "; ", advice_on(fault, code)}));
}

/// Throws device_error unless the code is of success.
inline void check(cudaError_t code, const char* function, int device = no_device,
                  std::size_t bytes = 0, Asked asked = Asked::any) {
  if (code == cudaSuccess) [[likely]] {
    return;
  }
  forget(code);
  fail(fault_of(code, asked), function, bytes, device,
       papcoll::detail::joined({cudaGetErrorName(code), " (", cudaGetErrorString(code), ")"}),
       code);
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu::detail
