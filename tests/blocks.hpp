// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls whose blocks differ in length and lie anywhere, on any team: what comes is right, and what
// lies between blocks is left alone.

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/collectives.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace blocks_test {

/// The same numbers on all ranks.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % n;
  }

 private:
  std::uint64_t state_;
};

/// What rank `from` has for rank `to`.
inline int element(int from, int to, std::size_t i) {
  return from * 1'000'003 + to * 1009 + static_cast<int>(i % 1000) + 1;
}

constexpr int gap = -77;

/// A buffer with a block for each rank, somewhere.
struct Layout {
  std::vector<int> counts;
  std::vector<long> places;
  std::vector<int> data;

  /// `apart`: in any order, with elements between them.
  Layout(std::vector<int> lengths, bool apart, Random& random)
      : counts(std::move(lengths)), places(counts.size()) {
    std::vector<std::size_t> order(counts.size());
    for (std::size_t r = 0; r < order.size(); ++r) order[r] = r;
    for (std::size_t i = order.size(); apart && i > 1; --i) {
      std::swap(order[i - 1], order[random.below(i)]);
    }
    long at = 0;
    for (const std::size_t r : order) {
      if (apart) at += static_cast<long>(random.below(4));
      places[r] = at;
      at += counts[r];
    }
    if (apart) at += 2;
    data.assign(static_cast<std::size_t>(at), gap);
  }

  int* block(int r) { return data.data() + places[static_cast<std::size_t>(r)]; }
  std::size_t length(int r) const {
    return static_cast<std::size_t>(counts[static_cast<std::size_t>(r)]);
  }

  /// Fills block r with what `from(r)` has for `to(r)`.
  template <class From, class To> Layout& fill(From from, To to) {
    for (int r = 0; r < static_cast<int>(counts.size()); ++r) {
      for (std::size_t i = 0; i < length(r); ++i) block(r)[i] = element(from(r), to(r), i);
    }
    return *this;
  }
};

/// Calls of one rank of a team.
template <class Comm> class Calls {
 public:
  Calls(Comm& comm, papcoll::Algorithm algorithm)
      : comm_(comm), algorithm_(std::move(algorithm)), me_(comm.rank()), size_(comm.size()) {}

  /// Runs calls of every kind with random lengths up to `most`; what was wrong, or "".
  std::string run(std::uint64_t seed, std::size_t most, bool non_blocking = false) {
    Random random{seed};
    const auto n = static_cast<std::size_t>(size_);
    std::vector<std::vector<int>> pairs(n, std::vector<int>(n));
    for (auto& row : pairs) {
      // Some long, many short, some none.
      for (int& x : row) x = static_cast<int>(random.below(1 + (random.below(3) == 0 ? most : 7)));
    }
    const bool apart = random.below(2) == 0;
    const int root = static_cast<int>(random.below(n));
    const auto own = static_cast<std::size_t>(me_);
    const bool serves_pairs = serves(papcoll::Collective::alltoall);
    // What differs from rank to rank comes after what does not.
    const std::vector<int> lengths = pairs[0];
    Random mine{seed * 977 + own};
    const auto any = [](int r) { return r; };
    const auto me = [this](int) { return me_; };

    if (serves_pairs) {
      std::vector<int> column;
      for (const auto& row : pairs) column.push_back(row[own]);
      Layout in{pairs[own], apart, mine};
      in.fill(me, any);
      const std::vector<int> before = in.data;
      Layout out{column, apart, mine};
      Layout wanted{out};
      wanted.fill(any, me);
      if (non_blocking) {
        auto request =
            apart ? papcoll::ialltoallv(comm_, in.data, to(in), out.data, to(out), algorithm_)
                  : papcoll::ialltoallv(comm_, in.data, papcoll::counts{in.counts}, out.data,
                                        papcoll::counts{out.counts}, algorithm_);
        request.wait();
      } else if (apart) {
        papcoll::alltoallv(comm_, in.data, to(in), out.data, to(out), algorithm_);
      } else {
        papcoll::alltoallv(comm_, in.data, papcoll::counts{in.counts}, out.data,
                           papcoll::counts{out.counts}, algorithm_);
      }
      compare("alltoallv", out.data, wanted.data);
      compare("alltoallv's input", in.data, before);

      // In place, two ranks have as much for each other.
      std::vector<int> both(n);
      for (std::size_t r = 0; r < n; ++r) both[r] = r < own ? pairs[r][own] : pairs[own][r];
      Layout data{both, apart, mine};
      Layout after{data};
      data.fill(me, any);
      after.fill(any, me);
      if (non_blocking) {
        papcoll::ialltoallv(comm_, data.data, to(data), algorithm_).wait();
      } else {
        papcoll::alltoallv(comm_, data.data, to(data), algorithm_);
      }
      compare("alltoallv in place", data.data, after.data);
      if (!non_blocking) {
        Layout in_again{pairs[own], apart, mine};
        in_again.fill(me, any);
        const auto received = papcoll::alltoallv(comm_, in_again.data, to(in_again),
                                                 papcoll::unknown_counts, algorithm_);
        Layout joined{column, false, mine};
        compare("alltoallv of unknown lengths", received.data, joined.fill(any, me).data);
      }
    }
    if (serves(papcoll::Collective::allgather)) {
      std::vector<int> in(static_cast<std::size_t>(lengths[own]));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = element(me_, 0, i);
      Layout out{lengths, apart, mine};
      Layout wanted{out};
      const auto nought = [](int) { return 0; };
      wanted.fill(any, nought);
      if (non_blocking) {
        papcoll::iallgatherv(comm_, in, out.data, to(out), algorithm_).wait();
      } else {
        papcoll::allgatherv(comm_, in, out.data, to(out), algorithm_);
      }
      compare("allgatherv", out.data, wanted.data);
      Layout data{lengths, apart, mine};
      Layout after{data};
      after.fill(any, nought);
      std::copy_n(in.data(), in.size(), data.block(me_));
      if (non_blocking) {
        papcoll::iallgatherv(comm_, data.data, to(data), algorithm_).wait();
      } else {
        papcoll::allgatherv(comm_, data.data, to(data), algorithm_);
      }
      compare("allgatherv in place", data.data, after.data);
      if (!non_blocking) {
        Layout joined{lengths, false, mine};
        compare("allgatherv of unknown lengths", papcoll::allgatherv(comm_, in, algorithm_),
                joined.fill(any, nought).data);
      }
    }
    for (const bool in_place : {false, true}) {
      if (!serves(papcoll::Collective::gather)) break;
      std::vector<int> in(static_cast<std::size_t>(lengths[own]));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = element(me_, root, i);
      Layout out{lengths, apart, mine};
      Layout wanted{out};
      wanted.fill(any, [root](int) { return root; });
      const bool is_root = me_ == root;
      if (in_place) {
        std::copy_n(in.data(), in.size(), out.block(me_));
        std::vector<int>& data = is_root ? out.data : in;
        if (non_blocking) {
          papcoll::igatherv(comm_, data, counts_at(root, out), papcoll::root{root}, algorithm_)
              .wait();
        } else {
          papcoll::gatherv(comm_, data, counts_at(root, out), papcoll::root{root}, algorithm_);
        }
      } else if (non_blocking) {
        papcoll::igatherv(comm_, in, out.data, counts_at(root, out), papcoll::root{root},
                          algorithm_)
            .wait();
      } else {
        papcoll::gatherv(comm_, in, out.data, counts_at(root, out), papcoll::root{root},
                         algorithm_);
      }
      if (is_root) compare("gatherv", out.data, wanted.data);
      if (!in_place && !non_blocking && !passes_on()) {
        const auto all = papcoll::gatherv(comm_, in, papcoll::root{root}, algorithm_);
        Layout joined{is_root ? lengths : std::vector<int>(n), false, mine};
        joined.fill(any, [root](int) { return root; });
        compare("gatherv of unknown lengths", all, joined.data);
      }
    }
    for (const bool in_place : {false, true}) {
      if (!serves(papcoll::Collective::scatter)) break;
      Layout in{lengths, apart, mine};
      const bool is_root = me_ == root;
      in.fill([root](int) { return root; }, any);
      const std::vector<int> before = in.data;
      std::vector<int> out(static_cast<std::size_t>(lengths[own]), gap);
      std::vector<int> wanted(out.size());
      for (std::size_t i = 0; i < out.size(); ++i) wanted[i] = element(root, me_, i);
      std::vector<int>& data = in_place && is_root ? in.data : out;
      if (in_place && non_blocking) {
        papcoll::iscatterv(comm_, data, counts_at(root, in), papcoll::root{root}, algorithm_)
            .wait();
      } else if (in_place) {
        papcoll::scatterv(comm_, data, counts_at(root, in), papcoll::root{root}, algorithm_);
      } else if (non_blocking) {
        papcoll::iscatterv(comm_, in.data, out, counts_at(root, in), papcoll::root{root},
                           algorithm_)
            .wait();
      } else {
        papcoll::scatterv(comm_, in.data, out, counts_at(root, in), papcoll::root{root},
                          algorithm_);
      }
      if (!(in_place && is_root)) compare("scatterv", out, wanted);
      compare("scatterv's input", in.data, before);
      if (!in_place && !non_blocking && !passes_on()) {
        compare("scatterv of unknown lengths",
                papcoll::scatterv(comm_, in.data, counts_at(root, in), papcoll::unknown_counts,
                                  papcoll::root{root}, algorithm_),
                wanted);
      }
    }
    return wrong_;
  }

 private:
  static papcoll::blocks to(const Layout& l) { return {l.counts, l.places}; }

  /// Where schedules pass blocks on, all ranks know all lengths; else the root alone.
  papcoll::blocks counts_at(int root, const Layout& l) const {
    if (me_ == root) return to(l);
    return passes_on() ? papcoll::counts{l.counts} : papcoll::counts{};
  }

  bool passes_on() const {
    const std::string_view name = algorithm_.name();
    return !name.empty() && name != "Linear" && name != "BlockCopies";
  }

  bool serves(papcoll::Collective c) const {
    if (algorithm_.name().empty()) return true;
    const papcoll::AlgorithmSpec& spec = algorithm_.spec();
    if (spec.hierarchical != nullptr) return papcoll::hierarchical_serves(c);
    if (spec.arrival != nullptr) return spec.arrival->serves(c);
    return spec.schedule.serves(c) &&
           (c != papcoll::Collective::alltoall || spec.schedule.own_parts_only());
  }

  template <class V> void compare(const char* what, const V& found, const V& wanted) {
    if (!wrong_.empty() || found == wanted) return;
    wrong_ = what;
    if (found.size() != wanted.size()) {
      wrong_ +=
          ": " + std::to_string(found.size()) + " elements, not " + std::to_string(wanted.size());
      return;
    }
    std::size_t i = 0;
    while (found[i] == wanted[i]) ++i;
    wrong_ += ": element " + std::to_string(i) + " of " + std::to_string(found.size()) + " is " +
              std::to_string(found[i]) + ", not " + std::to_string(wanted[i]);
  }

  Comm& comm_;
  papcoll::Algorithm algorithm_;
  int me_;
  int size_;
  std::string wrong_;
};

}  // namespace blocks_test
