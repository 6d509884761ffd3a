// SPDX-License-Identifier: BSD-3-Clause
// Collectives between GPUs of processes: without a GPU, what all ranks are told; with one, results.
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>
#include <papcoll/papcoll.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int skipped = 77;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// Among ranks that have no GPU.
int without_gpu(papcoll::Communicator& comm) {
  float data[4] = {};
  std::string told;
  try {
    papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(comm, data, 4, papcoll::sum, nullptr);
  } catch (const papcoll::transport_unavailable& e) {
    told = e.what();
  }
  const bool right = contains(told, "CudaIpcTransport is not available") && contains(told, "cuda");
  if (comm.rank() == 0) std::printf("%s\n", told.c_str());
  // The communicator is as good as before.
  const int all = papcoll::allreduce(comm, right ? 1 : 0, papcoll::min);
  if (all == 0) return 1;
  if (comm.rank() == 0) std::printf("SKIPPED: no GPU; only the error was tested\n");
  return skipped;
}

bool is_right(const std::vector<float>& got, int ranks) {
  const int sum_of_ranks = ranks * (ranks + 1) / 2;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float wanted = static_cast<float>(sum_of_ranks) * static_cast<float>(1 + i % 7);
    if (got[i] < wanted || got[i] > wanted) return false;
  }
  return true;
}

template <class... Ps>
bool allreduce_is_right(papcoll::Communicator& comm, std::size_t n, cudaStream_t stream) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(comm.rank() + 1) * static_cast<float>(1 + i % 7);
  }
  void* memory = nullptr;
  const std::size_t bytes = n * sizeof(float);
  bool right = cudaMalloc(&memory, bytes) == cudaSuccess;
  auto* const data = static_cast<float*>(memory);
  right &= cudaMemcpy(data, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess;
  papcoll::gpu::allreduce<Ps..., papcoll::CudaIpcTransport>(comm, data, n, papcoll::sum, stream);
  right &= cudaStreamSynchronize(stream) == cudaSuccess;
  right &= cudaMemcpy(values.data(), data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
  right &= cudaFree(memory) == cudaSuccess;
  return right && is_right(values, comm.size());
}

int with_gpus(papcoll::Communicator& comm) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) return 1;
  if (cudaSetDevice(comm.rank() % devices) != cudaSuccess) return 1;
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;
  bool right = true;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20U}) {
    right &= allreduce_is_right<>(comm, n, stream);
    right &= allreduce_is_right<papcoll::RecursiveDoubling>(comm, n, stream);
    right &= allreduce_is_right<papcoll::ThreeStage>(comm, n, stream);
    right &= allreduce_is_right<papcoll::SharedDevice>(comm, n, stream);
    right &= allreduce_is_right<papcoll::DeviceSlices>(comm, n, stream);
  }
  right &= cudaStreamDestroy(stream) == cudaSuccess;
  return papcoll::allreduce(comm, right ? 1 : 0, papcoll::min) == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 1;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    int devices = 0;
    const bool any = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    result = any ? with_gpus(comm) : without_gpu(comm);
  }
  MPI_Finalize();
  return result;
}
