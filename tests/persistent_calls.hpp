// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Persistent calls of all forms, made again and again on buffers that change, for threads and
// processes alike. Gives what is wrong on this rank, or "".

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace persistent_calls {

using papcoll::Collective;
using papcoll::Persistent;
using Ints = std::vector<int>;

/// All forms of all collectives that an algorithm serves, `repeats` times each.
template <class Comm> class Runner {
 public:
  Runner(Comm& comm, papcoll::Algorithm algorithm, int repeats)
      : comm_(comm),
        me_(comm.rank()),
        size_(comm.size()),
        algorithm_(std::move(algorithm)),
        repeats_(repeats) {}

  std::string problems(std::size_t count) {
    count_ = count;
    root_ = size_ - 1;
    if (serves(Collective::allreduce)) allreduce();
    if (serves(Collective::reduce)) reduce();
    if (serves(Collective::bcast)) bcast();
    if (serves(Collective::allgather)) allgather();
    if (serves(Collective::reduce_scatter)) reduce_scatter();
    if (serves(Collective::gather)) gather();
    if (serves(Collective::scatter)) scatter();
    if (serves(Collective::alltoall)) alltoall();
    if (serves(Collective::scan)) scan();
    if (serves(Collective::barrier)) {
      Persistent barrier = papcoll::barrier_init(comm_, algorithm_);
      again(
          "barrier", barrier, [](int) {}, [](int) { return true; });
    }
    return problems_;
  }

 private:
  const papcoll::AlgorithmSpec& spec() const { return algorithm_.spec(); }
  bool serves(Collective c) const {
    if (spec().is_automatic()) return true;
    if (spec().hierarchical != nullptr) {
      return c == Collective::allreduce || c == Collective::reduce || c == Collective::bcast;
    }
    return spec().arrival != nullptr ? spec().arrival->serves(c) : spec().schedule.serves(c);
  }
  /// Counts and strides, and starting without waiting: those are for static schedules.
  bool any_schedule() const { return spec().hierarchical == nullptr && spec().arrival == nullptr; }

  std::size_t ranks() const { return static_cast<std::size_t>(size_); }
  /// Rank r's element i in turn t.
  static int element(int r, std::size_t i, int t) {
    return 100 * r + 7 * t + static_cast<int>(i % 91);
  }
  void fill(Ints& data, int r, int t) const {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = element(r, i, t);
  }
  /// The sum of the elements of ranks 0 to r.
  static int sum_to(int r, std::size_t i, int t) {
    int sum = 0;
    for (int k = 0; k <= r; ++k) sum += element(k, i, t);
    return sum;
  }
  bool is_sum_to(int r, const Ints& data, std::size_t n, std::size_t first, int t) const {
    for (std::size_t i = 0; i < n; ++i) {
      if (data[i] != sum_to(r, first + i, t)) return false;
    }
    return true;
  }
  /// Part r of `data` has rank r's elements from `first` on.
  bool is_gathered(const Ints& data, std::size_t first, int t) const {
    for (int r = 0; r < size_; ++r) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (data[static_cast<std::size_t>(r) * count_ + i] != element(r, first + i, t)) {
          return false;
        }
      }
    }
    return true;
  }
  std::size_t mine() const { return static_cast<std::size_t>(me_) * count_; }

  /// In turns it blocks, and, where it can, is started.
  template <class Fill, class Right>
  void again(const char* what, Persistent& call, Fill&& fill_turn, Right&& right) {
    for (int t = 0; t < repeats_; ++t) {
      fill_turn(t);
      if (t % 3 == 1 && any_schedule()) {
        call.start();
        if (t % 2 == 0) {
          while (!call.test()) {
          }
        }
        call.wait();
      } else {
        call();
      }
      if (!right(t)) {
        problems_ += std::string(what) + ", " + std::string(algorithm_.name()) + ", rank " +
                     std::to_string(me_) + " of " + std::to_string(size_) + ", count " +
                     std::to_string(count_) + ", turn " + std::to_string(t) + "\n";
        return;
      }
    }
  }

  void allreduce() {
    Ints in(count_);
    Ints out(count_);
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto in_place = [&](int t) { return is_sum_to(size_ - 1, in, count_, 0, t); };
    const auto right = [&](int t) { return is_sum_to(size_ - 1, out, count_, 0, t); };
    Persistent call = papcoll::allreduce_init(comm_, in, papcoll::sum, algorithm_);
    again("allreduce in place", call, fill_in, in_place);
    call = papcoll::allreduce_init(comm_, in, out, papcoll::sum, algorithm_);
    again("allreduce", call, fill_in, right);
    call = papcoll::allreduce_init(comm_, in.data(), count_, papcoll::sum, algorithm_);
    again("allreduce in place, pointer and count", call, fill_in, in_place);
    const int zero = me_ - comm_.rank();  // the operator is the call's alone
    call = papcoll::allreduce_init(
        comm_, in.data(), out.data(), count_,
        papcoll::commutative([zero](int a, int b) { return a + b + zero; }), algorithm_);
    again("allreduce, pointers and count", call, fill_in, right);
    strided();
  }

  void strided() {
    Ints all(3 * count_, -1);
    const auto fill_in = [&](int t) {
      for (std::size_t i = 0; i < count_; ++i) all[3 * i] = element(me_, i, t);
    };
    const auto right = [&](int t) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (all[3 * i] != sum_to(size_ - 1, i, t) || all[3 * i + 1] != -1) return false;
      }
      return true;
    };
    const auto part = papcoll::strided(all.data(), count_, 1, 3);
    Persistent call = papcoll::allreduce_init(comm_, part, papcoll::sum, algorithm_);
    again("allreduce of a strided buffer", call, fill_in, right);
    Ints in(2 * count_);
    call = papcoll::allreduce_init(comm_, papcoll::strided(std::as_const(in).data(), count_, 1, 2),
                                   part, papcoll::sum, algorithm_);
    again(
        "allreduce of strided buffers", call,
        [&](int t) {
          for (std::size_t i = 0; i < count_; ++i) in[2 * i] = element(me_, i, t);
        },
        right);
  }

  void reduce() {
    Ints in(count_);
    Ints out(me_ == root_ ? count_ : 0);
    const papcoll::root to{root_};
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto right = [&](int t) {
      return me_ != root_ || is_sum_to(size_ - 1, out, count_, 0, t);
    };
    Persistent call = papcoll::reduce_init(comm_, in, out, to, papcoll::sum, algorithm_);
    again("reduce", call, fill_in, right);
    call = papcoll::reduce_init(comm_, in.data(), me_ == root_ ? out.data() : nullptr, count_, to,
                                papcoll::sum, algorithm_);
    again("reduce, pointers and count", call, fill_in, right);
    const auto in_place = [&](int t) {
      return me_ != root_ || is_sum_to(size_ - 1, in, count_, 0, t);
    };
    call = papcoll::reduce_init(comm_, in, to, papcoll::sum, algorithm_);
    again("reduce in place", call, fill_in, in_place);
    call = papcoll::reduce_init(comm_, in.data(), count_, to, papcoll::sum, algorithm_);
    again("reduce in place, pointer and count", call, fill_in, in_place);
  }

  void bcast() {
    Ints data(count_);
    const papcoll::root from{root_};
    const auto fill_in = [&](int t) { fill(data, me_, t); };
    const auto right = [&](int t) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (data[i] != element(root_, i, t)) return false;
      }
      return true;
    };
    Persistent call = papcoll::bcast_init(comm_, data, from, algorithm_);
    again("bcast", call, fill_in, right);
    call = papcoll::bcast_init(comm_, data.data(), count_, from, algorithm_);
    again("bcast, pointer and count", call, fill_in, right);
  }

  void allgather() {
    Ints in(count_);
    Ints out(count_ * ranks());
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto fill_own = [&](int t) {
      out.assign(out.size(), -1);
      for (std::size_t i = 0; i < count_; ++i) out[mine() + i] = element(me_, i, t);
    };
    const auto right = [&](int t) { return is_gathered(out, 0, t); };
    Persistent call = papcoll::allgather_init(comm_, in, out, algorithm_);
    again("allgather", call, fill_in, right);
    call = papcoll::allgather_init(comm_, in.data(), out.data(), count_, algorithm_);
    again("allgather, pointers and count", call, fill_in, right);
    call = papcoll::allgather_init(comm_, out, algorithm_);
    again("allgather in place", call, fill_own, right);
    call = papcoll::allgather_init(comm_, out.data(), count_, algorithm_);
    again("allgather in place, pointer and count", call, fill_own, right);
    if (!any_schedule()) return;
    // The counts may go.
    call = papcoll::allgatherv_init(comm_, in, out, papcoll::counts{Sizes(ranks(), count_)},
                                    algorithm_);
    again("allgatherv", call, fill_in, right);
    call =
        papcoll::allgatherv_init(comm_, out, papcoll::counts{Sizes(ranks(), count_)}, algorithm_);
    again("allgatherv in place", call, fill_own, right);
  }

  void reduce_scatter() {
    Ints in(count_ * ranks());
    Ints out(count_);
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto right = [&](int t) { return is_sum_to(size_ - 1, out, count_, mine(), t); };
    const auto in_place = [&](int t) { return is_sum_to(size_ - 1, in, count_, mine(), t); };
    Persistent call = papcoll::reduce_scatter_init(comm_, in, out, papcoll::sum, algorithm_);
    again("reduce_scatter", call, fill_in, right);
    call = papcoll::reduce_scatter_init(comm_, in.data(), out.data(), count_, papcoll::sum,
                                        algorithm_);
    again("reduce_scatter, pointers and count", call, fill_in, right);
    call = papcoll::reduce_scatter_init(comm_, in, papcoll::sum, algorithm_);
    again("reduce_scatter in place", call, fill_in, in_place);
    call = papcoll::reduce_scatter_init(comm_, in.data(), count_, papcoll::sum, algorithm_);
    again("reduce_scatter in place, pointer and count", call, fill_in, in_place);
    call = papcoll::reduce_scatter_init(comm_, in, out, papcoll::counts{Sizes(ranks(), count_)},
                                        papcoll::sum, algorithm_);
    again("reduce_scatter with counts", call, fill_in, right);
    call = papcoll::reduce_scatter_init(comm_, in, papcoll::counts{Sizes(ranks(), count_)},
                                        papcoll::sum, algorithm_);
    again("reduce_scatter in place with counts", call, fill_in, in_place);
  }

  void gather() {
    const bool at_root = me_ == root_;
    Ints in(count_);
    Ints out(at_root ? count_ * ranks() : 0);
    Ints data(at_root ? count_ * ranks() : count_);
    const papcoll::root to{root_};
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto fill_own = [&](int t) {
      data.assign(data.size(), -1);
      for (std::size_t i = 0; i < count_; ++i)
        data[(at_root ? mine() : 0) + i] = element(me_, i, t);
    };
    const auto right = [&](int t) { return !at_root || is_gathered(out, 0, t); };
    const auto in_place = [&](int t) { return !at_root || is_gathered(data, 0, t); };
    Persistent call = papcoll::gather_init(comm_, in, out, to, algorithm_);
    again("gather", call, fill_in, right);
    call = papcoll::gather_init(comm_, in.data(), at_root ? out.data() : nullptr, count_, to,
                                algorithm_);
    again("gather, pointers and count", call, fill_in, right);
    call = papcoll::gather_init(comm_, data, to, algorithm_);
    again("gather in place", call, fill_own, in_place);
    call = papcoll::gather_init(comm_, data.data(), count_, to, algorithm_);
    again("gather in place, pointer and count", call, fill_own, in_place);
    if (!any_schedule()) return;
    // The counts may go.
    call = papcoll::gatherv_init(comm_, in, out, papcoll::counts{Sizes(ranks(), count_)}, to,
                                 algorithm_);
    again("gatherv", call, fill_in, right);
    call =
        papcoll::gatherv_init(comm_, data, papcoll::counts{Sizes(ranks(), count_)}, to, algorithm_);
    again("gatherv in place", call, fill_own, in_place);
  }

  void scatter() {
    const bool at_root = me_ == root_;
    Ints in(at_root ? count_ * ranks() : 0);
    Ints out(count_);
    Ints data(at_root ? count_ * ranks() : count_);
    const papcoll::root from{root_};
    const auto fill_in = [&](int t) { fill(in, root_, t); };
    const auto fill_data = [&](int t) { fill(data, root_, t); };
    const auto is_part = [&](const Ints& part, std::size_t at, int t) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (part[at + i] != element(root_, mine() + i, t)) return false;
      }
      return true;
    };
    const auto right = [&](int t) { return is_part(out, 0, t); };
    const auto in_place = [&](int t) { return is_part(data, at_root ? mine() : 0, t); };
    Persistent call = papcoll::scatter_init(comm_, in, out, from, algorithm_);
    again("scatter", call, fill_in, right);
    call = papcoll::scatter_init(comm_, at_root ? in.data() : nullptr, out.data(), count_, from,
                                 algorithm_);
    again("scatter, pointers and count", call, fill_in, right);
    call = papcoll::scatter_init(comm_, data, from, algorithm_);
    again("scatter in place", call, fill_data, in_place);
    call = papcoll::scatter_init(comm_, data.data(), count_, from, algorithm_);
    again("scatter in place, pointer and count", call, fill_data, in_place);
    if (!any_schedule()) return;
    // The counts may go.
    call = papcoll::scatterv_init(comm_, in, out, papcoll::counts{Sizes(ranks(), count_)}, from,
                                  algorithm_);
    again("scatterv", call, fill_in, right);
    call = papcoll::scatterv_init(comm_, data, papcoll::counts{Sizes(ranks(), count_)}, from,
                                  algorithm_);
    again("scatterv in place", call, fill_data, in_place);
  }

  void alltoall() {
    Ints in(count_ * ranks());
    Ints out(count_ * ranks());
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto fill_out = [&](int t) { fill(out, me_, t); };
    const auto right = [&](int t) { return is_gathered(out, mine(), t); };
    Persistent call = papcoll::alltoall_init(comm_, in, out, algorithm_);
    again("alltoall", call, fill_in, right);
    call = papcoll::alltoall_init(comm_, in.data(), out.data(), count_, algorithm_);
    again("alltoall, pointers and count", call, fill_in, right);
    call = papcoll::alltoall_init(comm_, out, algorithm_);
    again("alltoall in place", call, fill_out, right);
    call = papcoll::alltoall_init(comm_, out.data(), count_, algorithm_);
    again("alltoall in place, pointer and count", call, fill_out, right);
  }

  void scan() {
    Ints in(count_);
    Ints out(count_);
    const auto fill_in = [&](int t) { fill(in, me_, t); };
    const auto right = [&](int t) { return is_sum_to(me_, out, count_, 0, t); };
    const auto in_place = [&](int t) { return is_sum_to(me_, in, count_, 0, t); };
    Persistent call = papcoll::scan_init(comm_, in, out, papcoll::sum, algorithm_);
    again("scan", call, fill_in, right);
    call = papcoll::scan_init(comm_, in.data(), out.data(), count_, papcoll::sum, algorithm_);
    again("scan, pointers and count", call, fill_in, right);
    call = papcoll::scan_init(comm_, in, papcoll::sum, algorithm_);
    again("scan in place", call, fill_in, in_place);
    call = papcoll::scan_init(comm_, in.data(), count_, papcoll::sum, algorithm_);
    again("scan in place, pointer and count", call, fill_in, in_place);
  }

  using Sizes = std::vector<std::size_t>;

  Comm& comm_;
  int me_;
  int size_;
  papcoll::Algorithm algorithm_;
  int repeats_;
  std::size_t count_ = 0;
  int root_ = 0;
  std::string problems_;
};

/// All collectives by an algorithm of that name; empty: chosen.
template <class Comm>
std::string problems(Comm& comm, const std::string& name, std::size_t count, int repeats) {
  const papcoll::Algorithm algorithm =
      name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
  return Runner<Comm>{comm, algorithm, repeats}.problems(count);
}

}  // namespace persistent_calls
