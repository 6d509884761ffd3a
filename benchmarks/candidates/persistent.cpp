// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/persistent.hpp"

#include <papcoll/call/persistent_call.hpp>

#include <cstdlib>
#include <memory>
#include <span>

namespace bench {
namespace {

using papcoll::Persistent;

/// In and Out are what papcoll takes as buffers.
template <class In, class Out> class Maker {
 public:
  Maker(const Problem& problem, const In& in, const Out& out, papcoll::Communicator& comm,
        const papcoll::Algorithm& algorithm)
      : comm_(comm),
        algorithm_(algorithm),
        in_(in),
        out_(out),
        in_place_(problem.in_place),
        root_(problem.root) {}

  template <class F> Persistent reduction(Collective collective, const F& op) const {
    switch (collective) {
      case Collective::allreduce:
        return of_buffers(
            [&](auto... b) { return papcoll::allreduce_init(comm_, b..., op, algorithm_); });
      case Collective::reduce:
        return of_buffers(
            [&](auto... b) { return papcoll::reduce_init(comm_, b..., root_, op, algorithm_); });
      case Collective::scan:
        return of_buffers(
            [&](auto... b) { return papcoll::scan_init(comm_, b..., op, algorithm_); });
      case Collective::exscan:
        return of_buffers(
            [&](auto... b) { return papcoll::exscan_init(comm_, b..., op, algorithm_); });
      case Collective::reduce_scatter:
        return of_buffers(
            [&](auto... b) { return papcoll::reduce_scatter_init(comm_, b..., op, algorithm_); });
      default: std::abort();
    }
  }

  /// Of blocks that differ.
  Persistent irregular(Collective collective, const Irregular& u) const {
    const papcoll::blocks sent = u.given(u.sent);
    const papcoll::blocks received = u.given(u.received);
    switch (collective) {
      case Collective::alltoall:
        if (in_place_) return papcoll::alltoallv_init(comm_, out_, sent, algorithm_);
        return papcoll::alltoallv_init(comm_, in_, sent, out_, received, algorithm_);
      case Collective::allgather:
        return of_buffers(
            [&](auto... b) { return papcoll::allgatherv_init(comm_, b..., received, algorithm_); });
      case Collective::gather:
        return of_buffers([&](auto... b) {
          return papcoll::gatherv_init(comm_, b..., received, root_, algorithm_);
        });
      case Collective::scatter:
        return of_buffers([&](auto... b) {
          return papcoll::scatterv_init(comm_, b..., sent, root_, algorithm_);
        });
      default: std::abort();
    }
  }

  Persistent movement(Collective collective) const {
    switch (collective) {
      case Collective::bcast: return papcoll::bcast_init(comm_, out_, root_, algorithm_);
      case Collective::allgather:
        return of_buffers(
            [&](auto... b) { return papcoll::allgather_init(comm_, b..., algorithm_); });
      case Collective::gather:
        return of_buffers(
            [&](auto... b) { return papcoll::gather_init(comm_, b..., root_, algorithm_); });
      case Collective::scatter:
        return of_buffers(
            [&](auto... b) { return papcoll::scatter_init(comm_, b..., root_, algorithm_); });
      case Collective::alltoall:
        return of_buffers(
            [&](auto... b) { return papcoll::alltoall_init(comm_, b..., algorithm_); });
      case Collective::barrier: return papcoll::barrier_init(comm_, algorithm_);
      default: std::abort();
    }
  }

 private:
  template <class Make> Persistent of_buffers(Make&& make) const {
    return in_place_ ? make(out_) : make(in_, out_);
  }

  papcoll::Communicator& comm_;
  const papcoll::Algorithm& algorithm_;
  In in_;
  Out out_;
  bool in_place_;
  papcoll::root root_;
};

/// Of blocks of one length.
template <class In, class Out>
Persistent even(const Maker<In, Out>& maker, const Problem& problem) {
  const Collective c = problem.collective;
  if (!papcoll::is_reduction(c)) return maker.movement(c);
  switch (problem.op) {
    case Op::sum: return maker.reduction(c, papcoll::sum);
    case Op::prod: return maker.reduction(c, papcoll::prod);
    case Op::min: return maker.reduction(c, papcoll::min);
    case Op::max: return maker.reduction(c, papcoll::max);
  }
  std::abort();
}

}  // namespace

std::function<void()> persistent_call(const Problem& problem, const Buffers& buffers,
                                      papcoll::Communicator& comm,
                                      const papcoll::Algorithm& algorithm) {
  const auto call = with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const T* const in = reinterpret_cast<const T*>(buffers.input());
    T* const out = reinterpret_cast<T*>(buffers.output());
    if (problem.layout.is_noncontiguous()) {
      const Maker maker{problem, problem.layout.of(in, problem.input_count()),
                        problem.layout.of(out, problem.output_count()), comm, algorithm};
      return std::make_shared<Persistent>(even(maker, problem));
    }
    const Maker maker{problem, std::span{in, problem.input_extent()},
                      std::span{out, problem.output_extent()}, comm, algorithm};
    return std::make_shared<Persistent>(
        problem.irregular != nullptr ? maker.irregular(problem.collective, *problem.irregular)
                                     : even(maker, problem));
  });
  return [call] { (*call)(); };
}

}  // namespace bench
