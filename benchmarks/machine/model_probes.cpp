// SPDX-License-Identifier: BSD-3-Clause
#include "machine/model_probes.hpp"

#include "machine/probes.hpp"
#include "timing/quiet.hpp"
#include "timing/statistics.hpp"

#include <papcoll/base/op.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

constexpr int probe_tag = 19;
constexpr std::size_t largest = std::size_t{4} << 20;

/// The first and the last rank do something, of which the first one's result is everybody's.
template <class F> double between_first_and_last(const Placement& placement, F&& f) {
  const int last = placement.ranks() - 1;
  double result = 0;
  if (placement.rank() == 0) result = f(last, true);
  if (placement.rank() == last) f(0, false);
  quiet_barrier(placement.comm());
  MPI_Bcast(&result, 1, MPI_DOUBLE, 0, placement.comm());
  return result;
}

constexpr int in_a_row = 64;

/// Seconds a message, of many in a row whose receives are posted: those in which the sender is in
/// MPI_Isend, or all, until the last is known to have come.
double burst(MPI_Comm comm, int partner, bool sends, std::size_t bytes, bool only_sending) {
  constexpr int repetitions = 50;
  const auto n = static_cast<int>(bytes);
  std::vector<std::byte> buffer(bytes * in_a_row);
  std::vector<double> times;
  std::array<MPI_Request, in_a_row> requests{};
  for (int i = 0; i < repetitions; ++i) {
    std::byte* at = buffer.data();
    if (!sends) {
      for (MPI_Request& r : requests) {
        MPI_Irecv(at, n, MPI_BYTE, partner, probe_tag, comm, &r);
        at += bytes;
      }
      MPI_Send(nullptr, 0, MPI_BYTE, partner, probe_tag, comm);
      MPI_Waitall(in_a_row, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Send(nullptr, 0, MPI_BYTE, partner, probe_tag, comm);
      continue;
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, partner, probe_tag, comm, MPI_STATUS_IGNORE);
    const std::int64_t start = local_now();
    for (MPI_Request& r : requests) {
      MPI_Isend(at, n, MPI_BYTE, partner, probe_tag, comm, &r);
      at += bytes;
    }
    const double sending = seconds_since(start);
    MPI_Waitall(in_a_row, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Recv(nullptr, 0, MPI_BYTE, partner, probe_tag, comm, MPI_STATUS_IGNORE);
    times.push_back((only_sending ? sending : seconds_since(start)) / in_a_row);
  }
  return median(times);
}

/// Calls f(op) with papcoll's operator.
template <class F> void with_op(Op op, F&& f) {
  switch (op) {
    case Op::sum: return f(papcoll::sum);
    case Op::prod: return f(papcoll::prod);
    case Op::min: return f(papcoll::min);
    case Op::max: return f(papcoll::max);
  }
  std::abort();
}

struct Rate {
  double seconds_per_byte;
  double confidence;
};

/// What `work` takes for one of `bytes` bytes, alone on the machine.
template <class TransportOp> Rate rate(std::size_t bytes, TransportOp&& work) {
  constexpr int windows = 21;
  constexpr int calls = 10;
  std::vector<double> times;
  work();
  for (int w = 0; w < windows; ++w) {
    const std::int64_t start = local_now();
    for (int i = 0; i < calls; ++i) work();
    times.push_back(seconds_since(start) / calls / static_cast<double>(bytes));
  }
  return {median(times), median_confidence_95(times)};
}

// The operands of a message of this length are in a cache when they are combined.
constexpr std::size_t cached = std::size_t{64} << 10;

}  // namespace

MessageCosts probe_message_costs(const Placement& placement) {
  MessageCosts costs;
  std::vector<papcoll::Observation<2>> observations;
  for (std::size_t bytes = 8; bytes <= largest; bytes *= 2) {
    costs.one_way.push_back({bytes, probe_one_way(placement, bytes)});
    observations.push_back({{1, static_cast<double>(bytes)}, costs.one_way.back().seconds});
  }
  costs.line = papcoll::regress<2>(observations);

  const auto between = [&](auto&& f, std::size_t bytes, auto... more) {
    return between_first_and_last(placement, [&](int partner, bool sends) {
      return f(placement.comm(), partner, sends, bytes, more...);
    });
  };
  costs.gap = between(burst, 8, false);
  observations.clear();
  for (const std::size_t bytes : {8U, 64U, 512U, 1024U, 2048U}) {
    observations.push_back({{1, static_cast<double>(bytes)}, between(burst, bytes, true)});
  }
  const papcoll::Regression<2> sending = papcoll::regress<2>(observations);
  costs.overhead = sending.values[0];
  costs.overhead_per_byte = sending.values[1];
  costs.rendezvous = where_times_jump(costs.one_way);
  return costs;
}

CombiningCost probe_combining(const Placement& placement, Type type, Op op) {
  CombiningCost cost{type, op};
  if (placement.rank() == 0) {
    with_type(type, [&]<class T>(std::type_identity<T>) {
      with_op(op, [&](const auto& operation) {
        // Ones stay ones, or small numbers, under any operator.
        std::vector<T> low(cached / sizeof(T), T{1});
        const std::vector<T> high(cached / sizeof(T), T{1});
        const papcoll::Reducer reducer = papcoll::reducer<T>(operation);
        auto* const out = reinterpret_cast<std::byte*>(low.data());
        const auto* const other = reinterpret_cast<const std::byte*>(high.data());
        const Rate r =
            rate(cached, [&] { reducer.apply(out, out, other, low.size(), reducer.context); });
        cost.seconds_per_byte = r.seconds_per_byte;
        cost.confidence = r.confidence;
      });
    });
  }
  quiet_barrier(placement.comm());
  MPI_Bcast(&cost.seconds_per_byte, 1, MPI_DOUBLE, 0, placement.comm());
  MPI_Bcast(&cost.confidence, 1, MPI_DOUBLE, 0, placement.comm());
  return cost;
}

std::vector<CombiningCost> probe_combining(const Placement& placement) {
  std::vector<CombiningCost> costs;
  for (std::size_t t = 0; t < type_names.size(); ++t) {
    for (std::size_t o = 0; o < op_names.size(); ++o) {
      costs.push_back(probe_combining(placement, static_cast<Type>(t), static_cast<Op>(o)));
    }
  }
  return costs;
}

double probe_copying(const Placement& placement) {
  double seconds = 0;
  if (placement.rank() == 0) {
    const std::vector<std::byte> from(cached, std::byte{1});
    std::vector<std::byte> to(cached);
    seconds = rate(cached, [&] {
                std::memcpy(to.data(), from.data(), cached);
                asm volatile("" : : "r"(to.data()) : "memory");
              }).seconds_per_byte;
  }
  quiet_barrier(placement.comm());
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, placement.comm());
  return seconds;
}

}  // namespace bench
