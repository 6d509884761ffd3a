#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/kernel_operands.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// How operands are combined where only a device reaches them: what Reducer::apply is for the
/// host's memory, without the types of element and operator. The operator must outlive the calls.
struct DeviceReducer {
  /// Starts a kernel in `stream`, a cudaStream_t of the current device; returns a cudaError_t.
  /// `processors`: how many multiprocessors that device has.
  using Launch = int(const Operands&, std::size_t n, const void* op, int processors, void* stream);
  /// The same on the host, here and now.
  using Perform = void(const Operands&, std::size_t n, const void* op);

  Launch* launch = nullptr;    ///< null where no nvcc compiled the operator
  Perform* perform = nullptr;  ///< for the model of GPUs
  const void* op = nullptr;    ///< the operator
  std::size_t size = 0;        ///< bytes of an element
};

/// The reducer of an operator for memory that the host reaches, as the model of GPUs needs it. For
/// devices: device_operator.cuh.
template <class T, class Op>
constexpr DeviceReducer host_reducer(const Op& op) noexcept {
  DeviceReducer made;
  made.perform = [](const Operands& o, std::size_t n, const void* context) {
    combine<T>(o, n, 0, 1, *static_cast<const Op*>(context));
  };
  made.op = __builtin_addressof(op);
  made.size = sizeof(T);
  return made;
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
