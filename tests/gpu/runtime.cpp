// SPDX-License-Identifier: BSD-3-Clause
// CudaRuntime: without a GPU, what it says; with one, every operation, in two processes.
#include "checks.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/built_in_reducers.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace papcoll;
using gpu::Fault;
using gpu::Memory;

constexpr std::size_t n = 1 << 18;
constexpr std::size_t bytes = n * sizeof(float);

/// What one process tells the other.
struct Letter {
  gpu::MemoryHandle memory;
  gpu::EventHandle event;
  std::uint64_t physical_device = 0;
};

class LetterSocket {
 public:
  explicit LetterSocket(int end) : end_(end) {}
  void send(const Letter& letter) {
    EXPECT(::write(end_, &letter, sizeof letter) == sizeof letter);
  }
  std::optional<Letter> receive() {
    Letter letter;
    const bool whole = ::recv(end_, &letter, sizeof letter, MSG_WAITALL) == sizeof letter;
    return whole ? std::optional(letter) : std::nullopt;
  }

 private:
  int end_;
};

std::optional<Fault> fault_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const gpu::device_error& e) {
    EXPECT(std::string(e.what()).rfind("papcoll: ", 0) == 0);
    // CUDA remembers no error of ours.
    EXPECT(cudaPeekAtLastError() == cudaSuccess);
    return e.fault;
  }
  return std::nullopt;
}

void finish(gpu::Api& api, gpu::Stream stream, int device) {
  const gpu::OwnedEvent done(api, api.make_event(device, false));
  api.record(done.get(), stream);
  while (!api.is_complete(done.get())) {
  }
}

std::vector<float> to_host(gpu::Api& api, const std::byte* from, gpu::Stream stream, int device) {
  std::vector<float> got(n);
  api.copy(got.data(), from, bytes, stream);
  finish(api, stream, device);
  return got;
}

/// a = a + b, by a kernel.
void add(gpu::Api& api, std::byte* a, const std::byte* b, gpu::Stream stream) {
  gpu::Operands o;
  o.in[0] = a;
  o.in[1] = b;
  o.out[0] = a;
  o.inputs = 2;
  o.outputs = 1;
  api.combine(o, n, *gpu::built_in_reducer(built_in_pair<float, Sum>), stream);
}

void check_devices(gpu::Api& api) {
  const int devices = api.devices();
  EXPECT(devices >= 1);
  EXPECT(api.current_device() == 0);
  for (int a = 0; a < devices; ++a) {
    EXPECT(api.can_access(a, a));
    for (int b = 0; b < a; ++b) {
      EXPECT(api.physical_device(a) != api.physical_device(b));
      if (!api.can_access(a, b)) continue;
      api.enable_access(a, b);
      api.enable_access(a, b);  // again
    }
  }
  EXPECT(fault_of([&] { api.make_stream(devices); }) == Fault::misuse);
  EXPECT(fault_of([&] { api.can_access(0, -1); }) == Fault::misuse);
  EXPECT(api.current_device() == 0);
}

void check_memory(gpu::Api& api) {
  float here = 0;
  EXPECT(api.place(&here).memory == Memory::host);
  EXPECT(api.place(&here).device == -1 && api.place(&here).base == nullptr);

  std::byte* const memory = api.allocate(api.devices() - 1, bytes);
  EXPECT(api.current_device() == 0);
  EXPECT(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  const gpu::Place inside = api.place(memory + 1000);
  EXPECT(inside.memory == Memory::device && inside.device == api.devices() - 1);
  EXPECT(inside.base == memory && inside.bytes >= bytes);
  const std::uint64_t id = inside.id;
  EXPECT(id == api.place(memory).id);
  api.free(memory);
  std::byte* const another = api.allocate(api.devices() - 1, bytes);
  EXPECT(api.place(another).id != id);
  api.free(another);
  EXPECT(fault_of([&] { api.allocate(0, std::size_t{1} << 50); }) == Fault::out_of_memory);

  std::byte* const pinned = api.allocate_host(bytes);
  EXPECT(api.place(pinned).memory == Memory::pinned && api.place(pinned).device == -1);
  EXPECT(fault_of([&] { api.export_memory(pinned); }) == Fault::ipc_refused);
  api.free_host(pinned);

  void* const shared =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const others = static_cast<std::byte*>(shared);
  api.pin(others, bytes);
  EXPECT(api.place(others).memory == Memory::pinned);
  EXPECT(fault_of([&] { api.pin(others, bytes); }) == Fault::misuse);
  api.unpin(others);
  EXPECT(api.place(others).memory == Memory::host);
  api.unpin(others);  // nothing to be done about it, and nothing is
  EXPECT(cudaPeekAtLastError() == cudaSuccess);
  ::munmap(shared, bytes);

  void* managed = nullptr;
  EXPECT(cudaMallocManaged(&managed, 4096) == cudaSuccess);
  EXPECT(api.place(managed).memory == Memory::managed);
  EXPECT(cudaFree(managed) == cudaSuccess);
}

void check_streams(gpu::Api& api) {
  const int device = api.devices() - 1;
  const gpu::OwnedStream stream(api, api.make_stream(device));
  const gpu::OwnedStream other(api, api.make_stream(device));
  EXPECT(api.device_of(stream.get()) == device);
  EXPECT(api.device_of(nullptr) == 0);
  EXPECT(!api.is_capturing(stream.get()));

  const gpu::OwnedEvent event(api, api.make_event(device, false));
  EXPECT(api.is_complete(event.get()));

  const gpu::OwnedMemory a(api, api.allocate(device, bytes));
  const gpu::OwnedMemory b(api, api.allocate(device, bytes));
  const gpu::OwnedHostMemory host(api, api.allocate_host(bytes));
  auto* const x = reinterpret_cast<float*>(host.get());
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 1000);
  api.copy(a.get(), x, bytes, stream.get());
  api.record(event.get(), stream.get());
  api.wait(other.get(), event.get());
  api.copy(b.get(), a.get(), bytes, other.get());
  add(api, b.get(), a.get(), other.get());
  const std::vector<float> got = to_host(api, b.get(), other.get(), device);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) wrong += got[i] != 2 * x[i];
  EXPECT(wrong == 0);
  EXPECT(api.current_device() == 0);
  EXPECT(fault_of([&] {
           gpu::Operands o;
           const Sum op;
           api.combine(o, 0, gpu::host_reducer<float>(op), stream.get());
         }) == Fault::misuse);

  // A capture is seen, and allocations and queries of its thread do not break it.
  const auto captured = reinterpret_cast<cudaStream_t>(stream.get());
  EXPECT(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal) == cudaSuccess);
  EXPECT(api.is_capturing(stream.get()) && !api.is_capturing(other.get()));
  api.free(api.allocate(device, bytes));
  EXPECT(api.is_complete(event.get()));
  add(api, b.get(), a.get(), stream.get());
  cudaGraph_t graph = nullptr;
  EXPECT(cudaStreamEndCapture(captured, &graph) == cudaSuccess && graph != nullptr);
  EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
}

/// Both processes: one fills a window of its own, the other adds to it.
void give(gpu::Api& api, LetterSocket& letters) {
  const gpu::OwnedStream stream(api, api.make_stream(0));
  const gpu::OwnedMemory window(api, api.allocate(0, bytes));
  const gpu::OwnedEvent filled(api, api.make_event(0, true));
  const std::vector<float> ones(n, 1);
  api.copy(window.get(), ones.data(), bytes, stream.get());
  api.record(filled.get(), stream.get());
  letters.send(
      {api.export_memory(window.get()), api.export_event(filled.get()), api.physical_device(0)});
  const std::optional<Letter> answer = letters.receive();
  if (!EXPECT(answer)) return;
  EXPECT(answer->physical_device == api.physical_device(0));
  const gpu::OwnedEvent added(api, api.import_event(0, answer->event));
  api.wait(stream.get(), added.get());
  EXPECT(to_host(api, window.get(), stream.get(), 0) == std::vector<float>(n, 2));
  letters.send({});
  EXPECT(letters.receive());  // it has closed the window
}

void take(gpu::Api& api, LetterSocket& letters) {
  const std::optional<Letter> letter = letters.receive();
  if (!EXPECT(letter)) return;
  const gpu::OwnedStream stream(api, api.make_stream(0));
  const gpu::OwnedEvent added(api, api.make_event(0, true));
  {
    const gpu::ImportedMemory window(api, api.import_memory(0, letter->memory));
    const gpu::OwnedEvent filled(api, api.import_event(0, letter->event));
    api.wait(stream.get(), filled.get());
    EXPECT(to_host(api, window.get(), stream.get(), 0) == std::vector<float>(n, 1));
    add(api, window.get(), window.get(), stream.get());
    api.record(added.get(), stream.get());
    letters.send({{}, api.export_event(added.get()), api.physical_device(0)});
    EXPECT(letters.receive());
    finish(api, stream.get(), 0);
  }
  EXPECT(fault_of([&] { api.import_memory(0, {}); }) == Fault::ipc_refused);
  letters.send({});
}

int without_gpu(const gpu::device_error& e) {
  const std::string text = e.what();
  EXPECT(e.fault == Fault::no_gpu);
  EXPECT(text.rfind("papcoll: no GPU can be used: ", 0) == 0);
  // CUDA's function and its name of the error, or that its driver is missing; and what to do.
  EXPECT(text.find("cuda") != std::string::npos || text.find("CUDA") != std::string::npos);
  EXPECT(text.find("; ") != std::string::npos);
  if (failures != 0) std::printf("  of \"%s\"\n", text.c_str());
  if (failures == 0) std::printf("SKIPPED: what needs a GPU; %s\n", text.c_str());
  return failures == 0 ? 77 : 1;
}

}  // namespace

int main() {
  ::alarm(100);  // a process that waits for a dead one ends
  // Before CUDA begins, which no forked process could use after.
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t child = ::fork();
  ::close(ends[child == 0 ? 0 : 1]);
  LetterSocket letters(ends[child == 0 ? 1 : 0]);
  try {
    gpu::CudaRuntime cuda;
    if (child == 0) {
      take(cuda, letters);
      std::fflush(stdout);
      std::_Exit(failures == 0 ? 0 : 1);
    }
    check_devices(cuda);
    check_memory(cuda);
    check_streams(cuda);
    give(cuda, letters);
  } catch (const gpu::device_error& e) {
    if (child == 0) std::_Exit(1);
    if (e.fault == Fault::no_gpu) {
      ::waitpid(child, nullptr, 0);
      return without_gpu(e);
    }
    std::printf("FAILED: %s\n", e.what());
    ++failures;
  }
  int status = 0;
  EXPECT(::waitpid(child, &status, 0) == child && status == 0);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
