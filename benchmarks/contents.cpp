#include "contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace bench {
namespace {

/// Inputs repeat after this many elements: a prime, so that blocks and segments, whose lengths are
/// round numbers, are not mistaken for one another; short, so that expected results are tabulated.
constexpr std::size_t period = 251;

template <class T>
using Table = std::array<T, period>;

/// The input of one rank. For a product only three ranks of any five or more contribute a 2.
template <class T>
Table<T> inputs(const Problem& problem, int rank, unsigned round) {
  Table<T> table;
  const auto r = static_cast<std::size_t>(rank);
  const bool product = is_reduction(problem.collective) && problem.op == Op::prod;
  const auto cycle = static_cast<std::size_t>(std::max(problem.ranks, 5));
  for (std::size_t i = 0; i < period; ++i) {
    table[i] = product ? T((i + r + round) % cycle < 3 ? 2 : 1)
                       : T(1 + (7 * i + 13 * r + 31 * round) % 11);
  }
  return table;
}

template <class T>
T combine(Op op, T a, T b) {
  switch (op) {
    case Op::sum:
      return static_cast<T>(a + b);
    case Op::prod:
      return static_cast<T>(a * b);
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
  }
  return a;
}

/// The inputs that belong in this rank's result, combined.
template <class T>
Table<T> reduced(const Problem& problem, unsigned round) {
  Table<T> result = inputs<T>(problem, 0, round);
  const int last = papcoll::contributors(problem.collective, problem.rank, problem.ranks).last;
  for (int rank = 1; rank < last; ++rank) {
    const Table<T> other = inputs<T>(problem, rank, round);
    for (std::size_t i = 0; i < period; ++i) {
      result[i] = combine(problem.op, result[i], other[i]);
    }
  }
  return result;
}

/// Elements [first, first + count) of a rank's input.
template <class T>
void write(T* to, std::size_t count, std::size_t first, const Table<T>& table) {
  for (std::size_t i = 0; i < count; ++i) to[i] = table[(first + i) % period];
}

template <class T>
std::optional<std::string> compare(const T* got, std::size_t count, std::size_t first,
                                   const Table<T>& expected, std::size_t offset = 0) {
  for (std::size_t i = 0; i < count; ++i) {
    const T wanted = expected[(first + i) % period];
    if (got[i] != wanted) {
      return fmt::format("element {} is {}, not {}", offset + i, got[i], wanted);
    }
  }
  return std::nullopt;
}

/// Where this rank's own contribution stands in the only buffer of a call in place.
template <class T>
T* own_block(const Problem& problem, T* output) {
  const bool gathers = problem.collective == Collective::allgather ||
                       (problem.collective == Collective::gather && problem.is_root());
  return output + (gathers ? static_cast<std::size_t>(problem.rank) * problem.count : 0);
}

template <class T>
void fill(const Problem& problem, const Buffers& buffers, unsigned round) {
  std::fill_n(buffers.output(), buffers.output_bytes(), std::byte{0xa5});
  auto* const input = reinterpret_cast<T*>(buffers.input());
  auto* const output = reinterpret_cast<T*>(buffers.output());
  const Table<T> own = inputs<T>(problem, problem.rank, round);
  if (problem.collective == Collective::barrier) return;
  if (problem.collective == Collective::bcast) {
    if (problem.is_root()) write(output, problem.count, 0, own);
  } else if (problem.in_place && problem.collective == Collective::scatter) {
    if (problem.is_root()) write(output, problem.output_count(), 0, own);
  } else if (problem.in_place) {
    const bool whole = problem.collective == Collective::reduce_scatter ||
                       problem.collective == Collective::alltoall;
    write(own_block(problem, output), whole ? problem.output_count() : problem.count, 0, own);
  } else {
    write(input, problem.input_count(), 0, own);
  }
}

template <class T>
std::optional<std::string> verify(const Problem& problem, const Buffers& buffers, unsigned round) {
  const auto* const output = reinterpret_cast<const T*>(buffers.output());
  const std::size_t n = problem.count;
  const std::size_t own_first = static_cast<std::size_t>(problem.rank) * n;
  switch (problem.collective) {
    case Collective::barrier:
      return std::nullopt;
    case Collective::allreduce:
    case Collective::scan:
      return compare(output, n, 0, reduced<T>(problem, round));
    case Collective::exscan:
      if (problem.rank > 0) return compare(output, n, 0, reduced<T>(problem, round));
      return std::nullopt;
    case Collective::reduce:
      if (problem.is_root()) return compare(output, n, 0, reduced<T>(problem, round));
      if (!problem.in_place) return std::nullopt;
      return compare(output, n, 0, inputs<T>(problem, problem.rank, round));
    case Collective::bcast:
      return compare(output, n, 0, inputs<T>(problem, problem.root, round));
    case Collective::reduce_scatter:
      return compare(output, n, own_first, reduced<T>(problem, round));
    case Collective::scatter:
      if (problem.in_place && problem.is_root()) {
        return compare(output, problem.output_count(), 0, inputs<T>(problem, problem.root, round));
      }
      return compare(output, n, own_first, inputs<T>(problem, problem.root, round));
    case Collective::gather:
      if (!problem.is_root()) return std::nullopt;
      break;
    case Collective::allgather:
    case Collective::alltoall:
      break;
  }
  // Blocks of all ranks; of alltoall, those that they have for this one.
  const std::size_t theirs = problem.collective == Collective::alltoall ? own_first : 0;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const std::size_t first = static_cast<std::size_t>(rank) * n;
    auto wrong = compare(output + first, n, theirs, inputs<T>(problem, rank, round), first);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

}  // namespace

void fill_for_timing(const Problem& problem, const Buffers& buffers) {
  with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const T value = problem.op == Op::sum ? T(0) : T(1);
    std::fill_n(reinterpret_cast<T*>(buffers.input()), problem.input_count(), value);
    std::fill_n(reinterpret_cast<T*>(buffers.output()), problem.output_count(), value);
  });
}

void fill_for_check(const Problem& problem, const Buffers& buffers, unsigned round) {
  with_type(problem.type,
            [&]<class T>(std::type_identity<T>) { fill<T>(problem, buffers, round); });
}

std::optional<std::string> check(const Problem& problem, const Buffers& buffers, unsigned round) {
  return with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    return verify<T>(problem, buffers, round);
  });
}

}  // namespace bench
