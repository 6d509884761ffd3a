#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_reducer.hpp>

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// The reducer of an operator of papcoll on an arithmetic type, for devices and for the host; null:
/// there is none for that pair. Compiled by nvcc: the target papcoll::gpu has it (kernels.cu).
const DeviceReducer* built_in_reducer(BuiltInPair pair) noexcept;

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
