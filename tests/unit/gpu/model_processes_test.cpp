// SPDX-License-Identifier: BSD-3-Clause
#include "modelled.hpp"

#include <papcoll/gpu/model/record.hpp>
#include <papcoll/gpu/model/shared_events.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

// Models of several processes: what they share of memory and events, and that time passes in each.

using namespace modelled;

namespace {

using papcoll::gpu::EventHandle;
using papcoll::gpu::MemoryHandle;

constexpr std::size_t n_apart = 50'000;
constexpr std::size_t bytes_apart = n_apart * sizeof(int);

/// What two processes tell each other.
struct Told {
  std::atomic<int> stage{0};  ///< release and acquire: what stands below was written before
  MemoryHandle memory{};
  EventHandle event{};
  MemoryHandle others_memory{};
  EventHandle others_event{};

  bool reaches(int wanted) const {
    for (int looks = 0; looks < 50'000; ++looks) {
      if (stage.load(std::memory_order_acquire) >= wanted) return true;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return false;
  }
};

/// A child that runs f(told) and ends, well if that is true.
class Child {
 public:
  template <class F> explicit Child(F f) {
    void* const at =
        mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    told_ = ::new (at) Told;
    pid_ = fork();
    if (pid_ != 0) return;
    alarm(20);
    _exit(f(*told_) ? 0 : 1);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!ended_) static_cast<void>(ends_well());
    munmap(told_, sizeof(Told));
  }

  Told& told() { return *told_; }
  void kill() const { ::kill(pid_, SIGKILL); }
  bool ends_well() {
    int status = 0;
    ended_ = true;
    return waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  Told* told_ = nullptr;
  pid_t pid_ = -1;
  bool ended_ = false;
};

/// One process's model, with a stream of device 0.
struct Apart {
  Model model{four(), {.between_processes = true}};
  Api& api = model.process(0);
  Stream stream = api.make_stream(0);
  Event event = api.make_event(0, true);

  /// New memory of device 0 that a copy in the stream fills from memory of the host.
  std::byte* copied(std::byte* from, int value) {
    filled(model, from, n_apart, value);
    std::byte* const made = api.allocate(0, bytes_apart);
    api.copy(made, from, bytes_apart, stream);
    return made;
  }
  bool completes(Event which) {
    for (int looks = 0; looks < 50'000; ++looks) {
      if (api.is_complete(which)) return true;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return false;
  }
  std::string problem() {
    const auto found = model.problems();
    return found.empty() ? "" : found.front();
  }
};

/// Pulls what the parent announces into memory of its own, and answers; several times.
bool pull_and_answer(Told& told, int rounds) {
  Apart here;
  if (!told.reaches(1)) return false;
  const std::byte* const from = here.api.import_memory(0, told.memory);
  const Event ready = here.api.import_event(0, told.event);
  std::byte* const to = here.api.allocate(0, bytes_apart);
  told.others_event = here.api.export_event(here.event);
  bool right = true;
  for (int round = 1; round <= rounds; ++round) {
    if (!told.reaches(2 * round - 1)) return false;
    here.api.wait(here.stream, ready);
    here.api.copy(to, from, bytes_apart, here.stream);
    here.api.record(here.event, here.stream);
    told.stage.store(2 * round, std::memory_order_release);
    right &= here.completes(here.event) && all_are(here.model, to, n_apart, round);
  }
  told.stage.store(2 * rounds + 1, std::memory_order_release);
  return right && here.problem().empty();
}

}  // namespace

TEST_CASE("processes with a model each pull from each other's memory behind events", "[gpu]") {
  constexpr int rounds = 20;
  Child child{[](Told& told) { return pull_and_answer(told, rounds); }};
  {
    Apart here;
    Told& told = child.told();
    std::byte* const host = here.api.allocate_host(bytes_apart);
    std::byte* const memory = here.copied(host, 0);
    told.memory = here.api.export_memory(memory);
    told.event = here.api.export_event(here.event);
    Event pulled = nullptr;
    bool right = true;
    for (int round = 1; round <= rounds && right; ++round) {
      // Nothing but the other process's event says that its copy does not read these any more.
      const Stream stream = here.api.make_stream(0);
      if (pulled != nullptr) here.api.wait(stream, pulled);
      std::byte* const from = here.api.allocate_host(bytes_apart);
      filled(here.model, from, n_apart, round);
      here.api.copy(memory, from, bytes_apart, pulled == nullptr ? here.stream : stream);
      here.api.record(here.event, pulled == nullptr ? here.stream : stream);
      told.stage.store(2 * round - 1, std::memory_order_release);
      // This host does nothing meanwhile: its streams go on by themselves.
      right = told.reaches(2 * round);
      if (pulled == nullptr) pulled = here.api.import_event(0, told.others_event);
    }
    CHECK(right);
    CHECK(told.reaches(2 * rounds + 1));  // what is under way ends with the model
    CHECK(here.problem() == "");
  }
  CHECK(child.ends_well());
}

TEST_CASE("between processes memory of a device is out of the host's reach as ever", "[gpu]") {
  Child child{[](Told& told) {
    Apart here;
    told.memory = here.api.export_memory(here.api.allocate(0, 100));
    told.stage.store(1, std::memory_order_release);
    return told.reaches(2);
  }};
  REQUIRE(child.told().reaches(1));
  Apart here;
  std::byte* const imported = here.api.import_memory(1, child.told().memory);
  CHECK(here.api.place(imported).memory == papcoll::gpu::Memory::device);
  CHECK(here.api.place(imported).device == 0);
  CHECK(here.api.place(imported).bytes == 100);
  CHECK(here.model.reach(imported) != imported);
  CHECK(all_are(here.model, imported, 25, static_cast<int>(0xA5A5A5A5)));
  here.api.close_memory(imported);
  here.api.close_memory(imported);
  CHECK(here.problem() != "");
  child.told().stage.store(2, std::memory_order_release);
  CHECK(child.ends_well());
}

TEST_CASE("what a process had that was killed is gone, and what others mapped is not", "[gpu]") {
  Child child{[](Told& told) {
    Apart here;
    std::byte* const memory = here.api.allocate(0, bytes_apart);
    filled(here.model, memory, n_apart, 7);
    told.memory = here.api.export_memory(memory);
    told.event = here.api.export_event(here.event);
    told.stage.store(1, std::memory_order_release);
    return told.reaches(2);
  }};
  Told& told = child.told();
  REQUIRE(told.reaches(1));
  Apart here;
  std::byte* const memory = here.api.import_memory(0, told.memory);
  const Event event = here.api.import_event(0, told.event);
  CHECK(here.api.is_complete(event));  // never recorded
  child.kill();
  CHECK_FALSE(child.ends_well());
  CHECK(all_are(here.model, memory, n_apart, 7));
  CHECK(fault_of([&] { here.api.import_memory(0, told.memory); }) == Fault::ipc_refused);
  here.api.close_memory(memory);
  here.api.destroy_event(event);
  CHECK(here.problem() == "");
}

TEST_CASE("between processes only the maker of an event records it, and it may end", "[gpu]") {
  Child child{[](Told& told) {
    Apart here;
    std::byte* const memory = here.api.allocate(0, 100);
    told.event = here.api.export_event(here.event);
    told.memory = here.api.export_memory(memory);
    told.stage.store(1, std::memory_order_release);
    if (!told.reaches(2)) return false;
    here.api.destroy_event(here.event);
    here.api.free(memory);
    told.stage.store(3, std::memory_order_release);
    return told.reaches(4);
  }};
  REQUIRE(child.told().reaches(1));
  Apart here;
  const Event event = here.api.import_event(0, child.told().event);
  CHECK(fault_of([&] { here.api.record(event, here.stream); }) == Fault::misuse);
  child.told().stage.store(2, std::memory_order_release);
  REQUIRE(child.told().reaches(3));
  CHECK(fault_of([&] { here.api.wait(here.stream, event); }) == Fault::misuse);
  CHECK(fault_of([&] { here.api.import_memory(0, child.told().memory); }) == Fault::ipc_refused);
  child.told().stage.store(4, std::memory_order_release);
  CHECK(child.ends_well());
}

TEST_CASE("other processes are told of an event's records in their order", "[gpu]") {
  namespace model = papcoll::gpu::detail;
  model::EventTable table;
  model::PublishedEvent published{table.at(3), 3};
  const auto first = std::make_shared<model::Record>();
  const auto second = std::make_shared<model::Record>();
  published.record(first);
  published.record(second);
  CHECK(table.at(3).recorded.load() == 2);
  second->done = true;
  second->observer->done();
  CHECK(table.at(3).completed.load() == 0);
  first->done = true;
  first->observer->done();
  CHECK(table.at(3).completed.load() == 2);
}
