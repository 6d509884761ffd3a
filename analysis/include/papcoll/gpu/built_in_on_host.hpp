// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/device_reducer.hpp>

// Apart from built_in_reducers.hpp, because all kernels are compiled here.

namespace papcoll::inline PAPCOLL_ABI::gpu {

namespace detail {
struct OnHost {
  template <class T, class Op> static constexpr DeviceReducer reducer(const Op& op) noexcept {
    return host_reducer<T>(op);
  }
};
inline constexpr BuiltInTable<OnHost> built_in_on_host{};
static_assert(built_in_on_host.is_sorted());
}  // namespace detail

/// Returns what built_in_reducer gives, without nvcc: for memory that the host reaches only, as
/// that of the model of GPUs.
inline const DeviceReducer* built_in_host_reducer(BuiltInPair pair) noexcept {
  return detail::built_in_on_host.find(pair);
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
