// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/message_costs.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_cache.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

// The ways in which calls may run that pass messages: flat, by static schedules, or by nodes.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Calls of more bytes are watched one by one across nodes, since arrivals decide how they run.
inline constexpr std::size_t watched_across_nodes_above = 65536;

/// Returns true if the algorithm of a call on several nodes may depend on arrivals, and the call
/// lets every rank observe them.
inline bool watches_across_nodes(const Call& call, const SelectionInputs& inputs) noexcept {
  return inputs.grouped && !inputs.must_pass_messages && call.collective == Collective::allreduce &&
         call.bytes() > watched_across_nodes_above;
}

/// Returns true if the nodes of an allreduce wait so long for the last one that going by nodes
/// pays, and, if it is the same one again, combining what the others have meanwhile. Compared per
/// byte, since calls of all sizes are watched together.
inline bool waits_for_a_node(const Call& call, const SelectionInputs& inputs) noexcept {
  const std::uint64_t own = inputs.imbalance.own_ps_a_byte * call.bytes() / 1000;
  return call.collective == Collective::allreduce && call.by_arrivals() &&
         inputs.imbalance.lead * 100 > own * inputs.thresholds->network.late_percent;
}

/// Returns true if one node of an allreduce is expected to come last again, and StragglAR serves
/// the call.
inline bool has_late_node(const Call& call, const SelectionInputs& inputs) noexcept {
  return inputs.late_node != nullptr && inputs.imbalance.late_node >= 0 &&
         call.bytes() > watched_across_nodes_above && call.reducer.commutative &&
         waits_for_a_node(call, inputs);
}

/// Returns true if a call on several nodes may go through representatives of the nodes.
inline bool may_go_by_nodes(const Call& call, const SelectionInputs& inputs) noexcept {
  if (!inputs.grouped || inputs.must_pass_messages || call.is_irregular() || !inputs.nodes_in_order)
    return false;
  return call.collective != Collective::reduce_scatter && call.collective != Collective::gather &&
         call.collective != Collective::scatter;
}

/// A call as candidates see it; times are in seconds.
struct MessageLoad {
  const Call& call;
  const SelectionInputs& inputs;
  HockneyWithGap link;  ///< between two nodes
  HockneyWithGap flat;  ///< as `link`, if the ranks of a node send at the same time
  bool late;            ///< what counts is the time after the last arrival

  MessageLoad(const Call& c, const SelectionInputs& given) noexcept
      : call(c),
        inputs(given),
        link(link_of(*given.thresholds)),
        flat(link),
        late(is_imbalanced(c, inputs) || waits_for_a_node(c, inputs)) {
    flat.alpha += (ranks_of_node() - 1) * link.gap;
    flat.gap *= ranks_of_node();
  }

  double ranks_of_node() const noexcept { return inputs.grouped ? inputs.largest_node : 1; }
  /// Bytes of the whole vector, as in closed_forms.hpp.
  double bytes() const noexcept {
    const bool is_whole = traits_of(call.collective).vector == VectorOf::one_block;
    return static_cast<double>(call.bytes()) * (is_whole ? 1 : inputs.size);
  }
  bool commutes() const noexcept { return call.reducer.commutative; }

  /// Returns the seconds of a call by nodes within them: phases, bytes that are combined or
  /// collected there, and bytes that all get. If ranks are late, the bytes do not count: by nodes
  /// is quicker then. Source: P. Alizadeh, MASc thesis, Queen's University, 2021, ch. 6.
  double within(double phases, double in, double out) const noexcept {
    constexpr double nano = 1e-9;
    constexpr double pico = 1e-12;
    const PeerCosts& c = *inputs.costs;
    const double copies = (in + out) * (c.write_ps + c.read_ps) + in * c.combine_ps;
    return phases * (c.call_ns + 2.0 * c.signal_ns) * nano + (late ? 0 : copies * pico);
  }
};

/// One of the ways in which calls of a collective may run by messages.
struct MessageCandidate {
  std::string_view name;  ///< in selection files: of a schedule that a load chooses, one of several
  /// What a call takes by the model, which may be never.
  double (*seconds)(const MessageLoad&);
  /// The schedule of a candidate that runs flat, along the ranks; else null.
  AnySchedule (*schedule)(const MessageLoad&);
  const HierarchicalSpec& (*by_nodes)(const SelectionInputs&);
};

inline constexpr double never = std::numeric_limits<double>::infinity();

template <class S> constexpr MessageCandidate flat(double (*seconds)(const MessageLoad&)) noexcept {
  return {S::name, seconds, [](const MessageLoad&) { return AnySchedule::of<S>(); }, nullptr};
}
constexpr MessageCandidate flat(std::string_view name, double (*seconds)(const MessageLoad&),
                                AnySchedule (*schedule)(const MessageLoad&)) noexcept {
  return {name, seconds, schedule, nullptr};
}
/// What runs in nodes and between them is chosen there, or, between them, given by `spec`.
constexpr MessageCandidate by_nodes(
    double (*seconds)(const MessageLoad&), std::string_view name = hierarchical_name,
    const HierarchicalSpec& (*spec)(const SelectionInputs&) = [](const SelectionInputs&)
        -> const HierarchicalSpec& { return hierarchical_of_chosen(); }) noexcept {
  return {name, seconds, nullptr, spec};
}

/// A closed form's time among all ranks, if the ranks of a node send at the same time, and if not.
template <auto form> double by_flat(const MessageLoad& l) noexcept {
  return form(l.flat, l.inputs.size, l.bytes());
}
template <auto form> double by_link(const MessageLoad& l) noexcept {
  return form(l.link, l.inputs.size, l.bytes());
}
template <auto seconds> double if_commutative(const MessageLoad& l) noexcept {
  return l.commutes() ? seconds(l) : never;
}

/// What the closed forms leave out of a pipeline in many small steps: its prior is so much longer.
inline constexpr double pipeline_overhead = 1.15;

/// Between 16 nodes or more, of which a grid of 4 × 4 makes a difference.
inline bool is_between_many_nodes(const SelectionInputs& inputs) noexcept {
  return inputs.between_nodes && inputs.size >= 16;
}

template <auto form> double two_trees(const MessageLoad& l) noexcept {
  if (!is_between_many_nodes(l.inputs) || !l.commutes()) return never;
  const double chunk = two_tree_chunk(l.call, l.inputs.size);
  return pipeline_overhead * form(l.link, l.inputs.size, l.bytes(), chunk);
}

/// Returns the seconds of an allreduce among n ranks or nodes by the quicker algorithm.
inline double allreduce_seconds(const HockneyWithGap& h, int n, double m) noexcept {
  return std::min(closed_form::recursive_doubling_allreduce(h, n, m),
                  closed_form::rabenseifner_allreduce(h, n, m));
}

/// The time by two levels with a ring among the nodes.
inline double ring_of_nodes(const MessageLoad& l) noexcept {
  return l.commutes() ? closed_form::ring_allreduce(l.link, l.inputs.nodes, l.bytes()) : never;
}
/// Return the seconds of a reduce and of a bcast by the quicker algorithm.
inline double reduce_seconds(const HockneyWithGap& h, int n, double m) noexcept {
  return std::min(closed_form::binomial_reduce(h, n, m),
                  closed_form::reduce_scatter_gather_reduce(h, n, m));
}
inline double bcast_seconds(const HockneyWithGap& h, int n, double m) noexcept {
  return std::min(closed_form::binomial_bcast(h, n, m),
                  closed_form::scatter_allgather_bcast(h, n, m));
}

/// Bruck copies all that it has once more, into rank order: as if it were combined.
inline double bruck_allgather_seconds(const HockneyWithGap& h, int n, double m) noexcept {
  return closed_form::bruck_allgather(h, n, m) + (n > 2 ? h.gamma * m : 0);
}

/// All bytes of a node's ranks go through its link.
inline WeighedAlltoall flat_alltoall(const MessageLoad& l) noexcept {
  HockneyWithGap h = l.flat;
  h.beta *= l.ranks_of_node();
  return weigh_alltoall(static_cast<double>(l.call.bytes()), l.inputs.size, h);
}

/// Returns the seconds of an alltoall in which all blocks of a node go as one; its representative
/// copies them four times.
inline double alltoall_by_nodes_seconds(const MessageLoad& l) noexcept {
  const double of_node = l.ranks_of_node() * l.bytes();
  const double block = l.ranks_of_node() * l.ranks_of_node() * static_cast<double>(l.call.bytes());
  constexpr double phase = 0.5e-6;
  const double copies = 2 * of_node * (l.inputs.costs->write_ps + l.inputs.costs->read_ps) * 2e-12;
  return 2 * phase + copies + weigh_alltoall(block, l.inputs.nodes, l.link).seconds();
}

inline WeighedScan flat_scan(const MessageLoad& l) noexcept {
  return weigh_scan(l.call.collective, l.bytes(), l.inputs.size, l.link);
}

/// The candidates of a collective, in the order of their numbers, by which the list for a kind of
/// calls names them: a specialization for each collective. Templates, so that a program compiles
/// the schedules of the collectives it calls.
template <Collective C>
inline constexpr auto candidates_by_messages = [] {
  static_assert(has_data(C) && !has_data(C),
                "papcoll: there are no candidates for this collective: add them");
};

template <Collective C>
requires(C == Collective::allreduce) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<RecursiveDoubling>(by_flat<closed_form::recursive_doubling_allreduce>),
    flat<Rabenseifner>(by_flat<closed_form::rabenseifner_allreduce>),
    flat<Ring>(if_commutative<by_flat<closed_form::ring_allreduce>>),
    flat<TwoTreeComplete>(two_trees<closed_form::two_tree_allreduce>),
    flat(
        AnySuara::name,
        [](const MessageLoad& l) {
          return is_between_many_nodes(l.inputs) && l.call.bytes() >= suara_from
                     ? pipeline_overhead * best_suara(l.call, l.inputs).seconds
                     : never;
        },
        [](const MessageLoad& l) { return best_suara(l.call, l.inputs).schedule; }),
    by_nodes([](const MessageLoad& l) {
      return l.within(2, l.bytes(), l.bytes()) +
             std::min(allreduce_seconds(l.link, l.inputs.nodes, l.bytes()), ring_of_nodes(l));
    }),
    // Where Ring is expected to be the quickest among the nodes, the candidate above runs it.
    by_nodes(
        [](const MessageLoad& l) {
          const double ring = ring_of_nodes(l);
          const bool is_chosen = ring < allreduce_seconds(l.link, l.inputs.nodes, l.bytes());
          if (l.inputs.late_node == nullptr || is_chosen) return never;
          return l.within(2, l.bytes(), l.bytes()) + ring;
        },
        "Hierarchical of Ring",
        [](const SelectionInputs&) -> const HierarchicalSpec& { return hierarchical_of_ring(); }),
    // Half of the work is done when the late node comes.
    by_nodes(
        [](const MessageLoad& l) {
          if (!has_late_node(l.call, l.inputs)) return never;
          const double among =
              std::min(allreduce_seconds(l.link, l.inputs.nodes, l.bytes()), ring_of_nodes(l));
          return l.within(1, 0, l.bytes()) + among / 2;
        },
        "Hierarchical of StragglAR",
        [](const SelectionInputs& inputs) -> const HierarchicalSpec& {
          return inputs.late_node->of(inputs.imbalance.late_node);
        }),
};

template <Collective C>
requires(C == Collective::reduce) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<Binomial>(by_link<closed_form::binomial_reduce>),
    flat<ReduceScatterGather>(by_flat<closed_form::reduce_scatter_gather_reduce>),
    flat<TwoTreeComplete>(two_trees<closed_form::two_tree_reduce>),
    by_nodes([](const MessageLoad& l) {
      return l.within(1, l.bytes(), 0) + reduce_seconds(l.link, l.inputs.nodes, l.bytes());
    }),
};

template <Collective C>
requires(C == Collective::bcast) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<Binomial>(by_link<closed_form::binomial_bcast>),
    flat<ScatterAllgather>(by_flat<closed_form::scatter_allgather_bcast>),
    flat<TwoTreeComplete>(two_trees<closed_form::two_tree_bcast>),
    by_nodes([](const MessageLoad& l) {
      return l.within(1, 0, l.bytes()) + bcast_seconds(l.link, l.inputs.nodes, l.bytes());
    }),
};

template <Collective C>
requires(C == Collective::allgather) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<Ring>(by_link<closed_form::ring_allgather>),
    flat<Bruck>([](const MessageLoad& l) {
      return l.call.counts != nullptr ? never
                                      : bruck_allgather_seconds(l.flat, l.inputs.size, l.bytes());
    }),
    by_nodes([](const MessageLoad& l) {
      const double m = l.bytes();
      return l.within(2, m / l.inputs.nodes, m) +
             std::min(closed_form::ring_allgather(l.link, l.inputs.nodes, m),
                      bruck_allgather_seconds(l.link, l.inputs.nodes, m));
    }),
};

template <Collective C>
requires(C ==
         Collective::reduce_scatter) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<Pairwise>(if_commutative<by_flat<closed_form::pairwise_reduce_scatter>>),
    flat<RecursiveHalving>(if_commutative<by_flat<closed_form::recursive_halving_reduce_scatter>>),
    flat<Linear>([](const MessageLoad& l) {
      return l.commutes() ? never
                          : closed_form::linear_reduce_scatter(l.flat, l.inputs.size, l.bytes());
    }),
};

// Each rank knows its own lengths only, so the choice for an alltoallv cannot depend on them.
template <Collective C>
requires(C == Collective::alltoall) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<SpreadOut>([](const MessageLoad& l) { return l.call.is_irregular() ? 0 : never; }),
    flat(
        Pairwise::name,
        [](const MessageLoad& l) {
          return l.call.is_irregular() ? never : flat_alltoall(l).unforwarded;
        },
        [](const MessageLoad& l) { return unforwarded_alltoall(flat_alltoall(l), l.inputs.size); }),
    flat(
        Bruck::name,
        [](const MessageLoad& l) { return l.call.is_irregular() ? never : flat_alltoall(l).bruck; },
        [](const MessageLoad& l) { return bruck_of_bits(flat_alltoall(l).radix_bits); }),
    by_nodes(alltoall_by_nodes_seconds),
};

template <Collective C>
requires(C == Collective::scan ||
         C == Collective::exscan) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<RecursiveDoubling>([](const MessageLoad& l) { return flat_scan(l).doubling; }),
    flat(
        PipelinedChain::name, [](const MessageLoad& l) { return flat_scan(l).chain; },
        [](const MessageLoad& l) { return chain_of_segment(flat_scan(l).segment_bits); }),
    by_nodes([](const MessageLoad& l) {
      return l.within(3, l.bytes(), l.bytes()) +
             weigh_scan(C, l.bytes(), l.inputs.nodes, l.link).seconds();
    }),
};

template <Collective C>
requires(C == Collective::barrier) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<Dissemination>([](const MessageLoad& l) {
      return closed_form::dissemination_barrier(l.flat, l.inputs.size);
    }),
    by_nodes([](const MessageLoad& l) {
      return l.within(2, 0, 0) + closed_form::dissemination_barrier(l.link, l.inputs.nodes);
    }),
};

template <Collective C>
requires(C == Collective::gather ||
         C == Collective::scatter) inline constexpr auto candidates_by_messages<C> = std::array{
    flat<Binomial>([](const MessageLoad& l) {
      return l.call.is_irregular() ? never
                                   : closed_form::binomial_gather(l.link, l.inputs.size, l.bytes());
    }),
    flat<Linear>(by_link<closed_form::linear_gather>),
};

/// Returns what a candidate takes by the model, in seconds.
inline double prior_of(const MessageCandidate& c, const MessageLoad& load) noexcept {
  if (c.by_nodes != nullptr && !may_go_by_nodes(load.call, load.inputs)) return never;
  return c.seconds(load);
}

/// Returns the candidates that are tried for a call, by their numbers: a single one where the bits
/// of the result must not depend on the choice.
inline Shortlist shortlist(std::span<const MessageCandidate> all,
                           const MessageLoad& load) noexcept {
  const bool is_one_only = !load.call.by_conditions() && is_reduction(load.call.collective);
  std::array<double, CallTrial::most_candidates> priors{};
  Shortlist list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    priors[i] = prior_of(all[i], load);
    if (priors[i] != never && !is_one_only) list.allowed |= static_cast<std::uint16_t>(1U << i);
  }
  list.add_promising({priors.data(), all.size()}, is_one_only ? 1 : Shortlist::most);
  return list;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
