#include "library.hpp"

#include <cstdlib>
#include <span>

namespace bench {
namespace {

template <class T>
struct Arguments {
  papcoll::Communicator& comm;
  std::span<const T> in;
  std::span<T> out;
  bool in_place;
  papcoll::root root;
  papcoll::Algorithm algorithm;
};

template <class T, class F>
std::function<void()> reduction_with(Collective collective, const Arguments<T>& a, F op) {
  switch (collective) {
    case Collective::allreduce:
      if (a.in_place) return [=] { papcoll::allreduce(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::allreduce(a.comm, a.in, a.out, op, a.algorithm); };
    case Collective::reduce:
      if (a.in_place) return [=] { papcoll::reduce(a.comm, a.out, a.root, op, a.algorithm); };
      return [=] { papcoll::reduce(a.comm, a.in, a.out, a.root, op, a.algorithm); };
    case Collective::reduce_scatter:
      if (a.in_place) return [=] { papcoll::reduce_scatter(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::reduce_scatter(a.comm, a.in, a.out, op, a.algorithm); };
    default:
      std::abort();
  }
}

template <class T>
std::function<void()> reduction(Collective collective, const Arguments<T>& a, Op op) {
  switch (op) {
    case Op::sum:
      return reduction_with(collective, a, papcoll::sum);
    case Op::prod:
      return reduction_with(collective, a, papcoll::prod);
    case Op::min:
      return reduction_with(collective, a, papcoll::min);
    case Op::max:
      return reduction_with(collective, a, papcoll::max);
  }
  std::abort();
}

template <class T>
std::function<void()> movement(Collective collective, const Arguments<T>& a) {
  switch (collective) {
    case Collective::bcast:
      return [=] { papcoll::bcast(a.comm, a.out, a.root, a.algorithm); };
    case Collective::allgather:
      if (a.in_place) return [=] { papcoll::allgather(a.comm, a.out, a.algorithm); };
      return [=] { papcoll::allgather(a.comm, a.in, a.out, a.algorithm); };
    case Collective::gather:
      if (a.in_place) return [=] { papcoll::gather(a.comm, a.out, a.root, a.algorithm); };
      return [=] { papcoll::gather(a.comm, a.in, a.out, a.root, a.algorithm); };
    case Collective::scatter:
      if (a.in_place) return [=] { papcoll::scatter(a.comm, a.out, a.root, a.algorithm); };
      return [=] { papcoll::scatter(a.comm, a.in, a.out, a.root, a.algorithm); };
    case Collective::barrier:
      return [=] { papcoll::barrier(a.comm, a.algorithm); };
    default:
      std::abort();
  }
}

/// What chooses for a call of that collective that names no algorithm.
papcoll::Choose* chooser_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return &papcoll::choose<Collective::allreduce>;
    case Collective::reduce:
      return &papcoll::choose<Collective::reduce>;
    case Collective::bcast:
      return &papcoll::choose<Collective::bcast>;
    case Collective::allgather:
      return &papcoll::choose<Collective::allgather>;
    case Collective::reduce_scatter:
      return &papcoll::choose<Collective::reduce_scatter>;
    case Collective::gather:
      return &papcoll::choose<Collective::gather>;
    case Collective::scatter:
      return &papcoll::choose<Collective::scatter>;
    case Collective::barrier:
      return &papcoll::choose<Collective::barrier>;
  }
  std::abort();
}

}  // namespace

std::function<void()> library_call(const Problem& problem, const Buffers& buffers,
                                   papcoll::Communicator& comm,
                                   const papcoll::Algorithm& algorithm) {
  return with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const Arguments<T> arguments{
        comm,
        {reinterpret_cast<const T*>(buffers.input()), problem.input_count()},
        {reinterpret_cast<T*>(buffers.output()), problem.output_count()},
        problem.in_place,
        papcoll::root{problem.root},
        algorithm};
    return is_reduction(problem.collective) ? reduction(problem.collective, arguments, problem.op)
                                            : movement(problem.collective, arguments);
  });
}

std::string library_name(const Problem& problem, papcoll::Communicator& comm,
                         const papcoll::Algorithm& algorithm) {
  if (algorithm.selection().composite != nullptr) return std::string(algorithm.name());
  papcoll::Call call;
  call.collective = problem.collective;
  call.count = problem.count;
  call.reducer.size = size_of(problem.type);
  call.root = problem.root;
  papcoll::TeamCore& team = comm.core();
  papcoll::Selection chosen = algorithm.selection();
  if (chosen.transport == nullptr) {
    chosen.transport = chosen.transport_name.empty() ? &team.default_transport()
                                                     : &team.transport(chosen.transport_name);
  }
  if (chosen.is_automatic()) {
    chooser_of(problem.collective)(chosen, call, team.size(), team.waiter().oversubscribed,
                                   team.options().chunk_bytes, static_cast<bool>(chosen.predictor));
  }
  std::string name =
      chosen.arrival != nullptr ? std::string(chosen.arrival->name) : chosen.schedule.name();
  if (chosen.predictor) name = papcoll::predicted_order_name(chosen.predictor) + "+" + name;
  name.append("+").append(chosen.transport->name);
  if (chosen.contract != papcoll::NumericalContract::rank_consistent) {
    name.append("+").append(papcoll::name_of(chosen.contract));
  }
  return name;
}

}  // namespace bench
