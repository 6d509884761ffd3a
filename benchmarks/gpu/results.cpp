// SPDX-License-Identifier: BSD-3-Clause
#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/algorithms/static/three_stage.hpp>
#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>

#include <cstring>
#include <random>
#include <type_traits>

namespace bench {
namespace {

using papcoll::gpu::OwnedMemory;

/// Values of which results do not depend on the order of combining, with up to 64 ranks.
template <class T, class Op> T random_value(std::mt19937& bits) {
  if constexpr (!std::is_floating_point_v<T>) {
    return bits() % 4 == 0 ? T{0} : static_cast<T>(bits());  // 0 is false
  } else if constexpr (std::is_same_v<Op, papcoll::Prod>) {
    constexpr T values[] = {T(0.5), T(1), T(2), T(-1)};
    return values[bits() % 4];
  } else {
    return static_cast<T>(static_cast<int>(bits() % 2001) - 1000) / 8;
  }
}

template <class T, class Op> std::vector<T> contribution(int rank, std::size_t n) {
  std::mt19937 bits(static_cast<unsigned>(rank) * 7919U + static_cast<unsigned>(n) +
                    static_cast<unsigned>(sizeof(T)));
  std::vector<T> values(n);
  for (T& value : values) value = random_value<T, Op>(bits);
  return values;
}

class Check {
 public:
  explicit Check(GpuRank& rank)
      : rank_(rank), memory_{rank.gpus, rank.gpus.allocate(rank.device, most * 8)} {}

  template <class... Ops> void operators(papcoll::detail::TypeList<Ops...> /*all*/) {
    (types<Ops>(papcoll::detail::BuiltInTypes{}), ...);
  }

  int pairs = 0;
  int wrong = 0;

 private:
  static constexpr std::size_t most = 300'007;

  template <class Op, class... Ts> void types(papcoll::detail::TypeList<Ts...> /*all*/) {
    (pair<Op, Ts>(), ...);
  }

  template <class Op, class T> void pair() {
    if constexpr (papcoll::gpu::detail::Combinable<T, Op>) {
      ++pairs;
      for (const std::size_t n : {std::size_t{1003}, most}) {
        std::vector<T> wanted = contribution<T, Op>(0, n);
        for (int r = 1; r < rank_.comm.size(); ++r) {
          const std::vector<T> next = contribution<T, Op>(r, n);
          for (std::size_t i = 0; i < n; ++i) wanted[i] = Op{}(wanted[i], next[i]);
        }
        one<Op>(wanted, "default");
        one<Op, papcoll::SharedDevice>(wanted, "SharedDevice");
        one<Op, papcoll::DeviceSlices>(wanted, "DeviceSlices");
        one<Op, papcoll::ThreeStage>(wanted, "ThreeStage");
      }
    }
  }

  template <class Op, class... Ps, class T>
  void one(const std::vector<T>& wanted, const char* policy) {
    const std::size_t n = wanted.size();
    std::vector<T> values = contribution<T, Op>(rank_.comm.rank(), n);
    auto* const data = reinterpret_cast<T*>(memory_.get());
    rank_.copy(data, values.data(), n * sizeof(T));
    papcoll::gpu::allreduce<Ps..., papcoll::CudaIpcTransport>(rank_.comm, data, n, Op{},
                                                              rank_.stream());
    rank_.copy(values.data(), data, n * sizeof(T));
    if (rank_.on_all(std::memcmp(values.data(), wanted.data(), n * sizeof(T)) == 0)) return;
    ++wrong;
    if (!rank_.speaks()) return;
    JsonLine{"wrong"}
        .add("policy", std::string(policy))
        .add("op", std::string(Op::name))
        .add("type_bytes", sizeof(T))
        .add("is_floating", std::is_floating_point_v<T>)
        .add("count", n)
        .print();
  }

  GpuRank& rank_;
  OwnedMemory memory_;
};

}  // namespace

bool check_results(GpuRank& rank) {
  Check check{rank};
  check.operators(papcoll::detail::BuiltInOperators{});
  if (rank.speaks()) {
    JsonLine{"results"}
        .add("ranks", rank.comm.size())
        .add("pairs", check.pairs)
        .add("wrong", check.wrong)
        .add("no_ipc", rank.comm.why_no_ipc())
        .print();
  }
  return check.wrong == 0;
}

}  // namespace bench
