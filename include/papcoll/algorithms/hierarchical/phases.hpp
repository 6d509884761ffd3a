#pragma once

#include <papcoll/algorithms/hierarchical/alltoall_phases.hpp>
#include <papcoll/algorithms/hierarchical/grouped_team.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/data_view.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// One rank's call of a hierarchical collective: its phases.
class HierarchicalPhases {
 public:
  HierarchicalPhases(GroupedTeam& team, const Call& call)
      : team_(team),
        call_(call),
        groups_(team.groups()),
        me_(team.rank()),
        group_(groups_.group_of(me_)),
        number_(groups_.number_of(me_)),
        straight_(groups_.contiguous()) {}

  template <Collective C>
  void run() {
    if constexpr (C == Collective::allreduce) return allreduce();
    if constexpr (C == Collective::reduce) return reduce();
    if constexpr (C == Collective::bcast) return bcast();
    if constexpr (C == Collective::allgather) return allgather();
    if constexpr (C == Collective::reduce_scatter) return reduce_scatter();
    if constexpr (C == Collective::gather) return gather();
    if constexpr (C == Collective::scatter) return scatter();
    if constexpr (C == Collective::barrier) return barrier();
    if constexpr (C == Collective::alltoall) return AlltoallPhases{team_, call_}.run();
    if constexpr (is_prefix_reduction(C)) return scan<is_exclusive(C)>();
  }

 private:
  using Sizes = std::vector<std::size_t>;

  bool representative() const noexcept { return number_ == 0; }
  bool alone() const noexcept { return groups_.ranks_of(group_).size() == 1; }
  bool is_root() const noexcept { return me_ == call_.root; }
  int root_group() const noexcept { return groups_.group_of(call_.root); }
  int root_number() const noexcept { return groups_.number_of(call_.root); }
  std::size_t bytes(std::size_t elements) const noexcept { return elements * call_.reducer.size; }

  /// A call of one phase; what is not said is as in the whole call.
  [[gnu::noinline]] Call phase(Collective c, const std::byte* in, std::byte* out,
                               int root = 0) const noexcept {
    Call p = call_;
    p.collective = c;
    p.in = in;
    p.out = out;
    p.root = root;
    p.split = 0;
    p.input_in_output = false;
    p.own_counts = p.knows_all_counts = false;
    p.places = nullptr;
    p.in_view = p.out_view = nullptr;
    return p;
  }

  /// Gives each participant of a call its own number of elements.
  [[gnu::noinline]] static Call with_sizes(Call p, const Sizes& sizes) noexcept {
    bool equal = true;
    for (const std::size_t n : sizes) equal = equal && n == sizes.front();
    p.counts = equal ? nullptr : sizes.data();
    p.count = equal ? sizes.front() : std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    return p;
  }

  static Call in_place(Call p) noexcept {
    p.input_in_output = true;
    return p;
  }

  // --- collectives of one vector

  /// Where a representative has what its group has combined: of short vectors not in the output,
  /// which so stays as it was where calls of other groups turn out not to match.
  std::byte* room_for_partial(std::byte* output) {
    constexpr std::size_t short_bytes = 4096;
    return call_.bytes() <= short_bytes ? team_.memory(0, call_.bytes()) : output;
  }

  void allreduce() {
    if (alone()) return team_.inter(call_);
    const bool all =
        team_.serves_intra(Collective::allreduce) && !team_.serves_intra(Collective::reduce);
    std::byte* partial = all || representative() ? call_.out : nullptr;
    if (!all && representative()) partial = room_for_partial(call_.out);
    team_.intra(phase(all ? Collective::allreduce : Collective::reduce, call_.in, partial));
    if (representative()) team_.inter(phase(Collective::allreduce, partial, call_.out));
    team_.intra(phase(Collective::bcast, call_.out, call_.out));
  }

  void reduce() {
    std::byte* const whole = is_root()          ? call_.out
                             : representative() ? team_.memory(0, call_.bytes())
                                                : nullptr;
    if (alone()) {
      team_.inter(phase(Collective::reduce, call_.in, whole, root_group()));
    } else {
      std::byte* const partial = !representative() ? nullptr
                                 : is_root()       ? room_for_partial(whole)
                                                   : whole;
      team_.intra(phase(Collective::reduce, call_.in, partial));
      if (representative()) team_.inter(phase(Collective::reduce, partial, whole, root_group()));
    }
    if (group_ == root_group() && root_number() != 0) {
      team_.hop(0, root_number(), phase(Collective::gather, whole, is_root() ? whole : nullptr));
    }
  }

  void bcast() {
    const bool first = group_ == root_group();
    if (first && !alone()) {
      team_.intra(phase(Collective::bcast, call_.out, call_.out, root_number()));
    }
    if (representative()) {
      team_.inter(phase(Collective::bcast, call_.out, call_.out, root_group()));
    }
    if (!first && !alone()) team_.intra(phase(Collective::bcast, call_.out, call_.out));
  }

  void barrier() {
    if (!alone()) team_.intra(call_);
    if (representative()) team_.inter(call_);
    if (!alone()) team_.intra(call_);
  }

  // --- scan and exscan, of groups that follow each other in rank order

  /// The first rank of a group puts what lies below the group before its own contribution: then a
  /// scan within the group is one of all ranks.
  template <bool Exclusive>
  void scan() {
    const bool last = group_ + 1 == groups_.count();  // nobody wants all of its contributions
    std::byte* const total = representative() ? team_.memory(0, call_.bytes()) : nullptr;
    const std::byte* of_group = call_.in;
    if (!last && !alone()) {
      team_.intra(phase(Collective::reduce, call_.in, total));
      of_group = total;
    }
    const std::byte* own = call_.in;
    const std::byte* below = nullptr;  // what the groups below have combined
    if (representative()) {
      std::byte* const from_below = team_.memory(1, call_.bytes());
      team_.inter(phase(Collective::exscan, of_group, from_below));
      if (group_ > 0) {
        const Reducer& r = call_.reducer;
        r.apply(total, from_below, call_.in, call_.count, r.context);
        own = total;
        below = from_below;
      }
    }
    if (!Exclusive) return team_.intra(phase(Collective::scan, own, call_.out));
    if (!alone()) team_.intra(phase(Collective::exscan, own, call_.out));
    if (below != nullptr) std::memcpy(call_.out, below, call_.bytes());
  }

  // --- collectives in which ranks have parts of their own

  /// Elements of each rank.
  [[gnu::noinline]] Sizes of_ranks() const {
    const auto n = static_cast<std::size_t>(groups_.size());
    return call_.counts != nullptr ? Sizes(call_.counts, call_.counts + n) : Sizes(n, call_.count);
  }
  [[gnu::noinline]] Sizes of_groups(const Sizes& each) const {
    Sizes sizes(static_cast<std::size_t>(groups_.count()), 0);
    for (std::size_t r = 0; r < each.size(); ++r) {
      sizes[static_cast<std::size_t>(groups_.of[r])] += each[r];
    }
    return sizes;
  }
  [[gnu::noinline]] Sizes of_members(const Sizes& each) const {
    Sizes sizes;
    for (const int r : groups_.ranks_of(group_)) sizes.push_back(each[static_cast<std::size_t>(r)]);
    return sizes;
  }
  static std::size_t sum(const Sizes& sizes, std::size_t first_n) noexcept {
    const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(first_n);
    return std::accumulate(sizes.begin(), end, std::size_t{0});
  }
  static std::size_t sum(const Sizes& sizes) noexcept { return sum(sizes, sizes.size()); }

  /// Parts in order of groups become parts in order of ranks, or the other way.
  [[gnu::noinline]] void permute(std::byte* to, const std::byte* from, const Sizes& each,
                                 bool to_ranks) const {
    std::size_t by_group = 0;
    for (const auto& members : groups_.members) {
      for (const int r : members) {
        const auto rank = static_cast<std::size_t>(r);
        const std::size_t by_rank = bytes(sum(each, rank));
        const std::size_t n = bytes(each[rank]);
        if (n != 0) {
          std::memcpy(to + (to_ranks ? by_rank : by_group), from + (to_ranks ? by_group : by_rank),
                      n);
        }
        by_group += n;
      }
    }
  }

  /// Where elements of the output come to stand: the output, or memory, if they lie apart there.
  [[gnu::noinline]] std::byte* neighbours_of_output(int which, std::size_t elements) {
    return call_.out_view == nullptr ? call_.out : team_.memory(which, bytes(elements));
  }
  [[gnu::noinline]] void finish_output(const std::byte* neighbours, std::size_t elements) const {
    if (call_.out_view == nullptr) return;
    unpack(call_.out, call_.out_view, neighbours, elements, call_.reducer.size);
  }

  void allgather() {
    const Sizes each = of_ranks();
    const Sizes sizes = of_groups(each);
    const Sizes members = of_members(each);
    const std::size_t total = sum(each);
    std::byte* const out = neighbours_of_output(1, total);
    std::byte* all = nullptr;
    std::byte* part = nullptr;
    if (representative()) {
      all = straight_ ? out : team_.memory(0, bytes(total));
      part = all + bytes(sum(sizes, static_cast<std::size_t>(group_)));
    }
    team_.intra(with_sizes(phase(Collective::gather, call_.in, part), members));
    if (representative()) {
      team_.inter(in_place(with_sizes(phase(Collective::allgather, part, all), sizes)));
      if (!straight_) permute(out, all, each, true);
    }
    Call share = phase(Collective::bcast, out, out);
    share.counts = nullptr;
    share.count = total;
    if (!alone()) team_.intra(share);
    finish_output(out, total);
  }

  void gather() {
    const Sizes each = of_ranks();
    const Sizes sizes = of_groups(each);
    const Sizes members = of_members(each);
    const std::size_t total = sum(each);
    const bool first = group_ == root_group();
    std::byte* all = nullptr;  // in order of groups
    std::byte* part = nullptr;
    std::byte* const out = is_root() ? neighbours_of_output(2, total) : nullptr;
    if (representative() && first) {
      all = is_root() && straight_ ? out : team_.memory(0, bytes(total));
      part = all + bytes(sum(sizes, static_cast<std::size_t>(group_)));
    } else if (representative()) {
      part = team_.memory(0, bytes(sizes[static_cast<std::size_t>(group_)]));
    }
    team_.intra(with_sizes(phase(Collective::gather, call_.in, part), members));
    if (representative()) {
      Call p = with_sizes(phase(Collective::gather, part, all, root_group()), sizes);
      team_.inter(first ? in_place(p) : p);
    }
    if (!first) return;
    if (representative() && !straight_) {
      std::byte* const ordered = is_root() ? out : team_.memory(1, bytes(total));
      permute(ordered, all, each, true);
      all = ordered;
    }
    if (root_number() != 0) {
      Call last = phase(Collective::gather, all, out);
      last.count = total;
      team_.hop(0, root_number(), last);
    }
    if (is_root()) finish_output(out, total);
  }

  [[gnu::noinline]] const std::byte* neighbours_of_input(std::size_t elements) {
    if (call_.in_view == nullptr) return call_.in;
    std::byte* const packed = team_.memory(3, bytes(elements));
    pack(packed, call_.in, call_.in_view, 0, elements, call_.reducer.size);
    return packed;
  }

  void scatter() {
    const Sizes each = of_ranks();
    const Sizes sizes = of_groups(each);
    const Sizes members = of_members(each);
    const std::size_t total = sum(each);
    const bool first = group_ == root_group();
    const std::byte* all = is_root() ? neighbours_of_input(total) : nullptr;
    if (first && root_number() != 0) {
      std::byte* const to = representative() ? team_.memory(0, bytes(total)) : nullptr;
      Call hop = phase(Collective::gather, all, to);
      hop.count = total;
      team_.hop(root_number(), 0, hop);
      all = to;
    }
    std::byte* part = nullptr;
    if (representative() && first) {
      if (!straight_) {
        std::byte* const grouped = team_.memory(1, bytes(total));
        permute(grouped, all, each, false);
        all = grouped;
      }
      // In place: never written, and the own part stays where it is.
      auto* const whole = const_cast<std::byte*>(all);
      part = whole + bytes(sum(sizes, static_cast<std::size_t>(group_)));
      team_.inter(
          in_place(with_sizes(phase(Collective::scatter, whole, whole, root_group()), sizes)));
    } else if (representative()) {
      part = team_.memory(0, bytes(sizes[static_cast<std::size_t>(group_)]));
      team_.inter(with_sizes(phase(Collective::scatter, nullptr, part, root_group()), sizes));
    }
    std::byte* out = call_.out;
    bool stays = false;
    if (is_root() && call_.in_place()) {  // has its part already
      stays = representative();
      out = stays ? part : team_.memory(2, bytes(each[static_cast<std::size_t>(me_)]));
    }
    const Call last = with_sizes(phase(Collective::scatter, part, out), members);
    team_.intra(stays ? in_place(last) : last);
  }

  void reduce_scatter() {
    const Sizes each = of_ranks();
    const Sizes sizes = of_groups(each);
    const Sizes members = of_members(each);
    const std::size_t total = sum(each);
    if (alone() && straight_) {
      return team_.inter(with_sizes(phase(Collective::reduce_scatter, call_.in, call_.out), sizes));
    }
    std::byte* part = representative() ? team_.memory(0, bytes(total)) : nullptr;
    Call reduce = phase(Collective::reduce, call_.in, part);
    reduce.counts = nullptr;
    reduce.count = total;
    team_.intra(reduce);
    if (representative()) {
      if (!straight_) {
        std::byte* const grouped = team_.memory(1, bytes(total));
        permute(grouped, part, each, false);
        part = grouped;
      }
      team_.inter(with_sizes(phase(Collective::reduce_scatter, part, part), sizes));
    }
    team_.intra(with_sizes(phase(Collective::scatter, part, call_.out), members));
  }

  GroupedTeam& team_;
  const Call& call_;
  const Groups& groups_;
  int me_;
  int group_;
  int number_;     ///< in the group
  bool straight_;  ///< the groups' ranks follow each other
};

/// Runs one rank's call of a hierarchical collective C.
template <Collective C>
void run_phases(GroupedTeam& team, const Call& call) {
  HierarchicalPhases{team, call}.run<C>();
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
