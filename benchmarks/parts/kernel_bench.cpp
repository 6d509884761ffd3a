// SPDX-License-Identifier: BSD-3-Clause
// Times the reduce kernels alone: nanoseconds a call for element types, operators and sizes, the
// plain loop beside each instruction set's variant.
//
//   kernel_bench [TYPE [OPERATOR]]     say, kernel_bench double sum; without arguments all of them
//
// out is low, as in a reduction into an accumulator. `+16` means that every buffer starts 16 bytes
// past a cache line, as a large std::vector does. Each figure is the median of 21 repetitions in
// which the variants alternate.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <papcoll/base/op.hpp>
#include <papcoll/statistics/median.hpp>
#include <string_view>
#include <vector>

namespace {

using papcoll::detail::InstructionSet;
using papcoll::detail::Kernel;

constexpr std::size_t largest = std::size_t{4} << 20;
constexpr std::size_t alignment = 4096;
constexpr int repetitions = 21;

struct Buffers {
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  using Block = std::unique_ptr<std::byte[], Free>;
  static Block block() {
    auto* p = static_cast<std::byte*>(std::aligned_alloc(alignment, largest + 2 * alignment));
    if (p == nullptr) std::abort();
    return Block{p};
  }
  Block low = block();
  Block high = block();
};

/// Nanoseconds a call, over enough calls to fill about 50 microseconds.
double time_once(Kernel* kernel, std::byte* low, const std::byte* high, std::size_t n, int calls,
                 const void* context) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) {
    kernel(low, low, high, n, context);
    asm volatile("" ::: "memory");
  }
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count() / calls;
}

template <class T, class Op>
void bench(const char* type, const Op& op, Buffers& buffers, std::string_view type_filter,
           std::string_view op_filter) {
  if (!type_filter.empty() && type_filter != type) return;
  if (!op_filter.empty() && op_filter != Op::name) return;
  // Ones under any operator stay normal numbers: the time of denormals is not what is asked.
  const std::size_t elements = (largest + 64) / sizeof(T);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{16}}) {
    // A quarter of a page apart, so that loads and stores do not alias modulo 4096.
    std::byte* low = buffers.low.get() + offset;
    std::byte* high = buffers.high.get() + offset + alignment / 4;
    std::uninitialized_fill_n(reinterpret_cast<T*>(high), elements, static_cast<T>(1));
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{64}, std::size_t{512},
                                    std::size_t{8} << 10, std::size_t{64} << 10, largest}) {
      std::vector<Kernel*> kernels{papcoll::detail::plain_kernel<T, Op>};
      if constexpr (papcoll::detail::Vectorizable<T, Op>) {
        for (const InstructionSet set : papcoll::detail::instruction_sets) {
          if (supported(set)) kernels.push_back(papcoll::detail::vector_kernel<T, Op>(set));
        }
      }
      const std::size_t n = bytes / sizeof(T);
      const int calls = static_cast<int>(std::max<std::size_t>(1, 500000 / (bytes + 40)));
      std::vector<std::vector<double>> times(kernels.size());
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        std::uninitialized_fill_n(reinterpret_cast<T*>(low), n, static_cast<T>(1));
        for (std::size_t k = 0; k < kernels.size(); ++k) {
          times[k].push_back(
              time_once(kernels[k], low, high, n, calls, papcoll::detail::context_of(op)));
        }
      }
      std::printf("%-8s %-8s %8zu %4s", type, Op::name, bytes, offset == 0 ? "" : "+16");
      for (const auto& t : times) std::printf(" %10.1f", papcoll::median(t));
      std::printf("\n");
    }
  }
}

template <class T>
void bench_type(const char* type, Buffers& buffers, std::string_view type_filter,
                std::string_view op_filter) {
  bench<T>(type, papcoll::sum, buffers, type_filter, op_filter);
  bench<T>(type, papcoll::prod, buffers, type_filter, op_filter);
  bench<T>(type, papcoll::min, buffers, type_filter, op_filter);
  bench<T>(type, papcoll::max, buffers, type_filter, op_filter);
  if constexpr (std::is_integral_v<T>) {
    bench<T>(type, papcoll::bit_xor, buffers, type_filter, op_filter);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view type = argc > 1 ? argv[1] : "";
  const std::string_view op = argc > 2 ? argv[2] : "";
  Buffers buffers;
  std::printf("# ns a call\n# %-6s %-8s %8s %4s %10s %10s", "type", "op", "bytes", "", "plain",
              "baseline");
  if (supported(InstructionSet::avx2)) std::printf(" %10s", "avx2");
  if (supported(InstructionSet::avx512)) std::printf(" %10s", "avx512");
  std::printf("\n");
  bench_type<float>("float", buffers, type, op);
  bench_type<double>("double", buffers, type, op);
  bench_type<std::int8_t>("int8", buffers, type, op);
  bench_type<std::uint8_t>("uint8", buffers, type, op);
  bench_type<std::int16_t>("int16", buffers, type, op);
  bench_type<std::int32_t>("int32", buffers, type, op);
  bench_type<std::uint32_t>("uint32", buffers, type, op);
  bench_type<std::int64_t>("int64", buffers, type, op);
  bench_type<std::uint64_t>("uint64", buffers, type, op);
  return 0;
}
