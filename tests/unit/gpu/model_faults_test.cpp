// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "modelled.hpp"

#include <papcoll/error.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>

#include <cstddef>

using namespace modelled;

TEST_CASE("an allocation fails once, and where a device is full", "[gpu]") {
  DeviceMachine machine = four();
  machine.devices[1].capacity = 10000;
  Model model(machine);
  Api& api = model.process(0);
  std::byte* const p = api.allocate(1, 6000);
  CHECK(fault_of([&] { api.allocate(1, 6000); }) == Fault::out_of_memory);
  CHECK(fault_of([&] { model.process(1).allocate(1, 6000); }) == Fault::out_of_memory);
  api.allocate(2, 6000);
  api.free(p);
  api.allocate(1, 10000);
  CHECK(fault_of([&] { api.allocate(0, 0); }) == Fault::misuse);

  model.fail_allocation(1);
  api.allocate(0, 8);
  CHECK(fault_of([&] { api.allocate_host(8); }) == Fault::out_of_memory);
  api.allocate_host(8);
  model.fail_allocation(0);
  CHECK(fault_of([&] { model.process(3).allocate(0, 8); }) == Fault::out_of_memory);
}

TEST_CASE("a process may not share, and others may", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  Api& other = model.process(1);
  std::byte* const p = api.allocate(0, 64);
  const Event event = api.make_event(0, true);
  const auto memory_handle = api.export_memory(p);
  const auto event_handle = api.export_event(event);
  model.refuse_ipc(1);
  CHECK(fault_of([&] { other.import_memory(0, memory_handle); }) == Fault::ipc_refused);
  CHECK(fault_of([&] { other.import_event(0, event_handle); }) == Fault::ipc_refused);
  CHECK(fault_of([&] { other.export_memory(other.allocate(0, 8)); }) == Fault::ipc_refused);
  CHECK(fault_of([&] { other.export_event(other.make_event(0, true)); }) == Fault::ipc_refused);
  model.process(2).import_memory(0, memory_handle);
  model.process(2).import_event(0, event_handle);
  CHECK(fault_of([&] { api.export_event(api.make_event(0, false)); }) == Fault::misuse);
}

TEST_CASE("without access between devices all goes through the host", "[gpu]") {
  DeviceMachine machine = four();
  machine.access.clear();
  Model model(machine);
  Api& api = model.process(0);
  CHECK(api.can_access(1, 1));
  CHECK_FALSE(api.can_access(0, 1));
  CHECK(fault_of([&] { api.enable_access(0, 1); }) == Fault::no_peer_access);
  std::byte* const p = filled(model, api.allocate(0, 64), 16, 8);
  std::byte* const q = api.allocate(1, 64);
  const auto handle = api.export_memory(p);
  CHECK(fault_of([&] { model.process(1).import_memory(1, handle); }) == Fault::no_peer_access);
  model.process(1).close_memory(model.process(1).import_memory(0, handle));
  const Stream stream = api.make_stream(0);
  const Event event = api.make_event(0, false);
  CHECK(fault_of([&] { api.copy(q, p, 64, stream); }) == Fault::no_peer_access);
  std::byte* const host = api.allocate_host(64);
  api.copy(host, p, 64, stream);
  api.record(event, stream);
  const Stream there = api.make_stream(1);
  api.wait(there, event);
  api.copy(q, host, 64, there);
  model.run();
  CHECK(all_are(model, q, 16, 8));
  CHECK(model.problems().empty());
}

TEST_CASE("of a lost device nothing is usable, of others all is", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream lost = api.make_stream(1);
  const Stream healthy = api.make_stream(0);
  const Event on_lost = api.make_event(1, true);
  const Event imported = model.process(2).import_event(0, api.export_event(on_lost));
  const Event on_healthy = api.make_event(0, false);
  std::byte* const p = api.allocate(1, 64);
  std::byte* const q = api.allocate(0, 64);
  std::byte* const host = api.allocate_host(64);

  SECTION("now") {
    api.copy(p, host, 64, lost);
    api.record(on_lost, lost);
    model.lose_device(1);
  }
  SECTION("when an operation is complete") {
    model.lose_device_after(1, 2);
    api.copy(p, host, 64, lost);
    api.record(on_lost, lost);
    CHECK_FALSE(fault_of([&] {
      while (!api.is_complete(on_lost)) {
      }
    }));
    api.copy(p, host, 64, lost);
    api.copy(p, host, 64, lost);
    api.record(on_lost, lost);
    CHECK(fault_of([&] {
            while (!api.is_complete(on_lost)) {
            }
          }) == Fault::lost);
  }
  CHECK(fault_of([&] { api.is_complete(on_lost); }) == Fault::lost);
  CHECK(fault_of([&] { model.process(2).is_complete(imported); }) == Fault::lost);
  CHECK(fault_of([&] { api.copy(p, host, 64, lost); }) == Fault::lost);
  CHECK(fault_of([&] { api.copy(p, host, 0, lost); }) == Fault::lost);
  CHECK(fault_of([&] { add_ints(api, p, host, 16, lost); }) == Fault::lost);
  CHECK(fault_of([&] { api.record(on_lost, lost); }) == Fault::lost);
  CHECK(fault_of([&] { api.wait(lost, on_healthy); }) == Fault::lost);
  CHECK(fault_of([&] { api.wait(healthy, on_lost); }) == Fault::lost);
  CHECK(fault_of([&] { api.allocate(1, 8); }) == Fault::lost);

  api.copy(q, host, 64, healthy);
  api.record(on_healthy, healthy);
  model.run();
  CHECK(api.is_complete(on_healthy));
  CHECK_FALSE(model.stuck());
  api.free(p);
  api.free(q);
  api.free_host(host);
  CHECK(model.problems().empty());
}

TEST_CASE("a stream that is captured takes no operations", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream stream = api.make_stream(0);
  const Event event = api.make_event(0, false);
  CHECK_FALSE(api.is_capturing(stream));
  CHECK_FALSE(api.is_capturing(nullptr));
  model.set_capturing(stream, true);
  CHECK(api.is_capturing(stream));
  CHECK(fault_of([&] { api.record(event, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { api.copy(nullptr, nullptr, 0, stream); }) == Fault::misuse);
  model.set_capturing(stream, false);
  CHECK_FALSE(fault_of([&] { api.record(event, stream); }));
}

TEST_CASE("devices that are not there, and ways", "[gpu]") {
  Model model(DeviceMachine::one_device());
  Api& api = model.process(0);
  CHECK(api.devices() == 1);
  CHECK(api.physical_device(0) == model.process(1).physical_device(0));
  CHECK(fault_of([&] { api.allocate(1, 8); }) == Fault::misuse);
  CHECK(fault_of([&] { api.make_stream(-1); }) == Fault::misuse);
  CHECK(fault_of([&] { api.make_event(1, false); }) == Fault::misuse);
  CHECK(fault_of([&] { api.enable_access(0, 1); }) == Fault::misuse);

  DeviceMachine machine = four();
  machine.routes.erase({-1, 0});
  Model other(machine);
  std::byte* const to = other.process(0).allocate(0, 8);
  std::byte* const from = other.process(0).allocate_host(8);
  CHECK_THROWS_AS(other.process(0).copy(to, from, 8, nullptr), papcoll::argument_error);
}
