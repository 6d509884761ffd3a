// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/straggl_ar.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

// What was chosen or found before, kept for later calls.

namespace papcoll::inline PAPCOLL_ABI {

/// What calls that name no algorithm ran last, by collective and length. On a node the choice is a
/// function of the call and of what its ranks know of arrivals and costs, so that it stands until
/// one of them is another; while candidates are tried, for a burst of calls.
class SelectionCache {
 public:
  /// For a call whose contract is stated. Returns null if it is to be chosen; else the call has
  /// what was picked. `generation`: of what the ranks know.
  const ArrivalAlgorithm* find(Call& call, std::uint32_t generation,
                               std::uint32_t epoch) const noexcept {
    const Choice& c = of_[place_of(call)];
    if (!c.is_of(call, generation, epoch)) return nullptr;
    call.trial = c.trial;
    call.reach = c.reach;
    return c.algorithm;
  }

  /// Returns true if a call that find() has nothing for goes by caches.
  bool goes_by_caches(const Call& call, std::uint32_t generation,
                      std::uint32_t epoch) const noexcept {
    return of_[place_of(call)].is_of(call, generation, epoch);
  }

  /// `algorithm`: null where the call goes by caches.
  void keep(const Call& call, std::uint32_t generation, std::uint32_t epoch,
            const ArrivalAlgorithm* algorithm) noexcept {
    of_[place_of(call)] = {algorithm,      call.count, call.reducer.size,          generation,
                           asked_of(call), call.trial, epoch / CallLearner::burst, call.reach};
  }

  void forget() noexcept { of_ = {}; }

 private:
  /// A program alternates between a few lengths: two that share a place are chosen anew each time.
  static constexpr std::size_t places = 64;

  struct alignas(64) Choice {
    const ArrivalAlgorithm* algorithm = nullptr;
    std::size_t count = ~std::size_t{};  // nothing is kept
    std::size_t element = 0;
    std::uint32_t generation = 0;
    std::uint32_t asked = 0;  ///< see asked_of()
    CallTrial trial;
    std::uint32_t burst = 0;  ///< while candidates are tried: the calls for which it stands
    PeerReach reach = PeerReach::by_option;

    bool is_of(const Call& call, std::uint32_t now, std::uint32_t epoch) const noexcept {
      return generation == now && count == call.count && element == call.reducer.size &&
             asked == asked_of(call) &&
             (trial.candidates == 0 || burst == epoch / CallLearner::burst);
    }
  };

  static std::size_t place_of(const Call& call) noexcept {
    const std::uint64_t kind =
        call.count * collective_count + static_cast<unsigned>(call.collective);
    return kind * 0x9e3779b97f4a7c15U >> 58U;
  }

  /// The collective, what is asked of the order of combination, and whether blocks differ. Put
  /// together from bytes: two that have just been written are slow to read as one word, as which a
  /// compiler likes to compare them.
  static std::uint32_t asked_of(const Call& call) noexcept {
    return (call.rank_order ? 1U : 0U) + (call.is_irregular() ? 2U : 0U) +
           (static_cast<unsigned>(call.contract) << 2U) +
           (static_cast<unsigned>(call.collective) << 8U);
  }
  static_assert(places == 1U << (64U - 58U));

  std::array<Choice, places> of_{};
};

/// The best Suara of some length.
struct SuaraOfLength {
  AnySchedule schedule;  ///< empty: none is better than what is flat
  double seconds = std::numeric_limits<double>::infinity();
};

/// What was found for the lengths that were asked for last, since a search takes long.
class SuaraCache {
 public:
  /// Null if nothing is known.
  const SuaraOfLength* find(std::size_t bytes, bool commutative) noexcept {
    for (Entry& e : entries_) {
      if (e.asked == 0 || e.bytes != bytes || e.commutative != commutative) continue;
      e.asked = ++now_;
      return &e.found;
    }
    return nullptr;
  }

  /// Instead of what was not asked for longest.
  void keep(std::size_t bytes, bool commutative, const SuaraOfLength& found) {
    Entry* oldest = &entries_[0];
    for (Entry& e : entries_) {
      if (e.asked < oldest->asked) oldest = &e;
    }
    *oldest = {++now_, bytes, commutative, found};
  }

  void forget() noexcept { entries_.fill({}); }

 private:
  struct Entry {
    std::uint64_t asked = 0;  ///< when it was last; 0: never
    std::size_t bytes = 0;
    bool commutative = false;
    SuaraOfLength found;
  };
  std::array<Entry, 32> entries_;  // as many as there are plans in a plan cache
  std::uint64_t now_ = 0;
};

namespace detail {

/// Hierarchical with Ring among the nodes.
inline const HierarchicalSpec& hierarchical_of_ring() {
  static const HierarchicalSpec hierarchical = hierarchical_with(AnySchedule::of<Ring>());
  return hierarchical;
}

}  // namespace detail

/// What runs while one node is expected to come last, kept until another is: Hierarchical with
/// StragglAR among the nodes.
class LateNodeCache {
 public:
  const HierarchicalSpec& of(int node) {
    if (node != node_) {
      node_ = -1;  // in case that there is no memory for the other
      spec_ = detail::hierarchical_with(StragglAR{.block_bytes = 0, .straggler = node});
      node_ = node;
    }
    return spec_;
  }

 private:
  int node_ = -1;
  HierarchicalSpec spec_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
