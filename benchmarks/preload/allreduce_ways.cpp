// SPDX-License-Identifier: BSD-3-Clause
// allreduce_ways [BLOCKS]: an 8-byte allreduce of MPI_COMM_WORLD in several ways, in one run, block
// by block in turns, so that all of them meet the same machine. Under papcoll-run the program's
// MPI_Allreduce is the preloaded one, and libmpi's own is called by a pointer into that library:
//
//     papcoll-run --take-over-after 1 mpirun --bind-to core -n 2 allreduce_ways   by papcoll
//     papcoll-run --off mpirun --bind-to core -n 2 allreduce_ways          passed through
//     papcoll-run --take-over-after 1000000000 mpirun … allreduce_ways   counted, and left to MPI
//
// Rank 0 prints the medians, and the medians of the differences within a block: of MPI_Allreduce to
// libmpi's, and to papcoll called by type. Blocks in which messages of the two processors take long
// (they share no cache) come for themselves: the host may move processors meanwhile.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/papcoll.hpp>

#include <dlfcn.h>
#include <link.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

using Allreduce = decltype(&MPI_Allreduce);

/// Of the MPI library itself, whatever is preloaded before it; null if there is none.
Allreduce of_library() {
  Allreduce found = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* to) {
        if (std::string(info->dlpi_name).find("/libmpi") == std::string::npos) return 0;
        void* const library = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_NOW);
        void* const f = library != nullptr ? dlsym(library, "MPI_Allreduce") : nullptr;
        if (f == nullptr) return 0;
        *static_cast<Allreduce*>(to) = reinterpret_cast<Allreduce>(f);
        return 1;
      },
      &found);
  return found;
}

template <class Call> double nanoseconds_a_call(const Call& call) {
  constexpr int warm_up = 20;
  constexpr int calls = 2000;
  for (int i = 0; i < warm_up; ++i) call();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / calls;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

enum Way { called, library, by_type, by_name, erased, ways };
constexpr std::array<const char*, ways> names{"MPI_Allreduce", "libmpi's", "papcoll by type",
                                              "papcoll by name", "papcoll erased"};
using Block = std::array<double, ways>;

void print(const char* where, const std::vector<Block>& blocks) {
  if (blocks.empty()) return;
  std::printf("%s, %zu blocks:", where, blocks.size());
  const auto of = [&](const auto& value) {
    std::vector<double> values;
    for (const Block& b : blocks) values.push_back(value(b));
    return median(values);
  };
  for (std::size_t w = 0; w < ways; ++w) {
    std::printf("  %s %.1f ns", names[w], of([&](const Block& b) { return b[w]; }));
  }
  std::printf("  MPI_Allreduce - libmpi's %+.1f  - papcoll by type %+.1f\n",
              of([](const Block& b) { return b[called] - b[library]; }),
              of([](const Block& b) { return b[called] - b[by_type]; }));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  constexpr int usual = 1500;
  const int blocks = argc > 1 ? std::atoi(argv[1]) : usual;
  const Allreduce direct = of_library();
  if (direct == nullptr) {
    std::fputs("allreduce_ways: this process has no shared MPI library\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<Block> same_l3;
  std::vector<Block> cross_l3;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    const papcoll::Algorithm chosen = papcoll::algorithm("auto+Reproducible");
    const papcoll::erased::Operator sum = papcoll::erased::reducer(
        papcoll::erased::ElementType::float64, papcoll::erased::Operation::sum);
    const papcoll::erased::Layouts layouts;
    const double x = 1;
    double y = 0;
    const std::span<const double> in(&x, 1);
    const std::span<double> out(&y, 1);
    const auto time_of = [&](std::size_t way) {
      switch (way) {
        case called:
          return nanoseconds_a_call(
              [&] { MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
        case library:
          return nanoseconds_a_call(
              [&] { direct(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
        case by_type:
          return nanoseconds_a_call(
              [&] { papcoll::allreduce<papcoll::Reproducible>(comm, in, out, papcoll::sum); });
        case by_name:
          return nanoseconds_a_call(
              [&] { papcoll::allreduce(comm, in, out, papcoll::sum, chosen); });
        default:
          return nanoseconds_a_call(
              [&] { papcoll::erased::allreduce(comm, &x, &y, 1, sum, layouts, chosen); });
      }
    };
    constexpr int first = 10;  // by which papcoll has chosen, and processors run at their speed
    for (int b = -first; b < blocks; ++b) {
      Block times{};
      for (std::size_t k = 0; k < ways; ++k) {
        const std::size_t way = b % 2 == 0 ? k : ways - 1 - k;
        times[way] = time_of(way);
      }
      constexpr double same_l3_at_most = 235;
      if (b >= 0) (times[by_type] < same_l3_at_most ? same_l3 : cross_l3).push_back(times);
    }
  }
  if (rank == 0) {
    print("near", same_l3);
    print("apart", cross_l3);
  }
  MPI_Finalize();
  return 0;
}
