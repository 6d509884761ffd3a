// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The matrix of the public API: algorithms × sizes × counts × roots × in place or out of place, for
// threads and processes alike. Expected values are computed here, by each rank for itself. What is
// wrong is gathered as text, since Catch2's assertions are for one thread. One
// header, since all its collectives share their expectations.

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace matrix {

/// A value that knows where it comes from: which element it is, and whose contributions it holds.
struct Piece {
  std::uint32_t ranks = 0;  ///< bit r: rank r's contribution
  std::uint32_t index = 0;  ///< of the element in the vector
  friend bool operator==(const Piece&, const Piece&) = default;
};

inline constexpr Piece untouched{0xaaaaaaaaU, 0x55555555U};
inline constexpr Piece spoilt{0, 0xdeadbeefU};

/// Any order, but each contribution once.
struct Once {
  static constexpr bool commutative = true;
  Piece operator()(const Piece& low, const Piece& high) const noexcept {
    if (low.index != high.index || (low.ranks & high.ranks) != 0) return spoilt;
    return {low.ranks | high.ranks, low.index};
  }
};

/// Contiguous runs in rank order only. Does not commute.
struct InOrder {
  Piece operator()(const Piece& low, const Piece& high) const noexcept {
    if (low.index != high.index || low.ranks == 0) return spoilt;
    const std::uint32_t above = high.ranks & ~(high.ranks - 1);  // its lowest rank
    const std::uint32_t filled = low.ranks | (low.ranks - 1);    // all below low's highest, too
    if (filled != above - 1) return spoilt;
    return {low.ranks | high.ranks, low.index};
  }
};

/// An algorithm, and what may be asked of it.
struct Candidate {
  papcoll::Algorithm algorithm;
  const papcoll::CatalogueRow* row = nullptr;  ///< null: chosen for each call

  std::string name() const {
    return algorithm.name().empty() ? "automatic" : std::string(algorithm.name());
  }
  bool serves(papcoll::Collective c) const { return row == nullptr || row->serves(c); }
  /// Returns true if the algorithm also serves counts and strides, as static schedules do.
  bool takes_any_layout() const {
    return algorithm.spec().hierarchical == nullptr && algorithm.spec().arrival == nullptr;
  }
  bool keeps_order() const {
    if (row == nullptr) return true;
    if ((row->needs & papcoll::requirement::commutative_operator) != 0) return false;
    // It may depend on the parameters.
    const papcoll::AnySchedule& schedule = algorithm.spec().schedule;
    return !schedule || !schedule.commutative_only();
  }
  bool may_be_non_blocking() const { return row == nullptr || row->algorithm == nullptr; }
};

/// Every algorithm of the catalogue that runs on the transport, with parameters that differ from
/// the defaults too, and what is chosen where only the transport, or nothing, is named.
inline std::vector<Candidate> candidates(std::string_view transport) {
  std::vector<Candidate> all{{}};
  const std::string on = "+" + std::string(transport);
  all.push_back({papcoll::algorithm(transport), nullptr});
  const auto* const known =
      std::find_if(papcoll::transport_names.begin(), papcoll::transport_names.end(),
                   [&](const papcoll::TransportName& t) { return t.name == transport; });
  for (const papcoll::CatalogueRow& row : papcoll::catalogue()) {
    if (!papcoll::runs_on(row, *known) || row.is_hierarchical) continue;
    const std::string name{row.name};
    all.push_back({papcoll::algorithm(name + on), &row});
    // Segments of five elements, so that a few hundred elements are a long pipeline.
    const bool pipelined = name.find("Pipelined") == 0 || name == "SegmentedRing";
    std::string parameters = pipelined ? "40" : std::string(row.proven_with);
    parameters += ' ';
    for (std::size_t at = 0; at + 1 < parameters.size();) {
      const std::size_t end = parameters.find(' ', at);
      all.push_back({papcoll::algorithm(name + ":" + parameters.substr(at, end - at) + on), &row});
      at = end + 1;
    }
    if (row.contract < row.strongest) {
      all.push_back({papcoll::algorithm(name + on + "+Reproducible"), &row});
    }
  }
  return all;
}

/// The static schedules, in the order that the machine gives them.
inline std::vector<Candidate> candidates_along_machine(std::string_view transport) {
  std::vector<Candidate> all;
  for (Candidate& c : candidates(transport)) {
    const bool is_static = c.row != nullptr && c.row->plan != nullptr;
    if (!is_static || c.algorithm.spec().order) continue;
    c.algorithm = papcoll::algorithm("OnTopology+" + c.name());
    all.push_back(std::move(c));
  }
  return all;
}

/// Elements between two guards, which tell if somebody writes beyond the ends. They lie in a
/// `Storage`, which is made as a vector of them.
template <class Storage> class GuardedIn {
 public:
  static constexpr std::ptrdiff_t guard = 3;

  explicit GuardedIn(std::size_t n) : all_(n + 2 * guard, untouched) {}

  std::span<Piece> span() noexcept { return {all_.data() + guard, all_.size() - 2 * guard}; }
  std::span<const Piece> span() const noexcept {
    return {all_.data() + guard, all_.size() - 2 * guard};
  }

  /// Element i becomes rank r's element first + i.
  void fill(int r, std::size_t first = 0) {
    const std::span<Piece> data = span();
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = piece(1U << r, first + i);
  }

  bool guards_hold() const {
    const auto holds = [](const Piece& p) { return p == untouched; };
    return std::all_of(all_.begin(), all_.begin() + guard, holds) &&
           std::all_of(all_.end() - guard, all_.end(), holds);
  }

  static Piece piece(std::uint32_t ranks, std::size_t index) {
    return {ranks, static_cast<std::uint32_t>(index)};
  }

 private:
  Storage all_;
};
using Guarded = GuardedIn<std::vector<Piece>>;

/// One rank's runs through the matrix on one team, with buffers of a kind.
template <class Comm, class Guarded = matrix::Guarded> class Runner {
 public:
  explicit Runner(Comm& comm) : comm_(comm), me_(comm.rank()), ranks_(comm.size()) {}

  /// What went wrong so far, at most a few of them; "" if nothing.
  const std::string& problems() const noexcept { return problems_; }

  struct Case {
    std::size_t count = 0;
    int root = 0;
    bool in_place = false;
  };

  /// All collectives that the candidate serves. `roots` beyond the size are left out.
  void run_all(const Candidate& candidate, std::span<const std::size_t> counts) {
    using papcoll::Collective;
    for (std::size_t i = 0; i < papcoll::collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!candidate.serves(c)) continue;
      if (c == Collective::barrier) {
        papcoll::barrier(comm_, candidate.algorithm);
        continue;
      }
      for (const std::size_t count : counts) {
        for (const int root : papcoll::is_rooted(c) ? roots() : std::vector<int>{0}) {
          run(candidate, c, {count, root, false});
          // A bcast has one buffer.
          if (!papcoll::has_one_buffer(c)) run(candidate, c, {count, root, true});
        }
      }
    }
  }

  /// One call, with the strictest operator that the algorithm may be given.
  void run(const Candidate& candidate, papcoll::Collective c, const Case& k) {
    if (candidate.keeps_order()) {
      run_with(candidate, c, k, InOrder{});
    } else {
      run_with(candidate, c, k, Once{});
    }
  }

  std::vector<int> roots() const {
    std::vector<int> some{0};
    if (ranks_ > 1) some.push_back(1);
    if (ranks_ > 2) some.push_back(ranks_ - 1);
    return some;
  }

 private:
  template <class Op>
  void run_with(const Candidate& candidate, papcoll::Collective c, const Case& k, const Op& op) {
    using papcoll::Collective;
    candidate_ = &candidate;
    collective_ = c;
    case_ = &k;
    switch (c) {
      case Collective::allreduce: strided_allreduce(k, op); return allreduce(k, op);
      case Collective::reduce: return reduce(k, op);
      case Collective::bcast: return bcast(k);
      case Collective::allgather:
        if (candidate.takes_any_layout()) allgatherv(k);
        return allgather(k);
      case Collective::reduce_scatter:
        reduce_scatter_blocks(k, op);
        return reduce_scatter_counts(k, op);
      case Collective::gather: return gather(k);
      case Collective::scatter: return scatter(k);
      case Collective::barrier: return papcoll::barrier(comm_, candidate.algorithm);
      case Collective::alltoall: return alltoall(k);
      case Collective::scan: return scan(k, op);
      case Collective::exscan: return exscan(k, op);
    }
  }

  const papcoll::Algorithm& algorithm() const { return candidate_->algorithm; }
  std::uint32_t everybody() const {
    return static_cast<std::uint32_t>((std::uint64_t{1} << ranks_) - 1);
  }
  std::size_t total(std::size_t n) const { return n * static_cast<std::size_t>(ranks_); }
  std::size_t mine(std::size_t n) const { return n * static_cast<std::size_t>(me_); }

  void complain(const std::string& what) {
    if (++complaints_ > 10) return;
    problems_ += std::string(papcoll::name_of(collective_)) + " by " + candidate_->name() +
                 ", rank " + std::to_string(me_) + " of " + std::to_string(ranks_) + ", count " +
                 std::to_string(case_->count) + ", root " + std::to_string(case_->root) +
                 (case_->in_place ? ", in place: " : ": ") + what + "\n";
  }

  /// `buffer` holds pieces first, first + 1… of these ranks.
  void expect(const char* what, const Guarded& buffer, std::uint32_t ranks, std::size_t first = 0) {
    if (!buffer.guards_hold()) complain(std::string(what) + " was written beyond its ends");
    expect_part(what, buffer.span(), ranks, first);
  }

  void expect_part(const char* what, std::span<const Piece> data, std::uint32_t ranks,
                   std::size_t first) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      const Piece wanted = Guarded::piece(ranks, first + i);
      if (data[i] == wanted) continue;
      return complain(std::string(what) + "[" + std::to_string(i) + "] is {" +
                      std::to_string(data[i].ranks) + ", " + std::to_string(data[i].index) +
                      "} and not {" + std::to_string(wanted.ranks) + ", " +
                      std::to_string(wanted.index) + "}");
    }
  }

  void expect_untouched(const char* what, const Guarded& buffer) {
    const auto data = buffer.span();
    const bool clean = buffer.guards_hold() && std::all_of(data.begin(), data.end(),
                                                           [](Piece p) { return p == untouched; });
    if (!clean) complain(std::string(what) + " was written to");
  }

  /// The contributions of all ranks stand one after the other.
  void expect_gathered(const Guarded& out, std::size_t n) {
    if (!out.guards_hold()) complain("the output was written beyond its ends");
    for (int r = 0; r < ranks_; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * n;
      expect_part("output", out.span().subspan(at, n), 1U << r, at);
    }
  }

  template <class Op> void allreduce(const Case& k, const Op& op) {
    Guarded in{k.count};
    in.fill(me_);
    if (k.in_place) {
      papcoll::allreduce(comm_, in.span(), op, algorithm());
      return expect("data", in, everybody());
    }
    Guarded out{k.count};
    papcoll::allreduce(comm_, std::as_const(in).span(), out.span(), op, algorithm());
    expect("input", in, 1U << me_);
    expect("output", out, everybody());
  }

  /// Blocks of two elements in rows of five, out of place into single ones in rows of three.
  template <class Op> void strided_allreduce(const Case& k, const Op& op) {
    Guarded in{k.count * 5};
    Guarded out{k.count * 6};
    for (std::size_t i = 0; i < 2 * k.count; ++i) {
      in.span()[i / 2 * 5 + i % 2] = Guarded::piece(1U << me_, i);
    }
    const auto from = papcoll::strided(in.span().data(), k.count, 2, 5);
    const auto to = papcoll::strided(out.span().data(), 2 * k.count, 1, 3);
    if (k.in_place) {
      papcoll::allreduce(comm_, from, op, algorithm());
    } else {
      papcoll::allreduce(comm_, from, to, op, algorithm());
    }
    const Guarded& result = k.in_place ? in : out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < result.span().size(); ++i) {
      const bool is_element = k.in_place ? i % 5 < 2 : i % 3 == 0;
      const Piece wanted = is_element ? Guarded::piece(everybody(), next++) : untouched;
      if (result.span()[i] != wanted) {
        return complain("element " + std::to_string(i) + " of a strided output is wrong");
      }
    }
    if (!in.guards_hold() || !out.guards_hold()) complain("was written beyond the ends");
  }

  template <class Op> void scan(const Case& k, const Op& op) {
    const auto lower = static_cast<std::uint32_t>((std::uint64_t{2} << me_) - 1);
    Guarded in{k.count};
    in.fill(me_);
    if (k.in_place) {
      papcoll::scan(comm_, in.span(), op, algorithm());
      return expect("data", in, lower);
    }
    Guarded out{k.count};
    papcoll::scan(comm_, std::as_const(in).span(), out.span(), op, algorithm());
    expect("input", in, 1U << me_);
    expect("output", out, lower);
  }

  template <class Op> void exscan(const Case& k, const Op& op) {
    const std::uint32_t below = (1U << me_) - 1;
    Guarded in{k.count};
    in.fill(me_);
    if (k.in_place) {
      papcoll::exscan(comm_, in.span(), op, algorithm());
      return expect("data", in, me_ == 0 ? 1 : below);
    }
    Guarded out{k.count};
    papcoll::exscan(comm_, std::as_const(in).span(), out.span(), op, algorithm());
    expect("input", in, 1U << me_);
    if (me_ == 0) return expect_untouched("output", out);
    expect("output", out, below);
  }

  void alltoall(const Case& k) {
    Guarded in{total(k.count)};
    in.fill(me_);
    Guarded out{total(k.count)};
    if (k.in_place) {
      papcoll::alltoall(comm_, in.span(), algorithm());
    } else {
      papcoll::alltoall(comm_, std::as_const(in).span(), out.span(), algorithm());
      expect("input", in, 1U << me_);
    }
    const Guarded& result = k.in_place ? in : out;
    if (!result.guards_hold()) complain("the output was written beyond its ends");
    for (int r = 0; r < ranks_; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * k.count;
      expect_part("output", result.span().subspan(at, k.count), 1U << r, mine(k.count));
    }
  }

  template <class Op> void reduce(const Case& k, const Op& op) {
    const papcoll::root to{k.root};
    const bool is_root = me_ == k.root;
    Guarded in{k.count};
    in.fill(me_);
    if (k.in_place) {
      papcoll::reduce(comm_, in.span(), to, op, algorithm());
      return expect("data", in, is_root ? everybody() : 1U << me_);
    }
    Guarded out{is_root ? k.count : me_ % 2 == 0 ? 0 : k.count};
    papcoll::reduce(comm_, std::as_const(in).span(), out.span(), to, op, algorithm());
    expect("input", in, 1U << me_);
    if (is_root) return expect("output", out, everybody());
    expect_untouched("output", out);
  }

  void bcast(const Case& k) {
    Guarded data{k.count};
    if (me_ == k.root) data.fill(me_);
    papcoll::bcast(comm_, data.span(), papcoll::root{k.root}, algorithm());
    expect("data", data, 1U << k.root);
  }

  void allgather(const Case& k) {
    Guarded out{total(k.count)};
    Guarded in{k.count};
    in.fill(me_, mine(k.count));
    if (k.in_place) {
      std::copy(in.span().begin(), in.span().end(),
                out.span().begin() + static_cast<std::ptrdiff_t>(mine(k.count)));
      papcoll::allgather(comm_, out.span(), algorithm());
    } else {
      papcoll::allgather(comm_, std::as_const(in).span(), out.span(), algorithm());
      expect("input", in, 1U << me_, mine(k.count));
    }
    expect_gathered(out, k.count);
  }

  /// Irregular contributions, some of them empty.
  void allgatherv(const Case& k) {
    std::vector<std::size_t> each;
    std::vector<std::size_t> first{0};
    for (int r = 0; r < ranks_; ++r) {
      each.push_back(r % 3 == 1 ? 0 : k.count + static_cast<std::size_t>(r));
      first.push_back(first.back() + each.back());
    }
    const auto me = static_cast<std::size_t>(me_);
    Guarded out{first.back()};
    Guarded in{each[me]};
    in.fill(me_, first[me]);
    if (k.in_place) {
      std::copy(in.span().begin(), in.span().end(),
                out.span().begin() + static_cast<std::ptrdiff_t>(first[me]));
      papcoll::allgatherv(comm_, out.span(), papcoll::counts{each}, algorithm());
    } else {
      papcoll::allgatherv(comm_, std::as_const(in).span(), out.span(), papcoll::counts{each},
                          algorithm());
      expect("input", in, 1U << me_, first[me]);
    }
    if (!out.guards_hold()) complain("the output was written beyond its ends");
    for (std::size_t r = 0; r < each.size(); ++r) {
      expect_part("output", out.span().subspan(first[r], each[r]), 1U << r, first[r]);
    }
  }

  template <class Op> void reduce_scatter_blocks(const Case& k, const Op& op) {
    Guarded in{total(k.count)};
    in.fill(me_);
    if (k.in_place) {
      papcoll::reduce_scatter(comm_, in.span(), op, algorithm());
      return expect_part("data", in.span().first(k.count), everybody(), mine(k.count));
    }
    Guarded out{k.count};
    papcoll::reduce_scatter(comm_, std::as_const(in).span(), out.span(), op, algorithm());
    expect("input", in, 1U << me_);
    expect("output", out, everybody(), mine(k.count));
  }

  /// Irregular blocks, some of them empty.
  template <class Op> void reduce_scatter_counts(const Case& k, const Op& op) {
    std::vector<std::size_t> each;
    std::size_t all = 0;
    std::size_t before = 0;
    for (int r = 0; r < ranks_; ++r) {
      if (r == me_) before = all;
      each.push_back(r % 3 == 1 ? 0 : k.count + static_cast<std::size_t>(r));
      all += each.back();
    }
    const std::size_t own = each[static_cast<std::size_t>(me_)];
    Guarded in{all};
    in.fill(me_);
    if (k.in_place) {
      papcoll::reduce_scatter(comm_, in.span(), papcoll::counts{each}, op, algorithm());
      return expect_part("data", in.span().first(own), everybody(), before);
    }
    Guarded out{own};
    papcoll::reduce_scatter(comm_, std::as_const(in).span(), out.span(), papcoll::counts{each}, op,
                            algorithm());
    expect("input", in, 1U << me_);
    expect("output", out, everybody(), before);
  }

  void gather(const Case& k) {
    const papcoll::root to{k.root};
    const bool is_root = me_ == k.root;
    Guarded in{k.count};
    in.fill(me_, mine(k.count));
    Guarded out{is_root ? total(k.count) : 0};
    if (k.in_place && is_root) {
      std::copy(in.span().begin(), in.span().end(),
                out.span().begin() + static_cast<std::ptrdiff_t>(mine(k.count)));
      papcoll::gather(comm_, out.span(), to, algorithm());
    } else if (k.in_place) {
      papcoll::gather(comm_, in.span(), to, algorithm());
    } else {
      papcoll::gather(comm_, std::as_const(in).span(), out.span(), to, algorithm());
    }
    expect("input", in, 1U << me_, mine(k.count));
    if (is_root) expect_gathered(out, k.count);
  }

  void scatter(const Case& k) {
    const papcoll::root from{k.root};
    const bool is_root = me_ == k.root;
    Guarded in{is_root ? total(k.count) : 0};
    in.fill(me_);
    Guarded out{k.count};
    if (k.in_place && is_root) {
      papcoll::scatter(comm_, in.span(), from, algorithm());
      return expect("data", in, 1U << me_);
    }
    if (k.in_place) {
      papcoll::scatter(comm_, out.span(), from, algorithm());
    } else {
      papcoll::scatter(comm_, std::as_const(in).span(), out.span(), from, algorithm());
      expect("input", in, 1U << me_);
    }
    expect("output", out, 1U << k.root, mine(k.count));
  }

  Comm& comm_;
  int me_;
  int ranks_;
  std::string problems_;
  int complaints_ = 0;
  const Candidate* candidate_ = nullptr;
  papcoll::Collective collective_ = papcoll::Collective::barrier;
  const Case* case_ = nullptr;
};

}  // namespace matrix
