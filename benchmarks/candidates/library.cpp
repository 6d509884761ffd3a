// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/library.hpp"

#include <papcoll/explain.hpp>

#include <cstdlib>
#include <memory>
#include <span>

namespace bench {
namespace {

/// In and Out are what papcoll takes as buffers.
template <class In, class Out> struct Arguments {
  papcoll::Communicator& comm;
  In in;
  Out out;
  bool in_place;
  papcoll::root root;
  papcoll::Algorithm algorithm;
};

template <class In, class Out, class F>
std::function<void()> reduction_with(Collective collective, const Arguments<In, Out>& a, F op) {
  switch (collective) {
    case Collective::allreduce:
      if (a.in_place) return [=] { papcoll::allreduce(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::allreduce(a.comm, a.in, a.out, op, a.algorithm); };
    case Collective::reduce:
      if (a.in_place) return [=] { papcoll::reduce(a.comm, a.out, a.root, op, a.algorithm); };
      return [=] { papcoll::reduce(a.comm, a.in, a.out, a.root, op, a.algorithm); };
    case Collective::scan:
      if (a.in_place) return [=] { papcoll::scan(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::scan(a.comm, a.in, a.out, op, a.algorithm); };
    case Collective::exscan:
      if (a.in_place) return [=] { papcoll::exscan(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::exscan(a.comm, a.in, a.out, op, a.algorithm); };
    case Collective::reduce_scatter:
      if (a.in_place) return [=] { papcoll::reduce_scatter(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::reduce_scatter(a.comm, a.in, a.out, op, a.algorithm); };
    default: std::abort();
  }
}

/// Calls f(operator).
template <class F> std::function<void()> with_op(Op op, const F& f) {
  switch (op) {
    case Op::sum: return f(papcoll::sum);
    case Op::prod: return f(papcoll::prod);
    case Op::min: return f(papcoll::min);
    case Op::max: return f(papcoll::max);
  }
  std::abort();
}

/// Of blocks that differ.
template <class In, class Out>
std::function<void()> irregular(Collective collective, const Arguments<In, Out>& a,
                                const std::shared_ptr<const Irregular>& u) {
  const papcoll::blocks sent = u->given(u->sent);  // which borrow from u
  const papcoll::blocks received = u->given(u->received);
  const auto keeping = [u](auto call) { return [u, call] { call(); }; };
  switch (collective) {
    case Collective::alltoall:
      if (a.in_place) return keeping([=] { papcoll::alltoallv(a.comm, a.out, sent, a.algorithm); });
      return keeping([=] { papcoll::alltoallv(a.comm, a.in, sent, a.out, received, a.algorithm); });
    case Collective::allgather:
      if (a.in_place)
        return keeping([=] { papcoll::allgatherv(a.comm, a.out, received, a.algorithm); });
      return keeping([=] { papcoll::allgatherv(a.comm, a.in, a.out, received, a.algorithm); });
    case Collective::gather:
      if (a.in_place)
        return keeping([=] { papcoll::gatherv(a.comm, a.out, received, a.root, a.algorithm); });
      return keeping([=] { papcoll::gatherv(a.comm, a.in, a.out, received, a.root, a.algorithm); });
    case Collective::scatter:
      if (a.in_place)
        return keeping([=] { papcoll::scatterv(a.comm, a.out, sent, a.root, a.algorithm); });
      return keeping([=] { papcoll::scatterv(a.comm, a.in, a.out, sent, a.root, a.algorithm); });
    default: std::abort();
  }
}

template <class In, class Out>
std::function<void()> movement(Collective collective, const Arguments<In, Out>& a) {
  switch (collective) {
    case Collective::bcast: return [=] { papcoll::bcast(a.comm, a.out, a.root, a.algorithm); };
    case Collective::allgather:
      if (a.in_place) return [=] { papcoll::allgather(a.comm, a.out, a.algorithm); };
      return [=] { papcoll::allgather(a.comm, a.in, a.out, a.algorithm); };
    case Collective::gather:
      if (a.in_place) return [=] { papcoll::gather(a.comm, a.out, a.root, a.algorithm); };
      return [=] { papcoll::gather(a.comm, a.in, a.out, a.root, a.algorithm); };
    case Collective::scatter:
      if (a.in_place) return [=] { papcoll::scatter(a.comm, a.out, a.root, a.algorithm); };
      return [=] { papcoll::scatter(a.comm, a.in, a.out, a.root, a.algorithm); };
    case Collective::alltoall:
      if (a.in_place) return [=] { papcoll::alltoall(a.comm, a.out, a.algorithm); };
      return [=] { papcoll::alltoall(a.comm, a.in, a.out, a.algorithm); };
    case Collective::barrier: return [=] { papcoll::barrier(a.comm, a.algorithm); };
    default: std::abort();
  }
}

/// Of blocks of one length.
template <class In, class Out>
std::function<void()> even(const Problem& problem, const Arguments<In, Out>& a) {
  if (!is_reduction(problem.collective)) return movement(problem.collective, a);
  return with_op(problem.op, [&](auto op) { return reduction_with(problem.collective, a, op); });
}

}  // namespace

std::function<void()> library_call(const Problem& problem, const Buffers& buffers,
                                   papcoll::Communicator& comm,
                                   const papcoll::Algorithm& algorithm) {
  return with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const T* const in = reinterpret_cast<const T*>(buffers.input());
    T* const out = reinterpret_cast<T*>(buffers.output());
    const auto with = [&](auto i, auto o) {
      return Arguments<decltype(i), decltype(o)>{
          comm, i, o, problem.in_place, papcoll::root{problem.root}, algorithm};
    };
    if (problem.layout.is_noncontiguous()) {
      return even(problem, with(problem.layout.of(in, problem.input_count()),
                                problem.layout.of(out, problem.output_count())));
    }
    const auto ranges =
        with(std::span{in, problem.input_extent()}, std::span{out, problem.output_extent()});
    if (problem.irregular != nullptr)
      return irregular(problem.collective, ranges, problem.irregular);
    return even(problem, ranges);
  });
}

std::string library_name(const Problem& problem, papcoll::Communicator& comm,
                         const papcoll::Algorithm& algorithm) {
  return papcoll::explain(comm, problem.collective, problem.bytes(),
                          {.element_size = size_of(problem.type),
                           .irregular = problem.irregular != nullptr,
                           .algorithm = algorithm})
      .algorithm;
}

}  // namespace bench
