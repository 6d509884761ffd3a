// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A distributed sort by samples: every rank learns where the ranges of all ranks begin, and sends
// each its keys. Nobody knows how many come: alltoallv with papcoll::unknown_counts finds out.
//
//     mpirun -n 4 ./13_sample_sort

#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <utility>
#include <vector>

namespace {

using Key = std::uint64_t;

// As many keys as differ from rank to rank, and more of the small ones than of the large ones.
std::vector<Key> keys_of(int rank) {
  std::mt19937_64 random(static_cast<Key>(rank) + 1);
  std::vector<Key> keys(static_cast<std::size_t>(50'000 + 10'000 * rank));
  for (Key& key : keys) key = random() >> (random() % 40);
  return keys;
}

// The largest key of each range but the last, from 64 keys of every rank. The same on all ranks.
std::vector<Key> splitters_of(papcoll::Communicator& comm, const std::vector<Key>& sorted) {
  constexpr std::size_t samples = 64;
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<Key> mine(samples);
  for (std::size_t i = 0; i < samples; ++i) mine[i] = sorted[i * sorted.size() / samples];
  std::vector<Key> all(samples * ranks);
  papcoll::allgather(comm, mine, all);
  std::sort(all.begin(), all.end());
  std::vector<Key> splitters(ranks - 1);
  for (std::size_t r = 1; r < ranks; ++r) splitters[r - 1] = all[r * samples];
  return splitters;
}

// Every rank's keys go to the rank of their range.
std::vector<Key> sample_sort(papcoll::Communicator& comm, std::vector<Key> keys) {
  std::sort(keys.begin(), keys.end());
  std::vector<std::ptrdiff_t> sent;  // counts are integers of any type
  auto first = keys.begin();
  for (const Key splitter : splitters_of(comm, keys)) {
    const auto end = std::upper_bound(first, keys.end(), splitter);
    sent.push_back(end - first);
    first = end;
  }
  sent.push_back(keys.end() - first);

  auto [sorted, counts] =
      papcoll::alltoallv(comm, keys, papcoll::counts{sent}, papcoll::unknown_counts);

  // One sorted run of each rank, one after the other: `counts` says where they end.
  auto end = sorted.begin();
  for (const std::size_t n : counts) {
    const auto middle = end;
    end += static_cast<std::ptrdiff_t>(n);
    std::inplace_merge(sorted.begin(), middle, end);
  }
  return std::move(sorted);
}

// What tells multisets of keys apart, whoever has which: the number of keys, their sum and xor.
std::vector<Key> fingerprint(papcoll::Communicator& comm, const std::vector<Key>& keys) {
  Key sum = 0;
  Key bits = 0;
  for (const Key key : keys) {
    sum += key;
    bits ^= key;
  }
  return {papcoll::allreduce(comm, static_cast<Key>(keys.size())), papcoll::allreduce(comm, sum),
          papcoll::allreduce(comm, bits, papcoll::bit_xor)};
}

bool run() {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const std::vector<Key> keys = keys_of(comm.rank());
  const std::vector<Key> sorted = sample_sort(comm, keys);

  const bool same_keys = fingerprint(comm, keys) == fingerprint(comm, sorted);
  // The largest key of the ranks below this one: 0 on rank 0.
  const Key below = papcoll::exscan(comm, sorted.empty() ? Key{0} : sorted.back(), papcoll::max);
  const bool in_order = std::is_sorted(sorted.begin(), sorted.end()) &&
                        (sorted.empty() || comm.rank() == 0 || below <= sorted.front());
  std::printf("rank %d: %zu keys became %zu\n", comm.rank(), keys.size(), sorted.size());
  return same_keys && in_order;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
