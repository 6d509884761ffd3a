// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <cstdint>

// The body of every kernel that combines, one text for device and host: nvcc compiles it for both,
// any other compiler for the model of GPUs and for memory that the host reaches.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// How many buffers one kernel reads, and how many it writes, at most.
inline constexpr int most_operands = 16;

/// The buffers of a kernel that combines, passed by value as its parameter. Element i of all inputs
/// is combined in the order of the inputs, and every output gets it. An output may be an input;
/// otherwise buffers do not overlap.
struct Operands {
  const void* in[most_operands]{};  ///< the first `inputs` are used
  void* out[most_operands]{};       ///< the first `outputs` are used
  int inputs = 0;                   ///< at least 1
  int outputs = 0;                  ///< at least 1
};

namespace detail {

/// Elements that one instruction loads or stores: 16 bytes where elements divide that.
template <class T>
inline constexpr std::size_t pack_elements = 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1;

template <class T> struct alignas(pack_elements<T> * sizeof(T) == 16 ? 16 : alignof(T)) Pack {
  T at[pack_elements<T>];
};

/// Returns true if all buffers can be read and written by packs.
template <class T> PAPCOLL_ON_DEVICE inline bool packs_fit(const Operands& o) {
  std::uintptr_t all = 0;
  for (int k = 0; k < o.inputs; ++k) all |= reinterpret_cast<std::uintptr_t>(o.in[k]);
  for (int k = 0; k < o.outputs; ++k) all |= reinterpret_cast<std::uintptr_t>(o.out[k]);
  return all % alignof(Pack<T>) == 0;
}

}  // namespace detail

/// Thread `first` of `stride` threads: its share of n elements. Threads take neighbouring packs, so
/// that a warp's loads and stores are of whole lines.
template <class T, class Op>
PAPCOLL_ON_DEVICE void combine(const Operands& o, std::size_t n, std::size_t first,
                               std::size_t stride, const Op& op) {
  using P = detail::Pack<T>;
  constexpr std::size_t width = detail::pack_elements<T>;
  const std::size_t packs = detail::packs_fit<T>(o) ? n / width : 0;
  for (std::size_t i = first; i < packs; i += stride) {
    P low = static_cast<const P*>(o.in[0])[i];
    for (int k = 1; k < o.inputs; ++k) {
      const P high = static_cast<const P*>(o.in[k])[i];
      PAPCOLL_UNROLL
      for (std::size_t j = 0; j < width; ++j) {
        low.at[j] = static_cast<T>(op(low.at[j], high.at[j]));
      }
    }
    for (int k = 0; k < o.outputs; ++k) static_cast<P*>(o.out[k])[i] = low;
  }
  for (std::size_t i = packs * width + first; i < n; i += stride) {
    T low = static_cast<const T*>(o.in[0])[i];
    for (int k = 1; k < o.inputs; ++k) {
      low = static_cast<T>(op(low, static_cast<const T*>(o.in[k])[i]));
    }
    for (int k = 0; k < o.outputs; ++k) static_cast<T*>(o.out[k])[i] = low;
  }
}

/// How operands are combined where only a device reaches them: what Reducer::apply is for the
/// host's memory, without the types of element and operator. The operator must outlive the calls.
struct DeviceReducer {
  /// Starts a kernel in `stream`, a cudaStream_t of the current device; returns a cudaError_t.
  /// `processors`: how many multiprocessors that device has.
  using Launch = int(const Operands&, std::size_t n, const void* op, int processors, void* stream);
  /// Combines on the host, before it returns.
  using Perform = void(const Operands&, std::size_t n, const void* op);

  Launch* launch = nullptr;    ///< null where no nvcc compiled the operator
  Perform* perform = nullptr;  ///< for the model of GPUs
  const void* op = nullptr;    ///< the operator
  std::size_t size = 0;        ///< bytes of an element
};

/// The reducer of an operator for memory that the host reaches, as the model of GPUs needs it. For
/// devices: device_operator.cuh.
template <class T, class Op> constexpr DeviceReducer host_reducer(const Op& op) noexcept {
  DeviceReducer made;
  made.perform = [](const Operands& o, std::size_t n, const void* context) {
    combine<T>(o, n, 0, 1, *static_cast<const Op*>(context));
  };
  made.op = __builtin_addressof(op);
  made.size = sizeof(T);
  return made;
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
