// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <fmt/format.h>
#include <papcoll/model/closed_forms.hpp>
#include <papcoll/model/log_gp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace bench {

/// How a schedule that cuts goes where ranks share processors, messages are copies that receivers
/// make, and so processors are what everything waits for.
struct SharedPipeline {
  papcoll::Pipeline receipts;  ///< `hops`: of a segment's way; `passes`: on the busiest processor
  double lanes = 1;            ///< a chunk is so many segments, which go side by side
  double combined = 0;         ///< the part of the receipts that are combined

  double seconds(const papcoll::Hockney& h, double m, double s) const noexcept {
    const double n = papcoll::closed_form::segments(m, lanes * s);
    const double each = std::min(s, m / lanes);
    const double byte = h.beta + combined * h.gamma;
    return receipts.hops * (h.alpha + byte * each) +
           receipts.passes * ((n - 1) * h.alpha + byte * (m / lanes - each));
  }
};

/// A schedule with a closed form: p ranks, m bytes, segments of s bytes.
struct Modelled {
  Collective collective;
  const char* algorithm;
  double (*seconds)(const papcoll::Hockney& h, int p, double m, double s);
  /// Into how many segments p ranks cut a chunk of the vector; null: it does not cut. The bytes of
  /// a segment are the schedule's parameter.
  int (*segments_of_chunk)(int p) = nullptr;
  /// Of those that cut. The others' forms are lines in m either way.
  SharedPipeline (*on_shared)(int p, int processors) = nullptr;

  bool cuts() const { return segments_of_chunk != nullptr; }

  /// With what parameter the vector is cut in so many chunks, of whole elements.
  std::size_t segment(std::size_t bytes, std::size_t chunks, int p, std::size_t element) const {
    const std::size_t pieces = chunks * static_cast<std::size_t>(segments_of_chunk(p));
    const std::size_t elements = bytes / element;
    return std::max<std::size_t>(1, (elements + pieces - 1) / pieces) * element;
  }

  std::string schedule(std::size_t segment) const {
    return cuts() ? fmt::format("{}:{}", algorithm, segment) : algorithm;
  }
  /// As papcoll::algorithm() reads it.
  std::string name(std::size_t segment) const { return schedule(segment) + "+MpiTransport"; }
};

namespace detail {

template <auto seconds>
double whole(const papcoll::Hockney& h, int p, double m, double /*segment*/) {
  return seconds(h, p, m);
}
template <auto seconds> double cut(const papcoll::Hockney& h, int p, double m, double s) {
  return seconds(h, p, m, s);
}
inline double segmented_ring(const papcoll::Hockney& h, int p, double m, double s) {
  return papcoll::closed_form::segmented_ring_allreduce(h, p, m, s);
}

inline int one(int /*ranks*/) { return 1; }
inline int one_each(int ranks) { return ranks; }

/// So many ranks that receive a segment each, on the busiest of the processors.
inline double receivers(int ranks, int processors) {
  return (ranks + processors - 1) / processors;  // NOLINT(bugprone-integer-division)
}
inline SharedPipeline shared_chain_bcast(int p, int processors) {
  return {{static_cast<double>(p - 1), receivers(p - 1, processors)}};
}
inline SharedPipeline shared_chain_reduce(int p, int processors) {
  return {{static_cast<double>(p - 1), receivers(p - 1, processors)}, 1, 1};
}
/// A parent's children receive beside each other.
inline SharedPipeline shared_tree_bcast(int p, int processors) {
  const double levels = papcoll::closed_form::detail::floor_log2(p);
  const double busiest = receivers(p - 1, processors);
  return {{std::max(levels, busiest), busiest}};
}
/// When a parent has received one segment from each child, one child after the other.
inline double when_complete(int parent, int p) {
  const int child = 2 * parent + 1;
  if (child >= p) return 0;
  const double left = when_complete(child, p);
  if (child + 1 >= p) return left + 1;
  const double right = when_complete(child + 1, p);
  return std::max(std::max(left, right) + 1, std::min(left, right) + 2);
}
inline SharedPipeline shared_tree_reduce(int p, int processors) {
  const double busiest = std::max(p > 2 ? 2.0 : 1.0, receivers(p - 1, processors));
  return {{std::max(when_complete(0, p), busiest), busiest}, 1, 1};
}
inline SharedPipeline shared_ring(int p, int processors) {
  const double around = 2.0 * (p - 1) * receivers(p, processors);
  return {{around, around}, static_cast<double>(p), 0.5};
}

// clang-format off
inline constexpr auto modelled_schedules() {
  using enum Collective;
  using namespace papcoll::closed_form;
  return std::array{
      Modelled{allreduce, "Linear", whole<linear_allreduce>},
      Modelled{allreduce, "Binomial", whole<binomial_allreduce>},
      Modelled{allreduce, "RecursiveDoubling", whole<recursive_doubling_allreduce>},
      Modelled{allreduce, "Ring", whole<ring_allreduce>},
      Modelled{allreduce, "SegmentedRing", segmented_ring, one_each, shared_ring},
      Modelled{allreduce, "Rabenseifner", whole<rabenseifner_allreduce>},
      Modelled{reduce, "Linear", whole<linear_reduce>},
      Modelled{reduce, "Binomial", whole<binomial_reduce>},
      Modelled{reduce, "PipelinedChain", cut<pipelined_chain_reduce>, one, shared_chain_reduce},
      Modelled{reduce, "PipelinedBinaryTree", cut<pipelined_binary_tree_reduce>, one,
               shared_tree_reduce},
      Modelled{reduce, "ReduceScatterGather", whole<reduce_scatter_gather_reduce>},
      Modelled{bcast, "Linear", whole<linear_bcast>},
      Modelled{bcast, "Binomial", whole<binomial_bcast>},
      Modelled{bcast, "PipelinedChain", cut<pipelined_chain_bcast>, one, shared_chain_bcast},
      Modelled{bcast, "PipelinedBinaryTree", cut<pipelined_binary_tree_bcast>, one,
               shared_tree_bcast},
      Modelled{bcast, "ScatterAllgather", whole<scatter_allgather_bcast>},
  };
}
// clang-format on

}  // namespace detail

inline constexpr auto modelled = detail::modelled_schedules();

}  // namespace bench
