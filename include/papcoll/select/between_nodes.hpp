#pragma once

#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/algorithms/static/suara_parts.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/config.hpp>
#include <papcoll/model/closed_forms/allreduce.hpp>
#include <papcoll/model/closed_forms/bcast.hpp>
#include <papcoll/model/closed_forms/reduce.hpp>
#include <papcoll/model/suara_choice.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/select/inputs.hpp>
#include <papcoll/select/suara_cache.hpp>
#include <papcoll/select/thresholds.hpp>

#include <cstddef>
#include <limits>

// Long vectors between many nodes: what is taken instead of scattering and gathering, by the closed
// forms of model/ and the thresholds of the network. TwoTreeComplete for a bcast, reduce and
// allreduce, and Suara for an allreduce.

namespace papcoll::inline PAPCOLL_ABI::detail {

inline HockneyWithGap link_of(const Thresholds& t) noexcept {
  constexpr double nano = 1e-9;
  constexpr double atto = 1e-18;
  const Hockney h{static_cast<double>(t.network.alpha_ns) * nano,
                  static_cast<double>(t.network.beta_as) * atto,
                  static_cast<double>(t.network.gamma_as) * atto};
  return {h, static_cast<double>(t.network.gap_ns) * nano};
}

inline SuaraModel suara_model(const Thresholds& t, bool commutative) noexcept {
  SuaraModel model{link_of(t)};
  model.commutative = commutative;
  return model;
}

/// In seconds.
struct WeighedBetweenNodes {
  double otherwise = 0;  ///< what runs if neither of the following does
  double two_trees = std::numeric_limits<double>::max();
  SuaraChoice suara;  ///< of one dimension: no grid is better

  bool is_suara() const noexcept { return suara.dimensions > 1 && suara.seconds < two_trees; }
  double best() const noexcept { return is_suara() ? suara.seconds : two_trees; }
  bool wins(const Thresholds& t) const noexcept {
    return otherwise * 100 >= best() * static_cast<double>(t.network.percent);
  }
};

/// The chunks that TwoTreeComplete cuts, in bytes.
inline double two_tree_chunk(const Call& call, int size) noexcept {
  const std::size_t element = call.reducer.size;
  return static_cast<double>(TwoTreeChunks{}.cut({0, call.count}, element, size).longest * element);
}

/// Without Suara, which is for an allreduce.
inline WeighedBetweenNodes weigh_two_trees(const Call& call, const SelectionInputs& s) {
  const HockneyWithGap h = link_of(*s.thresholds);
  const auto m = static_cast<double>(call.bytes());
  const double chunk = two_tree_chunk(call, s.size);
  WeighedBetweenNodes w;
  switch (call.collective) {
    case Collective::bcast:
      w.otherwise = closed_form::scatter_allgather_bcast(h, s.size, m);
      w.two_trees = closed_form::two_tree_bcast(h, s.size, m, chunk);
      break;
    case Collective::reduce:
      w.otherwise = closed_form::reduce_scatter_gather_reduce(h, s.size, m);
      w.two_trees = closed_form::two_tree_reduce(h, s.size, m, chunk);
      break;
    default:
      if (!call.reducer.commutative) break;
      w.two_trees = closed_form::two_tree_allreduce(h, s.size, m, chunk);
  }
  return w;
}

inline WeighedBetweenNodes weigh_between_nodes(const Call& call, const SelectionInputs& s) {
  WeighedBetweenNodes w = weigh_two_trees(call, s);
  if (call.collective != Collective::allreduce) return w;
  const SuaraModel model = suara_model(*s.thresholds, call.reducer.commutative);
  const auto m = static_cast<double>(call.bytes());
  w.suara = choose_suara(model, s.size, m);
  w.otherwise = seconds_of(model, SuaraPart::rabenseifner, s.size, m);
  return w;
}

/// Is there something to weigh? Two trees combine in an order of their own.
inline bool is_long_between_nodes(const Call& call, const SelectionInputs& s) noexcept {
  constexpr int fewest = 16;  // ranks, of which a grid of 4 × 4 makes a difference
  if (!s.between_nodes || s.size < fewest) return false;
  switch (call.collective) {
    case Collective::allreduce:
      return call.bytes() > s.thresholds->allreduce.recursive_doubling;
    case Collective::reduce:
      return call.bytes() > s.thresholds->reduce.binomial && call.reducer.commutative;
    case Collective::bcast:
      return call.bytes() > s.thresholds->bcast.binomial;
    default:
      return false;
  }
}

/// What wins clearly, empty if nothing does. The same on all ranks: it goes by bytes, operator,
/// number of ranks and thresholds.
inline AnySchedule choose_between_nodes(const Call& call, const SelectionInputs& s) {
  if (!is_long_between_nodes(call, s) || !weigh_two_trees(call, s).wins(*s.thresholds)) return {};
  return AnySchedule::of<TwoTreeComplete>();
}

[[gnu::cold]] inline AnySchedule search_for_allreduce(const Call& call, const SelectionInputs& s) {
  const WeighedBetweenNodes weighed = weigh_between_nodes(call, s);
  if (!weighed.wins(*s.thresholds)) return {};
  if (!weighed.is_suara()) return AnySchedule::of<TwoTreeComplete>();
  return schedule_of(suara_model(*s.thresholds, call.reducer.commutative), weighed.suara, s.size,
                     static_cast<double>(call.bytes()));
}

/// The same of an allreduce, which may take Suara.
inline AnySchedule choose_allreduce_between_nodes(const Call& call, const SelectionInputs& s) {
  if (!is_long_between_nodes(call, s)) return {};
  if (s.suara == nullptr) return search_for_allreduce(call, s);
  const std::size_t bytes = call.bytes();
  const bool commutative = call.reducer.commutative;
  if (const AnySchedule* const known = s.suara->find(bytes, commutative)) return *known;
  AnySchedule schedule = search_for_allreduce(call, s);
  s.suara->keep(bytes, commutative, schedule);
  return schedule;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
