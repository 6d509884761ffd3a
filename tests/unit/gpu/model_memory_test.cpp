// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "modelled.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

using namespace modelled;

namespace {

/// May the host read the byte? Asks the kernel, which refuses what a load would die of.
bool host_reads(const std::byte* p) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const bool can = write(ends[1], p, 1) == 1;
  for (const int end : ends) close(end);
  return can;
}

}  // namespace

TEST_CASE("the host cannot touch memory of a device, and reach() can", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  std::byte* const device = api.allocate(1, 10000);
  CHECK_FALSE(host_reads(device));
  CHECK_FALSE(host_reads(device + 9999));
  CHECK(host_reads(model.reach(device)));
  CHECK(model.reach(device + 9999) == model.reach(device) + 9999);
  std::byte* const pinned = api.allocate_host(10000);
  CHECK(host_reads(pinned));
  CHECK(model.reach(pinned) == pinned);
  std::byte* const managed = model.allocate_managed(0, 2, 10000);
  CHECK(host_reads(managed));

  const auto place = api.place(device + 77);
  CHECK(place.memory == Memory::device);
  CHECK(place.device == 1);
  CHECK(place.base == device);
  CHECK(place.bytes == 10000);
  CHECK(api.place(device + 10000).memory == Memory::host);
  CHECK(api.place(pinned).memory == Memory::pinned);
  CHECK(api.place(pinned).device == -1);
  CHECK(api.place(managed).memory == Memory::managed);
  int local = 0;
  CHECK(api.place(&local).memory == Memory::host);
  CHECK(api.place(&local).base == nullptr);
  CHECK(model.process(1).place(device).memory == Memory::host);  // another process's

  api.free(device);
  api.free_host(pinned);
  api.free(managed);
  CHECK_FALSE(host_reads(pinned));
  CHECK(model.problems().empty());
  CHECK(model.leftovers().empty());
}

TEST_CASE("fresh memory is poisoned, unless only times matter", "[gpu]") {
  Model model(four());
  CHECK(*model.reach(model.process(0).allocate(0, 8)) == std::byte{0xA5});
  ModelOptions times;
  times.move_no_data = true;
  Model quick(four(), times);
  CHECK(*quick.reach(quick.process(0).allocate(0, std::size_t{1} << 38U)) == std::byte{0});
}

TEST_CASE("addresses are used again, ids are not", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  std::set<std::byte*> addresses;
  std::set<std::uint64_t> ids;
  for (int k = 0; k < 20; ++k) {
    std::byte* const p = api.allocate(0, 4096);
    addresses.insert(p);
    ids.insert(api.place(p).id);
    api.free(p);
  }
  CHECK(addresses.size() < 20);
  CHECK(ids.size() == 20);
  CHECK(ids.count(0) == 0);
}

TEST_CASE("an import is other addresses of the same bytes", "[gpu]") {
  Model model(four());
  Api& owner = model.process(0);
  Api& other = model.process(1);
  std::byte* const p = filled(model, owner.allocate(0, 4000), 1000, 7);
  const auto handle = owner.export_memory(p);
  std::byte* const q = other.import_memory(1, handle);
  std::byte* const own = owner.import_memory(2, handle);
  CHECK(q != p);
  CHECK(own != p);
  CHECK_FALSE(host_reads(q));
  CHECK(model.reach(q) == model.reach(p));
  CHECK(other.place(q + 5).base == q);
  CHECK(other.place(q).device == 0);
  CHECK(owner.place(own).id != owner.place(p).id);

  CHECK(fault_of([&] { owner.export_memory(p + 1); }) == Fault::misuse);
  CHECK(fault_of([&] { other.export_memory(q); }) == Fault::misuse);
  CHECK(fault_of([&] { other.import_memory(1, {}); }) == Fault::misuse);
  std::byte* const managed = model.allocate_managed(0, 0, 64);
  CHECK(fault_of([&] { owner.export_memory(managed); }) == Fault::misuse);
  owner.free(managed);

  owner.close_memory(own);
  other.close_memory(q);
  owner.free(p);
  CHECK(model.problems().empty());
  CHECK(fault_of([&] { other.import_memory(1, handle); }) == Fault::misuse);
}

TEST_CASE("what ends too early, or twice, is a problem", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  std::byte* const p = api.allocate(0, 4000);
  std::byte* const q = model.process(1).import_memory(0, api.export_memory(p));
  api.free(p);
  REQUIRE(model.problems().size() == 1);
  CHECK(model.problems()[0].find("1 imports are open") != std::string::npos);
  api.free(p);
  CHECK(model.problems().size() == 2);
  model.process(1).free(q);  // not its own
  CHECK(model.problems().size() == 3);
  model.process(1).close_memory(q);
  CHECK(model.problems().size() == 3);
  model.process(1).close_memory(q);
  CHECK(model.problems().size() == 4);

  std::byte* const a = api.allocate(0, 4000);
  std::byte* const b = api.allocate_host(4000);
  const Stream stream = api.make_stream(0);
  api.copy(a, b, 4000, stream);
  api.copy(b, a, 4000, stream);
  model.run();
  api.copy(a, b, 4000, stream);
  api.free(a);
  CHECK(model.problems().size() == 5);
  CHECK(fault_of([&] { api.copy(b, a, 4, stream); }) == Fault::misuse);  // freed
  model.run();
  api.free_host(b);
  api.free_host(b);
  CHECK(model.problems().size() == 6);
  api.destroy_stream(stream);
  api.destroy_stream(stream);
  CHECK(model.problems().size() == 7);
  const Event event = api.make_event(0, false);
  api.destroy_event(event);
  api.destroy_event(event);
  CHECK(model.problems().size() == 8);
  CHECK(model.leftovers().empty());
}

TEST_CASE("memory that others allocated is pinned by each process", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  std::vector<std::byte> shared(8000);
  api.pin(shared.data(), 8000);
  CHECK(api.place(&shared[100]).memory == Memory::pinned);
  CHECK(api.place(&shared[100]).base == shared.data());
  CHECK(model.process(1).place(&shared[100]).memory == Memory::host);
  model.process(1).pin(shared.data(), 8000);
  CHECK(fault_of([&] { api.pin(&shared[50], 10); }) == Fault::misuse);
  api.unpin(shared.data());
  CHECK(api.place(shared.data()).memory == Memory::host);
  CHECK(model.process(1).place(&shared[7999]).memory == Memory::pinned);
  CHECK(model.leftovers().size() == 1);
  model.process(1).unpin(shared.data());
  CHECK(model.problems().empty());
  api.unpin(shared.data());
  CHECK(model.problems().size() == 1);
}

TEST_CASE("leftovers names all that is there, by process", "[gpu]") {
  Model model(four());
  Api& api = model.process(0);
  std::byte* const p = api.allocate(3, 64);
  model.process(2).import_memory(3, api.export_memory(p));
  model.process(2).import_event(1, api.export_event(api.make_event(1, true)));
  api.make_stream(2);
  const auto left = model.leftovers();
  REQUIRE(left.size() == 5);
  CHECK(left[0].find("of process") != std::string::npos);
  const auto count = [&left](const std::string& part) {
    return std::count_if(left.begin(), left.end(), [&part](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  };
  CHECK(count("allocation 1 of process 0 (64 bytes of device 3)") == 1);
  CHECK(count("import 1 of process 2 (64 bytes of device 3)") == 1);
  CHECK(count("imported event 1 of process 2") == 1);
  CHECK(count("stream 0 of process 0 (device 2)") == 1);
}
