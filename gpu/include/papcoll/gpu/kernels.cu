// SPDX-License-Identifier: BSD-3-Clause
// The kernels of all built-in operators on all built-in types, which the target papcoll::gpu has.
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/device_operator.cuh>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace {
struct OnDevice {
  template <class T, class Op> static constexpr DeviceReducer reducer(const Op& op) noexcept {
    return device_operator<T>(op);
  }
};
constexpr detail::BuiltInTable<OnDevice> table{};
static_assert(table.is_sorted());
}  // namespace

const DeviceReducer* built_in_reducer(BuiltInPair pair) noexcept { return table.find(pair); }

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
