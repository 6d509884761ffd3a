#pragma once

#include "problem.hpp"

#include <papcoll/model/closed_forms.hpp>
#include <papcoll/model/hockney.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace bench {

/// A schedule with a closed form: p ranks, m bytes, segments of s bytes.
struct Modelled {
  Collective collective;
  const char* algorithm;
  double (*seconds)(const papcoll::Hockney& h, int p, double m, double s);
  /// Into how many segments p ranks cut a chunk of the vector; null: it does not cut. The bytes of
  /// a segment are the schedule's parameter.
  int (*segments_of_chunk)(int p) = nullptr;

  bool cuts() const { return segments_of_chunk != nullptr; }

  /// With what parameter the vector is cut in so many chunks, of whole elements.
  std::size_t segment(std::size_t bytes, std::size_t chunks, int p, std::size_t element) const {
    const std::size_t pieces = chunks * static_cast<std::size_t>(segments_of_chunk(p));
    const std::size_t elements = bytes / element;
    return std::max<std::size_t>(1, (elements + pieces - 1) / pieces) * element;
  }

  std::string schedule(std::size_t segment) const {
    return algorithm + (cuts() ? ":" + std::to_string(segment) : "");
  }
  /// As papcoll::algorithm() reads it.
  std::string name(std::size_t segment) const { return schedule(segment) + "+MpiTransport"; }
};

namespace detail {

template <auto seconds>
double whole(const papcoll::Hockney& h, int p, double m, double /*segment*/) {
  return seconds(h, p, m);
}
template <auto seconds>
double cut(const papcoll::Hockney& h, int p, double m, double s) {
  return seconds(h, p, m, s);
}
inline double segmented_ring(const papcoll::Hockney& h, int p, double m, double s) {
  return papcoll::closed_form::segmented_ring_allreduce(h, p, m, s);
}

inline int one(int /*ranks*/) { return 1; }
inline int one_each(int ranks) { return ranks; }

// clang-format off
inline constexpr auto modelled_schedules() {
  using enum Collective;
  using namespace papcoll::closed_form;
  return std::array{
      Modelled{allreduce, "Linear", whole<linear_allreduce>},
      Modelled{allreduce, "Binomial", whole<binomial_allreduce>},
      Modelled{allreduce, "RecursiveDoubling", whole<recursive_doubling_allreduce>},
      Modelled{allreduce, "Ring", whole<ring_allreduce>},
      Modelled{allreduce, "SegmentedRing", segmented_ring, one_each},
      Modelled{allreduce, "Rabenseifner", whole<rabenseifner_allreduce>},
      Modelled{reduce, "Linear", whole<linear_reduce>},
      Modelled{reduce, "Binomial", whole<binomial_reduce>},
      Modelled{reduce, "PipelinedChain", cut<pipelined_chain_reduce>, one},
      Modelled{reduce, "PipelinedBinaryTree", cut<pipelined_binary_tree_reduce>, one},
      Modelled{reduce, "ReduceScatterGather", whole<reduce_scatter_gather_reduce>},
      Modelled{bcast, "Linear", whole<linear_bcast>},
      Modelled{bcast, "Binomial", whole<binomial_bcast>},
      Modelled{bcast, "PipelinedChain", cut<pipelined_chain_bcast>, one},
      Modelled{bcast, "PipelinedBinaryTree", cut<pipelined_binary_tree_bcast>, one},
      Modelled{bcast, "ScatterAllgather", whole<scatter_allgather_bcast>},
  };
}
// clang-format on

}  // namespace detail

inline constexpr auto modelled = detail::modelled_schedules();

}  // namespace bench
