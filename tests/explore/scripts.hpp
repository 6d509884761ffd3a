// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "script.hpp"

#include <cstddef>
#include <iterator>
#include <random>
#include <vector>

namespace explore {

/// Elements that make a message of about the kind.
enum class Size { inlined, one_chunk, chunks };

inline std::size_t count_of(Size size, bool rank_order, std::size_t chunks) {
  const std::size_t in_chunk = chunk_bytes / (rank_order ? sizeof(Ordered) : sizeof(Sum));
  switch (size) {
    case Size::inlined: return 3;
    case Size::one_chunk: return in_chunk;
    default: return (chunks - 1) * in_chunk + 2;
  }
}

/// All calls of a collective by an algorithm: sizes, roots, in place or not, ordered or not. The
/// longest message has `chunks` chunks.
inline std::vector<CallSpec> all_calls(Algorithm a, Collective c, int ranks, std::size_t chunks) {
  std::vector<CallSpec> calls;
  if (!a.serves(c)) return calls;
  if (c == Collective::barrier) return {{a, c, 0}};
  for (const Size size : {Size::inlined, Size::one_chunk, Size::chunks}) {
    for (int root = 0; root < (papcoll::is_rooted(c) ? ranks : 1); ++root) {
      for (const bool in_place : {false, true}) {
        if (in_place && c == Collective::bcast) continue;
        for (const bool rank_order : {false, true}) {
          if (rank_order && (!papcoll::is_reduction(c) || !a.keeps_order())) continue;
          CallSpec call{a, c, count_of(size, rank_order, chunks), root, in_place, rank_order};
          calls.push_back(call);
          if (rank_order && papcoll::is_prefix_reduction(c)) {  // which goes another way then
            call.reproducible = true;
            calls.push_back(call);
            call.reproducible = false;
          }
          if (c != Collective::reduce_scatter && !a.takes_counts()) continue;
          call.irregular = true;
          calls.push_back(call);
        }
      }
    }
  }
  return calls;
}

/// Calls drawn from a seed.
class RandomCalls {
 public:
  explicit RandomCalls(std::uint64_t seed) : random_(seed) {}

  std::size_t draw(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  CallSpec call(int ranks, std::size_t chunks) {
    constexpr Collective collectives[]{
        Collective::allreduce, Collective::reduce,         Collective::bcast,
        Collective::allgather, Collective::reduce_scatter, Collective::barrier,
        Collective::alltoall,  Collective::gather,         Collective::scatter,
        Collective::scan,      Collective::exscan};
    const Collective c = collectives[draw(std::size(collectives))];
    for (;;) {
      const Algorithm a = algorithms()[draw(algorithms().size())];
      const std::vector<CallSpec> calls = all_calls(a, c, ranks, chunks);
      if (!calls.empty()) return calls[draw(calls.size())];
    }
  }

  std::vector<CallSpec> calls(int ranks, std::size_t n, std::size_t chunks) {
    std::vector<CallSpec> result;
    for (std::size_t i = 0; i < n; ++i) result.push_back(call(ranks, chunks));
    return result;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace explore
