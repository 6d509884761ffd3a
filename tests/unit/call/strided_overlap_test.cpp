// SPDX-License-Identifier: BSD-3-Clause
// Input and output of a strided allreduce in one array: in place, interleaved, overlapping.

#include "mistakes.hpp"
#include "outcome.hpp"

#include "catch.hpp"

#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/buffers.hpp>
#include <papcoll/call/overlap.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace {

using Alone = papcoll::ThreadTeam::Rank;
using Columns = papcoll::Strided<int>;

std::set<const int*> places_of(const Columns& s) {
  std::set<const int*> places;
  const int* block = s.data;
  for (std::size_t b = 0; b < s.blocks; ++b) {
    for (std::size_t i = 0; i < s.block; ++i) places.insert(block + i);
    if (b + 1 < s.blocks) block += s.stride;
  }
  return places;
}

bool have_one_in_common(const Columns& a, const Columns& b) {
  const std::set<const int*> of_b = places_of(b);
  for (const int* p : places_of(a)) {
    if (of_b.count(p) != 0) return true;
  }
  return false;
}

papcoll::detail::Region region_of(const Columns& s) {
  papcoll::detail::Region r;
  r.first = reinterpret_cast<std::uintptr_t>(s.data);
  r.bytes = s.block * sizeof(int);
  if (s.blocks > 1) r.add(s.blocks, s.stride * static_cast<std::ptrdiff_t>(sizeof(int)));
  return r;
}

/// What a call on an array of 0, 1, 2… says, with these as input and output.
Outcome outcome_of_allreduce(std::vector<int>& data, const Columns& in, const Columns& out) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  papcoll::ThreadTeam team{1, papcoll::Options{.deadline = std::chrono::seconds{20}}};
  Outcome result;
  team.run([&](Alone& comm) {
    result = outcome_of([&] { papcoll::allreduce(comm, in, out); });
    mistakes::work(comm);
  });
  return result;
}

}  // namespace

TEST_CASE("strided buffers that interleave are input and output of one allreduce", "[entry]") {
  std::vector<int> data(40);
  int* const p = data.data();
  const auto in = papcoll::strided(p, 5, 2, 8);
  for (const Columns& out : {papcoll::strided(p + 2, 5, 2, 8), papcoll::strided(p + 38, 5, 2, -8),
                             papcoll::strided(p + 2, 10, 1, 4)}) {
    const Outcome o = outcome_of_allreduce(data, in, out);
    CAPTURE(o, out.data - p, out.stride);
    CHECK(o.is_fine());
  }
  const Outcome o = outcome_of_allreduce(data, in, papcoll::strided(p + 6, 5, 2, 8));
  CAPTURE(o);
  CHECK(o.is_fine());
  CHECK(data[6] == 0);
  CHECK(data[7] == 1);
  CHECK(data[14] == 8);
  CHECK(data[39] == 33);
}

TEST_CASE("strided buffers that share some element are refused", "[entry]") {
  std::vector<int> data(60);
  int* const p = data.data();
  const auto in = papcoll::strided(p, 5, 2, 8);
  for (const Columns& out : {papcoll::strided(p + 1, 5, 2, 8), papcoll::strided(p + 8, 5, 2, 8),
                             papcoll::strided(p + 33, 5, 2, 4), papcoll::strided(p + 32, 5, 2, -8),
                             papcoll::strided(p + 1, 10, 1, 1), papcoll::strided(p, 10, 1, 2)}) {
    const Outcome o = outcome_of_allreduce(data, in, out);
    CAPTURE(o, out.data - p, out.stride);
    CHECK(o.kind == "argument_error");
    CHECK(o.says("input and output overlap"));
    for (std::size_t i = 0; i < data.size(); ++i) CHECK(data[i] == static_cast<int>(i));
  }
}

TEST_CASE("one strided buffer twice is in place", "[entry]") {
  std::vector<int> data(60);
  for (const std::ptrdiff_t stride : {2, 3, -3}) {
    const auto all = papcoll::strided(data.data() + 30, 5, 2, stride);
    const Outcome o = outcome_of_allreduce(data, all, all);
    CAPTURE(o, stride);
    CHECK(o.is_fine());
  }
}

TEST_CASE("whether strided buffers share an element is found as by looking at each", "[entry]") {
  std::vector<int> data(200);
  int* const middle = data.data() + 100;
  std::vector<Columns> shapes;
  for (std::size_t blocks = 1; blocks <= 4; ++blocks) {
    for (std::size_t block = 1; block <= 3; ++block) {
      for (std::ptrdiff_t stride = -7; stride <= 7; ++stride) {
        const auto apart = static_cast<std::size_t>(stride < 0 ? -stride : stride);
        if (apart >= block) shapes.push_back(papcoll::strided(middle, blocks, block, stride));
      }
    }
  }
  std::size_t differences = 0;
  for (const Columns& a : shapes) {
    for (Columns b : shapes) {
      for (std::ptrdiff_t from = -9; from <= 9; from += 3) {
        b.data = middle + from;
        const bool share = papcoll::detail::share_bytes(region_of(a), region_of(b));
        differences += share != have_one_in_common(a, b) ? 1 : 0;
      }
    }
  }
  CHECK(differences == 0);
}
