// SPDX-License-Identifier: BSD-3-Clause
// The collectives of papcoll::gpu between processes that each have a model of GPUs: what a machine
// without a GPU can run of what CudaIpcTransport does.

#include "ranks/own_comm.hpp"
#include "unit/gpu/device_ranks.hpp"

#include <papcoll/communicator.hpp>
#include <papcoll/gpu.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace papcoll;
using namespace device_ranks;

namespace {

/// A model of so many devices in this process, a communicator, and the rank's device.
class Process {
 public:
  explicit Process(int devices, int refusing = -1)
      : model_(linked(devices), {.between_processes = true}) {
    comm_ = std::make_unique<Communicator>(mpi_->get());
    if (refusing == comm_->rank()) model_.refuse_ipc(refusing);
    device_ = std::make_unique<Device>(model_, comm_->rank());
  }

  Communicator& comm() { return *comm_; }
  Device& device() { return *device_; }
  gpu::Model& model() { return model_; }

  /// What is wrong on any rank: `right` is not, or the model found something, or has something left
  /// when all has ended.
  std::string problem(bool right) {
    const int rank = comm_->rank();
    comm_.reset();
    mpi_.reset();  // a rank that frees what others have mapped waits for them here
    device_.reset();
    const auto found = model_.problems();
    const auto left = model_.leftovers();
    std::string wrong = !right           ? "a result is wrong"
                        : !found.empty() ? found.front()
                        : !left.empty()  ? left.front()
                                         : "";
    return wrong.empty() ? "" : "rank " + std::to_string(rank) + ": " + wrong;
  }

 private:
  std::optional<OwnComm> mpi_{std::in_place};
  gpu::Model model_;
  std::unique_ptr<Communicator> comm_;
  std::unique_ptr<Device> device_;
};

/// Of ranks() ranks: what they add up to, of numbers().
std::vector<int> sums(int ranks, std::size_t n) {
  std::vector<int> all(n);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<int> of_r = numbers(r, n);
    for (std::size_t i = 0; i < n; ++i) all[i] += of_r[i];
  }
  return all;
}

/// Allreduces by arrival and by schedules, in place and out of place, one after the other.
bool allreduces_are_right(Process& p, std::size_t n) {
  const auto all = sums(p.comm().size(), n);
  Device& d = p.device();
  bool right = true;
  for (int round = 0; round < 3; ++round) {
    int* const data = d.put(numbers(p.comm().rank(), n));
    gpu::allreduce<SharedDevice, ModelTransport>(p.comm(), data, n, sum, d.stream);
    right &= d.get(data, n) == all;
    const int* const in = d.put(numbers(p.comm().rank(), n));
    int* const out = d.put(std::vector<int>(n));
    gpu::allreduce<DeviceSlices, ModelTransport>(p.comm(), in, out, n, sum, d.stream);
    gpu::allreduce<SharedDevice, Reproducible, ModelTransport>(p.comm(), in, data, n, sum,
                                                               d.stream);
    right &= d.get(out, n) == all && d.get(data, n) == all;
    right &= d.get(in, n) == numbers(p.comm().rank(), n);
    int* const at_root = d.put(numbers(p.comm().rank(), n));
    gpu::reduce<DeviceSlices, ModelTransport>(p.comm(), at_root, n, root{0}, sum, d.stream);
    if (p.comm().rank() == 0) right &= d.get(at_root, n) == all;
    int* const ring = d.put(numbers(p.comm().rank(), n));
    gpu::allreduce<Ring, ModelTransport>(p.comm(), ring, n, sum, d.stream);
    right &= d.get(ring, n) == all;
  }
  return right;
}

}  // namespace

TEST_CASE("collectives between processes that each have devices", "[gpu]") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{200'000}}) {
    CAPTURE(n);
    Process p{4};
    const bool right = collectives_are_right(p.comm(), p.device(), n);
    CHECK(p.comm().why_no_ipc().empty() == (p.comm().nodes() == 1));
    CHECK(p.problem(right) == "");
  }
}

TEST_CASE("several requests at once between processes", "[gpu]") {
  for (const int refusing : {-1, 1}) {
    Process p{2, refusing};
    CHECK(p.problem(requests_are_right(p.comm(), p.device())) == "");
  }
}

TEST_CASE("by arrival between processes, on one device and on several", "[gpu]") {
  for (const int devices : {1, 3}) {
    for (const std::size_t n : {std::size_t{3}, std::size_t{100'000}}) {
      CAPTURE(devices, n);
      Process p{devices};
      CHECK(p.problem(allreduces_are_right(p, n)) == "");
    }
  }
}

TEST_CASE("processes of which one may not share memory go through the host", "[gpu]") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{400'000}}) {
    CAPTURE(n);
    Process p{2, 1};
    bool right = allreduces_are_right(p, n);
    right &= collectives_are_right(p.comm(), p.device(), n);
    // On several nodes only those of the rank's own know.
    const bool told = p.comm().why_no_ipc().find("on rank 1: ") != std::string::npos;
    if (p.comm().nodes() == 1) CHECK(told);
    CHECK(p.problem(right) == "");
  }
}

TEST_CASE("buffers that processes share on devices", "[gpu]") {
  Process p{2};
  bool right = true;
  {
    using SharedInts = gpu::shared_buffer<int, ModelTransport>;
    for (const std::size_t n : {std::size_t{1}, std::size_t{40'000}, std::size_t{30'000}}) {
      const SharedInts in{p.comm(), n};
      const SharedInts out{p.comm(), n};
      const std::vector<int> own = numbers(p.comm().rank(), n);
      std::memcpy(p.model().reach(in.data()), own.data(), n * sizeof(int));
      gpu::allreduce<Ring, ModelTransport>(p.comm(), in.data(), out.data(), n, sum,
                                           p.device().stream);
      right &= p.device().get(out.data(), n) == sums(p.comm().size(), n);
      gpu::allreduce<SharedDevice, ModelTransport>(p.comm(), in.data(), n, sum, p.device().stream);
      right &= p.device().get(in.data(), n) == sums(p.comm().size(), n);
    }
  }
  CHECK(p.problem(right) == "");
}
