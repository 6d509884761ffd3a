// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/gpu.hpp>
#include <papcoll/gpu/on_device.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "device_ranks.hpp"

// What is said of calls on devices without a schedule is what runs.

using namespace papcoll;

TEST_CASE("what is said to be chosen on devices is what runs", "[gpu]") {
  const auto check = [](auto tag, auto commutes) {
    using Tag = decltype(tag);
    constexpr bool commutative = decltype(commutes)::value;
    for (std::size_t bytes = 1; bytes <= std::size_t{1} << 24U; bytes *= 2) {
      for (const std::size_t n : {bytes, bytes + 1}) {
        const AlgorithmSpec& spec =
            gpu::detail::default_spec<Tag, commutative, device_ranks::ModelTransport>(n);
        const std::string_view name = spec.schedule.base_name();
        CAPTURE(n, commutative, Tag::value);
        CHECK(name == choose_on_device(Tag::value, commutative, n).algorithm);
      }
    }
  };
  check(Allreduce{}, std::true_type{});
  check(Allreduce{}, std::false_type{});
  check(Reduce{}, std::true_type{});
  check(Bcast{}, std::true_type{});
  check(Allgather{}, std::true_type{});
  check(ReduceScatter{}, std::true_type{});
  check(ReduceScatter{}, std::false_type{});
  check(Alltoall{}, std::true_type{});
  check(Gather{}, std::true_type{});
  check(Scatter{}, std::true_type{});
  CHECK(choose_on_device(Collective::scan, true, 8).algorithm.empty());
}
