// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// gpu: yes
// Training with gradients in memory of a GPU, averaged there over the ranks. If papcoll was built
// without CUDA, or a rank has no GPU, a model of GPUs in memory of the host takes their place, and
// the program says so. All that it asks of a device goes by papcoll::gpu::Api, which both have.

#include <papcoll/gpu.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/built_in_on_host.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/papcoll.hpp>
#ifdef EXAMPLE_HAS_CUDA
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>

#include <cuda_runtime_api.h>
#endif

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace gpu = papcoll::gpu;

/// Devices of the model, of which each process has one for all: what another DeviceTransport needs.
struct ModelDevices {
  static constexpr std::string_view transport_name = "ModelTransport";
  static constexpr bool needs_processes = true;

  static std::string unavailable() { return ""; }
  static gpu::Api& api() {
    static gpu::Model model{gpu::DeviceMachine::linked(4, 72e9, 60e9, 6e-6),
                            {.between_processes = true}};
    return model.process(0);
  }
  static gpu::DeviceReducer find_reducer(const papcoll::Reducer& r) {
    if (const gpu::DeviceReducer* own = gpu::device_reducer_of(r)) return *own;
    if (const gpu::DeviceReducer* found = gpu::built_in_host_reducer(r.built_in)) return *found;
    throw papcoll::argument_error("this operator is none of papcoll's");
  }
};
using ModelTransport = papcoll::DeviceTransport<ModelDevices>;

constexpr std::size_t features = 64;
constexpr std::size_t samples = 256;  // on each rank
constexpr int epochs = 150;
constexpr float rate = 0.25F;

using Weights = std::array<float, features>;

float product(const Weights& a, const Weights& b) {
  float sum = 0;
  for (std::size_t i = 0; i < features; ++i) sum += a[i] * b[i];
  return sum;
}

/// A rank's samples: inputs, and what the wanted weights make of them.
struct Data {
  Data(int rank, const Weights& wanted) : inputs(samples), outputs(samples) {
    std::mt19937 random(static_cast<unsigned>(rank) + 1);
    std::uniform_real_distribution<float> any(-1, 1);
    for (std::size_t s = 0; s < samples; ++s) {
      for (float& x : inputs[s]) x = any(random);
      outputs[s] = product(inputs[s], wanted);
    }
  }
  std::vector<Weights> inputs;
  std::vector<float> outputs;
};

/// The gradient of half the mean squared error.
void gradient_of(const Data& data, const Weights& weights, float* gradient) {
  for (std::size_t i = 0; i < features; ++i) gradient[i] = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    const float error = product(data.inputs[s], weights) - data.outputs[s];
    for (std::size_t i = 0; i < features; ++i) {
      gradient[i] += error * data.inputs[s][i] / static_cast<float>(samples);
    }
  }
}

/// The largest difference from the wanted weights after training.
template <class Transport> float train(papcoll::Communicator& comm) {
  gpu::Api& api = Transport::Provider::api();
  const int device = api.current_device();
  const gpu::OwnedStream stream{api, api.make_stream(device)};
  const gpu::OwnedEvent done{api, api.make_event(device, false)};
  constexpr std::size_t bytes = features * sizeof(float);
  const gpu::OwnedHostMemory pinned{api, api.allocate_host(bytes)};
  auto* const host = reinterpret_cast<float*>(pinned.get());
  // On the device, and where the other ranks map it.
  const gpu::shared_buffer<float, Transport> gradients{comm, features};

  Weights wanted{};
  for (std::size_t i = 0; i < features; ++i) wanted[i] = std::sin(static_cast<float>(i));
  const Data data{comm.rank(), wanted};
  Weights weights{};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    // A real network's gradients are made on the device; here they are copied there.
    gradient_of(data, weights, host);
    api.copy(gradients.data(), host, bytes, stream.get());
    gpu::allreduce<Transport>(comm, gradients.data(), features, papcoll::sum, stream.get());
    // The host cannot read the device's memory: it asks for a copy, and waits for it.
    api.copy(host, gradients.data(), bytes, stream.get());
    api.record(done.get(), stream.get());
    while (!api.is_complete(done.get())) std::this_thread::yield();
    for (std::size_t i = 0; i < features; ++i) {
      weights[i] -= rate * 3 * host[i] / static_cast<float>(comm.size());
    }
  }
  float difference = 0;
  for (std::size_t i = 0; i < features; ++i) {
    difference = std::fmax(difference, std::fabs(weights[i] - wanted[i]));
  }
  return difference;
}

/// Why this rank has no GPU, or nothing. It takes one of those that there are.
std::string why_no_gpu(int rank) {
#ifdef EXAMPLE_HAS_CUDA
  if (const std::string why = papcoll::CudaDevices::unavailable(); !why.empty()) return why;
  const int devices = papcoll::CudaDevices::api().devices();
  return cudaSetDevice(rank % devices) == cudaSuccess ? "" : "the GPU cannot be used";
#else
  static_cast<void>(rank);
  return "papcoll was built without CUDA";
#endif
}

float train_somewhere(papcoll::Communicator& comm) {
  const std::string here = why_no_gpu(comm.rank());
  const bool everywhere = papcoll::allreduce(comm, here.empty() ? 1 : 0, papcoll::min) == 1;
  const std::string why = everywhere || !here.empty() ? here : "another rank has no GPU";
  if (comm.rank() == 0 && why.empty()) std::printf("on GPUs\n");
  if (comm.rank() == 0 && !why.empty()) std::printf("on a model of GPUs: %s\n", why.c_str());
#ifdef EXAMPLE_HAS_CUDA
  if (why.empty()) return train<papcoll::CudaIpcTransport>(comm);
#endif
  return train<ModelTransport>(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    const float difference = train_somewhere(comm);
    right = papcoll::allreduce(comm, difference, papcoll::max) < 1e-3F;
    if (comm.rank() == 0) {
      std::printf("%d epochs on %d rank%s: the weights are right up to %.1e\n", epochs, comm.size(),
                  comm.size() == 1 ? "" : "s", static_cast<double>(difference));
      if (!comm.why_no_ipc().empty())
        std::printf("through the host: %s\n", comm.why_no_ipc().c_str());
    }
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
