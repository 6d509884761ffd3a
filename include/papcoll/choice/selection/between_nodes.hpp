#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/choice/selection/suara_cache.hpp>
#include <papcoll/choice/selection/thresholds.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <cstddef>

// Long vectors between many nodes: TwoTreeComplete for a bcast, reduce and allreduce, and Suara for
// an allreduce, by the closed forms of model/ and the thresholds of the network.

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

/// The chunks that TwoTreeComplete cuts, in bytes.
inline double two_tree_chunk(const Call& call, int size) noexcept {
  const std::size_t element = call.reducer.size;
  return static_cast<double>(TwoTreeChunks{}.cut({0, call.count}, element, size).longest * element);
}

/// No grid is better for less, and a search takes long beside such a call.
inline constexpr std::size_t suara_from = 8192;

[[gnu::cold]] inline SuaraOfLength search_for_suara(const Call& call, const SelectionInputs& s) {
  const SuaraModel model = suara_model(*s.thresholds, call.reducer.commutative);
  const auto m = static_cast<double>(call.bytes());
  const SuaraChoice choice = choose_suara(model, s.size, m);
  if (choice.dimensions < 2) return {};  // no grid is better
  return {schedule_of(model, choice, s.size, m), choice.seconds};
}

/// What Suara an allreduce may run by. The same on all ranks: it goes by bytes, operator, number of
/// ranks and thresholds.
inline SuaraOfLength best_suara(const Call& call, const SelectionInputs& s) {
  if (s.suara == nullptr) return search_for_suara(call, s);
  const std::size_t bytes = call.bytes();
  const bool commutative = call.reducer.commutative;
  if (const SuaraOfLength* const known = s.suara->find(bytes, commutative)) return *known;
  SuaraOfLength found = search_for_suara(call, s);
  s.suara->keep(bytes, commutative, found);
  return found;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
