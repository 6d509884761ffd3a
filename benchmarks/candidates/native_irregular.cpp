// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/native.hpp"
#include "candidates/native_types.hpp"

#include <vector>

namespace bench {
namespace {

/// As MPI takes them.
struct IntBlocks {
  std::vector<int> counts;
  std::vector<int> places;

  IntBlocks(const Blocks& blocks, const Problem& problem)
      : counts(to_ints(blocks.counts, "elements", problem)),
        places(to_ints(blocks.places, "elements before a block", problem)) {}
};

}  // namespace

std::function<void()> irregular_native_call(const Problem& problem, const Buffers& buffers,
                                            MPI_Comm comm) {
  const Irregular& irregular = *problem.irregular;
  const MPI_Datatype type = datatype(problem.type);
  const int own =
      to_int(irregular.lengths[static_cast<std::size_t>(problem.rank)], "elements", problem);
  const int root = problem.root;
  void* const out = buffers.output();
  const void* const in = buffers.input();
  const bool here = problem.in_place && problem.is_root();
  const bool elsewhere = problem.in_place && !problem.is_root();
  const void* const given = problem.in_place ? MPI_IN_PLACE : in;
  const IntBlocks sent(irregular.sent, problem);
  const IntBlocks received(irregular.received, problem);

  switch (problem.collective) {
    case Collective::alltoall:
      return [=] {
        MPI_Alltoallv(given, sent.counts.data(), sent.places.data(), type, out,
                      received.counts.data(), received.places.data(), type, comm);
      };
    case Collective::allgather:
      return [=] {
        MPI_Allgatherv(given, own, type, out, received.counts.data(), received.places.data(), type,
                       comm);
      };
    case Collective::gather:  // in place, what the others send is in their only buffer
      return [=] {
        MPI_Gatherv(elsewhere ? out : given, own, type, elsewhere ? nullptr : out,
                    received.counts.data(), received.places.data(), type, root, comm);
      };
    case Collective::scatter:
      return [=] {
        MPI_Scatterv(here        ? out
                     : elsewhere ? nullptr
                                 : in,
                     sent.counts.data(), sent.places.data(), type, here ? MPI_IN_PLACE : out, own,
                     type, root, comm);
      };
    default: return {};
  }
}

}  // namespace bench
