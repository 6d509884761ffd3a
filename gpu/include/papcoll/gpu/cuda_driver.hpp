// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

// What the driver offers and CUDA's runtime does not, or not in all of its versions. The library is
// looked for when the program runs: linked to, it would keep programs from starting on machines
// without a GPU, and not every toolkit has it. Functions are declared here, since cuda.h turns some
// of their names into those of other versions.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// The driver's functions. Each returns a CUresult, and 0 if all is well.
class CudaDriver : Pinned {
 public:
  using Context = void*;  ///< a CUcontext

  static constexpr int success = 0;  ///< CUDA_SUCCESS

  int (*init)(unsigned) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*uuid)(void*, int) = nullptr;
  int (*retain_primary_context)(Context*, int) = nullptr;
  int (*push_context)(Context) = nullptr;
  int (*pop_context)(Context*) = nullptr;
  int (*context_device)(int*) = nullptr;
  int (*stream_context)(void*, Context*) = nullptr;
  int (*pointer_attributes)(unsigned, int*, void**, unsigned long long) = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  /// Throws device_error where there is no driver, or one that is too old.
  CudaDriver() {
    library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      throw device_error(
          Fault::no_gpu,
          papcoll::detail::joined(
              {"papcoll: no GPU can be used: CUDA's driver is missing (", ::dlerror(),
               "); install an NVIDIA driver, or run on a machine that has one"}));
    }
    try {
      find(init, "cuInit");
      find(device, "cuDeviceGet");
      // A part of a GPU (MIG) has an identity of its own, which the second version returns.
      if (!has(uuid, "cuDeviceGetUuid_v2")) find(uuid, "cuDeviceGetUuid");
      find(retain_primary_context, "cuDevicePrimaryCtxRetain");
      find(push_context, "cuCtxPushCurrent_v2");
      find(pop_context, "cuCtxPopCurrent_v2");
      find(context_device, "cuCtxGetDevice");
      find(stream_context, "cuStreamGetCtx");
      find(pointer_attributes, "cuPointerGetAttributes");
      find(error_name, "cuGetErrorName");
    } catch (...) {
      ::dlclose(library_);
      throw;
    }
  }
  ~CudaDriver() { ::dlclose(library_); }

  /// A CUresult's name.
  const char* name_of(int code) const noexcept {
    const char* name = nullptr;
    return error_name(code, &name) == success && name != nullptr ? name : "an unknown error";
  }

 private:
  template <class F> bool has(F*& function, const char* name) noexcept {
    function = reinterpret_cast<F*>(::dlsym(library_, name));
    return function != nullptr;
  }
  template <class F> void find(F*& function, const char* name) {
    if (has(function, name)) return;
    throw device_error(Fault::no_gpu, papcoll::detail::joined(
                                          {"papcoll: no GPU can be used: CUDA's driver has no ",
                                           name, "; install a newer NVIDIA driver"}));
  }

  void* library_ = nullptr;
};

/// In its lifetime a context is its thread's current one. What the thread had before comes back,
/// also if that was nothing: cudaSetDevice could only have made a context for the device before.
class CurrentContext : Pinned {
 public:
  CurrentContext(const CudaDriver& driver, CudaDriver::Context context) noexcept
      : driver_(driver), code_(driver.push_context(context)) {}
  ~CurrentContext() {
    CudaDriver::Context popped = nullptr;
    if (code_ == CudaDriver::success) driver_.pop_context(&popped);
  }

  /// CudaDriver::success, or why it is not current.
  int code() const noexcept { return code_; }

 private:
  const CudaDriver& driver_;
  const int code_;
};

/// A handle for another process, as its bytes, and back.
template <class Bytes, class Handle> Bytes bytes_of(const Handle& handle) noexcept {
  static_assert(sizeof(Bytes) == sizeof(Handle));
  Bytes made;
  std::memcpy(made.bytes.data(), &handle, sizeof handle);
  return made;
}

template <class Handle, class Bytes> Handle from_bytes(const Bytes& from) noexcept {
  static_assert(sizeof(Bytes) == sizeof(Handle));
  Handle made;
  std::memcpy(&made, from.bytes.data(), sizeof made);
  return made;
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
