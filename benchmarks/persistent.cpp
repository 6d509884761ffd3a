#include "persistent.hpp"

#include <papcoll/persistent.hpp>

#include <cstdlib>
#include <memory>
#include <span>

namespace bench {
namespace {

using papcoll::Persistent;

template <class T>
class Maker {
 public:
  Maker(const Problem& problem, const Buffers& buffers, papcoll::Communicator& comm,
        const papcoll::Algorithm& algorithm)
      : comm_(comm),
        algorithm_(algorithm),
        in_(reinterpret_cast<const T*>(buffers.input()), problem.input_count()),
        out_(reinterpret_cast<T*>(buffers.output()), problem.output_count()),
        in_place_(problem.in_place),
        root_(problem.root) {}

  template <class F>
  Persistent reduction(Collective collective, const F& op) const {
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
      case Collective::reduce_scatter:
        return of_buffers(
            [&](auto... b) { return papcoll::reduce_scatter_init(comm_, b..., op, algorithm_); });
      default:
        std::abort();
    }
  }

  Persistent movement(Collective collective) const {
    switch (collective) {
      case Collective::bcast:
        return papcoll::bcast_init(comm_, out_, root_, algorithm_);
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
      case Collective::barrier:
        return papcoll::barrier_init(comm_, algorithm_);
      default:
        std::abort();
    }
  }

 private:
  template <class Make>
  Persistent of_buffers(Make&& make) const {
    return in_place_ ? make(out_) : make(in_, out_);
  }

  papcoll::Communicator& comm_;
  const papcoll::Algorithm& algorithm_;
  std::span<const T> in_;
  std::span<T> out_;
  bool in_place_;
  papcoll::root root_;
};

template <class T>
Persistent made(const Maker<T>& maker, Collective collective, Op op) {
  if (!papcoll::is_reduction(collective)) return maker.movement(collective);
  switch (op) {
    case Op::sum:
      return maker.reduction(collective, papcoll::sum);
    case Op::prod:
      return maker.reduction(collective, papcoll::prod);
    case Op::min:
      return maker.reduction(collective, papcoll::min);
    case Op::max:
      return maker.reduction(collective, papcoll::max);
  }
  std::abort();
}

}  // namespace

std::function<void()> persistent_call(const Problem& problem, const Buffers& buffers,
                                      papcoll::Communicator& comm,
                                      const papcoll::Algorithm& algorithm) {
  const auto call = with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const Maker<T> maker{problem, buffers, comm, algorithm};
    return std::make_shared<Persistent>(made(maker, problem.collective, problem.op));
  });
  return [call] { (*call)(); };
}

}  // namespace bench
