// SPDX-License-Identifier: BSD-3-Clause
// Which reducers there are, and that each is that of its pair. Their results: tests/gpu.
#include "catch.hpp"

#include <papcoll/gpu/built_in_on_host.hpp>

#include <cstdint>

namespace {

using namespace papcoll;

template <class T, class Op> T combined_by_table(T low, T high) {
  const gpu::DeviceReducer* const reducer = gpu::built_in_host_reducer(built_in_pair<T, Op>);
  REQUIRE(reducer != nullptr);
  REQUIRE(reducer->launch == nullptr);
  REQUIRE(reducer->size == sizeof(T));
  T out{};
  gpu::Operands o;
  o.in[0] = &low;
  o.in[1] = &high;
  o.out[0] = &out;
  o.inputs = 2;
  o.outputs = 1;
  reducer->perform(o, 1, reducer->op);
  return out;
}

}  // namespace

TEST_CASE("Built-in operators have reducers for the host on all types that they work on", "[gpu]") {
  CHECK(combined_by_table<std::int8_t, Sum>(100, 100) == -56);
  CHECK(combined_by_table<std::uint8_t, Prod>(20, 20) == 144);
  CHECK(combined_by_table<std::int16_t, Min>(-3, 2) == -3);
  CHECK(combined_by_table<std::uint16_t, Max>(3, 65535) == 65535);
  CHECK(combined_by_table<std::int32_t, BitAnd>(6, 3) == 2);
  CHECK(combined_by_table<std::uint32_t, BitOr>(6, 3) == 7);
  CHECK(combined_by_table<long long, BitXor>(6, 3) == 5);
  CHECK(combined_by_table<std::uint64_t, LogicalAnd>(6, 0) == 0);
  CHECK(combined_by_table<float, LogicalOr>(0.5F, 0) == 1);
  CHECK(combined_by_table<double, LogicalXor>(0.5, 2) == 0);
  CHECK(combined_by_table<double, Sum>(0.5, 2) == 2.5);
}

TEST_CASE("Pairs that are not built in have no reducer for the host", "[gpu]") {
  CHECK(gpu::built_in_host_reducer(BuiltInPair{}) == nullptr);
  CHECK(gpu::built_in_host_reducer(built_in_pair<float, BitAnd>) == nullptr);
  CHECK(gpu::built_in_host_reducer(built_in_pair<bool, Sum>) == nullptr);
  CHECK(gpu::built_in_host_reducer(BuiltInPair{0xffff}) == nullptr);
}
