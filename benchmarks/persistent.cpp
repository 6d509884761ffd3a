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
        in_(reinterpret_cast<const T*>(buffers.input()), problem.input_extent()),
        out_(reinterpret_cast<T*>(buffers.output()), problem.output_extent()),
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
      case Collective::exscan:
        return of_buffers(
            [&](auto... b) { return papcoll::exscan_init(comm_, b..., op, algorithm_); });
      case Collective::reduce_scatter:
        return of_buffers(
            [&](auto... b) { return papcoll::reduce_scatter_init(comm_, b..., op, algorithm_); });
      default:
        std::abort();
    }
  }

  /// Of buffers whose elements lie apart; takes_layout() says for which collectives.
  template <class F>
  Persistent strided(const Problem& problem, const F& op) const {
    const auto in = problem.layout.of(in_.data(), problem.input_count());
    const auto out = problem.layout.of(out_.data(), problem.output_count());
    switch (problem.collective) {
      case Collective::allreduce:
        if (in_place_) return papcoll::allreduce_init(comm_, out, op, algorithm_);
        return papcoll::allreduce_init(comm_, in, out, op, algorithm_);
      default:
        std::abort();
    }
  }

  /// Of blocks that differ.
  Persistent uneven(Collective collective, const Uneven& u) const {
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

template <class T, class F>
Persistent reduction(const Maker<T>& maker, const Problem& problem, const F& op) {
  if (problem.layout.is_apart()) return maker.strided(problem, op);
  return maker.reduction(problem.collective, op);
}

template <class T>
Persistent made(const Maker<T>& maker, const Problem& problem) {
  if (problem.uneven != nullptr) return maker.uneven(problem.collective, *problem.uneven);
  if (!papcoll::is_reduction(problem.collective)) return maker.movement(problem.collective);
  switch (problem.op) {
    case Op::sum:
      return reduction(maker, problem, papcoll::sum);
    case Op::prod:
      return reduction(maker, problem, papcoll::prod);
    case Op::min:
      return reduction(maker, problem, papcoll::min);
    case Op::max:
      return reduction(maker, problem, papcoll::max);
  }
  std::abort();
}

}  // namespace

std::function<void()> persistent_call(const Problem& problem, const Buffers& buffers,
                                      papcoll::Communicator& comm,
                                      const papcoll::Algorithm& algorithm) {
  const auto call = with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const Maker<T> maker{problem, buffers, comm, algorithm};
    return std::make_shared<Persistent>(made(maker, problem));
  });
  return [call] { (*call)(); };
}

}  // namespace bench
