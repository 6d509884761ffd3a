// SPDX-License-Identifier: BSD-3-Clause
// The reducers of papcoll::gpu, on memory that the host reaches: kernels for CUDA on the host.
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/device_reducer.hpp>

namespace papcoll::inline PAPCOLL_ABI::gpu {

namespace {
struct AtOnce {
  template <class T, class Op> static constexpr DeviceReducer reducer(const Op& op) noexcept {
    DeviceReducer made = host_reducer<T>(op);
    made.launch = [](const Operands& o, std::size_t n, const void* context, int /*processors*/,
                     void* /*stream*/) {
      combine<T>(o, n, 0, 1, *static_cast<const Op*>(context));
      return 0;
    };
    return made;
  }
};
constexpr detail::BuiltInTable<AtOnce> table{};
}  // namespace

const DeviceReducer* built_in_reducer(BuiltInPair pair) noexcept { return table.find(pair); }

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
