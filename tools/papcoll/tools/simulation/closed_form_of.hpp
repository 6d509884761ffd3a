// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/model/closed_forms.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/model/log_gp.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/topology/options.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

namespace forms {

/// The closed form of a schedule that takes no parameters. `m`: bytes of the whole vector.
struct Form {
  std::string_view schedule;
  Collective collective;
  double (*seconds)(const HockneyWithGap& h, int p, double m);
};

template <auto seconds> double of_whole(const HockneyWithGap& h, int p, double m) {
  return seconds(h, p, m);
}

inline double of_barrier(const HockneyWithGap& h, int p, double /*bytes*/) {
  return closed_form::dissemination_barrier(h, p);
}

constexpr auto without_parameters() {
  using enum Collective;
  using namespace closed_form;
  return std::array{
      Form{Linear::name, allreduce, of_whole<linear_allreduce>},
      Form{Linear::name, reduce, of_whole<linear_reduce>},
      Form{Linear::name, bcast, of_whole<linear_bcast>},
      Form{Linear::name, allgather, of_whole<linear_allgather>},
      Form{Linear::name, reduce_scatter, of_whole<linear_reduce_scatter>},
      Form{Linear::name, gather, of_whole<linear_gather>},
      Form{Linear::name, scatter, of_whole<linear_scatter>},
      Form{Linear::name, alltoall, of_whole<linear_alltoall>},
      Form{Linear::name, scan, of_whole<chain_scan>},
      Form{Linear::name, exscan, of_whole<chain_exscan>},
      Form{Chain::name, scan, of_whole<chain_scan>},
      Form{Chain::name, exscan, of_whole<chain_exscan>},
      Form{Chain::name, reduce, of_whole<chain_reduce>},
      Form{Chain::name, bcast, of_whole<chain_bcast>},
      Form{Binomial::name, allreduce, of_whole<binomial_allreduce>},
      Form{Binomial::name, reduce, of_whole<binomial_reduce>},
      Form{Binomial::name, bcast, of_whole<binomial_bcast>},
      Form{Binomial::name, gather, of_whole<binomial_gather>},
      Form{Binomial::name, scatter, of_whole<binomial_scatter>},
      Form{BinaryTree::name, allreduce, of_whole<binary_tree_allreduce>},
      Form{BinaryTree::name, reduce, of_whole<binary_tree_reduce>},
      Form{BinaryTree::name, bcast, of_whole<binary_tree_bcast>},
      Form{ReduceScatterGather::name, reduce, of_whole<reduce_scatter_gather_reduce>},
      Form{ScatterAllgather::name, bcast, of_whole<scatter_allgather_bcast>},
      Form{RecursiveDoubling::name, allreduce, of_whole<recursive_doubling_allreduce>},
      Form{RecursiveDoubling::name, allgather, of_whole<recursive_doubling_allgather>},
      Form{RecursiveDoubling::name, scan, of_whole<recursive_doubling_scan>},
      Form{RecursiveDoubling::name, exscan, of_whole<recursive_doubling_exscan>},
      Form{Rabenseifner::name, allreduce, of_whole<rabenseifner_allreduce>},
      Form{Ring::name, allreduce, of_whole<ring_allreduce>},
      Form{Ring::name, allgather, of_whole<ring_allgather>},
      Form{Ring::name, reduce_scatter, of_whole<ring_reduce_scatter>},
      Form{Ring::name, alltoall, of_whole<ring_alltoall>},
      Form{NeighbourExchange::name, allgather, of_whole<neighbour_exchange_allgather>},
      Form{Pairwise::name, alltoall, of_whole<ring_alltoall>},
      Form{Pairwise::name, reduce_scatter, of_whole<pairwise_reduce_scatter>},
      Form{RecursiveHalving::name, reduce_scatter, of_whole<recursive_halving_reduce_scatter>},
      Form{Dissemination::name, barrier, of_barrier},
  };
}

/// The forms for one call.
class OfCall {
 public:
  OfCall(const Shape& shape, const HockneyWithGap& h, std::size_t window)
      : shape_(shape), h_(h), window_(window), bytes_(whole_vector(shape)) {}

  std::optional<double> of(const AnySchedule& s) const {
    if (const auto* const tree = s.target<KNomial>()) return of(*tree);
    if (const auto* const chain = s.target<PipelinedChain>()) return of(*chain);
    if (const auto* const tree = s.target<PipelinedBinaryTree>()) return of(*tree);
    if (const auto* const ring = s.target<SegmentedRing>()) return of(*ring);
    if (const auto* const trees = s.target<TwoTreeComplete>()) return of(*trees);
    if (const auto* const both = s.target<AnyReduceThenBcast>()) return of(*both);
    if (const auto* const both = s.target<AnyGatherThenBcast>()) return of(*both);
    if (const auto* const bruck = s.target<Bruck>()) return of(*bruck);
    if (const auto* const some = s.target<SpreadOut>()) return of(*some);
    static constexpr auto all = without_parameters();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Form& f) {
      return f.schedule == s.base_name() && f.collective == shape_.collective;
    });
    if (found == all.end()) return std::nullopt;
    return found->seconds(h_, shape_.size, bytes_);
  }

 private:
  /// The forms that take segments or a radix, of the collectives that the schedule serves.
  template <auto reduce, auto bcast, class... More>
  std::optional<double> reduce_or_bcast(More... more) const {
    if (shape_.collective == Collective::reduce) return reduce(h_, shape_.size, bytes_, more...);
    if (shape_.collective == Collective::bcast) return bcast(h_, shape_.size, bytes_, more...);
    return std::nullopt;
  }
  template <auto reduce, auto bcast, auto allreduce, class... More>
  std::optional<double> reduce_bcast_or_allreduce(More... more) const {
    if (shape_.collective == Collective::allreduce) {
      return allreduce(h_, shape_.size, bytes_, more...);
    }
    return reduce_or_bcast<reduce, bcast>(more...);
  }

  std::optional<double> of(const KNomial& tree) const {
    using namespace closed_form;
    return reduce_bcast_or_allreduce<knomial_reduce, knomial_bcast, knomial_allreduce>(tree.radix);
  }
  std::optional<double> of(const PipelinedChain& chain) const {
    using namespace closed_form;
    if (shape_.collective == Collective::scan) {
      return pipelined_chain_scan(h_, shape_.size, bytes_, whole_elements(chain.segment_bytes));
    }
    return reduce_or_bcast<pipelined_chain_reduce, pipelined_chain_bcast>(
        whole_elements(chain.segment_bytes));
  }
  std::optional<double> of(const PipelinedBinaryTree& tree) const {
    using namespace closed_form;
    return reduce_or_bcast<pipelined_binary_tree_reduce, pipelined_binary_tree_bcast>(
        whole_elements(tree.segment_bytes));
  }
  std::optional<double> of(const SegmentedRing& ring) const {
    return closed_form::segmented_ring_allreduce(h_, shape_.size, bytes_,
                                                 whole_elements(ring.segment_bytes), window_);
  }
  std::optional<double> of(const TwoTreeComplete& trees) const {
    using namespace closed_form;
    const std::size_t chunk = TwoTreeChunks{trees.chunk_bytes}
                                  .cut({0, shape_.count}, shape_.element_size, shape_.size)
                                  .longest;
    return reduce_bcast_or_allreduce<two_tree_reduce, two_tree_bcast, two_tree_allreduce>(
        static_cast<double>(chunk * shape_.element_size));
  }
  /// The sum, unless the bcast of a block begins while the next one is reduced.
  std::optional<double> of(const AnyReduceThenBcast& both) const {
    if (!both.reduce || !both.bcast) return std::nullopt;
    if (both.segment(shape_.size, shape_.element_size) != 0) return std::nullopt;
    const std::optional<double> reduce = as(Collective::reduce).of(both.reduce);
    const std::optional<double> bcast = as(Collective::bcast).of(both.bcast);
    return reduce && bcast ? std::optional{*reduce + *bcast} : std::nullopt;
  }

  std::optional<double> of(const AnyGatherThenBcast& both) const {
    if (!both.gather || !both.bcast) return std::nullopt;
    const std::optional<double> gather = as(Collective::gather).of(both.gather);
    const std::optional<double> bcast = as(Collective::bcast).of(both.bcast);
    return gather && bcast ? std::optional{*gather + *bcast} : std::nullopt;
  }
  std::optional<double> of(const Bruck& bruck) const {
    using namespace closed_form;
    if (shape_.collective == Collective::alltoall) {
      return bruck_alltoall(h_, shape_.size, bytes_, bruck.radix);
    }
    if (bruck.radix != 2) return std::nullopt;
    return bruck_allgather(h_, shape_.size, bytes_);
  }
  std::optional<double> of(const SpreadOut& some) const {
    return closed_form::spread_out_alltoall(h_, shape_.size, bytes_, std::max(some.window, 1));
  }

  OfCall as(Collective part) const {
    OfCall other = *this;
    other.shape_.collective = part;
    return other;
  }

  double whole_elements(std::size_t bytes) const {
    const std::size_t element = shape_.element_size;
    return static_cast<double>(std::max(element, bytes / element * element));
  }

  static double whole_vector(const Shape& s) {
    const auto bytes = static_cast<double>(s.count * s.element_size);
    return traits_of(s.collective).vector == VectorOf::one_block ? bytes : bytes * s.size;
  }

  Shape shape_;
  HockneyWithGap h_;
  std::size_t window_;
  double bytes_;  ///< of the whole vector
};

}  // namespace forms

/// Returns the seconds of a simulated call by the closed form of its schedule. Empty if it has
/// none, or if the call is not what the forms are about: all ranks arrive at once, all links are
/// alike, a port takes one message after the other, and bytes are free to the processor.
inline std::optional<double> closed_form_of(const AnySchedule& schedule, const Shape& shape,
                                            const LogGops& model, const SimulateOptions& options) {
  const std::vector<double>& at = options.arrivals;
  const bool late = std::any_of(at.begin(), at.end(), [&](double t) { return t != at.front(); });
  if (late || !options.links.empty() || options.ports != Ports::exclusive || shape.count == 0 ||
      model.overhead_per_byte != 0) {
    return std::nullopt;
  }
  const LogGp costs{model.latency, model.overhead, model.gap, model.gap_per_byte};
  const HockneyWithGap h = hockney(costs, model.combine_per_byte);
  return forms::OfCall{shape, h, options.pipeline_depth}.of(schedule);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
