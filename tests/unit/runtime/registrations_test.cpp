// SPDX-License-Identifier: BSD-3-Clause
// Registered buffers without ranks: arithmetic of pages, the table, and what becomes of a call.

#include <papcoll/allreduce.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"

using papcoll::AddressRange;
using papcoll::Call;
using papcoll::CallInArena;
using papcoll::Collective;
using papcoll::RegisteredMemory;
using papcoll::Registrations;

namespace {

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// 32 bytes of the user's, of which the 16 from the eighth on are "pages", and the arena's.
struct Registered {
  std::vector<std::byte> user = std::vector<std::byte>(64, std::byte{1});
  std::vector<std::byte> arena = std::vector<std::byte>(64, std::byte{2});
  Registrations known;

  Registered() {
    RegisteredMemory memory;
    memory.data = {number(user.data()) + 16, number(user.data()) + 48};
    memory.pages = {memory.data.begin + 8, memory.data.end - 8};
    memory.seen = arena.data() + 16;
    known.prepare();
    known.add(memory);
  }
};

Call call_of_bytes(Collective c, const std::byte* in, std::byte* out, std::size_t n) {
  Call call;
  call.collective = c;
  call.in = in;
  call.out = out;
  call.count = n;
  call.reducer.size = 1;
  return call;
}

}  // namespace

TEST_CASE("whole pages of a range of addresses", "[registration]") {
  const auto whole = [](std::uintptr_t begin, std::uintptr_t end) {
    return AddressRange{begin, end}.whole_pages(4096);
  };
  CHECK(whole(8192, 16384) == AddressRange{8192, 16384});
  CHECK(whole(8191, 16385) == AddressRange{8192, 16384});
  CHECK(whole(8193, 16384) == AddressRange{12288, 16384});
  CHECK(whole(8192, 16383) == AddressRange{8192, 12288});
  CHECK(whole(8193, 16383).empty());
  CHECK(whole(8193, 8200).empty());
  CHECK(whole(8192, 8192).empty());
  CHECK(AddressRange{8191, 16385}.all_pages(4096) == AddressRange{4096, 20480});
  CHECK(AddressRange{8192, 16384}.all_pages(4096) == AddressRange{8192, 16384});
}

TEST_CASE("a range finds the registration that has all of it", "[registration]") {
  Registrations known;
  const auto add = [&](std::uintptr_t begin, std::uintptr_t end) {
    known.prepare();
    known.add({{begin, end}, {begin, end}, nullptr});
  };
  add(300, 400);
  add(100, 200);
  add(200, 250);
  const auto found = [&](std::uintptr_t begin, std::uintptr_t end) {
    const RegisteredMemory* const m = known.find({begin, end});
    return m == nullptr ? 0 : m->data.begin;
  };
  for (int again = 0; again < 2; ++again) {
    CHECK(found(100, 200) == 100);
    CHECK(found(350, 351) == 300);
    CHECK(found(200, 250) == 200);
    CHECK(found(150, 210) == 0);
    CHECK(found(99, 150) == 0);
    CHECK(found(250, 300) == 0);
    CHECK(found(400, 410) == 0);
    CHECK(found(390, 401) == 0);
  }
  CHECK(known.any_meets({150, 160}));
  CHECK(known.any_meets({0, 101}));
  CHECK(!known.any_meets({250, 300}));
  CHECK(!known.any_meets({400, 500}));
  known.remove({{100, 200}, {}, nullptr});
  CHECK(found(100, 200) == 0);
  CHECK(found(200, 250) == 200);
  CHECK(known.size() == 2);
}

TEST_CASE("a call gets its registered buffers where the arena has them", "[registration]") {
  Registered r;
  std::vector<std::byte> other(64);
  SECTION("the input alone") {
    const Call call = call_of_bytes(Collective::allreduce, r.user.data() + 20, other.data(), 20);
    CallInArena moved{r.known, call, 0, 2};
    CHECK(moved.any());
    CHECK(moved.call().in == r.arena.data() + 20);
    CHECK(moved.call().out == other.data());
    CHECK(r.arena[19] == std::byte{2});  // beyond the input
    CHECK(r.arena[20] == std::byte{1});  // copied
    CHECK(r.arena[24] == std::byte{2});  // of a page, which is the same memory
    moved.finish();
  }
  SECTION("the output alone, of which the ends come back") {
    const Call call = call_of_bytes(Collective::allreduce, other.data(), r.user.data() + 17, 30);
    CallInArena moved{r.known, call, 0, 2};
    CHECK(moved.call().out == r.arena.data() + 17);
    std::fill(r.arena.begin(), r.arena.end(), std::byte{3});
    moved.finish();
    for (std::size_t i = 0; i < 64; ++i) {
      const bool in_output = i >= 17 && i < 47;
      const bool in_pages = i >= 24 && i < 40;
      CHECK(r.user[i] == (in_output && !in_pages ? std::byte{3} : std::byte{1}));
    }
  }
  SECTION("in place") {
    const Call call =
        call_of_bytes(Collective::allreduce, r.user.data() + 16, r.user.data() + 16, 32);
    CallInArena moved{r.known, call, 0, 2};
    CHECK(moved.call().in == r.arena.data() + 16);
    CHECK(moved.call().out == moved.call().in);
  }
  SECTION("in place, and the input is a part of the output") {
    Call call = call_of_bytes(Collective::allgather, r.user.data() + 32, r.user.data() + 16, 16);
    call.input_in_output = true;
    CallInArena moved{r.known, call, 1, 2};
    CHECK(moved.call().in == r.arena.data() + 32);
    CHECK(moved.call().out == r.arena.data() + 16);
    call = call_of_bytes(Collective::allgather, r.user.data() + 30, r.user.data(), 16);
    call.input_in_output = true;
    CHECK(!CallInArena(r.known, call, 1, 2).any());  // the output is not registered: neither is
  }
  SECTION("another rank's contribution stays as it is") {
    Call call = call_of_bytes(Collective::reduce, r.user.data() + 16, r.user.data() + 16, 32);
    call.root = 1;
    CallInArena moved{r.known, call, 0, 2};
    CHECK(moved.any());
    std::fill(r.arena.begin(), r.arena.end(), std::byte{3});
    moved.finish();
    CHECK(r.user == std::vector<std::byte>(64, std::byte{1}));
  }
  SECTION("nothing of it") {
    CHECK(
        !CallInArena(r.known, call_of_bytes(Collective::allreduce, other.data(), nullptr, 8), 0, 2)
             .any());
    const auto at = [&](std::size_t first, std::size_t n) {
      std::byte* const p = r.user.data() + first;
      return CallInArena(r.known, call_of_bytes(Collective::allreduce, p, p, n), 0, 2).any();
    };
    CHECK(at(16, 32));
    CHECK(at(22, 4));
    CHECK(!at(16, 8));   // before the pages
    CHECK(!at(40, 8));   // behind them
    CHECK(!at(15, 20));  // not all of it is registered
    CHECK(!at(20, 29));
    CHECK(!at(20, 0));
    Call call = call_of_bytes(Collective::allreduce, r.user.data() + 16, r.user.data() + 16, 32);
    call.is_noncontiguous = true;
    CHECK(!CallInArena(r.known, call, 0, 2).any());
  }
}

TEST_CASE("a registration among threads is nothing, and says so", "[registration]") {
  papcoll::ThreadTeam team{2};
  team.run([](papcoll::ThreadTeam::Rank& comm) {
    std::vector<double> data(10'000, 1.0);
    papcoll::Registration r{comm, data};
    const bool right = !r.is_shared() && r.no_sharing().find("threads") != std::string::npos;
    papcoll::allreduce(comm, data);
    r.end();
    if (!right || data[5000] != 2.0) throw std::runtime_error("wrong");
  });
  const papcoll::Registration none;
  CHECK(!none.is_shared());
  CHECK(none.no_sharing().empty());
}
