// SPDX-License-Identifier: BSD-3-Clause
// Every built-in operator on every built-in type, and a user's operators, against plain loops: on
// the host always, and on a device if there is one.
#include "checks.hpp"
#include "user_operators.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/built_in_on_host.hpp>
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace papcoll;

constexpr std::size_t n = 1003;  // packs and a rest
constexpr int inputs = 3;

std::mt19937 random_bits(1);

template <class T> T any() {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<int>(random_bits() % 2001) - 1000) / 8;
  } else if constexpr (std::is_same_v<T, Step>) {
    return {any<std::uint32_t>(), any<std::uint32_t>(), 1};
  } else {
    return random_bits() % 4 == 0 ? T{0} : static_cast<T>(random_bits());  // 0 is false
  }
}

/// A device, and memory of it for the inputs and an output of any type here.
struct OnDevice {
  static constexpr std::size_t buffer_bytes = (n + 1) * 16;
  std::unique_ptr<gpu::CudaRuntime> cuda = std::make_unique<gpu::CudaRuntime>();
  gpu::OwnedMemory memory{*cuda, cuda->allocate(0, (inputs + 1) * buffer_bytes)};
  gpu::OwnedStream stream{*cuda, cuda->make_stream(0)};
  gpu::OwnedEvent done{*cuda, cuda->make_event(0, false)};

  std::byte* buffer(int i) { return memory.get() + static_cast<std::size_t>(i) * buffer_bytes; }
  void finish() {
    cuda->record(done.get(), stream.get());
    while (!cuda->is_complete(done.get())) {
    }
  }
};

std::optional<OnDevice> device;

template <class T> bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// `plain` combines two elements. Inputs begin at element `offset`: packs do not fit if that is 1.
template <class T, class Plain>
void check(const std::string& name, const gpu::DeviceReducer& reducer, Plain plain,
           std::size_t offset) {
  std::vector<std::vector<T>> in(inputs, std::vector<T>(n + offset));
  for (auto& buffer : in) {
    for (T& x : buffer) x = any<T>();
  }
  std::vector<T> expected(in[0]);
  for (int k = 1; k < inputs; ++k) {
    for (std::size_t i = offset; i < n + offset; ++i) {
      expected[i] = plain(expected[i], in[static_cast<std::size_t>(k)][i]);
    }
  }
  const std::string where = name + (offset == 0 ? "" : ", misaligned");

  gpu::Operands o;
  o.inputs = inputs;
  o.outputs = 1;
  std::vector<T> out(in[0]);
  for (std::size_t k = 0; k < in.size(); ++k) o.in[k] = in[k].data() + offset;
  o.out[0] = out.data() + offset;
  EXPECT(reducer.size == sizeof(T));
  reducer.perform(o, n, reducer.op);
  if (!EXPECT(same(out, expected))) std::printf("  %s, on the host\n", where.c_str());

  if (!device || reducer.launch == nullptr) return;
  const std::size_t bytes = (n + offset) * sizeof(T);
  for (int k = 0; k < inputs; ++k) {
    const auto& from = in[static_cast<std::size_t>(k)];
    device->cuda->copy(device->buffer(k), from.data(), bytes, device->stream.get());
    o.in[k] = device->buffer(k) + offset * sizeof(T);
  }
  o.out[0] = device->buffer(inputs) + offset * sizeof(T);
  device->cuda->combine(o, n, reducer, device->stream.get());
  device->cuda->copy(out.data() + offset, o.out[0], n * sizeof(T), device->stream.get());
  device->finish();
  if (!EXPECT(same(out, expected))) std::printf("  %s, on the device\n", where.c_str());
}

int pairs = 0;

template <class Op, class T> void check_pair() {
  constexpr BuiltInPair pair = built_in_pair<T, Op>;
  const std::string name =
      std::string(Op::name) + (std::is_floating_point_v<T> ? " of floating " : " of ") +
      std::to_string(8 * sizeof(T)) + (std::is_signed_v<T> ? " bits, signed" : " bits");
  const gpu::DeviceReducer* const on_host = gpu::built_in_host_reducer(pair);
  const gpu::DeviceReducer* const reducer = gpu::built_in_reducer(pair);
  if constexpr (gpu::detail::Combinable<T, Op>) {
    if (!EXPECT(on_host != nullptr && reducer != nullptr)) return;
    EXPECT(on_host->launch == nullptr && reducer->launch != nullptr);
    const auto plain = [](const T& low, const T& high) { return Op{}(low, high); };
    check<T>(name, *on_host, plain, 0);
    check<T>(name, *reducer, plain, 0);
    check<T>(name, *reducer, plain, 1);
    ++pairs;
  } else {
    EXPECT(on_host == nullptr && reducer == nullptr);
  }
}

template <class Op, class... Ts> void check_types(papcoll::detail::TypeList<Ts...>) {
  (check_pair<Op, Ts>(), ...);
}

template <class... Ops> void check_operators(papcoll::detail::TypeList<Ops...>) {
  (check_types<Ops>(papcoll::detail::BuiltInTypes{}), ...);
}

void check_user_operators() {
  const auto in_turn = [](const Step& low, const Step& high) {
    return Step{high.scale * low.scale, high.scale * low.shift + high.shift,
                low.count + high.count};
  };
  const auto modulo = [](std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint32_t>((std::uint64_t{low} + high) % 1000);
  };
  for (const std::size_t offset : {0U, 1U}) {
    check<Step>("steps in turn", steps_in_turn(), in_turn, offset);
    check<std::uint32_t>("sum modulo 1000", sum_modulo_1000(), modulo, offset);
  }
  EXPECT(steps_in_turn().launch != nullptr);
}

}  // namespace

int main() {
  try {
    device.emplace();
  } catch (const gpu::device_error& e) {
    if (e.fault != gpu::Fault::no_gpu) throw;
    std::printf("SKIPPED: the reductions on a device; %s\n", e.what());
  }
  check_operators(papcoll::detail::BuiltInOperators{});
  check_user_operators();
  EXPECT(gpu::built_in_reducer(BuiltInPair{}) == nullptr);
  // 10 operators on 8 types of integers; those but 3 on 2 others.
  EXPECT(pairs == 94);
  std::printf("%d pairs on the host%s, %d failures\n", pairs, device ? " and a device" : "",
              failures);
  device.reset();
  return failures == 0 ? 0 : 1;
}
