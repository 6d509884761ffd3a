// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "modelled.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

using namespace modelled;

namespace {

constexpr std::size_t few_ints = 1000;   // ints
constexpr std::size_t few_bytes = 4000;  // of them

}  // namespace

TEST_CASE("operations of a stream are in order, and nothing happens before time passes", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream stream = api.make_stream(0);
  const Event event = api.make_event(0, false);
  std::byte* const a = filled(model, api.allocate_host(few_bytes), few_ints, 3);
  std::byte* const b = filled(model, api.allocate(0, few_bytes), few_ints, 4);
  std::vector<int> c(few_ints, 9);
  api.enable_access(0, 1);
  std::byte* const d = api.allocate(1, few_bytes);
  CHECK(api.is_complete(event));  // never recorded
  add_ints(api, b, a, few_ints, stream);
  add_ints(api, b, a, few_ints, stream);
  api.copy(d, b, few_bytes, stream);
  api.copy(c.data(), d, few_bytes, stream);
  api.record(event, stream);
  CHECK(all_are(model, b, few_ints, 4));
  CHECK(model.now() == 0);
  CHECK_FALSE(api.is_complete(event));
  CHECK(all_are(model, b, few_ints, 7));
  CHECK_FALSE(api.is_complete(event));
  CHECK_FALSE(api.is_complete(event));
  CHECK(all_are(model, d, few_ints, 10));
  CHECK(c == std::vector<int>(few_ints, 0x5A5A5A5A));  // under way
  CHECK(api.is_complete(event));
  CHECK(c == std::vector<int>(few_ints, 10));
  const double then = model.now();
  CHECK(api.is_complete(event));
  model.run();
  CHECK(model.now() == then);
  CHECK(model.problems().empty());
}

TEST_CASE("a wait is for the last record so far, and re-recording does not move it", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream early = api.make_stream(0);
  const Stream late = api.make_stream(0);
  const Event event = api.make_event(0, false);
  const Event done = api.make_event(0, false);
  std::byte* const a = filled(model, api.allocate(0, few_bytes), few_ints, 1);
  std::byte* const b = api.allocate(0, few_bytes);
  std::byte* const big = api.allocate_host(100000000);
  std::byte* const sink = api.allocate(0, 100000000);

  api.wait(late, event);  // of nothing
  api.copy(b, a, few_bytes, early);
  api.record(event, early);
  api.wait(late, event);
  api.copy(sink, big, 100000000, early);  // 2 ms
  api.record(event, early);
  add_ints(api, a, b, few_ints, late);
  api.record(done, late);
  while (!api.is_complete(done)) {
  }
  CHECK(model.now() < 1e-4);
  CHECK(all_are(model, a, few_ints, 2));
  model.run();
  CHECK(api.is_complete(event));
  CHECK(model.now() > 2e-3);
  CHECK(model.problems().empty());
  CHECK(model.waits() == 2);
}

TEST_CASE("an imported event is the same event", "[gpu]") {
  Model model(four());
  Api& first = model.process(0);
  Api& second = model.process(1);
  const Event made = first.make_event(0, true);
  const Event imported = second.import_event(1, first.export_event(made));
  CHECK(second.is_complete(imported));
  std::byte* const a = filled(model, first.allocate(0, few_bytes), few_ints, 5);
  std::byte* const b = first.allocate(0, few_bytes);
  std::byte* const seen = second.import_memory(1, first.export_memory(b));
  std::byte* const c = second.allocate(1, few_bytes);
  const Stream on_first = first.make_stream(0);
  const Stream on_second = second.make_stream(1);

  first.copy(b, a, few_bytes, on_first);
  first.record(made, on_first);
  second.wait(on_second, imported);
  second.copy(c, seen, few_bytes, on_second);
  model.run();
  CHECK(all_are(model, c, few_ints, 5));
  CHECK(second.is_complete(imported));
  CHECK_FALSE(model.stuck());
  CHECK(model.problems().empty());

  CHECK(fault_of([&] { second.wait(on_first, imported); }) == Fault::misuse);  // not its stream
  CHECK(fault_of([&] { second.record(made, on_second); }) == Fault::misuse);   // not its event
  CHECK(fault_of([&] { second.export_event(imported); }) == Fault::misuse);
  CHECK(fault_of([&] { second.record(imported, on_second); }) == Fault::misuse);  // of device 0
  first.destroy_event(made);
  CHECK(fault_of([&] { second.is_complete(imported); }) == Fault::misuse);
  second.destroy_event(imported);
  CHECK(model.problems().empty());
}

TEST_CASE("a stream that waits for a device that failed is stuck", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream lost = api.make_stream(2);
  const Stream healthy = api.make_stream(0);
  const Event event = api.make_event(2, false);
  std::byte* const a = api.allocate(2, 64);
  std::byte* const b = api.allocate_host(64);
  api.copy(a, b, 64, lost);
  api.record(event, lost);
  api.wait(healthy, event);
  CHECK_FALSE(model.stuck());
  model.lose_device(2);
  CHECK(model.stuck());
}

TEST_CASE("a kernel combines in the order of its inputs, and every output gets it", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream stream = api.make_stream(0);
  api.enable_access(0, 1);
  std::byte* const a = filled(model, api.allocate(0, few_bytes), few_ints, 100);
  std::byte* const b = filled(model, api.allocate(1, few_bytes), few_ints, 20);
  std::byte* const c = filled(model, api.allocate_host(few_bytes), few_ints, 3);
  std::byte* const d = api.allocate(0, few_bytes);
  Operands o;
  o.in[0] = a;
  o.in[1] = b + 8;  // as far in as d
  o.in[2] = c;
  o.out[0] = d + 8;
  o.out[1] = c;
  o.inputs = 3;
  o.outputs = 2;
  const std::minus<> minus;
  api.combine(o, few_ints - 2, papcoll::gpu::host_reducer<int>(minus), stream);
  model.run();
  CHECK(all_are(model, d + 8, few_ints - 2, 77));
  CHECK(all_are(model, c, few_ints - 2, 77));
  CHECK(all_are(model, c + few_bytes - 8, 2, 3));
  CHECK(all_are(model, d, 2, static_cast<int>(0xA5A5A5A5)));
  CHECK(all_are(model, b, few_ints, 20));
}

TEST_CASE("the null stream is the current device's", "[gpu]") {
  Model model(four());
  Api& api = model.process(3);
  model.set_current_device(3, 2);
  CHECK(api.current_device() == 2);
  CHECK(api.device_of(nullptr) == 2);
  CHECK(api.device_of(api.make_stream(1)) == 1);
  std::byte* const a = filled(model, api.allocate(2, few_bytes), few_ints, 6);
  std::vector<int> out(few_ints);
  api.copy(out.data(), a, few_bytes, nullptr);
  model.run();
  CHECK(out == std::vector<int>(few_ints, 6));
}

TEST_CASE("no bytes are fine, whatever the addresses", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream stream = api.make_stream(0);
  const Event event = api.make_event(0, false);
  api.copy(nullptr, nullptr, 0, stream);
  add_ints(api, nullptr, nullptr, 0, stream);
  api.record(event, stream);
  model.run();
  CHECK(api.is_complete(event));
}

TEST_CASE("buffers must be where the device reaches them, and apart", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  const Stream stream = api.make_stream(0);
  std::byte* const a = api.allocate(0, few_bytes);
  std::byte* const far = api.allocate(1, few_bytes);
  std::vector<int> host(few_ints);
  auto* const bytes = reinterpret_cast<std::byte*>(host.data());
  CHECK(fault_of([&] { api.copy(a, far, few_bytes, stream); }) == Fault::no_peer_access);
  api.enable_access(0, 1);
  api.enable_access(0, 1);
  CHECK_FALSE(fault_of([&] { api.copy(a, far, few_bytes, stream); }));
  CHECK(fault_of([&] { api.copy(a + 1, far, few_bytes, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { api.copy(a, a + 8, 16, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { api.copy(a, nullptr, 16, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { add_ints(api, a, bytes, few_ints, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { add_ints(api, a, a + 4, 10, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { api.combine({}, 1, {}, stream); }) == Fault::misuse);
  CHECK(fault_of([&] { model.process(1).copy(bytes, a, 16, nullptr); }) == Fault::misuse);
  api.pin(bytes, few_bytes);
  CHECK_FALSE(fault_of([&] { add_ints(api, a, bytes, few_ints, stream); }));
  model.run();
}
