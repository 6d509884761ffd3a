// SPDX-License-Identifier: BSD-3-Clause
// torture [seed=1] [calls=2000] [trace=0]: random calls of all blocking collectives that a preload
// takes over, on random communicators, derived types, operators and counts.
//
// Every rank knows what every other contributes, so that each call is checked on its own: a buffer
// must hold what it should, byte by byte, and keep what it held in gaps and around. Beyond that the
// program prints hashes of what was received, to be compared between two runs. Those of floats
// whose sums depend on the order stand apart.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "torture_reductions.hpp"

namespace torture {
namespace {

struct Pools {
  std::vector<Shape> shapes;
  std::vector<Layout> reduced;
};

void replace_some(Pools& p, Random& shared, long call) {
  const auto key = static_cast<std::uint64_t>(call) + 1000;
  if (shared.one_in(4)) {
    Shape& s = shared.of(p.shapes);
    for (Layout& l : s.layouts) free_type(l);
    s = make_shape(key);
  }
  if (shared.one_in(8)) {
    Layout& l = shared.of(p.reduced);
    free_type(l);
    l = make_reduced(key);
  }
}

struct Collective {
  const char* name;
  void (*call)(const Shape&, const Operation&, const Choice&, int count);
};

template <Reduction which>
void reduction_of(const Shape&, const Operation& o, const Choice& c, int count) {
  const bool scatters = which == reduce_scatter || which == reduce_scatter_block;
  reduction(o, which, c, scatters ? std::min(count, 2000) : count);
}

void barrier(const Shape&, const Operation&, const Choice& c, int) {
  accepted(MPI_Barrier(c.on.comm), "Barrier");
}

constexpr std::array<Collective, 9> collectives{
    {{"Bcast", [](auto& s, auto&, auto& c, int) { broadcast(s, c); }},
     {"Gather", [](auto& s, auto&, auto& c, int) { gather(s, c, false); }},
     {"Scatter", [](auto& s, auto&, auto& c, int) { scatter(s, c); }},
     {"Allgather", [](auto& s, auto&, auto& c, int) { gather(s, c, true); }},
     {"Allreduce", reduction_of<allreduce>},
     {"Reduce", reduction_of<reduce>},
     {"Barrier", barrier},
     {"Reduce_scatter", reduction_of<reduce_scatter>},
     {"Reduce_scatter_block", reduction_of<reduce_scatter_block>}}};

int some_count(Random& shared) {
  constexpr std::array<int, 8> counts{0, 1, 1, 2, 3, 7, 30, 129};
  if (shared.one_in(100)) return 20000;
  return shared.of(counts);
}

void one_call(Pools& pools, const std::vector<Communicator>& comms, const Operations& operations,
              const UserOperators& user, std::array<long, 9>& made) {
  const auto call = static_cast<std::uint64_t>(the_run.call);
  Random shared{mixed(the_run.seed, call)};
  replace_some(pools, shared, the_run.call);
  Choice c{shared.of(comms),
           0,
           0,
           shared.one_in(4),
           shared.one_in(2),
           shared.one_in(4),
           shared.one_in(4),
           Random{mixed(mixed(the_run.seed, call), static_cast<std::uint64_t>(the_run.rank) + 99)},
           Random{0}};
  c.root = shared.below(1 << 20) % c.on.size;
  c.reps = shared.one_in(8) ? 0 : shared.between(1, 3);
  const auto which = static_cast<std::size_t>(shared.below(int{collectives.size()}));
  ++made[which];
  const Shape& s = shared.of(pools.shapes);
  const Layout& l = shared.of(pools.reduced);
  Operation o;
  int count = some_count(shared);
  if (shared.one_in(3)) {
    o = user_operation(user, l, static_cast<User>(shared.below(users)));
    // MPICH 4.0.2 reduces in a wrong order where it scatters what does not commute.
    if (is_mpich && !the_run.harsh && which >= 7) o = user_operation(user, l, user_circle);
    if (l.map.size() % 2 != 0 && !(is_mpich && which >= 7)) o = user_operation(user, l, user_left);
    count = std::min(count, static_cast<int>(4000 / l.map.size() + 1));
  } else {
    o = shared.of(operations);
  }
  c.shared = Random{shared.next()};
  collectives[which].call(s, o, c, count);
  if (the_run.trace) {
    std::printf("%d %ld %s %s %016llx %016llx %016llx\n", the_run.rank, the_run.call,
                collectives[which].name, c.on.name,
                static_cast<unsigned long long>(the_run.hashes[moved]),
                static_cast<unsigned long long>(the_run.hashes[integers]),
                static_cast<unsigned long long>(the_run.hashes[exact]));
  }
}

/// The sums and hashes of all ranks, at rank 0; by messages, so that no collective is needed.
void report(const std::array<long, 9>& made, int ranks) {
  std::array<std::uint64_t, 7> mine{};
  std::copy(the_run.hashes.begin(), the_run.hashes.end(), mine.begin());
  mine[4] = static_cast<std::uint64_t>(the_run.wrong);
  mine[5] = static_cast<std::uint64_t>(the_run.gaps_of_pairs);
  mine[6] = static_cast<std::uint64_t>(the_run.types_refused);
  if (the_run.rank != 0) {
    MPI_Send(mine.data(), int{mine.size()}, MPI_UINT64_T, 0, 5, MPI_COMM_WORLD);
    return;
  }
  std::array<std::uint64_t, 7> all = mine;
  for (int r = 1; r < ranks; ++r) {
    MPI_Recv(mine.data(), int{mine.size()}, MPI_UINT64_T, r, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (std::size_t c = 0; c < 4; ++c) all[c] = mixed(all[c], mine[c]);
    for (std::size_t k = 4; k < mine.size(); ++k) all[k] += mine[k];
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::printf("calls of %s: %ld\n", collectives[i].name, made[i]);
  }
  for (std::size_t c = 0; c < 4; ++c) {
    std::printf("%s %016llx\n", class_names[c], static_cast<unsigned long long>(all[c]));
  }
  std::printf("types that MPI packs wrongly %llu\ngaps of pairs written %llu\nwrong %llu\n",
              static_cast<unsigned long long>(all[6]), static_cast<unsigned long long>(all[5]),
              static_cast<unsigned long long>(all[4]));
}

}  // namespace
}  // namespace torture

int main(int argc, char** argv) {
  using namespace torture;
  MPI_Init(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    const auto number =
        std::strtol(argv[i] + std::min(word.find('=') + 1, word.size()), nullptr, 10);
    if (word.starts_with("seed=")) {
      the_run.seed = static_cast<std::uint64_t>(number);
    } else if (word.starts_with("calls=")) {
      the_run.calls = number;
    } else if (word.starts_with("trace=")) {
      the_run.trace = number != 0;
    } else if (word.starts_with("harsh=")) {
      the_run.harsh = number != 0;
    } else {
      std::fprintf(stderr, "torture [seed=N] [calls=N] [harsh=1] [trace=1]\n");
      return 2;
    }
  }
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &the_run.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Communicator> comms = communicators();
  std::array<long, 9> made{};
  {
    const Operations operations = usable(all_operations());
    const UserOperators user;
    Pools pools;
    for (std::uint64_t i = 0; i < 48; ++i) pools.shapes.push_back(make_shape(i));
    for (std::uint64_t i = 0; i < 12; ++i) pools.reduced.push_back(make_reduced(i));
    for (the_run.call = 0; the_run.call < the_run.calls; ++the_run.call) {
      one_call(pools, comms, operations, user, made);
    }
    for (Shape& s : pools.shapes) {
      for (Layout& l : s.layouts) free_type(l);
    }
    for (Layout& l : pools.reduced) free_type(l);
  }
  report(made, ranks);
  for (Communicator& c : comms) {
    if (c.comm != MPI_COMM_WORLD && c.comm != MPI_COMM_SELF) MPI_Comm_free(&c.comm);
  }
  MPI_Finalize();
  return the_run.wrong == 0 ? 0 : 1;
}
