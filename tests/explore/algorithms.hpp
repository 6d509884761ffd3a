// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The algorithms that are explored. What the tests ask of them, the algorithms say themselves.

#include "../../examples/09_write_your_own_arrival_algorithm/last_combines.hpp"

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace explore {

using papcoll::Collective;

namespace detail {

template <class List, class... More> struct Joined;
template <class... Listed, class... More>
struct Joined<papcoll::ArrivalAlgorithmList<Listed...>, More...> {
  using List = papcoll::ArrivalAlgorithmList<Listed..., More...>;
};

}  // namespace detail

/// The library's, and, one line each, others.
using ExploredAlgorithms =
    detail::Joined<papcoll::ArrivalAlgorithms,
                   papcoll::Under<papcoll::ArrivalOrder, LastCombines>>::List;

/// One of them, without its type. Its traits have one address in the program, which names it.
class Algorithm {
 public:
  constexpr explicit Algorithm(const papcoll::ArrivalTraits& traits) noexcept : traits_(&traits) {}

  constexpr std::string_view name() const noexcept { return traits_->name; }
  constexpr std::uint8_t id() const noexcept { return traits_->id; }
  bool serves(Collective c) const noexcept { return traits_->serves(c); }
  /// Do ranks read and write each other's buffers in it?
  constexpr bool exposes_buffers() const noexcept { return traits_->exposes_buffers; }
  /// Does it serve blocks that differ in size?
  constexpr bool takes_counts() const noexcept { return traits_->takes_counts; }
  /// Does it combine in rank order if the call asks for that?
  constexpr bool keeps_order() const noexcept { return traits_->keeps_order_on_request; }

  friend constexpr bool operator==(Algorithm, Algorithm) = default;

 private:
  const papcoll::ArrivalTraits* traits_;
};

/// What a schedule is under an arrival policy, by its policies.
template <class Arrival, class Schedule>
inline constexpr Algorithm explored{papcoll::arrival_traits<Arrival, Schedule>};

namespace detail {

template <class... Algorithms>
std::vector<Algorithm> all_of(papcoll::ArrivalAlgorithmList<Algorithms...>) {
  return {explored<typename Algorithms::Arrival, typename Algorithms::Schedule>...};
}

template <class F, class... Algorithms>
void with_run_of(Algorithm wanted, F&& f, papcoll::ArrivalAlgorithmList<Algorithms...>) {
  const auto try_one = [&]<class A, class S>(papcoll::Under<A, S>) {
    if (wanted != explored<A, S>) return false;
    f.template operator()<typename papcoll::ArrivalDriven<A, S>::Run>();
    return true;
  };
  static_cast<void>((try_one(Algorithms{}) || ...));
}

}  // namespace detail

inline const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = detail::all_of(ExploredAlgorithms{});
  return all;
}

/// Calls f<Run>() with the type that runs a call of the algorithm.
template <class F> void with_run_of(Algorithm algorithm, F&& f) {
  detail::with_run_of(algorithm, f, ExploredAlgorithms{});
}

}  // namespace explore
