// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Where blocks begin that stand one after the other, in bytes.
class BlockStarts {
 public:
  BlockStarts() = default;
  /// Constructs the starts of blocks that all have so many bytes.
  static BlockStarts of_equal(std::size_t bytes) noexcept {
    BlockStarts s;
    s.each_ = bytes;
    return s;
  }

  /// Adds a block of so many bytes.
  [[gnu::noinline]] void add(std::size_t bytes) {
    if (starts_.empty()) starts_.push_back(0);
    starts_.push_back(starts_.back() + bytes);
  }

  /// Returns where block k begins; the number of blocks is allowed, too.
  std::size_t at(std::size_t k) const noexcept { return starts_.empty() ? k * each_ : starts_[k]; }
  std::size_t length(std::size_t k) const noexcept { return at(k + 1) - at(k); }

 private:
  std::size_t each_ = 0;
  std::vector<std::size_t> starts_;  ///< empty: they are alike
};

/// One rank's call of a hierarchical alltoall: its phases. All of them move bytes.
///
/// Where blocks differ, the representative first learns what its members' blocks are, and what
/// groups send each other begins with the lengths of the blocks in it, which the receiver compares
/// with what its members expect.
class AlltoallPhases {
 public:
  AlltoallPhases(HierarchyTeam& team, const Call& call)
      : team_(team),
        call_(call),
        groups_(team.groups()),
        ranks_(static_cast<std::size_t>(groups_.size())),
        members_(groups_.ranks_of(groups_.group_of(team.rank()))),
        number_(static_cast<std::size_t>(groups_.number_of(team.rank()))) {}

  void run() {
    if (groups_.count() == groups_.size() && groups_.count() > 1) return team_.inter(call_);
    learn_lengths();
    const std::byte* shown = gather();
    if (number_ == 0) shown = exchange(shown);
    scatter(shown);
  }

 private:
  using Sizes = std::vector<std::size_t>;

  bool representative() const noexcept { return number_ == 0; }
  bool alone() const noexcept { return members_.size() == 1; }
  bool differ() const noexcept { return call_.counts != nullptr; }

  /// Memory of the team that has an address, however little it is.
  std::byte* room(int which, std::size_t bytes) {
    return team_.memory(which, std::max<std::size_t>(bytes, 1));
  }

  /// A call of one phase, of bytes.
  [[gnu::noinline]] Call phase(Collective c, const std::byte* in, std::byte* out) const noexcept {
    Call p;
    p.collective = c;
    p.in = in;
    p.out = out;
    p.types = call_.types;
    p.contract = call_.contract;
    p.rank_order = call_.rank_order;
    p.memory = call_.memory;
    p.stream = call_.stream;
    return p;
  }

  /// Blocks differ, and ranks know their own only.
  static void name_sizes(Call& p, const Sizes& sizes) noexcept {
    p.count = 1;
    p.counts = sizes.data();
    p.local_counts = true;
  }

  // --- lengths

  /// Bytes of this rank's blocks, and on a representative those of all its members' blocks.
  void learn_lengths() {
    const std::size_t size = call_.reducer.size;
    if (!differ()) {
      sent_ = received_ = BlockStarts::of_equal(call_.bytes());
      own_sent_ = own_received_ = ranks_ * call_.bytes();
      return;
    }
    const std::size_t* const own = call_.counts;
    own_sent_ = size * std::accumulate(own, own + ranks_, std::size_t{0});
    own_received_ = size * std::accumulate(own + ranks_, own + 2 * ranks_, std::size_t{0});
    const std::size_t bytes = 2 * ranks_ * sizeof(std::size_t);
    std::byte* const numbers = room(3, (representative() ? members_.size() : 1) * bytes);
    std::memcpy(numbers, own, bytes);
    if (!alone()) {
      Call p = phase(Collective::gather, numbers, representative() ? numbers : nullptr);
      p.count = bytes;
      team_.intra(p);
    }
    if (!representative()) return;
    for (std::size_t i = 0; i < 2 * members_.size(); ++i) {
      BlockStarts& starts = i % 2 == 0 ? sent_ : received_;
      for (std::size_t r = 0; r < ranks_; ++r) {
        std::size_t n = 0;
        std::memcpy(&n, numbers + (i * ranks_ + r) * sizeof n, sizeof n);
        starts.add(n * size);
      }
    }
  }

  /// Bytes of the lengths before what groups send each other.
  std::size_t header(const std::vector<int>& others) const noexcept {
    return differ() ? members_.size() * others.size() * sizeof(std::size_t) : 0;
  }

  /// Adds to `sizes` the bytes between the members of this group and those of each group. Returns
  /// their sum.
  [[gnu::noinline]] std::size_t add_groups(Sizes& sizes, const BlockStarts& starts) const {
    std::size_t sum = 0;
    for (const std::vector<int>& others : groups_.members) {
      std::size_t bytes = header(others);
      for (std::size_t i = 0; i < members_.size(); ++i) {
        for (const int r : others) bytes += starts.length(i * ranks_ + static_cast<std::size_t>(r));
      }
      sizes.push_back(bytes);
      sum += bytes;
    }
    return sum;
  }

  // --- within the group

  [[gnu::noinline]] void intra(Collective c, const std::byte* in, std::byte* out,
                               const BlockStarts& starts, std::size_t own) {
    Call p = phase(c, in, out);
    if (differ()) {
      // Bytes of each member's blocks together, on others than the representative of one's own; and
      // then where they begin.
      const std::size_t k = members_.size();
      Sizes sizes(2 * k, 0);
      sizes[number_] = own;
      for (std::size_t i = 0; i < k; ++i) {
        if (representative()) sizes[i] = starts.at((i + 1) * ranks_) - starts.at(i * ranks_);
        if (i != 0) sizes[k + i] = sizes[k + i - 1] + sizes[i - 1];
      }
      name_sizes(p, sizes);
      p.displacements = sizes.data() + k;
      return team_.intra(p);
    }
    p.count = own;
    team_.intra(p);
  }

  /// Returns where the representative has what all members send, by sender and then by receiver.
  const std::byte* gather() {
    const std::byte* in = call_.in;
    if (call_.in_view != nullptr) {
      std::byte* const packed = room(2, own_sent_);
      pack(packed, call_.in, call_.in_view, 0, own_sent_ / call_.reducer.size, call_.reducer.size);
      in = packed;
    }
    if (alone()) return in;
    std::byte* const all = representative() ? room(0, sent_.at(members_.size() * ranks_)) : nullptr;
    intra(Collective::gather, in, all, sent_, own_sent_);
    return all;
  }

  /// `shown`: on the representative what all members receive, by receiver and then by sender.
  void scatter(const std::byte* shown) {
    const bool packed = call_.out_view != nullptr;
    if (!alone()) {
      std::byte* const out = packed ? room(2, own_received_) : call_.out;
      intra(Collective::scatter, shown, out, received_, own_received_);
      shown = out;
    }
    if (packed) {
      unpack(call_.out, call_.out_view, shown, own_received_ / call_.reducer.size,
             call_.reducer.size);
    } else if (alone()) {
      team_.copy(call_.out, shown, own_received_);
    }
  }

  // --- among representatives

  /// Sends the other groups their blocks, and receives those for this one's members.
  const std::byte* exchange(const std::byte* gathered) {
    if (differ()) compare_within_group();
    Sizes sizes;
    std::byte* const to_groups = room(1, add_groups(sizes, sent_));
    write_by_groups(to_groups, gathered);
    const bool one_group = groups_.count() == 1;
    std::byte* from_groups = to_groups;
    if (!one_group) {
      from_groups = room(0, add_groups(sizes, received_));
      const bool equal = !differ() && std::all_of(sizes.begin(), sizes.end(),
                                                  [&](std::size_t n) { return n == sizes[0]; });
      Call p = phase(Collective::alltoall, to_groups, from_groups);
      if (equal) {
        p.count = sizes[0];
      } else {
        name_sizes(p, sizes);
      }
      team_.inter(p);
    }
    std::byte* const by_receiver = room(one_group ? 0 : 1, received_.at(members_.size() * ranks_));
    read_by_groups(by_receiver, from_groups);
    return by_receiver;
  }

  /// Writes for each group the lengths, if they differ, and then the blocks, by sender and by
  /// receiver.
  void write_by_groups(std::byte* to, const std::byte* gathered) const {
    for (const std::vector<int>& others : groups_.members) {
      if (differ()) {
        for_each_pair(others, [&](std::size_t i, std::size_t r) {
          const std::size_t n = sent_.length(i * ranks_ + r);
          std::memcpy(to, &n, sizeof n);
          to += sizeof n;
        });
      }
      for (std::size_t i = 0; i < members_.size(); ++i) {
        for_each_run(others, [&](std::size_t first, std::size_t last) {
          const std::size_t at = sent_.at(i * ranks_ + first);
          const std::size_t n = sent_.at(i * ranks_ + last) - at;
          team_.copy(to, gathered + at, n);
          to += n;
        });
      }
    }
  }

  void read_by_groups(std::byte* to, const std::byte* from) const {
    for (const std::vector<int>& others : groups_.members) {
      if (differ()) {
        compare_lengths(others, from);
        from += header(others);
      }
      for (const int sender : others) {
        const auto s = static_cast<std::size_t>(sender);
        for (std::size_t i = 0; i < members_.size(); ++i) {
          const std::size_t n = received_.length(i * ranks_ + s);
          team_.copy(to + received_.at(i * ranks_ + s), from, n);
          from += n;
        }
      }
    }
  }

  /// Refuses, before anything is sent, lengths that differ: what a group sends to itself must be as
  /// long as what it expects.
  void compare_within_group() const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t j = 0; j < members_.size(); ++j) {
        const std::size_t has = sent_.length(i * ranks_ + static_cast<std::size_t>(members_[j]));
        const std::size_t expected =
            received_.length(j * ranks_ + static_cast<std::size_t>(members_[i]));
        if (has != expected) refuse_lengths(members_[i], members_[j], has, expected);
      }
    }
  }

  void compare_lengths(const std::vector<int>& others, const std::byte* lengths) const {
    for (const int sender : others) {
      for (std::size_t i = 0; i < members_.size(); ++i) {
        std::size_t has = 0;
        std::memcpy(&has, lengths, sizeof has);
        lengths += sizeof has;
        const std::size_t expected =
            received_.length(i * ranks_ + static_cast<std::size_t>(sender));
        if (has != expected) refuse_lengths(sender, members_[i], has, expected);
      }
    }
  }

  [[noreturn, gnu::cold]] void refuse_lengths(int sender, int receiver, std::size_t has,
                                              std::size_t expected) const {
    throw_error<peer_error>({"papcoll: the ranks' counts do not match in alltoallv: rank ",
                             team_.user_rank(sender), " has ", has, " bytes for rank ",
                             team_.user_rank(receiver), ", which expects ", expected,
                             " of it: both must pass the same number"});
  }

  /// Calls f(i, r) for each member i of this group and each rank r of another.
  void for_each_pair(const std::vector<int>& others, auto&& f) const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (const int r : others) f(i, static_cast<std::size_t>(r));
    }
  }

  /// Calls f(first, last) for the ranks of a group that follow each other, up to but without last.
  static void for_each_run(const std::vector<int>& ranks, auto&& f) {
    for (std::size_t i = 0; i < ranks.size();) {
      std::size_t end = i + 1;
      while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
      const auto first = static_cast<std::size_t>(ranks[i]);
      f(first, first + (end - i));
      i = end;
    }
  }

  HierarchyTeam& team_;
  const Call& call_;
  const Groups& groups_;
  std::size_t ranks_;
  const std::vector<int>& members_;
  std::size_t number_;            ///< in the group
  std::size_t own_sent_ = 0;      ///< bytes of this rank's input
  std::size_t own_received_ = 0;  ///< and of its output
  BlockStarts sent_;              ///< of what all members send, by sender and then by receiver
  BlockStarts received_;          ///< of what they receive, by receiver and then by sender
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
