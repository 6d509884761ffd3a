// SPDX-License-Identifier: BSD-3-Clause
// The arguments of collectives: which forms are taken, and buffers that are moved into a call.

#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/collectives.hpp>
#include <papcoll/error.hpp>
#include <papcoll/shared_vector.hpp>
#include <papcoll/thread_team.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using PackRank = papcoll::ThreadTeam::Rank;
using papcoll::counts;
using papcoll::root;
using Ints = std::vector<int>;

// -- Which arguments a call takes, as a program may ask.

#define PAPCOLL_CAN(concept_name, function)                                                      \
  template <class... As> concept concept_name = requires(PackRank & comm, As && ... arguments) { \
    papcoll::function(comm, static_cast<As&&>(arguments)...);                                    \
  }
PAPCOLL_CAN(CanAllreduce, allreduce);
PAPCOLL_CAN(CanIallreduce, iallreduce);
PAPCOLL_CAN(CanAllreduceInit, allreduce_init);
PAPCOLL_CAN(CanReduce, reduce);
PAPCOLL_CAN(CanBcast, bcast);
PAPCOLL_CAN(CanAllgather, allgather);
PAPCOLL_CAN(CanAllgatherv, allgatherv);
PAPCOLL_CAN(CanIallgatherv, iallgatherv);
PAPCOLL_CAN(CanScatterv, scatterv);
PAPCOLL_CAN(CanAlltoallv, alltoallv);
PAPCOLL_CAN(CanReduceScatter, reduce_scatter);
PAPCOLL_CAN(CanBarrier, barrier);
#undef PAPCOLL_CAN

struct NoSum {
  int x;
};

static_assert(CanAllreduce<Ints&>);
static_assert(CanAllreduce<int>);
static_assert(CanAllreduce<std::span<int>>);
static_assert(CanAllreduce<int (&)[3]>);
static_assert(CanAllreduce<int (&)[3], int>);
static_assert(CanAllreduce<int*, std::size_t>);
static_assert(CanAllreduce<const int*, int*, int, const papcoll::Max&>);
static_assert(CanAllreduce<const Ints&, Ints&, const papcoll::Sum&, const papcoll::Algorithm&>);
static_assert(CanAllreduce<const std::list<int>&> == false);
static_assert(!CanAllreduce<>);

// What owns buffers does not become what would lose them.
using OwningSum = decltype(papcoll::iallreduce(std::declval<PackRank&>(), std::declval<Ints>()));
using OwningSums =
    decltype(papcoll::allreduce_init(std::declval<PackRank&>(), std::declval<Ints>()));
static_assert(!std::is_constructible_v<papcoll::Request, OwningSum>);
static_assert(!std::is_constructible_v<papcoll::Persistent, OwningSums>);
static_assert(std::is_move_constructible_v<OwningSum> && std::is_move_assignable_v<OwningSum>);
static_assert(std::is_move_constructible_v<OwningSums> && std::is_move_assignable_v<OwningSums>);
static_assert(!CanAllreduce<const Ints&>);
static_assert(!CanAllreduce<Ints>);
static_assert(!CanAllreduce<std::vector<bool>&>);
static_assert(!CanAllreduce<std::vector<std::string>&>);
static_assert(!CanAllreduce<int*>);
static_assert(!CanAllreduce<Ints&, const char (&)[5]>);
static_assert(!CanAllreduce<Ints&, const papcoll::Algorithm&>);
static_assert(!CanAllreduce<Ints&, const Ints&>);
static_assert(!CanAllreduce<Ints&, std::vector<long>&>);
static_assert(!CanAllreduce<NoSum&>);
static_assert(!CanAllreduce<std::vector<NoSum>&>);
static_assert(!CanAllreduce<std::vector<std::complex<float>>&, const papcoll::Max&>);
static_assert(CanIallreduce<Ints>);
static_assert(CanIallreduce<Ints&, Ints>);
static_assert(CanIallreduce<std::array<int, 3>, Ints>);
static_assert(!CanIallreduce<int>);
static_assert(!CanIallreduce<const Ints>);
static_assert(!CanIallreduce<int (&&)[3], Ints&>);
static_assert(CanAllreduceInit<Ints>);
static_assert(!CanAllreduceInit<int>);
static_assert(CanReduce<Ints&, root>);
static_assert(!CanReduce<Ints&, int>);
static_assert(CanReduce<const int*, std::nullptr_t, int, root>);
static_assert(CanBcast<Ints&, root>);
static_assert(!CanBcast<Ints&, Ints&, root>);
static_assert(!CanBcast<Ints&>);
static_assert(CanAllgather<const Ints&, Ints&>);
static_assert(!CanAllgather<int>);
static_assert(CanAllgatherv<const Ints&>);
static_assert(CanAllgatherv<const Ints&, Ints&, counts>);
static_assert(CanAllgatherv<const Ints&, Ints&, papcoll::blocks>);
static_assert(!CanAllgatherv<const Ints&, Ints&>);
static_assert(!CanIallgatherv<const Ints&>);
static_assert(CanScatterv<const Ints&, counts, const papcoll::UnknownCounts&, root>);
static_assert(CanScatterv<Ints&, counts, root>);
static_assert(!CanScatterv<const Ints&, counts, const papcoll::UnknownCounts&>);
static_assert(CanAlltoallv<const Ints&, counts, Ints&, counts>);
static_assert(!CanAlltoallv<const Ints&, Ints&, counts, counts>);
static_assert(CanReduceScatter<const Ints&, Ints&, counts, const papcoll::Sum&>);
static_assert(!CanReduceScatter<const Ints&, Ints&, const Ints&>);
static_assert(CanBarrier<>);
static_assert(!CanBarrier<int>);

// -- What comes back.

template <class... As>
using Started = decltype(papcoll::iallreduce(std::declval<PackRank&>(), std::declval<As>()...));
static_assert(std::is_same_v<Started<Ints&>, papcoll::Request>);
static_assert(std::is_same_v<Started<std::span<int>>, papcoll::Request>);
static_assert(!std::is_convertible_v<Started<Ints>, papcoll::Request>);
static_assert(std::is_convertible_v<Started<Ints, Ints&>, papcoll::Request>);
static_assert(std::is_same_v<decltype(std::declval<Started<Ints>&>().wait()), Ints>);
static_assert(
    std::is_same_v<decltype(std::declval<Started<Ints, Ints>&>().wait()), std::pair<Ints, Ints>>);

/// Runs f on two threads, and checks what it says is wrong.
template <class F> void on_two(F&& f) {
  papcoll::ThreadTeam team{2};
  std::array<std::string, 2> wrong;
  team.run([&](PackRank& comm) { wrong[static_cast<std::size_t>(comm.rank())] = f(comm); });
  CHECK(wrong[0] == "");
  CHECK(wrong[1] == "");
}

}  // namespace

TEST_CASE("A buffer that is moved into a request comes back with the result", "[entry]") {
  on_two([](PackRank& comm) -> std::string {
    Ints v{comm.rank(), 10};
    const int* const before = v.data();
    v = papcoll::iallreduce(comm, std::move(v)).wait();
    if (v != Ints{1, 20}) return "in place";
    if (v.data() != before) return "copied";
    const Ints gathered = papcoll::iallgather(comm, Ints{comm.rank()}, Ints(2)).wait().second;
    if (gathered != Ints{0, 1}) return "both";
    Ints out(2);
    const Ints in = papcoll::iallreduce(comm, Ints{1, 2}, out).wait();
    if (in != Ints{1, 2} || out != Ints{2, 4}) return "input only";
    const Ints ones{1, 1};
    if (papcoll::iallreduce(comm, ones, Ints(2)).wait() != Ints{2, 2}) return "output only";
    if (papcoll::ibcast(comm, std::array{comm.rank(), 7}, root{1}).wait() != std::array{1, 7}) {
      return "array";
    }
    const Ints each{1, 1};
    const auto [sent, received] = papcoll::ialltoallv(comm, Ints{comm.rank(), comm.rank()},
                                                      counts{each}, Ints(2), counts{each})
                                      .wait();
    return sent == Ints{comm.rank(), comm.rank()} && received == Ints{0, 1} ? "" : "alltoallv";
  });
}

TEST_CASE("what owns buffers says so where it is of no call", "[entry]") {
  using papcoll::detail::NotOwned;
  papcoll::OwningRequest<NotOwned, Ints> request;
  CHECK_THROWS_AS(request.wait(), papcoll::argument_error);
  papcoll::OwningPersistent<Ints, Ints> call;
  CHECK_THROWS_AS(call.input(), papcoll::argument_error);
  CHECK_THROWS_AS(call.output(), papcoll::argument_error);
}

TEST_CASE("A request that owns its buffer is complete before that is gone", "[entry]") {
  on_two([](PackRank& comm) -> std::string {
    { auto unused = papcoll::iallreduce(comm, Ints(100, 1)); }
    Ints out(100);
    papcoll::Request plain = papcoll::iallreduce(comm, Ints(100, 1), out);
    plain.wait();
    if (out != Ints(100, 2)) return "input only";
    papcoll::OwningRequest<papcoll::detail::NotOwned, Ints> later;
    later = papcoll::iallreduce(comm, Ints{1});
    while (!later.test()) {
    }
    return later.wait() == Ints{2} ? "" : "after test()";
  });
}

TEST_CASE("A persistent call owns the buffers that were moved into it", "[entry]") {
  on_two([](PackRank& comm) -> std::string {
    auto sum = papcoll::allreduce_init(comm, Ints{1, 2});
    sum();
    if (sum.output() != Ints{2, 4}) return "in place";
    sum.start();
    sum.wait();
    if (sum.output() != Ints{4, 8}) return "started";
    auto gather = papcoll::allgather_init(comm, Ints{comm.rank()}, Ints(2));
    gather();
    gather.input()[0] += 5;
    gather();
    if (gather.output() != Ints{5, 6}) return "both";
    Ints out(1);
    auto scan = papcoll::scan_init(comm, Ints{3}, out, [](int a, int b) { return a + b; });
    papcoll::Persistent plain = std::move(scan);
    plain();
    return out == Ints{3 * (comm.rank() + 1)} ? "" : "input only";
  });
}

TEST_CASE("A shared vector that is moved into a call stays where it is", "[entry]") {
  on_two([](PackRank& comm) -> std::string {
    papcoll::shared_vector<int> v(3, 1, papcoll::shared_allocator<int>{comm});
    const int* const before = v.data();
    const papcoll::shared_vector<int> w = papcoll::iallreduce(comm, std::move(v)).wait();
    return w.data() == before && w[2] == 2 ? "" : "moved";
  });
}

TEST_CASE("An operator with a state is kept until its request is complete", "[entry]") {
  on_two([](PackRank& comm) -> std::string {
    Ints v{comm.rank() + 1};
    papcoll::Request request = [&] {
      const int offset = 9 + comm.size() / 2;
      return papcoll::iallreduce(comm, v, [offset](int a, int b) { return a + b + offset; });
    }();
    request.wait();
    return v == Ints{13} ? "" : "another operator";
  });
}
