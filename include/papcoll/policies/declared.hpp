#pragma once

#include <papcoll/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

// The algorithms by name, so that a call that names one says so where its header is not included.

struct BinaryTree;
struct Binomial;
struct Bruck;
struct Chain;
struct ClairvoyantTree;
struct Dissemination;
struct EachToEach;
struct KNomial;
struct Linear;
struct NeighbourExchange;
struct Pairwise;
struct PreReducedRing;
struct Rabenseifner;
struct RecursiveDoubling;
struct RecursiveHalving;
struct ReduceScatterGather;
struct ReorderedTwoTree;
struct Ring;
struct ScatterAllgather;
struct SortedLinearTree;
struct SpreadOut;
struct StragglAR;
struct ThreeStage;
struct TwoTreeComplete;
struct TwoTreeSanders;

struct Accumulator;
struct BlockCopies;
struct CombiningTree;
struct Exchange;
struct LeaderFan;
struct MultiLeader;
struct PeerSlices;
struct PrefixRuns;
struct SplitTail;

namespace detail {

/// Is a policy, or the schedule that it implies, a name without its header?
template <class P>
inline constexpr bool is_only_declared = !requires {
  sizeof(P);
};
template <class P>
requires requires {
  sizeof(P);
  typename P::default_schedule;
}
inline constexpr bool is_only_declared<P> = !requires { sizeof(typename P::default_schedule); };

template <class P>
struct algorithm_is_included {
  static constexpr bool ok = !is_only_declared<P>;
  static_assert(ok,
                "papcoll: an algorithm is named, and its header is not included: include "
                "<papcoll/papcoll.hpp>, or the one in papcoll/algorithms/ that defines it");
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
