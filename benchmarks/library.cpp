#include "library.hpp"

#include <papcoll/explain.hpp>

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
    case Collective::scan:
      if (a.in_place) return [=] { papcoll::scan(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::scan(a.comm, a.in, a.out, op, a.algorithm); };
    case Collective::exscan:
      if (a.in_place) return [=] { papcoll::exscan(a.comm, a.out, op, a.algorithm); };
      return [=] { papcoll::exscan(a.comm, a.in, a.out, op, a.algorithm); };
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
    case Collective::alltoall:
      if (a.in_place) return [=] { papcoll::alltoall(a.comm, a.out, a.algorithm); };
      return [=] { papcoll::alltoall(a.comm, a.in, a.out, a.algorithm); };
    case Collective::barrier:
      return [=] { papcoll::barrier(a.comm, a.algorithm); };
    default:
      std::abort();
  }
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
  return papcoll::explain(comm, problem.collective, problem.bytes(),
                          {.element_size = size_of(problem.type), .algorithm = algorithm})
      .algorithm;
}

}  // namespace bench
