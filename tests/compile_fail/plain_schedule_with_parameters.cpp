// SPDX-License-Identifier: BSD-3-Clause
// A schedule with parameters that derives from the base of those without.
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/schedule/builder.hpp>
#include <papcoll/schedule/schedule.hpp>

struct Copies : papcoll::PlainSchedule {
  static constexpr std::string_view name = "Copies";
  static constexpr std::string_view sentence = "Sends nothing.";
  static constexpr bool commutative_only = false;
#ifndef PAPCOLL_TEST_CONTROL
  int copies = 1;
#endif
  void emit(papcoll::Bcast, papcoll::Builder&) const {}
};

// EXPECT: papcoll: this schedule has parameters, of which its base PlainSchedule says
// ERRORS: 1

papcoll::AnySchedule schedule() { return papcoll::AnySchedule{Copies{}}; }
