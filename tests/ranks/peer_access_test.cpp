// SPDX-License-Identifier: BSD-3-Clause
// Buffers in the arena, private ones that the kernel copies, and both at once. One file, since all
// cases share the kinds of buffers.

#include "arrival_names.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;
using papcoll::Options;
using papcoll::PeerAccess;
using papcoll::shared_allocator;
using papcoll::shared_vector;

namespace {

std::int64_t element(int rank, std::size_t i) {
  return static_cast<std::int64_t>(i % 1000) * (rank + 1);
}

template <class Vector> void fill(Vector& data, int rank) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = element(rank, i);
}

template <class Vector> bool is_total(const Vector& data, int ranks) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != static_cast<std::int64_t>(i % 1000) * ranks * (ranks + 1) / 2) return false;
  }
  return true;
}

template <class In, class Out>
void check_reductions(Communicator& comm, In in, Out out, const std::string& name) {
  const auto algorithm = papcoll::algorithm(name);
  fill(in, comm.rank());
  papcoll::allreduce(comm, in, out, papcoll::sum, algorithm);
  CHECK(is_total(out, comm.size()));
  fill(out, comm.rank());
  papcoll::allreduce(comm, out, papcoll::sum, algorithm);
  CHECK(is_total(out, comm.size()));
  const papcoll::root last{comm.size() - 1};
  out.assign(out.size(), -1);
  papcoll::reduce(comm, in, out, last, papcoll::sum, algorithm);
  if (comm.rank() == last.rank) CHECK(is_total(out, comm.size()));
}

template <class In, class Out> void check_moves(Communicator& comm, In in, Out out) {
  const auto algorithm = papcoll::algorithm("PeerSlices");
  const std::size_t count = in.size();
  const auto size = static_cast<std::size_t>(comm.size());
  const papcoll::root last{comm.size() - 1};
  fill(in, comm.rank());
  papcoll::bcast(comm, in, last, algorithm);
  fill(out, last.rank);
  CHECK(std::equal(in.begin(), in.end(), out.begin()));

  fill(in, comm.rank());
  out.assign(count * size, -1);
  papcoll::allgather(comm, in, out, algorithm);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    wrong += out[i] != element(static_cast<int>(i / count), i % count);
  }
  CHECK(wrong == 0);

  for (const bool in_place : {false, true}) {
    fill(out, comm.rank());  // one block for each rank
    if (in_place) {
      papcoll::reduce_scatter(comm, out, papcoll::sum, algorithm);
      in.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      papcoll::reduce_scatter(comm, out, in, papcoll::sum, algorithm);
    }
    wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = static_cast<std::size_t>(comm.rank()) * count + i;
      wrong += in[i] != static_cast<std::int64_t>(index % 1000 * size * (size + 1) / 2);
    }
    CHECK(wrong == 0);
  }
}

/// Those whose ranks may leave a reduce before its root comes, since partial results stay behind.
std::vector<std::string> names_left_early() {
  return arrival_names([](const papcoll::ArrivalTraits& a) {
    return a.exposes_results && a.serves(papcoll::Collective::reduce);
  });
}

}  // namespace

TEST_CASE("long private blocks and prefixes, call by call through pools or by the kernel") {
  for (const PeerAccess access : {PeerAccess::best, PeerAccess::without_cma, PeerAccess::staged}) {
    const OwnComm own;
    Options options;
    options.peer_access = access;
    Communicator comm{own.get(), options};
    if (!comm.why_no_shared_memory().empty()) {
      WARN("SKIPPED: the algorithms need one node: " << comm.why_no_shared_memory());
      return;
    }
    const auto ranks = static_cast<std::size_t>(comm.size());
    const int me = comm.rank();
    for (const std::size_t count : {std::size_t{700}, std::size_t{5'000}, std::size_t{40'000}}) {
      std::vector<std::int64_t> in(count * ranks);
      std::vector<std::int64_t> out(count * ranks);
      const std::span<std::int64_t> vector{in.data(), count};
      const std::span<std::int64_t> result{out.data(), count};
      std::size_t wrong = 0;
      // Enough that a trial of the pool begins, ends and is judged.
      for (std::int64_t call = 0; call < 12; ++call) {
        const auto value = [&](int from, int to, std::size_t i) {
          return element(from, i) * 10 + to + call;
        };
        for (std::size_t i = 0; i < in.size(); ++i) {
          in[i] = value(me, static_cast<int>(i / count), i % count);
        }
        papcoll::alltoall(comm, in, out);
        for (std::size_t i = 0; i < out.size(); ++i) {
          wrong += out[i] != value(static_cast<int>(i / count), me, i % count);
        }
        for (std::size_t i = 0; i < count; ++i) vector[i] = value(me, 0, i);
        const auto below = [&](int r, std::size_t i) {
          std::int64_t sum = 0;
          for (int p = 0; p < r; ++p) sum += value(p, 0, i);
          return sum;
        };
        papcoll::scan(comm, vector, result);
        for (std::size_t i = 0; i < count; ++i) wrong += result[i] != below(me + 1, i);
        papcoll::exscan(comm, vector, result);
        for (std::size_t i = 0; me > 0 && i < count; ++i) wrong += result[i] != below(me, i);
      }
      CAPTURE(static_cast<int>(access), count);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("large buffers, wherever they are") {
  for (const PeerAccess access :
       {PeerAccess::best, PeerAccess::copied, PeerAccess::without_cma, PeerAccess::staged}) {
    const OwnComm own;
    Options options;
    options.peer_access = access;
    Communicator comm{own.get(), options};
    if (!comm.why_no_shared_memory().empty()) {
      WARN("SKIPPED: the algorithms need one node: " << comm.why_no_shared_memory());
      return;
    }
    CHECK(
        (access == PeerAccess::best || access == PeerAccess::copied || !comm.why_no_cma().empty()));
    const shared_allocator<std::int64_t> arena{comm};
    for (const std::size_t count : {std::size_t{5}, std::size_t{20'000}, std::size_t{100'000}}) {
      const std::vector<std::int64_t> mine(count);
      const shared_vector<std::int64_t> ours(count, arena);
      for (const std::string& name : names_that_reduce_in_place()) {
        CAPTURE(static_cast<int>(access), count, name);
        check_reductions(comm, mine, mine, name);
        check_reductions(comm, ours, ours, name);
        check_reductions(comm, mine, ours, name);
        // Each rank has another kind of buffer.
        if (comm.rank() % 2 == 0) {
          check_reductions(comm, mine, ours, name);
        } else {
          check_reductions(comm, ours, mine, name);
        }
      }
      check_moves(comm, mine, mine);
      check_moves(comm, ours, ours);
      if (comm.rank() % 2 == 0) {
        check_moves(comm, mine, ours);
      } else {
        check_moves(comm, ours, mine);
      }
    }
  }
}

namespace {

/// Makes a call on a communicator that is freed at once; the last rank waits until that of rank 0
/// is gone.
template <class F> void call_and_free(F&& call) {
  std::optional<OwnComm> own{std::in_place};
  Options options;
  options.arena_bytes = 0;  // no room in the node's memory: what ranks leave behind is private
  options.peer_access = PeerAccess::copied;
  std::optional<Communicator> comm{std::in_place, own->get(), options};
  const int me = comm->rank();
  const int last = comm->size() - 1;
  if (me == last) MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  call(*comm);
  comm.reset();
  own.reset();
  if (me == 0) MPI_Send(nullptr, 0, MPI_INT, last, 1, MPI_COMM_WORLD);
}

}  // namespace

TEST_CASE("what a rank leaves for late ones outlives its communicator") {
  std::string reason;
  {
    const OwnComm own;
    Communicator comm{own.get()};
    reason = comm.size() < 3 ? "fewer than three ranks" : comm.why_no_shared_memory();
    if (reason.empty()) reason = comm.why_no_cma();
  }
  if (!reason.empty()) {
    WARN("SKIPPED: needs three ranks that copy from each other: " << reason);
    return;
  }
  std::vector<std::int64_t> data(300'000);
  for (const std::string& name : names_left_early()) {
    CAPTURE(name);
    call_and_free([&](Communicator& comm) {
      const papcoll::root last{comm.size() - 1};
      fill(data, comm.rank());
      papcoll::reduce(comm, data, last, papcoll::sum, papcoll::algorithm(name));
      if (comm.rank() == last.rank) CHECK(is_total(data, comm.size()));
    });
  }
  call_and_free([&](Communicator& comm) {
    fill(data, comm.rank());
    papcoll::bcast<papcoll::PeerSlices>(comm, data, papcoll::root{0});
    CHECK(data[999] == element(0, 999));
    CHECK(data.back() == element(0, data.size() - 1));
  });
}

TEST_CASE("ranks leave a reduce before its root comes, though the kernel copies nothing") {
  const OwnComm own;
  Options options;
  options.peer_access = PeerAccess::without_cma;
  options.deadline = std::chrono::seconds{20};
  Communicator comm{own.get(), options};
  if (comm.size() < 3 || !comm.why_no_shared_memory().empty()) {
    WARN("SKIPPED: needs three ranks of one node");
    return;
  }
  const int me = comm.rank();
  const papcoll::root last{comm.size() - 1};
  std::vector<std::int64_t> data(300'000);
  for (const std::string& name : names_left_early()) {
    CAPTURE(name);
    const auto reduce = [&] {
      fill(data, me);
      papcoll::reduce(comm, data, last, papcoll::sum, papcoll::algorithm(name));
    };
    for (int i = 0; i < 5; ++i) reduce();  // after which all know of each other's pools
    if (me == last.rank) MPI_Recv(nullptr, 0, MPI_INT, 0, 1, own.get(), MPI_STATUS_IGNORE);
    CHECK(outcome_of(reduce).is_fine());
    if (me == last.rank) CHECK(is_total(data, comm.size()));
    if (me == 0) MPI_Send(nullptr, 0, MPI_INT, last.rank, 1, own.get());
  }
}

TEST_CASE("in place in the arena, between ranks whose private data are on their way") {
  const OwnComm own;
  Communicator comm{own.get()};
  if (comm.size() < 4 || !comm.why_no_shared_memory().empty()) {
    WARN("SKIPPED: needs four ranks of one node");
    return;
  }
  const shared_allocator<std::int64_t> arena{comm};
  shared_vector<std::int64_t> ours(200'000, arena);
  std::vector<std::int64_t> mine(ours.size());
  int wrong = 0;
  const auto split_tail = papcoll::algorithm("SplitTail");
  const auto run = [&](auto& data) {
    // The first call still lends the pools that the second one wants to copy to.
    fill(data, comm.rank());
    papcoll::allreduce(comm, data, papcoll::sum, split_tail);
    fill(data, comm.rank());
    papcoll::allreduce(comm, data, papcoll::sum, split_tail);
    wrong += is_total(data, comm.size()) ? 0 : 1;
  };
  for (int i = 0; i < 200; ++i) {
    if ((comm.rank() + i) % 2 == 0) {
      run(mine);
    } else {
      run(ours);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a buffer half inside the arena is one outside of it") {
  const OwnComm own;
  Communicator comm{own.get()};
  const papcoll::Node* const node = comm.core().environment().node;
  if (node == nullptr) {
    WARN("SKIPPED: the ranks share no memory: " << comm.why_no_shared_memory());
    return;
  }
  CHECK(node->peers.place(node->arena->memory(), 64).mapped == 1);
  CHECK(node->peers.place(node->arena->memory(), std::size_t{1} << 60U).mapped == 0);
  CHECK(node->peers.place(node->bells - 32, 64).mapped == 0);
  std::int64_t x = 0;
  CHECK(node->peers.place(&x, sizeof x).mapped == 0);
}

TEST_CASE("the arena has an end, and its memory outlives the communicator") {
  const OwnComm own;
  Options options;
  options.arena_bytes = std::size_t{8} << 20U;
  shared_vector<char> kept = [&] {
    Communicator comm{own.get(), options};
    shared_allocator<char> arena{comm};
    if (comm.core().environment().node != nullptr) {
      CHECK_THROWS_AS(arena.allocate(std::size_t{8} << 20U), std::bad_alloc);
    }
    for (int i = 0; i < 100; ++i) {  // what is freed is used again
      const shared_vector<char> x(1'000'000, 'x', arena);
      CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 64 == 0);
    }
    return shared_vector<char>(1000, 'k', arena);
  }();
  CHECK(kept == shared_vector<char>(1000, 'k', kept.get_allocator()));
}

TEST_CASE("a small arena is no less an arena") {
  const OwnComm own;
  Options options;
  options.arena_bytes = 65536;
  Communicator comm{own.get(), options};
  const papcoll::Node* const node = comm.core().environment().node;
  if (node == nullptr) {
    WARN("SKIPPED: the ranks share no memory: " << comm.why_no_shared_memory());
    return;
  }
  shared_allocator<std::byte> arena{comm};
  CHECK_THROWS_AS(arena.allocate(65536), std::bad_alloc);
  std::byte* const few = arena.allocate(10'000);
  CHECK(node->peers.place(few, 10'000).mapped != 0);
  arena.deallocate(few, 10'000);
}

TEST_CASE("an arena of no bytes is ordinary memory") {
  const OwnComm own;
  Options options;
  options.arena_bytes = 0;
  Communicator comm{own.get(), options};
  shared_vector<std::int64_t> x(100'000, shared_allocator<std::int64_t>{comm});
  fill(x, comm.rank());
  papcoll::allreduce(comm, x);
  CHECK(is_total(x, comm.size()));
}
