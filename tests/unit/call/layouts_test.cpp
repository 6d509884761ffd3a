// SPDX-License-Identifier: BSD-3-Clause
// Buffers whose elements are not contiguous: what they stand for, and which are refused.

#include "field_of.hpp"
#include "outcome.hpp"

#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/call/overlap.hpp>
#include <papcoll/collectives.hpp>
#include <papcoll/thread_team.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using LayoutRank = papcoll::ThreadTeam::Rank;

/// Two dimensions, as a std::mdspan with a stride for each.
template <class T> struct TestMdspan {
  using element_type = T;
  using reference = T&;
  T* data;
  std::array<std::size_t, 2> extents;
  std::array<std::ptrdiff_t, 2> strides;
  bool has_strides = true;

  T* data_handle() const { return data; }
  static constexpr std::size_t rank() { return 2; }
  std::size_t extent(std::size_t d) const { return extents[d]; }
  std::ptrdiff_t stride(std::size_t d) const { return strides[d]; }
  bool is_strided() const { return has_strides; }
};
static_assert(papcoll::MdspanLike<TestMdspan<int>>);
static_assert(papcoll::Buffer<const TestMdspan<const int>&>);
static_assert(!papcoll::Element<TestMdspan<int>>);

/// The upper triangle of a square matrix, row by row.
struct UpperTriangle {
  UpperTriangle(int* matrix, int n) : data(matrix) {
    for (int row = 0; row < n; ++row) {
      lengths.push_back(n - row);
      places.push_back(row * n + row);
    }
  }
  papcoll::BufferLayout layout() const {
    return {.is_list = true,
            .lengths = papcoll::counts{lengths},
            .displacements = papcoll::counts{places}};
  }
  int* data;
  std::vector<int> lengths;
  std::vector<int> places;
};

/// Two ranks with 40 elements each way; what a call says on both, and that it changed nothing.
void both_ranks_refuse(const std::string& says,
                       const std::function<void(LayoutRank&, int* in, int* out)>& call) {
  papcoll::ThreadTeam team{2, papcoll::Options{.deadline = std::chrono::seconds{20}}};
  std::array<Outcome, 2> result;
  std::array<bool, 2> unchanged{};
  team.run([&](LayoutRank& comm) {
    const auto me = static_cast<std::size_t>(comm.rank());
    std::vector<int> in(40, 1);
    std::vector<int> out(40, -1);
    result[me] = outcome_of([&] { call(comm, in.data() + 20, out.data() + 20); });
    unchanged[me] = in == std::vector<int>(40, 1) && out == std::vector<int>(40, -1);
  });
  for (std::size_t r = 0; r < 2; ++r) {
    CAPTURE(r, says, result[r]);
    CHECK(result[r].kind == "argument_error");
    CHECK(result[r].says(says));
    CHECK(unchanged[r]);
  }
}

/// Every collective refuses the buffer as its output, in the same words.
template <class Buffer> void no_collective_writes(const std::string& says, const Buffer& make) {
  const papcoll::root all_are{0};
  const auto range = [](int* p, std::size_t n) { return std::span<int>(p, n); };
  both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
    papcoll::allreduce(c, range(in, 4), make(out));
  });
  both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
    papcoll::ireduce(c, range(in, 4), make(out), papcoll::root{c.rank()}).wait();
  });
  both_ranks_refuse(says,
                    [&](LayoutRank& c, int*, int* out) { papcoll::bcast(c, make(out), all_are); });
  both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
    papcoll::allgather_init(c, range(in, 2), make(out))();
  });
  both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
    papcoll::gather(c, range(in, 2), make(out), papcoll::root{c.rank()});
  });
  both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
    papcoll::scatter(c, range(in, 8), make(out), all_are);
  });
  both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
    papcoll::reduce_scatter(c, range(in, 8), make(out));
  });
  both_ranks_refuse(says, [&](LayoutRank& c, int*, int* out) { papcoll::alltoall(c, make(out)); });
  both_ranks_refuse(
      says, [&](LayoutRank& c, int* in, int* out) { papcoll::scan(c, range(in, 4), make(out)); });
  both_ranks_refuse(says,
                    [&](LayoutRank& c, int*, int* out) { papcoll::iexscan(c, make(out)).wait(); });
}

/// The bytes of a region, one by one.
std::set<std::uintptr_t> bytes_of_region(const papcoll::detail::Region& r) {
  std::set<std::uintptr_t> all;
  const auto add = [&](std::uintptr_t from, std::uintptr_t to) {
    for (; from < to; ++from) all.insert(from);
  };
  if (r.runs != nullptr) {
    papcoll::detail::for_each_run(r, add);
    return all;
  }
  const std::size_t rows = r.dimensions > 0 ? r.pieces[0] : 1;
  const std::size_t planes = r.dimensions > 1 ? r.pieces[1] : 1;
  for (std::size_t p = 0; p < planes; ++p) {
    for (std::size_t i = 0; i < rows; ++i) {
      const std::uintptr_t at = r.first + i * r.strides[0] + p * r.strides[1];
      add(at, at + r.bytes);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a type of one's own is a buffer by its layout", "[entry][layouts]") {
  static_assert(papcoll::Buffer<UpperTriangle>);
  papcoll::ThreadTeam team{2, papcoll::Options{.deadline = std::chrono::seconds{20}}};
  team.run([](LayoutRank& comm) {
    std::vector<int> matrix{1, 2, 3, 4, 5, 6, 7, 8, 9};
    papcoll::allreduce(comm, UpperTriangle{matrix.data(), 3});
    if (matrix != std::vector<int>{2, 4, 6, 4, 10, 12, 7, 8, 18}) {
      throw std::runtime_error("a triangle");
    }
    struct Five {
      char letter;
      char number[4];
    };
    std::vector<Five> fives(3, Five{'a', {'a', 'b', 'c', 'd'}});
    std::vector<char> got(6);
    papcoll::iallgather(comm, FieldOf<char, Five>{&fives[0].number[comm.rank()], 3}, got).wait();
    if (got != std::vector<char>{'a', 'a', 'a', 'b', 'b', 'b'}) {
      throw std::runtime_error("members");
    }
    papcoll::bcast(comm, FieldOf<char, Five>{&fives[0].letter, 3}, papcoll::root{0});
  });
  both_ranks_refuse("blocks 0 and 1 of the output overlap", [](LayoutRank& c, int* in, int* out) {
    struct Two {
      int a;
      int b;
    };
    UpperTriangle twice{out, 2};
    twice.places[1] = 1;
    papcoll::allreduce(c, FieldOf<int, Two>{in, 3}, twice);
  });
}

TEST_CASE("an output that overlaps itself is refused by every collective", "[entry][layouts]") {
  no_collective_writes("overlap or interleave", [](int* p) {
    return papcoll::strided(p, {2, 2}, {0, 2});
  });
  no_collective_writes("overlap: they are 1 elements apart, and each has 2",
                       [](int* p) { return papcoll::strided(p, 2, 2, 1); });
  const std::vector<int> twos{2, 0, 2};
  const std::vector<int> places{3, 100, 2};
  no_collective_writes("blocks 0 and 2 of the ",
                       [&](int* p) { return papcoll::indexed(p, twos, places); });
}

TEST_CASE("lists that make no buffer are refused", "[entry][layouts]") {
  const std::vector<long> ones{1, 1};
  const std::vector<long> negative{3, -1};
  const std::vector<long> far{0, std::numeric_limits<long>::max() / 4};
  const std::vector<std::uint64_t> wrapping{0, std::numeric_limits<std::uint64_t>::max()};
  const std::vector<long> down{0, std::numeric_limits<long>::min()};
  const auto refused = [](const std::string& says, const auto& lengths, const auto& places) {
    both_ranks_refuse(says, [&](LayoutRank& c, int* in, int* out) {
      papcoll::allreduce(c, papcoll::indexed(in, lengths, places),
                         papcoll::indexed(out, lengths, places));
    });
  };
  refused("the length of block 1 of the input is -1: lengths start at 0", negative, ones);
  refused("the input has 2 lengths and 1 displacements", ones, std::vector<int>{0});
  refused("block 1 of the input, 1 elements from ", ones, far);
  refused("block 1 of the input, 1 elements from ", ones, wrapping);
  refused("block 1 of the input, 1 elements from ", ones, down);
  const std::vector<long> many{std::numeric_limits<long>::max() / 4,
                               std::numeric_limits<long>::max() / 4};
  refused("elements of 4 bytes is too much", many, std::vector<int>{0, 0});
}

TEST_CASE("other layouts that make no buffer are refused", "[entry][layouts]") {
  both_ranks_refuse("of 2 dimensions, spans more than PTRDIFF_MAX bytes",
                    [](LayoutRank& c, int* in, int* out) {
                      papcoll::alltoall(c, papcoll::strided(in, {-2, 2}, {2, 2}),
                                        papcoll::strided(out, {2, 2}, {2, 1}));
                    });
  both_ranks_refuse("an mdspan without strides", [](LayoutRank& c, int*, int* out) {
    papcoll::allreduce(c, TestMdspan<int>{out, {2, 2}, {}, false});
  });
  both_ranks_refuse("the input is a null pointer", [](LayoutRank& c, int*, int* out) {
    int* const none = nullptr;
    papcoll::scan(c, papcoll::strided(none, 2, 1, 2), papcoll::strided(out, 2, 1, 2));
  });
  // One address twice is in place only where that is what the collective has.
  both_ranks_refuse("input and output overlap", [](LayoutRank& c, int*, int* out) {
    papcoll::allgather(c, papcoll::strided(out, 2, 1, 2), papcoll::strided(out, 4, 1, 2));
  });
  both_ranks_refuse("input and output overlap", [](LayoutRank& c, int*, int* out) {
    papcoll::alltoall(c, papcoll::strided(out, {2, 2}, {4, 2}),
                      papcoll::strided(out, {2, 2}, {8, 2}));
  });
}

TEST_CASE("lists overlap as inputs, and share an address with another", "[entry][layouts]") {
  papcoll::ThreadTeam team{2, papcoll::Options{.deadline = std::chrono::seconds{20}}};
  team.run([](LayoutRank& comm) {
    std::vector<int> data{1, 2, 3, 0, 0, 0, 0, 0, 0};
    const std::vector<int> lengths{3, 2};
    papcoll::allreduce(comm, papcoll::indexed(data.data(), lengths, std::vector<int>{0, 1}),
                       papcoll::indexed(data.data(), lengths, std::vector<int>{3, 7}));
    const std::vector<int> right{1, 2, 3, 2, 4, 6, 0, 4, 6};
    if (data != right) throw std::runtime_error("sums of a list");
  });
}

TEST_CASE("an mdspan counts with its last index fastest", "[entry][layouts]") {
  papcoll::ThreadTeam team{3, papcoll::Options{.deadline = std::chrono::seconds{20}}};
  team.run([](LayoutRank& comm) {
    const int me = comm.rank();
    // The columns of a matrix of 2 rows, one for each rank.
    const std::vector<int> mine{10 * me,     10 * me + 1, 10 * me + 2,  //
                                10 * me + 5, 10 * me + 6, 10 * me + 7};
    std::vector<int> got(8, -1);
    papcoll::alltoall(comm, TestMdspan<const int>{mine.data(), {3, 2}, {1, 3}},
                      TestMdspan<int>{got.data() + 5, {3, 2}, {-2, -1}});
    std::vector<int> right(8, -1);
    for (int r = 0; r < 3; ++r) {
      right[static_cast<std::size_t>(5 - 2 * r)] = 10 * r + me;
      right[static_cast<std::size_t>(4 - 2 * r)] = 10 * r + 5 + me;
    }
    if (got != right) throw std::runtime_error("columns exchanged");
  });
}

TEST_CASE("whether regions share a byte is found as by looking at each", "[entry][layouts]") {
  std::vector<papcoll::detail::Vector<papcoll::BufferView::Run>> lists{
      {{0, 0}, {2, 5}, {5, -9}}, {{0, 3}}, {{0, 1}, {1, 7}, {2, 30}}};
  std::vector<papcoll::detail::Region> all;
  for (const std::size_t bytes : {1U, 3U}) {
    for (const std::ptrdiff_t step : {3, 7, -5}) {
      for (const std::ptrdiff_t plane : {23, -31}) {
        papcoll::detail::Region r;
        r.bytes = bytes;
        all.push_back(r);
        r.add(3, step);
        all.push_back(r);
        r.add(2, plane);
        all.push_back(r);
      }
    }
  }
  for (const auto& list : lists) {
    papcoll::detail::Region r;
    r.bytes = 7;
    r.runs = &list;
    all.push_back(r);
  }
  std::size_t differences = 0;
  for (const papcoll::detail::Region& x : all) {
    for (const papcoll::detail::Region& y : all) {
      for (std::uintptr_t from = 960; from < 1040; from += 5) {
        papcoll::detail::Region a = x;
        papcoll::detail::Region b = y;
        a.first += 1000;
        b.first += from;
        bool share = false;
        const std::set<std::uintptr_t> of_b = bytes_of_region(b);
        for (const std::uintptr_t byte : bytes_of_region(a)) share = share || of_b.count(byte) != 0;
        differences += share != papcoll::detail::share_bytes(a, b) ? 1U : 0U;
      }
    }
  }
  CHECK(differences == 0);
}
