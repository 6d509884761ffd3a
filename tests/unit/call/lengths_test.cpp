// SPDX-License-Identifier: BSD-3-Clause
// Counts and lengths that a call refuses by itself, and what it says of them.

#include "mistakes.hpp"
#include "outcome.hpp"

#include "catch.hpp"

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/buffers.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>
#include <papcoll/thread_team.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace {

using papcoll::root;
using Rank = papcoll::ThreadTeam::Rank;

const papcoll::Options patient{.deadline = std::chrono::seconds{20}};

/// Four ranks; a call with data of each rank that must stay as they were.
class FourRanks {
 public:
  using Call = std::function<void(Rank&, int* in, int* out)>;

  void all_refuse(const std::string& says, const Call& call) {
    std::array<Outcome, 4> result;
    std::array<bool, 4> unchanged{};
    team_.run([&](Rank& comm) {
      const auto me = static_cast<std::size_t>(comm.rank());
      std::vector<int> in(16, 1);
      std::vector<int> out(16, -1);
      result[me] = outcome_of([&] { call(comm, in.data(), out.data()); });
      unchanged[me] = in == std::vector<int>(16, 1) && out == std::vector<int>(16, -1);
    });
    for (std::size_t r = 0; r < 4; ++r) {
      CAPTURE(r, says, result[r]);
      CHECK(result[r].kind == "argument_error");
      CHECK(result[r].says(says));
      CHECK(unchanged[r]);
    }
    team_.run([&](Rank& comm) { mistakes::work(comm); });
  }

 private:
  papcoll::ThreadTeam team_{4, patient};
};

std::string too_much(std::size_t n) {
  return "a count of " + std::to_string(n) + " elements of 4 bytes is too much for 4 ranks: ";
}

constexpr std::size_t two_to(int n) { return std::size_t{1} << static_cast<unsigned>(n); }

}  // namespace

TEST_CASE("a count is refused whose bytes over all ranks no number of bytes can say", "[entry]") {
  FourRanks four;
  // The first gives 0 bytes of all ranks or of one, the second few; the last is just too much.
  for (const std::size_t n : {two_to(62), two_to(62) + 1, two_to(60) + 3, two_to(59)}) {
    const std::string says = too_much(n);
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::alltoall(c, in, out, n); });
    four.all_refuse(says, [&](Rank& c, int*, int* out) { papcoll::alltoall(c, out, n); });
    four.all_refuse(says,
                    [&](Rank& c, int* in, int* out) { papcoll::ialltoall(c, in, out, n).wait(); });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::allgather(c, in, out, n); });
    four.all_refuse(says, [&](Rank& c, int*, int* out) { papcoll::allgather(c, out, n); });
    four.all_refuse(says,
                    [&](Rank& c, int* in, int* out) { papcoll::gather(c, in, out, n, root{1}); });
    four.all_refuse(says, [&](Rank& c, int*, int* out) { papcoll::gather(c, out, n, root{1}); });
    four.all_refuse(says,
                    [&](Rank& c, int* in, int* out) { papcoll::scatter(c, in, out, n, root{1}); });
    four.all_refuse(says, [&](Rank& c, int*, int* out) { papcoll::scatter(c, out, n, root{1}); });
    four.all_refuse(says,
                    [&](Rank& c, int* in, int* out) { papcoll::reduce_scatter(c, in, out, n); });
    four.all_refuse(says, [&](Rank& c, int*, int* out) { papcoll::reduce_scatter(c, out, n); });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::allreduce(c, in, out, n); });
    four.all_refuse(says,
                    [&](Rank& c, int* in, int* out) { papcoll::iallreduce(c, in, out, n).wait(); });
    four.all_refuse(says,
                    [&](Rank& c, int* in, int* out) { papcoll::reduce(c, in, out, n, root{1}); });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::scan(c, in, out, n); });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::exscan(c, in, out, n); });
    four.all_refuse(says, [&](Rank& c, int*, int* out) { papcoll::bcast(c, out, n, root{1}); });
  }
}

TEST_CASE("a negative count is refused as negative, however large", "[entry]") {
  FourRanks four;
  for (const std::int64_t n : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    const std::string says = "the count " + std::to_string(n) + " is negative";
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::alltoall(c, in, out, n); });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) { papcoll::allreduce(c, in, out, n); });
  }
}

TEST_CASE("a range is refused whose length over all ranks wraps", "[entry]") {
  FourRanks four;
  const std::size_t n = two_to(62);
  const std::string says = too_much(n);
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::allgather(c, std::span<const int>(in, n), std::span<int>(out, 0));
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::gather(c, std::span<const int>(in, n), std::span<int>(out, 0), root{0});
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::scatter(c, std::span<const int>(in, 0), std::span<int>(out, n), root{0});
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::alltoall(c, std::span<const int>(in, n), std::span<int>(out, n));
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::allreduce(c, std::span<const int>(in, n), std::span<int>(out, n));
  });
  four.all_refuse(too_much(n / 4),
                  [&](Rank& c, int*, int* out) { papcoll::allgather(c, std::span<int>(out, n)); });
}

TEST_CASE("an alltoall is refused whose blocks of all pairs of ranks wrap", "[entry]") {
  // Each rank has 2^60 elements of a byte, and all of them together 2^64.
  papcoll::ThreadTeam team{16, patient};
  std::array<Outcome, 16> result;
  team.run([&](Rank& comm) {
    char c = 1;
    result[static_cast<std::size_t>(comm.rank())] =
        outcome_of([&] { papcoll::alltoall(comm, &c, two_to(56)); });
  });
  for (const Outcome& o : result) {
    CAPTURE(o);
    CHECK(o.kind == "argument_error");
    CHECK(o.says("1152921504606846976 elements of 1 bytes is too much for 16 ranks"));
  }
}

TEST_CASE("counts are refused whose sum wraps or is too many bytes", "[entry]") {
  FourRanks four;
  const std::size_t half = two_to(63);
  const std::vector<std::vector<std::size_t>> sums_of_four{
      {half, 2, half, 2}, {2, half, 2, half}, {half + 2, half + 2, 0, 0}};
  for (const std::vector<std::size_t>& each : sums_of_four) {
    const papcoll::counts counts{each};
    const std::string says = too_much(each[0] < half ? each[1] : each[0]);
    four.all_refuse(says, [&](Rank& c, int*, int* out) {
      papcoll::allgatherv(c, std::span<int>(out, 4), counts);
    });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) {
      papcoll::allgatherv(c, std::span<const int>(in, each[static_cast<std::size_t>(c.rank())]),
                          std::span<int>(out, 4), counts);
    });
    four.all_refuse(says, [&](Rank& c, int* in, int* out) {
      papcoll::reduce_scatter(c, std::span<const int>(in, 4), std::span<int>(out, 2), counts);
    });
    four.all_refuse(says, [&](Rank& c, int*, int* out) {
      papcoll::ireduce_scatter(c, std::span<int>(out, 4), counts).wait();
    });
  }
  const std::vector<std::size_t> bytes_wrap{1, two_to(60), two_to(60), two_to(60)};
  four.all_refuse(too_much(two_to(60)), [&](Rank& c, int*, int* out) {
    papcoll::allgatherv(c, std::span<int>(out, 3 * two_to(60) + 1), papcoll::counts{bytes_wrap});
  });
}

TEST_CASE("strided buffers are refused whose elements wrap", "[entry]") {
  FourRanks four;
  const std::size_t n = two_to(32);
  four.all_refuse("of 4294967296 blocks 4294967296 elements apart", [&](Rank& c, int*, int* out) {
    papcoll::allreduce(c, papcoll::strided(out, n, n, static_cast<std::ptrdiff_t>(n)));
  });
  four.all_refuse("of 2 blocks 9223372036854775808 elements apart", [&](Rank& c, int*, int* out) {
    papcoll::allreduce(c, papcoll::strided(out, 2, 1, std::numeric_limits<std::ptrdiff_t>::min()));
  });
  four.all_refuse(too_much(two_to(60)), [&](Rank& c, int*, int* out) {
    papcoll::allreduce(c, papcoll::strided(out, 1, two_to(60), 1));
  });
}

TEST_CASE("buffers of a wrong length are told what they have and what they need", "[entry]") {
  FourRanks four;
  const auto in_of = [](int* p, std::size_t n) { return std::span<const int>(p, n); };
  const auto out_of = [](int* p, std::size_t n) { return std::span<int>(p, n); };
  const std::string says = "(found 7, needed 8)";
  const std::vector<std::size_t> each{2, 2, 2, 2};
  const papcoll::counts counts{each};
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::allreduce(c, in_of(in, 8), out_of(out, 7));
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::allreduce(c, papcoll::strided(in, 4, 2, 3), papcoll::strided(out, 7, 1, 2));
  });
  four.all_refuse(
      says, [&](Rank& c, int* in, int* out) { papcoll::scan(c, in_of(in, 8), out_of(out, 7)); });
  four.all_refuse(
      says, [&](Rank& c, int* in, int* out) { papcoll::exscan(c, in_of(in, 8), out_of(out, 7)); });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::alltoall(c, in_of(in, 8), out_of(out, 7));
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::allgather(c, in_of(in, 2), out_of(out, 7));
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::gather(c, in_of(in, 2), out_of(out, 7), root{c.rank()});
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::scatter(c, in_of(in, 7), out_of(out, 2), root{c.rank()});
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::reduce(c, in_of(in, 8), out_of(out, 7), root{c.rank()});
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::reduce_scatter(c, in_of(in, 7), out_of(out, 2), counts);
  });
  four.all_refuse("(found 3, needed 2)", [&](Rank& c, int* in, int* out) {
    papcoll::reduce_scatter(c, in_of(in, 8), out_of(out, 3));
  });
  four.all_refuse(says, [&](Rank& c, int* in, int* out) {
    papcoll::allgatherv(c, in_of(in, 2), out_of(out, 7), counts);
  });
  four.all_refuse("(found 3, needed 2)", [&](Rank& c, int* in, int* out) {
    papcoll::allgatherv(c, in_of(in, 3), out_of(out, 8), counts);
  });
  four.all_refuse("has 3 counts for 4 ranks", [&](Rank& c, int*, int* out) {
    papcoll::allgatherv(c, out_of(out, 8), papcoll::counts{std::span(each).first(3)});
  });
}
