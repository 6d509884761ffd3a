#pragma once

#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/collective.hpp>
#include <papcoll/contract.hpp>
#include <papcoll/entry.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What there is to know of a call besides its collective and its bytes, with the values that most
/// calls have.
struct CallTraits {
  std::size_t element_size = sizeof(double);
  bool commutative = true;  ///< the operator, if there is one
  bool non_blocking = false;
  NumericalContract contract = NumericalContract::rank_consistent;
  Algorithm algorithm{};  ///< if one is named
};

/// How a call would run if it were the next one, and why.
struct Explanation {
  std::string algorithm;  ///< "Exchange+ShmTransport"
  std::string reason;     ///< thresholds by their names, with their values
  /// What all ranks have learnt of arrivals in calls of this kind; nothing was seen where ranks
  /// share no memory.
  Imbalance imbalance;
  /// The mean wait for the last rank, in nanoseconds, above which this call counts as imbalanced.
  std::uint64_t imbalanced_from = 0;
  std::string memory;                ///< how ranks get at each other's data
  std::vector<std::string> refused;  ///< algorithms that cannot run this call, by reasons

  /// All of it, a line for each.
  std::string text() const { return text_of<>(*this); }

 private:
  template <class = void>
  static std::string text_of(const Explanation& e);
};

namespace detail {

template <class = void>
Explanation explain_call(TeamCore& team, Collective collective, std::size_t bytes,
                         const CallTraits& traits);

}  // namespace detail

/// What would run if the team's next call were this one, and why. `bytes` as the call counts: of a
/// rank's contribution for allgather, gather, scatter and reduce_scatter. Local: nothing is sent.
/// All ranks get the same answer between the same two calls, except what they say of their memory.
template <Team C>
Explanation explain(C&& comm, Collective collective, std::size_t bytes,
                    const CallTraits& traits = {}) {
  return detail::explain_call<>(detail::core_of(comm), collective, bytes, traits);
}

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/run_explain.hpp>
#endif
