// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace bench {
namespace {

/// Inputs repeat after this many elements: a prime, so that blocks and segments, whose lengths are
/// round numbers, are not mistaken for one another; short, so that expected results are tabulated.
constexpr std::size_t period = 251;

template <class T> using Table = std::array<T, period>;

/// The input of one rank. For a product only three ranks of any five or more contribute a 2.
template <class T> Table<T> inputs(const Problem& problem, int rank, unsigned round) {
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

template <class T> T combine(Op op, T a, T b) {
  switch (op) {
    case Op::sum: return static_cast<T>(a + b);
    case Op::prod: return static_cast<T>(a * b);
    case Op::min: return std::min(a, b);
    case Op::max: return std::max(a, b);
  }
  return a;
}

/// The inputs that belong in this rank's result, combined.
template <class T> Table<T> reduced(const Problem& problem, unsigned round) {
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

/// What is in an output, byte by byte, before a call.
constexpr std::byte rubbish{0xa5};

/// The elements of a buffer, numbered without its gaps.
template <class T> struct Elements {
  T* data;
  Layout layout{};
  std::size_t first = 0;  ///< the number of element 0

  T& operator[](std::size_t i) const { return data[layout.place(first + i)]; }
  Elements from(std::size_t i) const { return {data, layout, first + i}; }
};

/// Elements [first, first + count) of a rank's input.
template <class T>
void write(const Elements<T>& to, std::size_t count, std::size_t first, const Table<T>& table) {
  for (std::size_t i = 0; i < count; ++i) to[i] = table[(first + i) % period];
}

template <class T>
std::optional<std::string> compare(const Elements<const T>& got, std::size_t count,
                                   std::size_t first, const Table<T>& expected) {
  for (std::size_t i = 0; i < count; ++i) {
    const T wanted = expected[(first + i) % period];
    if (got[i] != wanted) {
      return fmt::format("element {} is {}, not {}", got.first + i, got[i], wanted);
    }
  }
  return std::nullopt;
}

/// Where this rank's own contribution stands in the only buffer of a call in place.
template <class T> Elements<T> own_block(const Problem& problem, const Elements<T>& output) {
  const bool gathers = problem.collective == Collective::allgather ||
                       (problem.collective == Collective::gather && problem.is_root());
  if (!gathers) return output;
  const auto rank = static_cast<std::size_t>(problem.rank);
  return output.from(problem.irregular != nullptr ? problem.irregular->received.places[rank]
                                                  : rank * problem.count);
}

/// Blocks for all ranks, one after the other but for gaps.
template <class T>
void write_blocks(const Irregular& irregular, int rank, const Elements<T>& to,
                  const Table<T>& own) {
  for (std::size_t r = 0; r < irregular.sent.counts.size(); ++r) {
    write(to.from(irregular.sent.places[r]), irregular.sent.counts[r],
          irregular.offset(static_cast<std::size_t>(rank), r), own);
  }
}

/// Blocks that differ.
template <class T>
void fill_irregular(const Problem& problem, const Elements<T>& input, const Elements<T>& output,
                    const Table<T>& own) {
  const Collective c = problem.collective;
  const bool has_blocks_for_all =
      c == Collective::alltoall || (c == Collective::scatter && problem.is_root());
  const bool gives = c != Collective::scatter || problem.is_root();
  const Elements<T> to = problem.in_place ? own_block(problem, output) : input;
  if (has_blocks_for_all) {
    write_blocks(*problem.irregular, problem.rank, to, own);
  } else if (gives) {
    write(to, problem.irregular->lengths[static_cast<std::size_t>(problem.rank)], 0, own);
  }
}

template <class T> void fill(const Problem& problem, const Buffers& buffers, unsigned round) {
  std::fill_n(buffers.output(), buffers.output_bytes(), rubbish);
  const Elements<T> input{reinterpret_cast<T*>(buffers.input()), problem.layout};
  const Elements<T> output{reinterpret_cast<T*>(buffers.output()), problem.layout};
  const Table<T> own = inputs<T>(problem, problem.rank, round);
  if (problem.collective == Collective::barrier) return;
  if (problem.irregular != nullptr) return fill_irregular(problem, input, output, own);
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

/// Bytes [first, last) of an output that no call may write.
std::optional<std::string> compare_gap(const Buffers& buffers, std::size_t first,
                                       std::size_t last) {
  const std::byte* const bytes = buffers.output();
  const auto* const written =
      std::find_if(bytes + first, bytes + last, [](std::byte b) { return b != rubbish; });
  if (written == bytes + last) return std::nullopt;
  return fmt::format("byte {} of the output, in a gap, was written", written - bytes);
}

/// The gaps of a layout.
std::optional<std::string> compare_gaps(const Problem& problem, const Buffers& buffers) {
  const Layout& layout = problem.layout;
  if (!layout.is_noncontiguous()) return std::nullopt;
  const std::size_t element = size_of(problem.type);
  for (std::size_t at = 0; at < problem.output_extent(); at += layout.stride) {
    auto wrong =
        compare_gap(buffers, (at + layout.block) * element, (at + layout.stride) * element);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

/// The gaps around blocks that differ.
std::optional<std::string> compare_gaps(const Problem& problem, const Buffers& buffers,
                                        const Blocks& blocks) {
  const std::size_t element = size_of(problem.type);
  std::size_t end = 0;
  for (std::size_t r = 0; r < blocks.counts.size(); ++r) {
    if (auto wrong = compare_gap(buffers, end * element, blocks.places[r] * element)) return wrong;
    end = blocks.places[r] + blocks.counts[r];
  }
  return compare_gap(buffers, end * element, blocks.extent * element);
}

/// Blocks that differ, as they came from their ranks.
template <class T>
std::optional<std::string> verify_irregular(const Problem& problem, const Buffers& buffers,
                                            unsigned round) {
  const Irregular& irregular = *problem.irregular;
  const Elements<const T> output{reinterpret_cast<const T*>(buffers.output())};
  const Collective c = problem.collective;
  const auto me = static_cast<std::size_t>(problem.rank);
  if (c == Collective::gather && !problem.is_root()) return std::nullopt;
  const bool keeps_all = problem.in_place && problem.is_root();  // of a scatter
  if (c == Collective::scatter && !keeps_all) {
    return compare(output, irregular.lengths[me],
                   irregular.offset(static_cast<std::size_t>(problem.root), me),
                   inputs<T>(problem, problem.root, round));
  }
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const bool sends_to_all = c == Collective::alltoall;
    const std::size_t first = sends_to_all               ? irregular.offset(r, me)
                              : c == Collective::scatter ? irregular.offset(me, r)
                                                         : 0;
    auto wrong =
        compare(output.from(irregular.received.places[r]), irregular.received.counts[r], first,
                inputs<T>(problem, c == Collective::scatter ? problem.rank : rank, round));
    if (wrong) return fmt::format("of the block for or from rank {}, {}", rank, *wrong);
  }
  return compare_gaps(problem, buffers, irregular.received);
}

template <class T>
std::optional<std::string> verify(const Problem& problem, const Buffers& buffers, unsigned round) {
  const Elements<const T> output{reinterpret_cast<const T*>(buffers.output()), problem.layout};
  const std::size_t n = problem.count;
  const std::size_t own_first = static_cast<std::size_t>(problem.rank) * n;
  switch (problem.collective) {
    case Collective::barrier: return std::nullopt;
    case Collective::allreduce:
    case Collective::scan: return compare(output, n, 0, reduced<T>(problem, round));
    case Collective::exscan:
      if (problem.rank > 0) return compare(output, n, 0, reduced<T>(problem, round));
      return std::nullopt;
    case Collective::reduce:
      if (problem.is_root()) return compare(output, n, 0, reduced<T>(problem, round));
      if (!problem.in_place) return std::nullopt;
      return compare(output, n, 0, inputs<T>(problem, problem.rank, round));
    case Collective::bcast: return compare(output, n, 0, inputs<T>(problem, problem.root, round));
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
    case Collective::alltoall: break;
  }
  // Blocks of all ranks; of alltoall, those that they have for this one.
  const std::size_t theirs = problem.collective == Collective::alltoall ? own_first : 0;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const std::size_t first = static_cast<std::size_t>(rank) * n;
    auto wrong = compare(output.from(first), n, theirs, inputs<T>(problem, rank, round));
    if (wrong) return wrong;
  }
  return std::nullopt;
}

}  // namespace

void fill_for_timing(const Problem& problem, const Buffers& buffers) {
  with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    const T value = problem.op == Op::sum ? T(0) : T(1);
    std::fill_n(reinterpret_cast<T*>(buffers.input()), problem.input_extent(), value);
    std::fill_n(reinterpret_cast<T*>(buffers.output()), problem.output_extent(), value);
  });
}

void fill_for_check(const Problem& problem, const Buffers& buffers, unsigned round) {
  with_type(problem.type,
            [&]<class T>(std::type_identity<T>) { fill<T>(problem, buffers, round); });
}

std::optional<std::string> check(const Problem& problem, const Buffers& buffers, unsigned round) {
  return with_type(problem.type, [&]<class T>(std::type_identity<T>) {
    if (problem.irregular != nullptr) return verify_irregular<T>(problem, buffers, round);
    auto wrong = verify<T>(problem, buffers, round);
    return wrong ? wrong : compare_gaps(problem, buffers);
  });
}

}  // namespace bench
