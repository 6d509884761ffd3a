// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/hierarchical/alltoall_phases.hpp>
#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// One rank's call of a hierarchical collective: its phases.
class HierarchicalPhases {
 public:
  HierarchicalPhases(HierarchyTeam& team, const Call& call)
      : team_(team),
        call_(call),
        groups_(team.groups()),
        me_(team.rank()),
        group_(groups_.group_of(me_)),
        number_(groups_.number_of(me_)),
        groups_are_contiguous_(groups_.contiguous()) {}

  template <Collective C> void run() {
    if constexpr (C == Collective::allreduce) {
      allreduce();
    } else if constexpr (C == Collective::reduce) {
      reduce();
    } else if constexpr (C == Collective::bcast) {
      bcast();
    } else if constexpr (C == Collective::allgather) {
      allgather();
    } else if constexpr (C == Collective::reduce_scatter) {
      reduce_scatter();
    } else if constexpr (C == Collective::gather) {
      gather();
    } else if constexpr (C == Collective::scatter) {
      scatter();
    } else if constexpr (C == Collective::barrier) {
      barrier();
    } else if constexpr (C == Collective::alltoall) {
      AlltoallPhases{team_, call_}.run();
    } else {
      static_assert(C == Collective::scan || C == Collective::exscan,
                    "papcoll: this collective has no phases by nodes yet");
      scan(is_exclusive(C));
    }
  }

 private:
  /// Elements of each participant of a call.
  using Sizes = std::span<const std::size_t>;

  /// Elements of each rank of a call in which ranks have parts of their own.
  struct Parts {
    std::vector<std::size_t> sizes;  ///< of ranks, then of groups, then of members of this group
    Sizes ranks;
    Sizes groups;
    Sizes members;
    std::size_t total = 0;
    std::size_t before = 0;  ///< of groups before this one
  };

  bool representative() const noexcept { return number_ == 0; }
  bool alone() const noexcept { return groups_.ranks_of(group_).size() == 1; }
  bool is_root() const noexcept { return me_ == call_.root; }
  int root_group() const noexcept { return groups_.group_of(call_.root); }
  int root_number() const noexcept { return groups_.number_of(call_.root); }
  std::size_t bytes(std::size_t elements) const noexcept { return elements * call_.reducer.size; }

  /// Returns a call of one phase; what is not passed is as in the whole call.
  [[gnu::noinline]] Call phase(Collective c, const std::byte* in, std::byte* out,
                               int root = 0) const noexcept {
    Call p = call_;
    p.collective = c;
    p.in = in;
    p.out = out;
    p.root = root;
    p.split = 0;
    p.input_in_output = false;
    p.local_counts = p.knows_all_counts = false;
    p.displacements = nullptr;
    p.in_view = p.out_view = nullptr;
    return p;
  }

  /// A call of one phase in which all have one vector of so many elements.
  [[gnu::noinline]] Call whole(Collective c, const std::byte* in, std::byte* out,
                               std::size_t elements) const noexcept {
    Call p = phase(c, in, out);
    p.counts = nullptr;
    p.count = elements;
    return p;
  }

  /// A call of one phase in which each participant has its own number of elements.
  [[gnu::noinline]] Call parted(Collective c, const std::byte* in, std::byte* out, Sizes sizes,
                                bool in_place = false, int root = 0) const noexcept {
    Call p = phase(c, in, out, root);
    bool equal = true;
    std::size_t sum = 0;
    for (const std::size_t n : sizes) {
      equal = equal && n == sizes.front();
      sum += n;
    }
    p.counts = equal ? nullptr : sizes.data();
    p.count = equal ? sizes.front() : sum;
    p.input_in_output = in_place;
    return p;
  }

  /// Between the representative and the root.
  [[gnu::noinline]] void hop(int from, int to, const std::byte* in, std::byte* out,
                             std::size_t elements) {
    Call p = phase(Collective::gather, in, out);
    p.count = elements;
    team_.hop(from, to, p);
  }

  // --- collectives of one vector

  /// Returns where a representative has what its group has combined: of short vectors not in the
  /// output, which so stays as it was where calls of other groups turn out not to match.
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
    std::byte* const result = is_root()          ? call_.out
                              : representative() ? team_.memory(0, call_.bytes())
                                                 : nullptr;
    if (alone()) {
      team_.inter(phase(Collective::reduce, call_.in, result, root_group()));
    } else {
      std::byte* const partial = !representative() ? nullptr
                                 : is_root()       ? room_for_partial(result)
                                                   : result;
      team_.intra(phase(Collective::reduce, call_.in, partial));
      if (representative()) team_.inter(phase(Collective::reduce, partial, result, root_group()));
    }
    if (group_ == root_group() && root_number() != 0) {
      hop(0, root_number(), result, is_root() ? result : nullptr, call_.count);
    }
  }

  void bcast() {
    const bool first = group_ == root_group();
    if (first && !alone())
      team_.intra(phase(Collective::bcast, call_.out, call_.out, root_number()));
    if (representative()) team_.inter(phase(Collective::bcast, call_.out, call_.out, root_group()));
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
  void scan(bool exclusive) {
    const bool last = group_ + 1 == groups_.count();  // no rank wants all of its contributions
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
    if (!exclusive) return team_.intra(phase(Collective::scan, own, call_.out));
    if (!alone()) team_.intra(phase(Collective::exscan, own, call_.out));
    if (below != nullptr) team_.copy(call_.out, below, call_.bytes());
  }

  // --- collectives in which ranks have parts of their own

  [[gnu::noinline]] Parts parts() const {
    Parts p;
    const auto ranks = static_cast<std::size_t>(groups_.size());
    const auto groups = static_cast<std::size_t>(groups_.count());
    const std::vector<int>& members = groups_.ranks_of(group_);
    p.sizes.resize(ranks + groups + members.size());
    std::size_t* const of_group = p.sizes.data() + ranks;
    std::size_t* const of_member = of_group + groups;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::size_t n = call_.counts != nullptr ? call_.counts[r] : call_.count;
      const int group = groups_.of[r];
      p.sizes[r] = n;
      of_group[static_cast<std::size_t>(group)] += n;
      p.total += n;
      if (group < group_) p.before += n;
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      of_member[i] = p.sizes[static_cast<std::size_t>(members[i])];
    }
    p.ranks = {p.sizes.data(), ranks};
    p.groups = {of_group, groups};
    p.members = {of_member, members.size()};
    return p;
  }

  /// Parts in order of groups become parts in order of ranks, or the other way.
  [[gnu::noinline]] void permute(std::byte* to, const std::byte* from, Sizes each,
                                 bool to_ranks) const {
    std::size_t by_group = 0;
    for (const auto& members : groups_.members) {
      for (const int r : members) {
        const std::size_t by_rank =
            bytes(std::accumulate(each.begin(), each.begin() + r, std::size_t{0}));
        const std::size_t n = bytes(each[static_cast<std::size_t>(r)]);
        team_.copy(to + (to_ranks ? by_rank : by_group), from + (to_ranks ? by_group : by_rank), n);
        by_group += n;
      }
    }
  }

  /// Returns where elements of the output come to stand: the output, or memory, if they are not
  /// contiguous there.
  [[gnu::noinline]] std::byte* contiguous_output(int which, std::size_t elements) {
    return call_.out_view == nullptr ? call_.out : team_.memory(which, bytes(elements));
  }
  [[gnu::noinline]] void finish_output(const std::byte* contiguous, std::size_t elements) const {
    if (call_.out_view == nullptr) return;
    unpack(call_.out, call_.out_view, contiguous, elements, call_.reducer.size);
  }

  void allgather() {
    const Parts p = parts();
    std::byte* const out = contiguous_output(1, p.total);
    std::byte* all = nullptr;
    std::byte* part = nullptr;
    if (representative()) {
      all = groups_are_contiguous_ ? out : team_.memory(0, bytes(p.total));
      part = all + bytes(p.before);
    }
    team_.intra(parted(Collective::gather, call_.in, part, p.members));
    if (representative()) {
      team_.inter(parted(Collective::allgather, part, all, p.groups, true));
      if (!groups_are_contiguous_) permute(out, all, p.ranks, true);
    }
    if (!alone()) team_.intra(whole(Collective::bcast, out, out, p.total));
    finish_output(out, p.total);
  }

  void gather() {
    const Parts p = parts();
    const bool first = group_ == root_group();
    std::byte* all = nullptr;  // in order of groups
    std::byte* part = nullptr;
    std::byte* const out = is_root() ? contiguous_output(2, p.total) : nullptr;
    if (representative() && first) {
      all = is_root() && groups_are_contiguous_ ? out : team_.memory(0, bytes(p.total));
      part = all + bytes(p.before);
    } else if (representative()) {
      part = team_.memory(0, bytes(p.groups[static_cast<std::size_t>(group_)]));
    }
    team_.intra(parted(Collective::gather, call_.in, part, p.members));
    if (representative())
      team_.inter(parted(Collective::gather, part, all, p.groups, first, root_group()));
    if (!first) return;
    if (representative() && !groups_are_contiguous_) {
      std::byte* const ordered = is_root() ? out : team_.memory(1, bytes(p.total));
      permute(ordered, all, p.ranks, true);
      all = ordered;
    }
    if (root_number() != 0) hop(0, root_number(), all, out, p.total);
    if (is_root()) finish_output(out, p.total);
  }

  [[gnu::noinline]] const std::byte* contiguous_input(std::size_t elements) {
    if (call_.in_view == nullptr) return call_.in;
    std::byte* const packed = team_.memory(3, bytes(elements));
    pack(packed, call_.in, call_.in_view, 0, elements, call_.reducer.size);
    return packed;
  }

  void scatter() {
    const Parts p = parts();
    const bool first = group_ == root_group();
    const std::byte* all = is_root() ? contiguous_input(p.total) : nullptr;
    if (first && root_number() != 0) {
      std::byte* const to = representative() ? team_.memory(0, bytes(p.total)) : nullptr;
      hop(root_number(), 0, all, to, p.total);
      all = to;
    }
    std::byte* part = nullptr;
    if (representative() && first) {
      if (!groups_are_contiguous_) {
        std::byte* const grouped = team_.memory(1, bytes(p.total));
        permute(grouped, all, p.ranks, false);
        all = grouped;
      }
      // In place: never written, and the own part stays where it is.
      auto* const shown = const_cast<std::byte*>(all);
      part = shown + bytes(p.before);
      team_.inter(parted(Collective::scatter, shown, shown, p.groups, true, root_group()));
    } else if (representative()) {
      part = team_.memory(0, bytes(p.groups[static_cast<std::size_t>(group_)]));
      team_.inter(parted(Collective::scatter, nullptr, part, p.groups, false, root_group()));
    }
    std::byte* out = call_.out;
    bool stays = false;
    if (is_root() && call_.in_place()) {  // has its part already
      stays = representative();
      out = stays ? part : team_.memory(2, bytes(p.ranks[static_cast<std::size_t>(me_)]));
    }
    team_.intra(parted(Collective::scatter, part, out, p.members, stays));
  }

  void reduce_scatter() {
    const Parts p = parts();
    if (alone() && groups_are_contiguous_) {
      return team_.inter(parted(Collective::reduce_scatter, call_.in, call_.out, p.groups, false));
    }
    std::byte* part = representative() ? team_.memory(0, bytes(p.total)) : nullptr;
    team_.intra(whole(Collective::reduce, call_.in, part, p.total));
    if (representative()) {
      if (!groups_are_contiguous_) {
        std::byte* const grouped = team_.memory(1, bytes(p.total));
        permute(grouped, part, p.ranks, false);
        part = grouped;
      }
      team_.inter(parted(Collective::reduce_scatter, part, part, p.groups, false));
    }
    team_.intra(parted(Collective::scatter, part, call_.out, p.members));
  }

  HierarchyTeam& team_;
  const Call& call_;
  const Groups& groups_;
  int me_;
  int group_;
  int number_;                  ///< in the group
  bool groups_are_contiguous_;  ///< the groups' ranks follow each other
};

/// Runs one rank's call of a hierarchical collective C.
template <Collective C> void run_phases(HierarchyTeam& team, const Call& call) {
  HierarchicalPhases{team, call}.run<C>();
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
