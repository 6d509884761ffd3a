#pragma once

#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

// The algorithms by name, so that a call that names one without its header gets a sentence.

struct BinaryTree;
struct Binomial;
struct Bruck;
struct Chain;
struct ClairvoyantTree;
struct Dissemination;
struct DirectAllgather;
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

template <class P>
inline constexpr bool is_complete = requires {
  sizeof(P);
};

/// True if an arrival policy implies a schedule whose header is not included.
template <class P>
inline constexpr bool implies_what_is_not_included = false;
template <class P>
requires requires { typename P::default_schedule; }
inline constexpr bool implies_what_is_not_included<P> = !is_complete<typename P::default_schedule>;

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
