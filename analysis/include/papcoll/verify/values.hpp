// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/verify/memory.hpp>
#include <papcoll/verify/messages.hpp>
#include <papcoll/verify/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Follows symbolic values through a run of the plans: of each element in memory, which element of
/// the vector it is, which ranks' contributions are combined in it, and in what way.
///
/// Since all conflicting accesses are ordered and messages meet by number, the values do not depend
/// on timing, and one run stands for all.
class Values {
 public:
  Values(const Shape& shape, const JointPlan& joint, std::span<const CellMap> maps)
      : shape_(shape),
        joint_(joint),
        maps_(maps),
        reduces_(is_reduction(shape.collective)),
        words_((joint.ranks() + word_bits - 1) / word_bits) {
    values_.push_back({});
    sets_.resize(words_);
    for (std::size_t rank = 0; rank < joint.ranks(); ++rank) {
      first_cell_.push_back(cells_.size());
      cells_.resize(cells_.size() + maps[rank].cells(), nothing);
      layouts_.push_back(layout_of(seen_by(shape_, static_cast<int>(rank))));
      const Layout& layout = layouts_.back();
      for (const Placement& p : layout.has) {
        Operand at{layout.input_is_in_out ? Space::out : Space::in, p.offset};
        for (std::size_t i = 0; i < p.range.size(); ++i, ++at.offset) {
          cells_[first_cell_[rank] + maps[rank].cell(at)] = contribution(rank, p.first + i);
        }
      }
    }
  }

  void local(std::size_t rank, std::size_t i) {
    const Step& s = joint_.plan(rank)[i];
    const std::uint32_t* a = cell(rank, s.a);
    std::uint32_t* to = cell(rank, s.to);
    if (s.kind == OpKind::copy) {
      if (s.n != 0) std::memmove(to, a, s.n * sizeof *a);
      return;
    }
    const std::uint32_t* b = cell(rank, s.b);
    for (std::size_t k = 0; k < s.n; ++k) to[k] = combine(a[k], b[k], rank, i);
  }

  void deliver(StepId send, StepId receive) {
    const Step& from = joint_.plan(send.rank)[send.step];
    const Step& to = joint_.plan(receive.rank)[receive.step];
    std::copy_n(cell(send.rank, from.a), from.n, cell(receive.rank, to.to));
  }

  void order(std::size_t, std::size_t) const noexcept {}

  /// Checks that the required output is there. Elements are counted from `origin`.
  Verdict check(NumericalContract contract, std::size_t origin) {
    for (std::size_t rank = 0; rank < joint_.ranks(); ++rank) {
      for (const Placement& p : layouts_[rank].must) {
        const std::uint32_t* out = cell(rank, {Space::out, p.offset});
        for (std::size_t i = 0; i < p.range.size(); ++i) {
          const std::size_t e = p.first + i;
          Verdict v;
          if (!is_right(out[i], rank, e)) v = explain(out[i], rank, e, origin);
          if (v && shape_.collective == Collective::allreduce && traits_of(contract).same_on_all) {
            v = check_same_bits(out[i], rank, e, origin);
          }
          if (!v) return v;
        }
      }
    }
    return {};
  }

 private:
  static constexpr std::size_t word_bits = 64;
  static constexpr std::uint32_t nothing = 0;  ///< the value of memory that was never written

  struct Value {
    std::size_t element = 0;
    std::uint64_t expression = 0;  ///< a hash of how it was combined
    std::uint32_t lowest = 0;      ///< of the contributing ranks
    std::uint32_t highest = 0;
    std::uint32_t flaw = 0;  ///< the first wrong combination that went into it, 0: none
  };
  struct Flaw {
    FaultKind kind;
    std::size_t rank;
    std::size_t step;
  };

  std::uint32_t* cell(std::size_t rank, Operand o) {
    return cells_.data() + first_cell_[rank] + maps_[rank].cell(o);
  }

  static std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  std::uint32_t contribution(std::size_t rank, std::size_t element) {
    const auto r = static_cast<std::uint32_t>(rank);
    values_.push_back({element, mixed(rank + 1), r, r, 0});
    sets_.resize(sets_.size() + words_);
    sets_[sets_.size() - words_ + rank / word_bits] |= std::uint64_t{1} << (rank % word_bits);
    return static_cast<std::uint32_t>(values_.size() - 1);
  }

  std::uint32_t combine(std::uint32_t a, std::uint32_t b, std::size_t rank, std::size_t step) {
    const std::size_t set = sets_.size();
    sets_.resize(set + words_);
    bool overlap = false;
    for (std::size_t w = 0; w < words_; ++w) {
      overlap |= (sets_[a * words_ + w] & sets_[b * words_ + w]) != 0;
      sets_[set + w] = sets_[a * words_ + w] | sets_[b * words_ + w];
    }
    const Value& low = values_[a];
    const Value& high = values_[b];
    Value v{low.element, mixed(low.expression * 3 + high.expression),
            std::min(low.lowest, high.lowest), std::max(low.highest, high.highest),
            low.flaw != 0 ? low.flaw : high.flaw};
    FaultKind kind = FaultKind::none;
    if (a == nothing || b == nothing) {
      kind = FaultKind::missing;
    } else if (!reduces_ || low.element != high.element) {
      kind = FaultKind::wrong;
    } else if (overlap) {
      kind = FaultKind::doubled;
    } else if (!shape_.commutative && low.highest + 1 != high.lowest) {
      kind = FaultKind::out_of_rank_order;
    }
    if (kind != FaultKind::none && v.flaw == 0) {
      flaws_.push_back({kind, rank, step});
      v.flaw = static_cast<std::uint32_t>(flaws_.size());
    }
    values_.push_back(v);
    return static_cast<std::uint32_t>(values_.size() - 1);
  }

  bool is_right(std::uint32_t value, std::size_t rank, std::size_t e) const {
    const Value& v = values_[value];
    return value != nothing && v.flaw == 0 && v.element == e &&
           (!reduces_ || first_wrong(value, rank) == joint_.ranks());
  }

  bool contains(std::uint32_t value, std::size_t contributor) const {
    const std::uint64_t word = sets_[value * words_ + contributor / word_bits];
    return (word >> (contributor % word_bits) & 1U) != 0;
  }

  /// The lowest rank whose contribution belongs in a value of this rank's result and is not there,
  /// or does not belong and is there; or the number of ranks.
  std::size_t first_wrong(std::uint32_t value, std::size_t rank) const {
    const Contributors wanted =
        contributors(shape_.collective, static_cast<int>(rank), shape_.size);
    std::size_t r = 0;
    while (r < joint_.ranks() && contains(value, r) == wanted.contain(static_cast<int>(r))) ++r;
    return r;
  }

  /// Returns what is wrong with a value that is not right.
  Verdict explain(std::uint32_t value, std::size_t rank, std::size_t e, std::size_t origin) {
    const Value& v = values_[value];
    const std::string where =
        "element " + std::to_string(origin + e) + " of rank " + std::to_string(rank) + "'s output ";
    auto fault = [&](FaultKind kind, const std::string& what) {
      return Verdict{kind, static_cast<int>(rank), Verdict::nowhere, origin + e, where + what};
    };
    if (value == nothing) return fault(FaultKind::missing, "is never written");
    const std::size_t wrong = reduces_ ? first_wrong(value, rank) : joint_.ranks();
    const bool hole = wrong < joint_.ranks() && !contains(value, wrong);
    if (v.flaw != 0 && !(hole && flaws_[v.flaw - 1].kind == FaultKind::out_of_rank_order)) {
      const Flaw& flaw = flaws_[v.flaw - 1];
      return {flaw.kind, static_cast<int>(flaw.rank), flaw.step, origin + e,
              joint_.describe(flaw.rank, flaw.step) + " " + reason(flaw.kind) +
                  ", and that ends in " + where};
    }
    if (v.element != e) {
      return fault(FaultKind::wrong, "holds element " + std::to_string(origin + v.element));
    }
    const std::string contribution = "the contribution of rank " + std::to_string(wrong);
    if (hole) return fault(FaultKind::missing, "lacks " + contribution);
    return fault(FaultKind::wrong, "has " + contribution + ", which does not belong there");
  }

  std::string reason(FaultKind kind) const {
    switch (kind) {
      case FaultKind::missing: return "combines memory that was never written";
      case FaultKind::doubled:
        return "combines two partial results that have a contribution in common";
      case FaultKind::wrong:
        return reduces_ ? "combines different elements of the vector"
                        : "combines elements, but a " +
                              std::string(papcoll::name_of(shape_.collective)) + " only moves them";
      default:
        return "combines partial results that are not neighbours in rank order, the lower first";
    }
  }

  Verdict check_same_bits(std::uint32_t value, std::size_t rank, std::size_t e,
                          std::size_t origin) {
    const std::uint32_t of_rank_0 = *cell(0, {Space::out, e});
    if (values_[value].expression == values_[of_rank_0].expression) return {};
    return {FaultKind::inconsistent, static_cast<int>(rank), Verdict::nowhere, origin + e,
            "element " + std::to_string(origin + e) + " is combined in one way for rank " +
                std::to_string(rank) + " and in another for rank 0, so their bits may differ"};
  }

  Shape shape_;
  const JointPlan& joint_;
  std::span<const CellMap> maps_;
  bool reduces_;
  std::size_t words_;
  std::vector<Layout> layouts_;
  std::vector<std::size_t> first_cell_;
  std::vector<std::uint32_t> cells_;  ///< indices into values_
  std::vector<Value> values_;
  std::vector<std::uint64_t> sets_;  ///< the contributing ranks of each value
  std::vector<Flaw> flaws_;
};

/// Checks the plans of a barrier, which moves no data: finds for each step the ranks that must have
/// arrived before it starts.
class Arrivals {
 public:
  explicit Arrivals(const JointPlan& joint)
      : joint_(joint),
        words_((joint.ranks() + word_bits - 1) / word_bits),
        known_(joint.steps() * words_) {
    for (std::size_t rank = 0; rank < joint.ranks(); ++rank) {
      for (std::size_t i = joint.first[rank]; i < joint.first[rank + 1]; ++i) {
        known_[i * words_ + rank / word_bits] |= std::uint64_t{1} << (rank % word_bits);
      }
    }
  }

  void local(std::size_t, std::size_t) const noexcept {}
  void deliver(StepId send, StepId receive) {
    order(joint_.first[send.rank] + send.step, joint_.first[receive.rank] + receive.step);
  }
  void order(std::size_t earlier, std::size_t later) {
    for (std::size_t w = 0; w < words_; ++w) {
      known_[later * words_ + w] |= known_[earlier * words_ + w];
    }
  }

  /// Checks that every rank's plan ends after all ranks have arrived.
  Verdict check() const {
    for (std::size_t rank = 0; rank < joint_.ranks(); ++rank) {
      for (std::size_t other = 0; other < joint_.ranks(); ++other) {
        bool known = rank == other;
        for (std::size_t i = joint_.first[rank]; i < joint_.first[rank + 1]; ++i) {
          known |= (known_[i * words_ + other / word_bits] >> (other % word_bits) & 1U) != 0;
        }
        if (known) continue;
        return {FaultKind::missing, static_cast<int>(rank), Verdict::nowhere, Verdict::nowhere,
                "rank " + std::to_string(rank) + " can leave the barrier before rank " +
                    std::to_string(other) + " has come"};
      }
    }
    return {};
  }

 private:
  static constexpr std::size_t word_bits = 64;

  const JointPlan& joint_;
  std::size_t words_;
  std::vector<std::uint64_t> known_;  ///< by step, a set of ranks
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
