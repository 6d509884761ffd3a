// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "catch.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/model.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

/// What tests of the model of GPUs share.
namespace modelled {

using papcoll::gpu::Api;
using papcoll::gpu::DeviceMachine;
using papcoll::gpu::Event;
using papcoll::gpu::Fault;
using papcoll::gpu::Memory;
using papcoll::gpu::Model;
using papcoll::gpu::ModelOptions;
using papcoll::gpu::Operands;
using papcoll::gpu::Stream;

/// Of 4 devices, 100 GB/s between any two, 50 GB/s to the host, 10 us.
inline DeviceMachine four() { return DeviceMachine::linked(4, 100e9, 50e9, 10e-6); }

/// Seconds until the bytes of a copy flow on that machine.
inline constexpr double copy_start = 4e-6 + 10e-6;

/// What is at an address, of a device as ints.
inline int* ints(Model& model, const void* p) { return reinterpret_cast<int*>(model.reach(p)); }

/// p, with n ints of that value.
inline std::byte* filled(Model& model, std::byte* p, std::size_t n, int value) {
  std::fill_n(ints(model, p), n, value);
  return p;
}

/// Are n ints from p on that value?
inline bool all_are(Model& model, const void* p, std::size_t n, int value) {
  const int* const at = ints(model, p);
  return std::all_of(at, at + n, [value](int x) { return x == value; });
}

/// What f fails with, if it does.
template <class F> std::optional<Fault> fault_of(F f) {
  try {
    f();
  } catch (const papcoll::gpu::device_error& e) {
    CHECK(std::string(e.what()).rfind("papcoll: ", 0) == 0);
    return e.fault;
  }
  return std::nullopt;
}

/// Sums n ints of `in` and `out` into `out`.
inline void add_ints(Api& api, std::byte* out, const std::byte* in, std::size_t n, Stream stream) {
  static const std::plus<> plus;
  Operands o;
  o.in[0] = out;
  o.in[1] = in;
  o.out[0] = out;
  o.inputs = 2;
  o.outputs = 1;
  api.combine(o, n, papcoll::gpu::host_reducer<int>(plus), stream);
}

}  // namespace modelled
