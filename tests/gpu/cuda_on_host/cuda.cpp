// SPDX-License-Identifier: BSD-3-Clause
// What papcoll calls of CUDA, for a machine without a GPU: one device, whose memory is the host's.
// Every operation is done when the call returns, so streams and events have nothing to do. Memory
// is shared between processes as with CUDA. For programs that are linked to it instead of CUDA's
// runtime; as libcuda.so.1 it is the driver, too.
#include "allocations.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

namespace {

using on_host::Allocation;
using on_host::allocations;

constexpr std::size_t device_bytes = std::size_t{64} << 30U;

struct SharedMemory {
  int process;
  int descriptor;
  std::size_t bytes;
};

int context_of_device = 0;

cudaError_t done(bool well) { return well ? cudaSuccess : cudaErrorInvalidValue; }

template <class Handle> Handle handle() { return reinterpret_cast<Handle>(new int); }

template <class Handle> cudaError_t drop(Handle made) {
  delete reinterpret_cast<int*>(made);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return done(device == 0); }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr /*name*/, int /*device*/) {
  *value = 4;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int /*device*/) {
  std::strncpy(text, "0000:00:00.0", static_cast<std::size_t>(bytes));
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* yes, int /*from*/, int /*to*/) {
  *yes = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int /*to*/, unsigned /*flags*/) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *all = device_bytes;
  *free = device_bytes - allocations().device_bytes();
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaSuccess ? "cudaSuccess" : "an error of CUDA on the host";
}
const char* cudaGetErrorString(cudaError_t code) { return cudaGetErrorName(code); }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void** base, std::size_t bytes) {
  *base = allocations().make(bytes, Allocation::device);
  return *base == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* base) { return done(allocations().end(base)); }
cudaError_t cudaHostAlloc(void** base, std::size_t bytes, unsigned /*flags*/) {
  *base = allocations().make(bytes, Allocation::pinned);
  return *base == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* base) { return done(allocations().end(base)); }
cudaError_t cudaHostRegister(void* base, std::size_t bytes, unsigned /*flags*/) {
  allocations().add(base, bytes, Allocation::registered, -1);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* base) { return done(allocations().end(base)); }

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* exported, void* base) {
  const Allocation found = allocations().find(base);
  if (found.kind != Allocation::device) return cudaErrorInvalidValue;
  const SharedMemory memory{getpid(), found.descriptor, found.bytes};
  std::memcpy(exported, &memory, sizeof memory);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** base, cudaIpcMemHandle_t exported, unsigned /*flags*/) {
  SharedMemory memory{};
  std::memcpy(&memory, &exported, sizeof memory);
  *base = allocations().import(memory.process, memory.descriptor, memory.bytes);
  return done(*base != nullptr);
}
cudaError_t cudaIpcCloseMemHandle(void* base) { return done(allocations().end(base)); }
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* exported, cudaEvent_t /*event*/) {
  *exported = {};
  return cudaSuccess;
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t /*exported*/) {
  *event = handle<cudaEvent_t>();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  *stream = handle<cudaStream_t>();
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return drop(stream); }
cudaError_t cudaStreamIsCapturing(cudaStream_t /*stream*/, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* /*mode*/) {
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = handle<cudaEvent_t>();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return drop(event); }
cudaError_t cudaEventRecord(cudaEvent_t /*event*/, cudaStream_t /*stream*/) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t /*event*/) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t /*stream*/, cudaEvent_t /*event*/,
                                unsigned /*flags*/) {
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t /*stream*/) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return cudaSuccess; }

// The driver's, which papcoll looks up by name.
#undef cuDeviceGetUuid
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
int papcoll_fake_init(unsigned flags) __asm__("cuInit");
int papcoll_fake_device(int* device, int number) __asm__("cuDeviceGet");
int papcoll_fake_uuid(void* to, int device) __asm__("cuDeviceGetUuid_v2");
int papcoll_fake_retain(void** context, int device) __asm__("cuDevicePrimaryCtxRetain");
int papcoll_fake_push(void* context) __asm__("cuCtxPushCurrent_v2");
int papcoll_fake_pop(void** context) __asm__("cuCtxPopCurrent_v2");
int papcoll_fake_device_of(int* device) __asm__("cuCtxGetDevice");
int papcoll_fake_stream(void* stream, void** context) __asm__("cuStreamGetCtx");
int papcoll_fake_name(int code, const char** name) __asm__("cuGetErrorName");
int papcoll_fake_attributes(unsigned count, int* names, void** values,
                            unsigned long long address) __asm__("cuPointerGetAttributes");

int papcoll_fake_init(unsigned /*flags*/) { return 0; }
int papcoll_fake_device(int* device, int number) {
  *device = 0;
  return number == 0 ? 0 : CUDA_ERROR_INVALID_DEVICE;
}
int papcoll_fake_uuid(void* to, int /*device*/) {
  std::memset(to, 7, 16);
  return 0;
}
int papcoll_fake_retain(void** context, int /*device*/) {
  *context = &context_of_device;
  return 0;
}
int papcoll_fake_push(void* /*context*/) { return 0; }
int papcoll_fake_pop(void** context) { return papcoll_fake_retain(context, 0); }
int papcoll_fake_device_of(int* device) { return papcoll_fake_device(device, 0); }
int papcoll_fake_stream(void* /*stream*/, void** context) {
  return papcoll_fake_retain(context, 0);
}
int papcoll_fake_name(int /*code*/, const char** name) {
  *name = "an error of CUDA's driver on the host";
  return 0;
}
int papcoll_fake_attributes(unsigned count, int* names, void** values, unsigned long long address) {
  const Allocation found = allocations().find(reinterpret_cast<const void*>(address));
  if (found.base == nullptr) return 0;
  const bool is_device = found.kind == Allocation::device || found.kind == Allocation::imported;
  for (unsigned i = 0; i < count; ++i) {
    switch (names[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(values[i]) = is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<void**>(values[i]) = found.base;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<std::size_t*>(values[i]) = found.bytes;
        break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *static_cast<unsigned long long*>(values[i]) = found.id;
        break;
      default: break;
    }
  }
  return 0;
}

}  // extern "C"
