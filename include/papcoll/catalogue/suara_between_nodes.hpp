#pragma once

#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/call.hpp>
#include <papcoll/catalogue/suara_memory.hpp>
#include <papcoll/catalogue/thresholds.hpp>
#include <papcoll/config.hpp>
#include <papcoll/model/suara_choice.hpp>
#include <papcoll/plan/schedule.hpp>

#include <cstddef>

// Suara as a candidate for an allreduce that passes messages between nodes.

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

inline SuaraModel suara_model(const Thresholds& t, bool commutative) noexcept {
  constexpr double nano = 1e-9;
  constexpr double atto = 1e-18;
  const Hockney h{static_cast<double>(t.link_alpha_ns) * nano,
                  static_cast<double>(t.link_beta_as) * atto,
                  static_cast<double>(t.link_gamma_as) * atto};
  SuaraModel model{HockneyWithGap{h, static_cast<double>(t.link_gap_ns) * nano}};
  model.commutative = commutative;
  return model;
}

inline SuaraChoice weigh_suara(const Thresholds& t, std::size_t bytes, int size, bool commutative) {
  return choose_suara(suara_model(t, commutative), size, static_cast<double>(bytes));
}

/// Is the choice a grid, and clearly better than without one?
inline bool wins(const SuaraChoice& choice, const Thresholds& t) noexcept {
  return choice.dimensions > 1 &&
         choice.flat * 100 >= choice.seconds * static_cast<double>(t.suara_percent);
}

/// Is it worth a search?
inline bool may_be_suara(const Call& call, const Situation& s) noexcept {
  constexpr int fewest = 16;  // ranks, of which a grid of 4 × 4 makes a difference
  return s.between_nodes && s.size >= fewest && call.bytes() > s.thresholds->recursive_doubling;
}

/// Suara's schedule for an allreduce, empty where a flat one is not clearly slower. The same on all
/// ranks: it goes by bytes, operator, number of ranks and thresholds.
inline AnySchedule suara_between_nodes(const Call& call, const Situation& s) {
  if (!may_be_suara(call, s)) return {};
  const std::size_t bytes = call.bytes();
  const bool commutative = call.reducer.commutative;
  if (s.suara != nullptr) {
    if (const AnySchedule* const known = s.suara->find(bytes, commutative)) return *known;
  }
  const SuaraChoice choice = weigh_suara(*s.thresholds, bytes, s.size, commutative);
  AnySchedule schedule;
  if (wins(choice, *s.thresholds)) {
    schedule = schedule_of(suara_model(*s.thresholds, commutative), choice, s.size,
                           static_cast<double>(bytes));
  }
  if (s.suara != nullptr) s.suara->keep(bytes, commutative, schedule);
  return schedule;
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
