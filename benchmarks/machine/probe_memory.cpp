// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probes.hpp"
#include "timing/quiet.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace bench {
namespace {

/// Makes the compiler believe that the memory behind p is read and written here.
void touch(void* p) { asm volatile("" : : "r"(p) : "memory"); }

/// Seconds a run of `work` takes at best, while all ranks do the same.
template <class TransportOp> double least_time(Meeting& meeting, TransportOp work) {
  constexpr double window = 50e-6;  // long against the clock and the skew of the barrier
  constexpr int windows = 8;
  work();
  std::int64_t start = local_now();
  work();
  const int repeats = 1 + static_cast<int>(window / std::max(seconds_since(start), 1e-8));
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < windows; ++i) {
    meeting.wait();
    start = local_now();
    for (int k = 0; k < repeats; ++k) work();
    best = std::min(best, seconds_since(start) / repeats);
  }
  return best;
}

}  // namespace

MemoryCosts probe_memory(const Placement& placement, Meeting& meeting, std::size_t bytes,
                         bool in_place) {
  constexpr std::size_t smallest = 4096;  // below, a signal takes longer than any copy
  constexpr std::size_t largest = std::size_t{64} << 20;  // above, all is main memory
  const std::size_t n = std::clamp(bytes, smallest, largest);
  std::vector<char> from(n, 'a');
  std::vector<char> to(n, 'b');

  // In place, a call works on half the memory of a copy: copy one half of the buffer to the other.
  char* const target = in_place ? from.data() + n / 2 : to.data();
  const std::size_t length = in_place ? n / 2 : n;
  const double copy = least_time(meeting, [&] {
    std::memcpy(target, from.data(), length);
    touch(target);
  });
  const double write = least_time(meeting, [&] {
    std::memset(to.data(), 0, n);
    touch(to.data());
  });
  // The C library's search is the quickest plain reading at hand: it uses the widest vectors.
  const double read = least_time(meeting, [&] {
    touch(from.data());
    touch(std::memchr(from.data(), 'z', n));
  });

  // The mean over the ranks, because a slow processor's share could be given to the others.
  meeting.wait();  // before MPI's own waiting, which takes processors
  std::array<double, 3> costs{copy / static_cast<double>(length), write / static_cast<double>(n),
                              read / static_cast<double>(n)};
  MPI_Allreduce(MPI_IN_PLACE, costs.data(), 3, MPI_DOUBLE, MPI_SUM, placement.comm());
  const auto ranks = static_cast<double>(placement.ranks());
  return {costs[0] / ranks, costs[1] / ranks, costs[2] / ranks};
}

}  // namespace bench
