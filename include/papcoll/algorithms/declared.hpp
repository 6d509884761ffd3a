// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

// Declared, so that a call that names a schedule whose header is not included says so. A unit test
// compares the list with the catalogue.
#define PAPCOLL_DECLARED_SCHEDULES(X) \
  X(BinaryTree)                       \
  X(Binomial)                         \
  X(Bruck)                            \
  X(Chain)                            \
  X(ClairvoyantTree)                  \
  X(Dissemination)                    \
  X(DirectAllgather)                  \
  X(KNomial)                          \
  X(Linear)                           \
  X(NeighbourExchange)                \
  X(Pairwise)                         \
  X(PreReducedRing)                   \
  X(Rabenseifner)                     \
  X(RecursiveDoubling)                \
  X(RecursiveHalving)                 \
  X(ReduceScatterGather)              \
  X(ReorderedTwoTree)                 \
  X(Ring)                             \
  X(ScatterAllgather)                 \
  X(SortedLinearTree)                 \
  X(SpreadOut)                        \
  X(StragglAR)                        \
  X(ThreeStage)                       \
  X(TwoTreeComplete)                  \
  X(TwoTreeSanders)                   \
  X(Accumulator)                      \
  X(BlockCopies)                      \
  X(CombiningTree)                    \
  X(Exchange)                         \
  X(LeaderFan)                        \
  X(MultiLeader)                      \
  X(PeerSlices)                       \
  X(PrefixRuns)                       \
  X(SplitTail)

#define PAPCOLL_DECLARE(Schedule) struct Schedule;
PAPCOLL_DECLARED_SCHEDULES(PAPCOLL_DECLARE)
#undef PAPCOLL_DECLARE

template <class Intra, class Inter> struct Hierarchical;

}  // namespace papcoll::inline PAPCOLL_ABI
