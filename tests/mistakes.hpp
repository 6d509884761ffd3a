// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls with wrong arguments, for threads and processes alike. Data are `width` elements of -1.

#include "outcome.hpp"

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/base/buffers.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mistakes {

using papcoll::Algorithm;
using papcoll::root;

/// One rank's buffers: none of a call that fails may change.
struct Buffers {
  explicit Buffers(int ranks)
      : each(static_cast<std::size_t>(3)), in(each * static_cast<std::size_t>(ranks), 1), out(in) {
    std::fill(out.begin(), out.end(), -1);
  }
  bool untouched() const {
    return std::all_of(in.begin(), in.end(), [](int x) { return x == 1; }) &&
           std::all_of(out.begin(), out.end(), [](int x) { return x == -1; });
  }
  std::span<const int> input(std::size_t n) const { return std::span{in}.first(n); }
  std::span<int> output(std::size_t n) { return std::span{out}.first(n); }

  std::size_t each;
  std::vector<int> in;
  std::vector<int> out;
};

/// Lengths of one rank's blocks, three each, and where they begin, one after the other.
struct Blocks {
  explicit Blocks(int ranks) : counts(static_cast<std::size_t>(ranks), 3), places(counts) {
    for (std::size_t r = 0; r < places.size(); ++r) places[r] = 3 * static_cast<long>(r);
  }
  papcoll::blocks apart() const { return {counts, places}; }
  papcoll::blocks in_a_row() const { return papcoll::counts{counts}; }

  std::vector<long> counts;
  std::vector<long> places;
};

/// A call that one rank makes wrongly and the others rightly.
template <class Comm> struct Mistake {
  papcoll::Collective collective;
  std::string says;  ///< part of the message
  std::function<void(Comm&, Buffers&, bool wrong, const Algorithm&)> call;
  bool irregular = false;  ///< the call says how long each rank's block is; of a reduction, all do
};

/// May an algorithm that moves blocks or combines in rank order have written those of ranks that
/// came before it heard of one that failed?
inline bool may_have_blocks(papcoll::Collective c) {
  using papcoll::Collective;
  return c == Collective::alltoall || c == Collective::gather || c == Collective::scatter ||
         papcoll::is_prefix_reduction(c);
}

template <class Comm> std::vector<Mistake<Comm>> all() {
  using papcoll::Collective;
  using B = Buffers;
  return {
      {Collective::allreduce, "differ in length",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allreduce(c, b.input(3), b.output(wrong ? 2 : 3), papcoll::sum, a);
       }},
      {Collective::allreduce, "the count -2 is negative",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allreduce(c, b.in.data(), b.out.data(), wrong ? -2 : 3, papcoll::sum, a);
       }},
      {Collective::allreduce, "the input is a null pointer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allreduce(c, wrong ? nullptr : b.in.data(), b.out.data(), 3, papcoll::sum, a);
       }},
      {Collective::allreduce, "the output is a null pointer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allreduce(c, b.in.data(), wrong ? nullptr : b.out.data(), 3, papcoll::sum, a);
       }},
      {Collective::allreduce, "overlap",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allreduce(c, wrong ? b.out.data() + 2 : b.in.data(), b.out.data(), 3,
                            papcoll::sum, a);
       }},
      {Collective::reduce, "root 99 is not a rank",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::reduce(c, b.input(3), b.output(3), root{wrong ? 99 : 0}, papcoll::sum, a);
       }},
      {Collective::reduce, "root -1 is not a rank",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::reduce(c, b.out, root{wrong ? -1 : 0}, papcoll::sum, a);
       }},
      {Collective::bcast, "is not a rank",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::bcast(c, b.output(3), root{wrong ? c.size() : 0}, a);
       }},
      {Collective::bcast, "negative",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::bcast(c, b.out.data(), wrong ? -1 : 3, root{0}, a);
       }},
      {Collective::allgather, "size() times",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allgather(c, b.input(wrong ? 2 : 3), b.out, a);
       }},
      {Collective::allgather, "do not divide",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allgather(c, b.output(b.out.size() - (wrong ? 1 : 0)), a);
       }},
      {Collective::allgather, "overlap",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allgather(c, wrong ? b.output(3) : b.input(3), b.out, a);
       }},
      {Collective::alltoall, "equal blocks",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         const std::size_t n = b.in.size() - (wrong ? 1 : 0);
         papcoll::alltoall(c, b.input(n), b.output(n), a);
       }},
      {Collective::alltoall, "differ in length",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::alltoall(c, b.in, b.output(wrong ? 1 : b.in.size()), a);
       }},
      {Collective::alltoall, "elements of 4 bytes is too much for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         const std::size_t n = wrong ? std::size_t{1} << 62U : b.each;
         papcoll::alltoall(c, b.in.data(), b.out.data(), n, a);
       }},
      {Collective::scan, "differ in length",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::scan(c, b.input(3), b.output(wrong ? 2 : 3), papcoll::sum, a);
       }},
      {Collective::exscan, "differ in length",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::exscan(c, b.input(3), b.output(wrong ? 2 : 3), papcoll::sum, a);
       }},
      {Collective::reduce_scatter, "equal blocks",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::reduce_scatter(c, b.input(b.in.size() - (wrong ? 1 : 0)), b.output(3),
                                 papcoll::sum, a);
       }},
      {Collective::reduce_scatter, "this rank's block",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::reduce_scatter(c, b.input(b.in.size()), b.output(wrong ? 2 : 3), papcoll::sum, a);
       }},
      {Collective::reduce_scatter, "pass one for each",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         const std::vector<std::size_t> each(static_cast<std::size_t>(c.size() + (wrong ? 1 : 0)),
                                             3);
         papcoll::reduce_scatter(c, b.in, b.output(3), papcoll::counts{each}, papcoll::sum, a);
       }},
      {Collective::reduce_scatter, "counts add up to",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         const std::vector<std::size_t> each(static_cast<std::size_t>(c.size()), wrong ? 4 : 3);
         papcoll::reduce_scatter(c, b.in, b.output(3), papcoll::counts{each}, papcoll::sum, a);
       }},
      {Collective::reduce_scatter, "elements of 4 bytes is too much for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         std::vector<std::size_t> each(static_cast<std::size_t>(c.size()), 3);
         if (wrong) each[0] = 0 - each[0];
         papcoll::reduce_scatter(c, b.in, b.output(3), papcoll::counts{each}, papcoll::sum, a);
       }},
      {Collective::gather, "is not a rank",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::gather(c, b.input(3), b.out, root{wrong ? 99 : 0}, a);
       }},
      {Collective::scatter, "is not a rank",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::scatter(c, b.in, b.output(3), root{wrong ? 99 : 0}, a);
       }},
      {Collective::alltoall, "'s block in the input is -2: they start at 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) sent.counts.back() = -2;
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall,
       "the displacement of rank 0's block in the output is -1: they start at 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) received.places[0] = -1;
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "counts for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) received.counts.pop_back();
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "displacements for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) sent.places.pop_back();
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "elements of 4 bytes is too much for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) sent.counts[0] = std::numeric_limits<long>::max();
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall,
       "block of rank 1 in the input, 3 elements from 1000 on, ends past the buffer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) sent.places[1] = 1000;
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "of the output overlap, at element ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) received.places[1] = 2;
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "overlap: pass one buffer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         const std::span<const int> in =
             wrong ? std::span<const int>{b.out.data() + 1, b.out.size() - 1}
                   : std::span<const int>{b.in};
         if (wrong) {
           sent.counts.back() = 2;
           received.counts.back() = c.rank() + 1 == c.size() ? 2 : 3;
         }
         papcoll::alltoallv(c, in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "elements to itself and expects 3 of itself",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         if (wrong) sent.counts[static_cast<std::size_t>(c.rank())] = 2;
         papcoll::alltoallv(c, b.in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::alltoall, "input and output are one buffer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks sent{c.size()};
         Blocks received{c.size()};
         const std::span<int> in{wrong ? b.out : b.in};
         if (wrong) std::swap(sent.places[0], sent.places[1]);
         papcoll::alltoallv(c, in, sent.apart(), b.out, received.apart(), a);
       },
       true},
      {Collective::allgather, "'s block in the output is -2: they start at 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts[0] = -2;
         papcoll::allgatherv(c, b.input(3), b.out, each.apart(), a);
       },
       true},
      {Collective::allgather, "ends past the buffer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.places[1] = std::numeric_limits<long>::max();
         papcoll::allgatherv(c, b.input(3), b.out, each.apart(), a);
       },
       true},
      {Collective::allgather, "of the output overlap, at element ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.places[1] = 2;
         papcoll::allgatherv(c, b.input(3), b.out, each.apart(), a);
       },
       true},
      {Collective::allgather, "overlap: pass one buffer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};

         papcoll::allgatherv(c, wrong ? b.output(3) : b.input(3), b.out, each.apart(), a);
       },
       true},
      {Collective::allreduce, "the length of block 1 of the output is -1: lengths start at 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         const std::vector<int> lengths{2, wrong ? -1 : 1};
         const std::vector<int> places{0, 2};
         papcoll::allreduce(c, b.input(3), papcoll::indexed(b.out.data(), lengths, places),
                            papcoll::sum, a);
       }},
      {Collective::reduce, "spans more than PTRDIFF_MAX bytes",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         constexpr std::ptrdiff_t far = std::numeric_limits<std::ptrdiff_t>::max();
         papcoll::reduce(c, papcoll::strided(b.in.data(), {2}, {wrong ? far : 2}), b.output(2),
                         root{0}, papcoll::sum, a);
       }},
      {Collective::scan, "input and output overlap",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::scan(c, papcoll::strided(wrong ? b.out.data() + 1 : b.in.data(), 2, 1, 1),
                       papcoll::strided(b.out.data(), 2, 1, 2), papcoll::sum, a);
       }},
      {Collective::exscan, "the output is a null pointer",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::exscan(c, b.input(2), papcoll::strided(wrong ? nullptr : b.out.data(), 2, 1, 2),
                         papcoll::sum, a);
       }},
      {Collective::allgather, "overlap: they are 2 elements apart, and each has 3",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::allgather(c, b.input(3),
                            papcoll::strided(b.out.data(), {c.size(), 3}, {wrong ? 2 : 3, 1}), a);
       }},
      {Collective::alltoall, "blocks 0 and 1 of the output overlap, at element 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         const std::vector<int> lengths{1, 3 * c.size() - 1};
         const std::vector<int> places{0, wrong ? 0 : 1};
         papcoll::alltoall(c, b.in, papcoll::indexed(b.out.data(), lengths, places), a);
       }},
      {Collective::reduce_scatter, "the output must have as many elements",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         papcoll::reduce_scatter(c, b.in, papcoll::strided(b.out.data(), wrong ? 1 : 3, 1, 1),
                                 papcoll::sum, a);
       }},
      {Collective::gather, "'s block in the output is -2: they start at 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts[1] = -2;
         papcoll::gatherv(c, b.input(3), b.out, each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::gather, "counts for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts.pop_back();
         papcoll::gatherv(c, b.input(3), b.out, each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::gather, "elements of 4 bytes is too much for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts[0] = std::numeric_limits<long>::max();
         papcoll::gatherv(c, b.input(3), b.out, each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::scatter, "'s block in the input is -2: they start at 0",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts[1] = -2;
         papcoll::scatterv(c, b.in, b.output(3), each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::scatter, "counts for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts.pop_back();
         papcoll::scatterv(c, b.in, b.output(3), each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::scatter, "elements of 4 bytes is too much for ",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};
         if (wrong) each.counts[0] = std::numeric_limits<long>::max();
         papcoll::scatterv(c, b.in, b.output(3), each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::gather, "as many elements as papcoll::counts says",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};

         papcoll::gatherv(c, b.input(wrong ? 2 : 3), b.out, each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::scatter, "as many elements as papcoll::counts says",
       [](Comm& c, B& b, bool wrong, const Algorithm& a) {
         Blocks each{c.size()};

         papcoll::scatterv(c, b.in, b.output(wrong ? 2 : 3), each.in_a_row(), root{0}, a);
       },
       true},
      {Collective::barrier, "Ring does not serve barrier, only ",
       [](Comm& c, B&, bool wrong, const Algorithm& a) {
         papcoll::barrier(c, wrong ? papcoll::algorithm("Ring") : a);
       }},
  };
}

/// Calls that are right by themselves and do not match: `odd` is true on one rank.
template <class Comm> std::vector<Mistake<Comm>> mismatches() {
  using papcoll::Collective;
  using B = Buffers;
  return {
      {Collective::allreduce, "of 2 elements",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         const std::size_t n = odd ? 2 : 3;
         papcoll::allreduce(c, b.input(n), b.output(n), papcoll::sum, a);
       }},
      {Collective::allreduce, "of 0 elements",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         const std::size_t n = odd ? 0 : 3;
         papcoll::allreduce(c, b.input(n), b.output(n), papcoll::sum, a);
       }},
      {Collective::allreduce, "their operators differ: all ranks must pass the same one",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         if (odd) {
           papcoll::allreduce(c, b.input(3), b.output(3), papcoll::max, a);
         } else {
           papcoll::allreduce(c, b.input(3), b.output(3), papcoll::sum, a);
         }
       }},
      {Collective::allreduce, "their element types differ",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         if (odd) {
           std::array<float, 3> other{};
           papcoll::allreduce(c, other, papcoll::sum, a);
         } else {
           papcoll::allreduce(c, b.input(3), b.output(3), papcoll::sum, a);
         }
       }},
      {Collective::allreduce, "called allgather",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         if (odd) {
           papcoll::allgather(c, b.input(3), b.out, papcoll::algorithm("Exchange"));
         } else {
           papcoll::allreduce(c, b.input(3), b.output(3), papcoll::sum, a);
         }
       }},
      {Collective::allgather, "of 2 elements",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         const std::size_t n = odd ? 2 : 3;
         papcoll::allgather(c, b.input(n), b.output(n * static_cast<std::size_t>(c.size())), a);
       }},
      {Collective::reduce, "with root 1",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         papcoll::reduce(c, b.input(3), b.output(3), root{odd ? 1 : 0}, papcoll::sum, a);
       }},
      {Collective::bcast, "with root 1",
       [](Comm& c, B& b, bool odd, const Algorithm& a) {
         papcoll::bcast(c, b.output(3), root{odd ? 1 : 0}, a);
       }},
  };
}

/// A call that shows if the team still works.
template <class Comm> void work(Comm& comm) {
  const int sum = papcoll::allreduce(comm, comm.rank() + 1);
  if (sum != comm.size() * (comm.size() + 1) / 2) throw std::logic_error("a wrong sum");
}

/// A rank that leaves a call before the others have arrived hears of a mismatch within four calls.
/// Makes them, and gives what came of `first`, the call, or else of the first that failed.
template <class Comm> Outcome heard(Comm& comm, Outcome first) {
  for (int i = 0; i < 4; ++i) {
    Outcome next = outcome_of([&] { papcoll::barrier(comm); });
    if (first.is_fine()) first = std::move(next);
  }
  return first;
}

}  // namespace mistakes
