// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/gpu/device_reducer.hpp>

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// An operator of one's own for calls on devices: papcoll::gpu::allreduce(comm, data, count,
/// DeviceOperator<float>{magnitude_reducer()}, stream), where a .cu file makes the reducer by
/// device_operator(). `Commutes`: contributions may be combined in any order.
template <class T, bool Commutes = false> struct DeviceOperator {
  using Element = T;
  static constexpr bool commutative = Commutes;

  DeviceReducer reducer{};  ///< of elements of type T; the first member: see device_reducer_of()

  /// Combines two elements on the host.
  T operator()(const T& low, const T& high) const {
    T result{};
    Operands two;
    two.in[0] = &low;
    two.in[1] = &high;
    two.inputs = 2;
    two.out[0] = &result;
    two.outputs = 1;
    reducer.perform(two, 1, reducer.op);
    return result;
  }
};

template <class Op> inline constexpr bool is_device_operator = false;
template <class T, bool Commutes>
inline constexpr bool is_device_operator<DeviceOperator<T, Commutes>> = true;

/// What Reducer::built_in is where the reducer's context is a DeviceOperator.
inline constexpr BuiltInPair device_operator_mark{0xffff};

/// The reducer for devices that a call brings with it, or null.
inline const DeviceReducer* device_reducer_of(const Reducer& r) noexcept {
  return r.built_in == device_operator_mark ? static_cast<const DeviceReducer*>(r.context)
                                            : nullptr;
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
