// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/block_lengths.hpp"

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/collective.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

/// The blocks of one buffer, one for each rank, in elements.
struct Blocks {
  std::vector<std::size_t> counts;  ///< how long they are
  std::vector<std::size_t> places;  ///< where they begin
  std::size_t extent = 0;           ///< elements from the buffer's first to the end of the last gap
};

/// The blocks of an alltoallv, allgatherv, gatherv or scatterv, as one rank sees them.
struct Irregular {
  /// Elements of all blocks: by rank; of an alltoallv by sender, then by receiver.
  std::vector<std::size_t> lengths;
  std::size_t gap = 0;  ///< elements before, between and after the blocks of a buffer
  Blocks sent;          ///< of a buffer from which a rank gives others their blocks
  Blocks received;      ///< of a buffer in which a rank gets others' blocks

  /// For papcoll, as users write them: displacements where there are gaps. Borrows `blocks`.
  papcoll::blocks given(const Blocks& blocks) const {
    if (gap == 0) return papcoll::counts{blocks.counts};
    return {blocks.counts, blocks.places};
  }

  /// Of the elements that `from` gives all ranks in rank order, without gaps, the first for `to`.
  std::size_t offset(std::size_t from, std::size_t to) const {
    const std::size_t ranks = sent.counts.size();
    const std::size_t* const row = lengths.data() + (lengths.size() > ranks ? from * ranks : 0);
    std::size_t first = 0;
    for (std::size_t r = 0; r < to; ++r) first += row[r];
    return first;
  }
};

/// What the lengths of blocks depend on, the same on all ranks.
struct IrregularSpec {
  papcoll::Collective collective = papcoll::Collective::alltoall;
  Counts counts = Counts::power_law;
  std::size_t mean = 0;  ///< elements of a block
  std::size_t gap = 0;   ///< elements
  /// An alltoallv in place has blocks as long from a to b as from b to a.
  bool in_place = false;
  std::uint64_t seed = 1;
};

/// Is there a form of the collective whose blocks differ in length?
constexpr bool has_irregular_form(papcoll::Collective c) noexcept {
  using papcoll::Collective;
  return c == Collective::alltoall || c == Collective::allgather || c == Collective::gather ||
         c == Collective::scatter;
}

namespace detail {

/// Blocks of these lengths in rank order, with gaps around them.
inline Blocks blocks_of(std::vector<std::size_t> counts, std::size_t gap) {
  Blocks blocks{std::move(counts), {}, gap};
  for (const std::size_t n : blocks.counts) {
    blocks.places.push_back(blocks.extent);
    blocks.extent += n + gap;
  }
  return blocks;
}

/// By sender, then by receiver.
inline std::vector<std::size_t> lengths_of_pairs(const IrregularSpec& spec, std::size_t ranks) {
  if (!spec.in_place) return block_lengths(spec.counts, ranks * ranks, spec.mean, spec.seed);
  const auto drawn = block_lengths(spec.counts, ranks * (ranks + 1) / 2, spec.mean, spec.seed);
  std::vector<std::size_t> lengths(ranks * ranks);
  std::size_t next = 0;
  for (std::size_t a = 0; a < ranks; ++a) {
    for (std::size_t b = a; b < ranks; ++b) {
      lengths[a * ranks + b] = lengths[b * ranks + a] = drawn[next++];
    }
  }
  return lengths;
}

}  // namespace detail

/// The blocks as this rank sees them. Throws what block_lengths() throws.
inline Irregular irregular_blocks(const IrregularSpec& spec, int rank, int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  const auto me = static_cast<std::size_t>(rank);
  Irregular irregular;
  irregular.gap = spec.gap;
  if (spec.collective != papcoll::Collective::alltoall) {
    irregular.lengths = block_lengths(spec.counts, p, spec.mean, spec.seed);
    irregular.sent = irregular.received = detail::blocks_of(irregular.lengths, spec.gap);
    return irregular;
  }
  irregular.lengths = detail::lengths_of_pairs(spec, p);
  std::vector<std::size_t> row(p);
  std::vector<std::size_t> column(p);
  for (std::size_t r = 0; r < p; ++r) {
    row[r] = irregular.lengths[me * p + r];
    column[r] = irregular.lengths[r * p + me];
  }
  irregular.sent = detail::blocks_of(std::move(row), spec.gap);
  irregular.received = detail::blocks_of(std::move(column), spec.gap);
  return irregular;
}

}  // namespace bench
