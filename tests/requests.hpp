// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Non-blocking calls in all kinds of company, for threads and processes alike. Each scenario is run
// by all ranks and gives what is wrong on this rank, or "".

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scatter.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace requests {

using papcoll::Request;
using papcoll::root;

/// One request of each collective, with the data it works on.
template <class Comm> class All {
 public:
  /// Element i of rank r's contribution is salt + 1000 r + i.
  All(Comm& comm, std::size_t count, int salt)
      : size_(comm.size()),
        rank_(comm.rank()),
        count_(count),
        salt_(salt),
        root_(salt % size_),
        mine_(filled(count, rank_, 0)),
        everything_(filled(count * static_cast<std::size_t>(size_), rank_, 0)),
        reduced_(mine_),
        at_root_(count),
        from_root_(mine_),
        gathered_(count * static_cast<std::size_t>(size_)),
        gathered_at_root_(rank_ == root_ ? gathered_.size() : 0),
        scattered_(count),
        share_(count) {}

  /// Starts one after the other; the k-th may be finished as request(k).
  void start(Comm& comm, const papcoll::Algorithm& algorithm) {
    const auto can = [&](papcoll::Collective c) {
      return algorithm.name().empty() || algorithm.spec().is_automatic() ||
             algorithm.spec().schedule.serves(c);
    };
    using papcoll::Collective;
    const root r{root_};
    if (can(Collective::allreduce)) {
      requests_[0] = papcoll::iallreduce(comm, reduced_, papcoll::sum, algorithm);
    }
    if (can(Collective::reduce)) {
      // The operator is the request's alone.
      const int zero = rank_ - comm.rank();
      requests_[1] = papcoll::ireduce(
          comm, mine_, at_root_, r,
          papcoll::commutative([zero](int a, int b) { return a + b + zero; }), algorithm);
    }
    if (can(Collective::bcast)) requests_[2] = papcoll::ibcast(comm, from_root_, r, algorithm);
    if (can(Collective::allgather)) {
      requests_[3] = papcoll::iallgather(comm, mine_, gathered_, algorithm);
    }
    if (can(Collective::reduce_scatter)) {
      const std::vector<std::size_t> each(static_cast<std::size_t>(size_), count_);
      requests_[4] = papcoll::ireduce_scatter(comm, everything_, share_, papcoll::counts{each},
                                              papcoll::sum, algorithm);
    }
    if (can(Collective::gather)) {
      requests_[5] = papcoll::igather(comm, mine_, gathered_at_root_, r, algorithm);
    }
    if (can(Collective::scatter)) {
      requests_[6] = papcoll::iscatter(comm, everything_, scattered_, r, algorithm);
    }
    if (can(Collective::barrier)) requests_[7] = papcoll::ibarrier(comm, algorithm);
    for (std::size_t k = 0; k < started_.size(); ++k) {
      started_[k] =
          can(std::array{Collective::allreduce, Collective::reduce, Collective::bcast,
                         Collective::allgather, Collective::reduce_scatter, Collective::gather,
                         Collective::scatter, Collective::barrier}[k]);
    }
  }

  static constexpr std::size_t kinds = 8;
  Request& request(std::size_t k) { return requests_[k]; }

  /// All requests must be complete.
  std::string problem() const {
    std::string text;
    const auto expect = [&](std::size_t k, const char* what, const std::vector<int>& got,
                            const std::vector<int>& wanted) {
      if (started_[k] && got != wanted) {
        text += std::string(what) + " of " + std::to_string(count_) + " on rank " +
                std::to_string(rank_) + " of " + std::to_string(size_) + " is wrong\n";
      }
    };
    expect(0, "iallreduce", reduced_, summed(count_, 0));
    if (rank_ == root_) expect(1, "ireduce", at_root_, summed(count_, 0));
    expect(2, "ibcast", from_root_, filled(count_, root_, 0));
    std::vector<int> all;
    for (int r = 0; r < size_; ++r) {
      const auto part = filled(count_, r, 0);
      all.insert(all.end(), part.begin(), part.end());
    }
    expect(3, "iallgather", gathered_, all);
    const std::size_t before = static_cast<std::size_t>(rank_) * count_;
    expect(4, "ireduce_scatter", share_, summed(count_, before));
    if (rank_ == root_) expect(5, "igather", gathered_at_root_, all);
    expect(6, "iscatter", scattered_, filled(count_, root_, before));
    return text;
  }

 private:
  std::vector<int> filled(std::size_t n, int r, std::size_t first) const {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), salt_ + 1000 * r + static_cast<int>(first));
    return v;
  }
  std::vector<int> summed(std::size_t n, std::size_t first) const {
    std::vector<int> v(n);
    for (int r = 0; r < size_; ++r) {
      const auto part = filled(n, r, first);
      for (std::size_t i = 0; i < n; ++i) v[i] += part[i];
    }
    return v;
  }

  int size_;
  int rank_;
  std::size_t count_;
  int salt_;
  int root_;
  std::vector<int> mine_;
  std::vector<int> everything_;
  std::vector<int> reduced_;
  std::vector<int> at_root_;
  std::vector<int> from_root_;
  std::vector<int> gathered_;
  std::vector<int> gathered_at_root_;
  std::vector<int> scattered_;
  std::vector<int> share_;
  std::array<bool, kinds> started_{};
  std::array<Request, kinds> requests_;  // last: what it destroys may still be in use
};

/// The numbers 0 to kinds − 1 in an order that differs from rank to rank.
inline std::vector<std::size_t> order_of(int rank, std::size_t kinds) {
  std::vector<std::size_t> order(kinds);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int i = 0; i < rank; ++i) std::next_permutation(order.begin(), order.end());
  std::rotate(order.begin(), order.begin() + rank % static_cast<int>(kinds), order.end());
  return order;
}

/// Two of each kind at once, waited for in another order on each rank.
template <class Comm>
std::string waited_for_in_any_order(Comm& comm, std::size_t count,
                                    const papcoll::Algorithm& algorithm) {
  All<Comm> a{comm, count, 1};
  All<Comm> b{comm, count + 1, 2};
  a.start(comm, algorithm);
  b.start(comm, algorithm);
  for (const std::size_t k : order_of(comm.rank(), All<Comm>::kinds)) {
    a.request(k).wait();
    b.request(All<Comm>::kinds - 1 - k).wait();
  }
  return a.problem() + b.problem();
}

/// Only ever asked, never waited for.
template <class Comm>
std::string tested(Comm& comm, std::size_t count, const papcoll::Algorithm& algorithm) {
  All<Comm> a{comm, count, 3};
  a.start(comm, algorithm);
  for (bool done = false; !done;) {
    done = true;
    for (std::size_t k = 0; k < All<Comm>::kinds; ++k) done &= a.request(k).test();
    std::this_thread::yield();
  }
  return a.problem();
}

/// Outstanding while blocking calls of both engines run.
template <class Comm>
std::string beside_blocking_calls(Comm& comm, std::size_t count,
                                  const papcoll::Algorithm& algorithm) {
  std::string text;
  All<Comm> a{comm, count, 4};
  a.start(comm, algorithm);
  const int ranks = comm.size();
  const int sum = papcoll::allreduce(comm, comm.rank());
  if (sum != ranks * (ranks - 1) / 2) text += "a blocking allreduce is wrong\n";
  std::vector<int> data(count, comm.rank() == 0 ? 7 : 0);
  papcoll::bcast(comm, data, root{0}, papcoll::algorithm("Binomial"));
  if (data != std::vector<int>(count, 7)) text += "a blocking bcast is wrong\n";
  papcoll::barrier(comm);
  std::vector<int> max(count, comm.rank());
  papcoll::allreduce(comm, max, papcoll::max, papcoll::algorithm("Rabenseifner"));
  if (max != std::vector<int>(count, ranks - 1)) text += "a blocking maximum is wrong\n";
  for (std::size_t k = All<Comm>::kinds; k-- > 0;) a.request(k).wait();
  return text + a.problem();
}

/// Rank 0 waits for the request before it joins the barrier that the others sit in: there they must
/// move the request along.
template <class Comm>
std::string driven_from_another_call(Comm& comm, std::size_t count,
                                     const papcoll::Algorithm& non_blocking,
                                     const papcoll::Algorithm& blocking) {
  std::vector<int> data(count, 1);
  Request request = papcoll::iallreduce(comm, data, papcoll::sum, non_blocking);
  if (comm.rank() == 0) request.wait();
  papcoll::barrier(comm, blocking);
  request.wait();
  return data == std::vector<int>(count, comm.size()) ? "" : "the sum is wrong\n";
}

/// Requests that go out of scope, or are assigned to, wait for themselves.
template <class Comm> std::string never_waited_for(Comm& comm, std::size_t count) {
  std::vector<int> data(count, 1);
  std::vector<int> other(count, 2);
  {
    Request request = papcoll::iallreduce(comm, data);
    Request moved = std::move(request);
    if (!request.complete()) return "a request that was moved from is not empty\n";
    moved = papcoll::iallreduce(comm, other);
    if (data != std::vector<int>(count, comm.size())) return "assignment did not wait\n";
  }
  return other == std::vector<int>(count, 2 * comm.size()) ? "" : "destruction did not wait\n";
}

/// So many at once, of which each rank waits for some, tests some and destroys the rest, in an
/// order of its own; one of the first stays to the end.
template <class Comm>
std::string many_at_once(Comm& comm, std::size_t number, const papcoll::Algorithm& algorithm) {
  std::vector<int> data(number);
  std::iota(data.begin(), data.end(), 0);
  std::vector<Request> all;
  for (int& element : data) {
    all.push_back(papcoll::iallreduce(comm, &element, 1, papcoll::sum, algorithm));
  }
  std::vector<std::size_t> order(number);
  const auto rank = static_cast<std::size_t>(comm.rank());
  for (std::size_t i = 0; i < number; ++i) order[i] = (i * 7 + rank * 3) % number;
  if (number % 7 == 0) return "take a number that 7 does not divide\n";
  if (rank % 2 == 1) std::reverse(order.begin(), order.end());
  std::swap(order.back(), *std::find(order.begin(), order.end(), rank));
  for (const std::size_t i : order) {
    if (i % 3 == 0) all[i].wait();
    while (i % 3 == 1 && !all[i].test()) std::this_thread::yield();
    if (i % 3 == 2) all[i] = {};
  }
  for (std::size_t i = 0; i < number; ++i) {
    if (data[i] != comm.size() * static_cast<int>(i)) return "one of many is wrong\n";
  }
  return "";
}

/// Nothing to do is done at once.
template <class Comm> std::string empty_ones(Comm& comm) {
  All<Comm> a{comm, 0, 5};
  a.start(comm, {});
  for (std::size_t k = 0; k + 1 < All<Comm>::kinds; ++k) {
    if (k != 4 && !a.request(k).complete()) return "a call without elements is not complete\n";
  }
  a.request(4).wait();
  a.request(All<Comm>::kinds - 1).wait();
  return a.problem();
}

}  // namespace requests
