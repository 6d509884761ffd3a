// SPDX-License-Identifier: BSD-3-Clause
// A schedule of one's own that has a name: one line registers it. papcoll_add_bench makes two
// programs of this file, which has no main():
//
//     papcoll_add_bench(middle through_the_middle.cpp)         # in a CMakeLists.txt
//
//     middle-papcoll verify ThroughTheMiddle                   # proven, simulated, drawn
//     middle-papcoll simulate ThroughTheMiddle Ring --ranks 16 --bytes 64k
//     middle-papcoll draw ThroughTheMiddle --ranks 8 -o middle.svg
//     mpirun -n 4 middle-bench allreduce --algorithm ThroughTheMiddle Ring --bytes 8:64k
//
// In a program of yours with this file papcoll::algorithm("ThroughTheMiddle") is it, also as a part
// of others: "Hierarchical:Exchange,ThroughTheMiddle".

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/core.hpp>

#include <string_view>

namespace {

// All send to the position in the middle, which combines and answers:
//
//     0 → 2 ← 1      2 combines      0 ← 2 → 1
//     3 ↗                            3 ↙
struct ThroughTheMiddle {
  using policy_kind = papcoll::SchedulePolicyKind;
  static constexpr std::string_view name = "ThroughTheMiddle";
  static constexpr std::string_view sentence = "One in the middle combines what all send.";
  static constexpr bool commutative_only = true;  // its own contribution comes first

  void emit(papcoll::Allreduce, papcoll::Builder& b) const {
    const int middle = b.size() / 2;
    if (b.position() != middle) {
      b.send(middle, b.whole());
      b.receive(middle, b.whole());
      return;
    }
    for (int p = 0; p < b.size(); ++p) {
      if (p != middle) b.reduce(p, b.whole());
    }
    for (int p = 0; p < b.size(); ++p) {
      if (p != middle) b.send(p, b.whole());
    }
  }
  friend bool operator==(const ThroughTheMiddle&, const ThroughTheMiddle&) = default;
};

const papcoll::Registered registered{papcoll::static_row<ThroughTheMiddle>()};

}  // namespace
