// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls of all collectives on non-contiguous elements, for threads and processes alike: every kind
// of layout as input and as output, and ranges beside them. Gives what is wrong on this rank, or
// "".

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/collectives.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace layout_calls {

using papcoll::Collective;

/// An array with gaps, and where in it elements lie.
class Array {
 public:
  enum Kind { one_piece, column, backwards, part_of_three, turned, list, kinds };

  Array(std::size_t count, int kind) : kind_(kind % kinds) {
    if ((kind_ == part_of_three || kind_ == turned) && count % 6 != 0) kind_ = column;
    const auto n = static_cast<std::ptrdiff_t>(count);
    switch (kind_) {
      case one_piece: set({count, 1, 1}, {1, 1, 1}, 0); break;
      case column: set({count, 1, 1}, {3, 1, 1}, 0); break;
      case backwards: set({count, 1, 1}, {-2, 1, 1}, count == 0 ? 0 : 2 * (n - 1)); break;
      case part_of_three:  // of an array of (any, 4, 5)
        set({count / 6, 3, 2}, {20, 5, 1}, 0);
        break;
      case turned:  // the same order of elements, of which neighbours are n / 6 + 1 apart
        set({count / 6, 2, 3}, {1, n / 6 + 1, 2 * (n / 6 + 1)}, 0);
        break;
      default: set_list(count);
    }
    std::size_t end = 0;
    for (const std::size_t p : places_) end = p + 1 > end ? p + 1 : end;
    all_.assign(end + 3, gap);
  }

  /// Calls f with the buffer.
  template <class F> void with(F&& f) {
    if (kind_ == list) {
      f(papcoll::indexed(all_.data() + 5, lengths_, displacements_));
    } else {
      box_.data = all_.data() + first_;
      f(box_);
    }
  }
  /// Element i is element(i), and gaps are gaps.
  template <class F> void fill(F&& element) {
    all_.assign(all_.size(), gap);
    for (std::size_t i = 0; i < places_.size(); ++i) all_[places_[i]] = element(i);
  }
  /// Are these the elements from first to last, and is what lies between as it was?
  template <class F> bool holds(std::size_t first, std::size_t last, F&& element) const {
    std::size_t gaps = all_.size();
    for (const long x : all_) gaps -= x == gap ? 1 : 0;
    bool right = gaps == places_.size();
    for (std::size_t i = first; i < last; ++i) right = right && all_[places_[i]] == element(i);
    return right;
  }

 private:
  static constexpr long gap = -(1L << 60);

  void set(const std::size_t (&extents)[3], const std::ptrdiff_t (&strides)[3],
           std::ptrdiff_t first) {
    first_ = first;
    box_ = papcoll::strided(static_cast<long*>(nullptr), extents, strides);
    for (std::size_t a = 0; a < extents[0]; ++a) {
      for (std::size_t b = 0; b < extents[1]; ++b) {
        for (std::size_t c = 0; c < extents[2]; ++c) {
          places_.push_back(static_cast<std::size_t>(first +
                                                     static_cast<std::ptrdiff_t>(a) * strides[0] +
                                                     static_cast<std::ptrdiff_t>(b) * strides[1] +
                                                     static_cast<std::ptrdiff_t>(c) * strides[2]));
        }
      }
    }
  }

  /// Blocks of 0 to 4 elements, every other pair of which stand the wrong way round.
  void set_list(std::size_t count) {
    for (std::size_t i = 0, b = 0; i < count; ++b) {
      std::size_t n = (b * 3) % 5;
      if (n > count - i) n = count - i;
      lengths_.push_back(static_cast<int>(n));
      displacements_.push_back(6 * static_cast<long>(b ^ 1U) - 5);
      for (std::size_t k = 0; k < n; ++k) places_.push_back(6 * (b ^ 1U) + k);
      i += n;
    }
  }

  int kind_;
  std::ptrdiff_t first_ = 0;
  papcoll::StridedArray<long> box_{};
  std::vector<int> lengths_;
  std::vector<long> displacements_;
  std::vector<std::size_t> places_;  ///< of element i in all_
  std::vector<long> all_;
};

template <class Comm> class Runner {
 public:
  explicit Runner(Comm& comm) : comm_(comm), me_(comm.rank()), size_(comm.size()) {}

  /// All collectives that the algorithm serves, with blocks of so many elements. Every rank has its
  /// own kinds of layouts.
  std::string problems(const std::string& name, std::size_t block) {
    problems_.clear();
    algorithm_ = name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
    name_ = name;
    block_ = block;
    for (int kind = 0; kind < Array::kinds; ++kind) {
      in_kind_ = kind + me_;
      out_kind_ = kind + 2 * me_ + 1;
      root_ = kind % size_;
      for (form_ = blocking; form_ <= persistent; form_ = static_cast<Form>(form_ + 1)) all();
    }
    return problems_;
  }

 private:
  enum Form { blocking, non_blocking, persistent };

  std::size_t ranks() const { return static_cast<std::size_t>(size_); }
  std::size_t rank() const { return static_cast<std::size_t>(me_); }
  /// Rank r's element i.
  static long of(std::size_t r, std::size_t i) {
    return static_cast<long>(1000003 * r + 7 * i + 1);
  }
  static long total(std::size_t first, std::size_t last, std::size_t i) {
    long t = 0;
    for (std::size_t r = first; r < last; ++r) t += of(r, i);
    return t;
  }
  bool any_schedule() const {
    const papcoll::AlgorithmSpec& spec = algorithm_.spec();
    return spec.arrival == nullptr && spec.hierarchical == nullptr;
  }
  bool serves(Collective c) const {
    const papcoll::AlgorithmSpec& spec = algorithm_.spec();
    if (!any_schedule() && form_ == non_blocking) return false;
    if (spec.is_automatic()) return true;
    if (spec.hierarchical != nullptr) return c == Collective::allreduce || c == Collective::bcast;
    return spec.arrival != nullptr ? spec.arrival->serves(c) : spec.schedule.serves(c);
  }

  /// What a rank passes and gets.
  struct Expected {
    std::size_t in = 0;      ///< elements of the input
    std::size_t out = 0;     ///< elements of the output
    std::size_t one = 0;     ///< in place: elements of the buffer
    std::size_t stands = 0;  ///< in place: the first of them that is input
    bool gets = true;        ///< out of place: a result, else the output stays as it is
    bool keeps = false;      ///< in place: the buffer stays as it is
  };

  /// Makes a call out of place and in place, as out_of_place(in, out) and in_place(data) do in the
  /// form of the time. `right(i)` is element i of the result.
  template <class OutOfPlace, class InPlace, class Right>
  void check(Collective c, const Expected& e, OutOfPlace&& out_of_place, InPlace&& in_place,
             Right&& right) {
    if (!serves(c)) return;
    const auto mine = [this](std::size_t i) { return of(rank(), i); };
    const auto before = [](std::size_t i) { return -1 - static_cast<long>(i); };
    const auto result = [&](std::size_t i) { return e.gets ? right(i) : before(i); };
    Array in(e.in, in_kind_);
    Array out(e.out, out_kind_);
    std::vector<long> in_range(e.in);
    std::vector<long> out_range(e.out);
    refill_ = [&] {
      in.fill(mine);
      out.fill(before);
      for (std::size_t i = 0; i < e.in; ++i) in_range[i] = mine(i);
      for (std::size_t i = 0; i < e.out; ++i) out_range[i] = before(i);
    };
    in.with([&](const auto& i) {
      out.with([&](const auto& o) {
        refill_();
        out_of_place(i, o);
        expect(in.holds(0, e.in, mine) && out.holds(0, e.out, result), c, "out of place");
      });
      refill_();
      out_of_place(i, out_range);
      bool right_range = true;
      for (std::size_t k = 0; k < e.out; ++k) right_range &= out_range[k] == result(k);
      expect(in.holds(0, e.in, mine) && right_range, c, "to a range");
    });
    out.with([&](const auto& o) {
      refill_();
      out_of_place(in_range, o);
      expect(out.holds(0, e.out, result), c, "from a range");
    });
    check_in_place(c, e, in_place, right);
  }

  template <class InPlace, class Right>
  void check_in_place(Collective c, const Expected& e, InPlace&& in_place, Right&& right) {
    if (!serves(c)) return;
    Array data(e.one, in_kind_);
    refill_ = [&] { data.fill([&](std::size_t i) { return of(rank(), i - e.stands); }); };
    data.with([&](const auto& d) {
      refill_();
      in_place(d);
    });
    const std::size_t results = e.keeps ? e.one : e.out;
    expect(data.holds(0, results,
                      [&](std::size_t i) { return e.keeps ? of(rank(), i - e.stands) : right(i); }),
           c, "in place");
  }

#define PAPCOLL_IN_FORM(collective, ...)                                         \
  switch (form_) {                                                               \
    case blocking: papcoll::collective(comm_, __VA_ARGS__); break;               \
    case non_blocking: papcoll::i##collective(comm_, __VA_ARGS__).wait(); break; \
    case persistent: {                                                           \
      auto call = papcoll::collective##_init(comm_, __VA_ARGS__);                \
      call();                                                                    \
      refill_();                                                                 \
      if (any_schedule()) {                                                      \
        call.start();                                                            \
        call.wait();                                                             \
        refill_();                                                               \
      }                                                                          \
      call();                                                                    \
    }                                                                            \
  }

#define PAPCOLL_CHECK(collective, expected, right, ...)                             \
  check(                                                                            \
      Collective::collective, expected,                                             \
      [&](const auto& in, auto&& out) {                                             \
        PAPCOLL_IN_FORM(collective, in, out __VA_OPT__(, ) __VA_ARGS__, algorithm_) \
      },                                                                            \
      [&](const auto& data) {                                                       \
        PAPCOLL_IN_FORM(collective, data __VA_OPT__(, ) __VA_ARGS__, algorithm_)    \
      },                                                                            \
      right)

  void all() {
    const std::size_t n = block_;
    const std::size_t p = ranks();
    const std::size_t me = rank();
    const papcoll::root root{root_};
    const bool is_root = me_ == root_;
    const auto of_all = [=](std::size_t i) { return total(0, p, i); };
    const auto of_root = [=, r = static_cast<std::size_t>(root_)](std::size_t i) {
      return of(r, i);
    };
    const auto of_my_block = [=](std::size_t i) { return total(0, p, me * n + i); };
    const auto gathered = [=](std::size_t i) { return of(i / n, i % n); };
    const auto exchanged = [=](std::size_t i) { return of(i / n, me * n + i % n); };

    const Expected same{n, n, n};
    PAPCOLL_CHECK(allreduce, same, of_all, papcoll::sum);
    PAPCOLL_CHECK(scan, same, ([=](std::size_t i) { return total(0, me + 1, i); }), papcoll::sum);
    Expected below = same;
    below.gets = me != 0;
    below.keeps = me == 0;
    PAPCOLL_CHECK(exscan, below, ([=](std::size_t i) { return total(0, me, i); }), papcoll::sum);
    // Where a buffer is not looked at, there is another one.
    Expected to_root{n, is_root ? n : 3, n};
    to_root.gets = is_root;
    to_root.keeps = !is_root;
    PAPCOLL_CHECK(reduce, to_root, of_all, root, papcoll::sum);
    check_in_place(
        Collective::bcast, same,
        [&](const auto& data) { PAPCOLL_IN_FORM(bcast, data, root, algorithm_) }, of_root);

    Expected to_all{n, p * n, p * n};
    to_all.stands = me * n;
    PAPCOLL_CHECK(allgather, to_all, gathered);
    Expected gather{n, is_root ? p * n : 3, is_root ? p * n : n};
    gather.stands = is_root ? me * n : 0;
    gather.gets = is_root;
    gather.keeps = !is_root;
    PAPCOLL_CHECK(gather, gather, gathered, root);
    Expected scatter{is_root ? p * n : 5, n, is_root ? p * n : n};
    scatter.keeps = is_root;
    PAPCOLL_CHECK(scatter, scatter, ([=](std::size_t i) { return of_root(me * n + i); }), root);
    PAPCOLL_CHECK(reduce_scatter, (Expected{p * n, n, p * n}), of_my_block, papcoll::sum);
    PAPCOLL_CHECK(alltoall, (Expected{p * n, p * n, p * n}), exchanged);
    if (!any_schedule()) return;
    std::vector<int> each;
    std::size_t elements = 0;
    std::size_t mine = 0;
    for (std::size_t r = 0; r < p; ++r) {
      if (r == me) mine = elements;
      each.push_back(static_cast<int>(n + r % 2));
      elements += n + r % 2;
    }
    PAPCOLL_CHECK(reduce_scatter, (Expected{elements, n + me % 2, elements}),
                  ([=](std::size_t i) { return total(0, p, mine + i); }), papcoll::counts{each},
                  papcoll::sum);
  }
#undef PAPCOLL_CHECK
#undef PAPCOLL_IN_FORM

  void expect(bool right, Collective c, const char* what) {
    if (right) return;
    problems_ += std::string(papcoll::name_of(c)) + " " + what + " by \"" + name_ + "\" on rank " +
                 std::to_string(me_) + ", block " + std::to_string(block_) + ", kinds " +
                 std::to_string(in_kind_ % Array::kinds) + " and " +
                 std::to_string(out_kind_ % Array::kinds) + ", form " +
                 std::to_string(static_cast<int>(form_)) + "\n";
  }

  Comm& comm_;
  int me_;
  int size_;
  papcoll::Algorithm algorithm_;
  std::string name_;
  std::size_t block_ = 0;
  int in_kind_ = 0;
  int out_kind_ = 0;
  int root_ = 0;
  Form form_ = blocking;
  std::function<void()> refill_;  ///< before a persistent call is made again
  std::string problems_;
};

}  // namespace layout_calls
