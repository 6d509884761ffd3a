// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// `Hierarchical` of static schedules on given groups, as one static schedule: simulate(), verify()
/// and draw() take it like any other. Its plan is made of the plans of the phases, which the
/// library's own code of the phases asks for (algorithms/hierarchical). As in a call, a rank begins
/// a phase when its part of the phase before is complete.
///
/// Within groups, too, ranks pass messages. No alltoallv, nor an alltoall of more than two levels
/// where groups have different numbers of ranks: what they send each other first decides the rest.
struct HierarchicalSchedule {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = hierarchical_name;
  static constexpr std::string_view sentence = hierarchical_sentence;

  /// The schedules of the levels, from the inside out: one more than `groups` has. Of an empty one,
  /// and where one does not serve a phase, what the library chooses among those that pass messages.
  std::vector<AnySchedule> parts;
  GroupColours groups{};  ///< as Options::groups; fewer ranks are the first of them
  std::size_t pipeline_depth = Options{}.pipeline_depth;  ///< blocks of a pipelined phase in flight
                                                          ///< at once

  bool commutative_only() const {
    return std::any_of(parts.begin(), parts.end(),
                       [](const AnySchedule& part) { return part && part.commutative_only(); });
  }

  std::string arguments() const {
    std::string text;
    for (const AnySchedule& part : parts) {
      const std::string one = part ? part.name() : "auto";
      const bool is_list = one.find(',') != std::string::npos;
      text += detail::joined(
          {(text.empty() ? "" : ","), (is_list ? "(" : ""), one, (is_list ? ")" : "")});
    }
    return text == "auto,auto" ? "" : text;
  }

  /// Says that it serves the collective; plan() makes the steps.
  void emit(auto /*collective*/, Builder& /*unused*/) const {}
  /// Returns the plan of the rank that `shape` names.
  Plan plan(const Shape& shape, const Order& order) const;

  friend bool operator==(const HierarchicalSchedule&, const HierarchicalSchedule&) = default;
};

namespace detail {

/// Writes the plan of one rank: runs the phases on addresses that stand for its memory, and appends
/// the plan of each.
class HierarchicalPlan {
 public:
  HierarchicalPlan(const HierarchicalSchedule& schedule, const Shape& shape, const Order& order)
      : schedule_(schedule), shape_(shape), position_of_(order.positions()) {
    for (auto& numbers : numbers_) numbers.resize(shape.ranks());
    std::vector<int> ranks(shape.ranks());
    std::iota(ranks.begin(), ranks.end(), 0);
    run(0, ranks, shape.rank, whole_call());
  }

  Plan finish() && {
    return Plan{std::move(steps_), dependencies_, scratch_, shape_.vector_size()};
  }

 private:
  using Steps = std::vector<std::uint32_t>;

  /// The team of a level: of all ranks, or of representatives.
  class Level final : public HierarchyTeam {
   public:
    Level(HierarchicalPlan& plan, std::size_t level, const std::vector<int>& ranks, int me)
        : HierarchyTeam(true), plan_(plan), level_(level), ranks_(ranks), me_(me) {
      std::vector<int> colours = plan.schedule_.groups[level];
      colours.resize(ranks.size());
      groups_ = Groups::by_colour(colours);
    }

    const Groups& groups() const override { return groups_; }
    int rank() const override { return me_; }
    int user_rank(int rank) const override { return ranks_[static_cast<std::size_t>(rank)]; }
    bool serves_intra(Collective c) const override { return own_part() && own_part().serves(c); }
    void intra(const Call& call) override {
      const std::vector<int> members = group();
      if (members.size() == 1) return stay(call);
      plan_.play(own_part(), level_, members, groups_.number_of(me_), call);
    }
    void inter(const Call& call) override {
      std::vector<int> representatives;
      for (const auto& members : groups_.members)
        representatives.push_back(user_rank(members.front()));
      if (representatives.size() == 1) return stay(call);
      plan_.run(level_ + 1, representatives, groups_.group_of(me_), call);
    }
    void hop(int from, int to, const Call& call) override {
      const std::vector<int> members = group();
      std::vector<std::size_t> sizes(members.size(), 0);
      sizes[static_cast<std::size_t>(from)] = call.count;
      Call one = call;
      one.counts = sizes.data();
      one.root = to;
      plan_.play(AnySchedule::of<Linear>(), level_, members, groups_.number_of(me_), one);
    }
    std::byte* memory(int which, std::size_t bytes) override {
      auto& [at, room] = memory_[static_cast<std::size_t>(which)];
      if (at == nullptr || room < bytes) {
        at = plan_.scratch((bytes + plan_.shape_.element_size - 1) / plan_.shape_.element_size);
        room = bytes;
      }
      return at;
    }

   private:
    const AnySchedule& own_part() const { return plan_.schedule_.parts[level_]; }
    std::vector<int> group() const {
      std::vector<int> members;
      for (const int r : groups_.ranks_of(groups_.group_of(me_))) members.push_back(user_rank(r));
      return members;
    }
    /// A phase of this rank alone.
    void stay(const Call& call) {
      if (!call.in_place()) copy(call.out, call.in, call.bytes());
    }
    void record_copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
      const std::size_t n = bytes / plan_.shape_.element_size;
      if (n != 0) plan_.local({OpKind::copy, -1, 0, n, plan_.operand(to), plan_.operand(from), {}});
    }

    HierarchicalPlan& plan_;
    std::size_t level_;
    const std::vector<int>& ranks_;
    int me_;
    Groups groups_;
    std::array<std::pair<std::byte*, std::size_t>, 4> memory_{};
  };

  // --- addresses, which nobody reads

  static constexpr unsigned space_shift = 44;

  static std::byte* base(Space space) noexcept {
    const auto address = (static_cast<std::uintptr_t>(space) + 1) << space_shift;
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  Operand operand(const std::byte* at) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    const auto space = static_cast<Space>((address >> space_shift) - 1);
    return {space, (address - reinterpret_cast<std::uintptr_t>(base(space))) / shape_.element_size};
  }
  std::byte* scratch(std::size_t elements) noexcept {
    return base(Space::scratch) +
           std::exchange(scratch_, scratch_ + elements) * shape_.element_size;
  }

  /// The call of this rank, with its buffers as the library has them.
  Call whole_call() {
    Call call;
    call.collective = shape_.collective;
    call.count = shape_.count;
    if (!shape_.counts.empty()) call.counts = shape_.counts.data();
    call.root = shape_.root;
    call.reducer = {record_reduction, this, shape_.element_size, shape_.commutative, {}};
    call.rank_order = !shape_.commutative;
    const auto [in, out] = buffers_of(shape_.collective, shape_.rank == shape_.root);
    const Layout layout = layout_of(shape_);
    const bool has_both = in != Holds::nothing && out != Holds::nothing;
    const bool in_output = layout.input_is_in_out || !has_data(shape_.collective);
    call.input_in_output = shape_.in_place && has_both;
    if (in != Holds::nothing) {
      call.in = base(in_output ? Space::out : Space::in);
      if (in == Holds::own_block && in_output) {
        call.in += shape_.contribution(shape_.rank).lo * shape_.element_size;
      }
    }
    if (out != Holds::nothing) {
      const bool keeps = call.input_in_output && !in_output;  // what it would write is there
      call.out = keeps ? const_cast<std::byte*>(call.in) : base(Space::out);
    }
    return call;
  }

  static void record_reduction(std::byte* out, const std::byte* low, const std::byte* high,
                               std::size_t n, const void* context) noexcept {
    auto& me = *static_cast<HierarchicalPlan*>(const_cast<void*>(context));
    me.local({OpKind::reduce, -1, 0, n, me.operand(out), me.operand(low), me.operand(high)});
  }

  // --- phases

  /// A call among `ranks`, of which this one is number `me`, by the levels from `level` on.
  void run(std::size_t level, const std::vector<int>& ranks, int me, const Call& call) {
    if (level == schedule_.groups.size()) {
      return play(schedule_.parts.back(), level, ranks, me, call);
    }
    if (call.local_counts && call.collective == Collective::alltoall) {
      throw argument_error(
          "papcoll: an alltoall by Hierarchical of more than two levels has no plan where groups "
          "have different numbers of ranks, since they tell each other lengths first: name groups "
          "of as many ranks, or two levels");
    }
    Level team{*this, level, ranks, me};
    if (level == 0 && team.groups().count() == 1) {  // a team on one node is not divided
      return play(schedule_.parts.front(), level, ranks, me, call);
    }
    const bool in_order = is_prefix_reduction(call.collective) ||
                          (is_reduction(call.collective) && !call.reducer.commutative);
    if (in_order && !team.groups().contiguous()) {
      return play(schedule_.parts.back(), schedule_.groups.size(), ranks, me, call);
    }
    chooser_of(call.collective).run_phases(team, call);
  }

  /// A call by one schedule.
  void play(const AnySchedule& part, std::size_t level, const std::vector<int>& ranks, int me,
            const Call& call) {
    const std::size_t elements = shape_.element_size / call.reducer.size;  // phases may move bytes
    Shape s;
    s.collective = call.collective;
    s.size = static_cast<int>(ranks.size());
    s.rank = me;
    s.root = call.root;
    s.count = call.count / elements;
    s.element_size = shape_.element_size;
    s.in_place = call.in_place();
    s.commutative = call.reducer.commutative;
    const auto is_direct = [this](const std::byte* at) {
      if (at == nullptr) return true;
      const Space space = operand(at).space;
      return space == Space::scratch || (space == Space::in ? shape_.in_direct : shape_.out_direct);
    };
    s.in_direct = is_direct(call.in);
    s.out_direct = is_direct(call.out);
    if (call.counts != nullptr) {
      s.counts.assign(call.counts, call.counts + counts_of(call, s.size));
      for (std::size_t& n : s.counts) n /= elements;
      s.sends_empty = shape_.sends_empty;
    }
    const bool serves =
        part && part.serves(call.collective) && (!call.local_counts || part.own_parts_only());
    const Order order = static_order(s);
    append(make_plan(serves ? part : chosen(level, s.size, call), s, order), order, ranks, call);
  }

  /// Returns what a call among so many ranks chooses that passes messages.
  AnySchedule chosen(std::size_t level, int ranks, Call call) const {
    static constexpr Thresholds thresholds{};
    SelectionInputs inputs;
    inputs.size = inputs.nodes = ranks;
    inputs.must_pass_messages = true;
    inputs.between_nodes = level == schedule_.groups.size();
    inputs.thresholds = &thresholds;
    AlgorithmSpec spec;
    choose(spec, call, inputs, chooser_of(call.collective));
    return spec.schedule;
  }

  // --- steps

  /// Appends the steps of a phase's plan, block by block; as many are in flight as the pipeline
  /// depth says.
  void append(const BlockedPlan& phase, const Order& order, const std::vector<int>& ranks,
              const Call& call) {
    const std::size_t pipeline_depth = std::min(schedule_.pipeline_depth, phase.blocks);
    const std::size_t each = std::max(phase.full.scratch(), phase.last.scratch());
    std::vector<Steps> in_flight(pipeline_depth, gate_);
    const std::byte* const room = scratch(pipeline_depth * each);
    for (std::size_t block = 0; block < phase.blocks; ++block) {
      const std::size_t slot = block % pipeline_depth;
      const std::size_t shift = block * phase.block_elements;
      const auto placed = [&](Operand o) {
        const std::byte* const from = o.space == Space::in    ? call.in
                                      : o.space == Space::out ? call.out
                                                              : room;
        Operand at = operand(from);
        at.offset += o.offset + (o.space == Space::scratch ? slot * each : shift);
        return at;
      };
      append(phase.block(block), in_flight[slot], placed,
             [&](int position) { return ranks[static_cast<std::size_t>(order.rank(position))]; });
    }
    Steps ends;
    for (const Steps& steps : in_flight) ends.insert(ends.end(), steps.begin(), steps.end());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    gate_ = joined_at_one(std::move(ends));
  }

  /// `gate`: the steps that its first ones wait for; then its last ones.
  void append(const Plan& plan, Steps& gate, auto&& placed, auto&& rank_at) {
    if (plan.size() == 0) return;
    const auto first = static_cast<std::uint32_t>(steps_.size());
    std::array<std::vector<std::uint32_t>, 2> after = numbers_;
    Steps ends;
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      Step s = plan[i];
      if (s.kind != OpKind::send) s.to = placed(s.to);
      if (s.kind != OpKind::receive) s.a = placed(s.a);
      if (s.kind == OpKind::reduce) s.b = placed(s.b);
      if (s.peer >= 0) {
        const auto peer = static_cast<std::size_t>(rank_at(s.peer));
        const std::size_t side = s.kind == OpKind::send ? 0 : 1;
        s.number += numbers_[side][peer];
        ++after[side][peer];
        s.peer = position_of_[peer];
      }
      steps_.push_back(s);
      for (const std::uint32_t later : plan.successors(i)) {
        dependencies_.push_back({first + i, first + later});
      }
      if (plan.successors(i).empty()) ends.push_back(first + i);
      if (plan.predecessors(i) != 0) continue;
      for (const std::uint32_t earlier : gate) dependencies_.push_back({earlier, first + i});
    }
    numbers_ = std::move(after);
    gate = joined_at_one(std::move(ends));
  }

  /// One step that waits for all of these, or none if there are none.
  Steps joined_at_one(Steps steps) {
    if (steps.size() < 2) return steps;
    const auto join = static_cast<std::uint32_t>(steps_.size());
    steps_.push_back({OpKind::copy, -1, 0, 0, {Space::scratch, 0}, {Space::scratch, 0}, {}});
    for (const std::uint32_t earlier : steps) dependencies_.push_back({earlier, join});
    return {join};
  }

  /// A step between phases.
  void local(const Step& s) {
    const auto at = static_cast<std::uint32_t>(steps_.size());
    for (const std::uint32_t earlier : gate_) dependencies_.push_back({earlier, at});
    steps_.push_back(s);
    gate_ = {at};
  }

  const HierarchicalSchedule& schedule_;
  const Shape& shape_;
  std::vector<int> position_of_;  ///< by rank
  Vector<Step> steps_;
  std::vector<Dependency> dependencies_;
  std::size_t scratch_ = 0;  ///< elements
  Steps gate_;               ///< what the next step waits for: one or none
  /// Of messages sent to and received from each rank so far.
  std::array<std::vector<std::uint32_t>, 2> numbers_;
};

}  // namespace detail

inline Plan HierarchicalSchedule::plan(const Shape& shape, const Order& order) const {
  return detail::HierarchicalPlan{*this, shape, order}.finish();
}

}  // namespace papcoll::inline PAPCOLL_ABI
