// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/simulated.hpp>
#include <papcoll/simulate/virtual_context.hpp>
#include <papcoll/simulate/virtual_cores.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Arrival-driven algorithms in virtual time, on one node.
//
// What runs is the library's code: the algorithm's Run::step() on papcoll's own call context
// (node/node_context.hpp), over a control block whose words know what it takes to touch them. Each
// rank has a processor and a clock of its own; the one whose clock is least does the next thing, so
// that whatever happens to a word happens in the order of time. All ranks are fibers of one thread,
// and the same arguments give the same bits.
//
// A rank's clock goes on by
//
//   call, code      once a call: what the team's code and the algorithm's take beside what follows
//   hit             a word that is in its own cache
//   fetch           one that another rank has written since
//   take, locked    a locked instruction on a line that others hold, or nobody else
//   copy, combine   by the bytes of one copy or combination, and more where its operands or its
//                   output are in another rank's cache, only in the last-level cache, or in none:
//                   each line of memory knows who has touched it last, and who holds it since
//
// A rank that waits looks at its flags again and again. It sees one that another has stored when a
// signal has passed: signal, of which take and fetch are parts. If it has waited for more than
// sleeps_after, it sleeps by then, and needs `wake` besides.
//
//     rank 0   arrives  call/2 | write | take ······················· fetch | combine | call/2
//     rank 1               arrives  call/2 | write | take ─ signal ─→ it sees the flag
//
// Ranks are processes, with buffers in private memory, which peers do not see: what they read is
// copied to pools, or to chunk buffers where pools are too small. What the kernel would copy for
// them instead (cross-memory attach) goes through chunk buffers, too. Caches are as former calls of
// the same kind left them. More ranks than processors are not modelled: there, times depend on
// which of them the kernel runs.

namespace papcoll::inline PAPCOLL_ABI {

/// An algorithm that runs in virtual time.
struct VirtualAlgorithm {
  ArrivalTraits traits;  ///< what it says about itself
  /// For the library.
  void (*run)(detail::VirtualContext&, detail::VirtualCores&, const Call&);
};

/// The inputs of a node in virtual time besides the call and the costs.
struct VirtualOptions {
  /// Of each rank: those of one colour share a last-level cache. Empty: all do.
  std::vector<int> colours{};
  /// True if the bytes of calls are moved and combined. Times do not depend on it.
  bool moves_data = false;
  std::size_t chunk_bytes = Options{}.chunk_bytes;  ///< as in Options
  bool rank_order = false;                          ///< see Call
  std::optional<Reducer> reducer{};  ///< of reductions; by default the sum of numbers of that size
};

namespace detail {

template <class Run>
void run_in_virtual_time(VirtualContext& context, VirtualCores& cores, const Call& call) {
  Run run;
  cores.wait([&] { return run.step(context, call); });
}

}  // namespace detail

/// The algorithm that a schedule is under an arrival policy, compiled for virtual time.
template <class Arrival, class Schedule> VirtualAlgorithm virtual_algorithm() {
  return {arrival_traits<Arrival, Schedule>,
          &detail::run_in_virtual_time<typename ArrivalDriven<Arrival, Schedule>::Run>};
}

namespace detail {

template <class... Listed>
std::vector<VirtualAlgorithm> virtual_algorithms_of(ArrivalAlgorithmList<Listed...>) {
  return {virtual_algorithm<typename Listed::Arrival, typename Listed::Schedule>()...};
}

inline std::vector<VirtualAlgorithm>& all_virtual_algorithms() {
  static std::vector<VirtualAlgorithm> all = virtual_algorithms_of(ArrivalAlgorithms{});
  return all;
}

inline Reducer sum_of_size(std::size_t bytes) noexcept {
  switch (bytes) {
    case 8: return reducer<double>(papcoll::sum);
    case 4: return reducer<float>(papcoll::sum);
    case 2: return reducer<std::uint16_t>(papcoll::sum);
    default: return reducer<std::uint8_t>(papcoll::sum);
  }
}

}  // namespace detail

/// Those of the library, in the order of listings, and those that are registered.
inline const std::vector<VirtualAlgorithm>& virtual_algorithms() {
  return detail::all_virtual_algorithms();
}

/// Registers an arrival-driven algorithm of a program's own by its name, as Registered does, and
/// for virtual time, so that `papcoll simulate` runs it, too. At namespace scope, in one file:
///
///     static const papcoll::RegisteredArrival<papcoll::ArrivalOrder, Mine> mine;
template <class Arrival, class Schedule> struct RegisteredArrival : Registered {
  RegisteredArrival() : Registered(arrival_row<Arrival, Schedule>()) {
    detail::all_virtual_algorithms().push_back(virtual_algorithm<Arrival, Schedule>());
  }
};

/// One of them by its name. Null if there is none.
inline const VirtualAlgorithm* find_virtual_algorithm(std::string_view name) {
  const auto& all = virtual_algorithms();
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const VirtualAlgorithm& a) { return a.traits.name == name; });
  return at == all.end() ? nullptr : &*at;
}

/// The ranks of one node in virtual time, which make calls of one kind by one algorithm, one after
/// the other. What they leave in caches, the next call finds.
class VirtualNode : Pinned {
 public:
  /// Ranks of a node, at most.
  static constexpr std::size_t most_ranks = detail::RankSet::most;
  /// After so many calls, times are as they stay: ranks know of each other's pools, and each buffer
  /// has been used.
  static constexpr int calls_to_warm_up = 12;

  /// `shape`: of the calls; its rank is not used. Throws argument_error for what cannot be
  /// simulated, and system_error if there is no memory.
  VirtualNode(const VirtualAlgorithm& algorithm, const Shape& shape, const NodeCosts& costs,
              VirtualOptions options = {})
      : algorithm_(algorithm),
        shape_(checked(algorithm, shape, costs, options)),
        costs_(costs),
        options_(std::move(options)),
        reducer_(options_.reducer ? *options_.reducer : detail::sum_of_size(shape.element_size)),
        pool_bytes_(pool_of(shape)),
        buffers_at_(control_block_bytes() + ranks() * pool_bytes_),
        memory_(buffers_at_ + 2 * ranks() * buffer_bytes()),
        cores_(memory_.data(), memory_.bytes(), ranks(), cache_of_ranks(), costs_,
               options_.moves_data),
        call_seconds_(costs_.call_of(algorithm.traits.name)),
        exits_(ranks()) {
    if (!options_.colours.empty()) groups_ = Groups::by_colour(options_.colours);
    const detail::VirtualControlBlock control{memory_.data(), shape_.size, options_.chunk_bytes};
    for (int r = 0; r < shape_.size; ++r) {
      Node& node = nodes_.emplace_back();
      node.rank = r;
      node.size = shape_.size;
      node.set_pool(memory_.data() + control_block_bytes(), pool_bytes_);
      node.peers = PeerMemory{memory_.data() + control_block_bytes(), ranks() * pool_bytes_, {}};
      if (groups_ && groups_->count() > 1 && groups_->count() < shape_.size)
        node.groups = {papcoll::detail::Shared<void>{}, &*groups_};
      node.copies = papcoll::detail::make_shared<detail::CopyChoice>(CopyMethod::plain,
                                                                     costs_.shared_cache / ranks());
      contexts_.emplace_back(control, detail::VirtualBells{}, r, 1U, &node);
      calls_.push_back(call_of(r));
    }
  }

  /// Makes the next call: rank r arrives at `arrivals`[r] seconds. Throws argument_error for
  /// another number of them, or if one is no finite number.
  Simulated call(std::span<const double> arrivals) {
    if (arrivals.size() != ranks()) {
      throw argument_error(
          detail::joined({"papcoll: in virtual time, ", arrivals.size(), " arrivals for ", ranks(),
                          " ranks: give one for each rank"}));
    }
    for (const double a : arrivals) {
      if (!detail::is_finite(a)) {
        throw argument_error("papcoll: in virtual time, an arrival is no finite number");
      }
    }
    Simulated result;
    result.arrivals.assign(arrivals.begin(), arrivals.end());
    // Clocks begin at 0, so that a call takes the same however late it is.
    const double first = *std::min_element(arrivals.begin(), arrivals.end());
    std::vector<double> times = result.arrivals;
    for (double& t : times) t -= first;
    cores_.run(times, [this](std::size_t r) { make_call(r); });
    result.exits = exits_;
    for (double& e : result.exits) e += first;
    return result;
  }

  /// Makes calls with these arrivals whose times do not count.
  void warm_up(std::span<const double> arrivals, int calls = calls_to_warm_up) {
    for (int i = 0; i < calls; ++i) call(arrivals);
  }

  // --- buffers, which stay where they are from call to call

  /// A rank's input; as many bytes as input_bytes().
  std::byte* input(int r) noexcept { return buffer(r, false); }
  /// And its output. Of a collective with one buffer, it is the input.
  std::byte* output(int r) noexcept { return buffer(r, !has_one_buffer(shape_.collective)); }
  /// Bytes of rank r's input; 0: it has none.
  std::size_t input_bytes(int r) const noexcept {
    return bytes_of(buffers_of(shape_.collective, r == shape_.root).in);
  }
  /// Bytes of rank r's output; 0: it has none.
  std::size_t output_bytes(int r) const noexcept {
    return bytes_of(buffers_of(shape_.collective, r == shape_.root).out);
  }

 private:
  static Shape checked(const VirtualAlgorithm& algorithm, const Shape& shape,
                       const NodeCosts& costs, const VirtualOptions& options) {
    const std::string name{algorithm.traits.name};
    const auto require = [&name](bool holds, const std::string& what) {
      if (!holds) throw argument_error("papcoll: " + name + " in virtual time: " + what);
    };
    costs.require_sense();
    require(shape.size >= 1 && static_cast<std::size_t>(shape.size) <= most_ranks,
            detail::joined({shape.size, " ranks: a node in virtual time has 1 to ", most_ranks}));
    require(shape.size <= algorithm.traits.most_ranks,
            detail::joined({"it serves at most ", algorithm.traits.most_ranks, " ranks"}));
    require(algorithm.traits.serves(shape.collective),
            "it does not serve " + std::string(name_of(shape.collective)));
    require(shape.root >= 0 && shape.root < shape.size,
            detail::joined({"there is no rank ", shape.root, " to be the root"}));
    require(
        options.colours.empty() || options.colours.size() == static_cast<std::size_t>(shape.size),
        detail::joined({options.colours.size(), " colours for ", shape.size,
                        " ranks: give one for each rank, or none"}));
    require(!options.rank_order || algorithm.traits.keeps_order_on_request,
            "it does not combine in rank order");
    const double bytes = static_cast<double>(shape.count) *
                         static_cast<double>(shape.element_size) * static_cast<double>(shape.size);
    require(bytes <= static_cast<double>(most_bytes),
            detail::joined({"the bytes of a call times its ", shape.size,
                            " ranks are more than 1 GB: take fewer of them"}));
    Shape own = shape;
    own.rank = 0;
    return own;
  }

  /// Those of one colour share a last-level cache. Where only ranks that share none are known, no
  /// two do.
  std::vector<int> cache_of_ranks() const {
    std::vector<int> colours = options_.colours;
    if (costs_.same_l3.known) return colours;
    colours.resize(ranks());
    std::iota(colours.begin(), colours.end(), 0);
    return colours;
  }

  static constexpr std::size_t most_bytes = std::size_t{1} << 30U;

  std::size_t ranks() const noexcept { return static_cast<std::size_t>(shape_.size); }
  std::size_t control_block_bytes() const noexcept {
    return detail::page_aligned(
        detail::VirtualControlBlock::bytes(shape_.size, options_.chunk_bytes));
  }
  /// Returns the bytes that a call may want at once, and room for calls to take turns; as in
  /// Options, no more than a quarter of the arena.
  static std::size_t pool_of(const Shape& shape) noexcept {
    const std::size_t wanted =
        4 * shape.count * shape.element_size * static_cast<std::size_t>(shape.size);
    constexpr std::size_t turns = std::size_t{8} << 20U;
    return detail::page_aligned(std::min(wanted + turns, Node::pool_of(Options{}.arena_bytes)));
  }
  /// Returns the bytes of the larger of a rank's buffers: whole pages, and one line more, so that
  /// equal places of two buffers do not fall on the same lines of a nearest cache.
  std::size_t buffer_bytes() const noexcept {
    std::size_t most = 1;
    for (int r = 0; r < shape_.size; ++r) {
      most = std::max({most, input_bytes(r), output_bytes(r)});
    }
    return detail::page_aligned(most) + cache_line;
  }
  std::size_t bytes_of(Holds what) const noexcept {
    const std::size_t block = shape_.count * shape_.element_size;
    switch (what) {
      case Holds::nothing: return 0;
      case Holds::own_block: return block;
      case Holds::vector:
        return traits_of(shape_.collective).vector == VectorOf::one_block ? block : block * ranks();
      default: return block * ranks();
    }
  }
  std::byte* buffer(int r, bool second) const noexcept {
    const std::size_t number = 2 * static_cast<std::size_t>(r) + (second ? 1 : 0);
    return memory_.data() + buffers_at_ + number * buffer_bytes();
  }

  Call call_of(int r) noexcept {
    if (shape_.collective == Collective::barrier) return detail::barrier_call(buffer(r, false));
    Call c;
    c.collective = shape_.collective;
    c.in = input(r);
    c.out = output(r);
    c.count = shape_.count;
    c.root = shape_.root;
    c.reducer.size = shape_.element_size;
    if (is_reduction(shape_.collective)) c.reducer = reducer_;
    c.rank_order = options_.rank_order;
    return c;
  }

  void make_call(std::size_t r) {
    detail::VirtualContext& context = contexts_[r];
    const Call& call = calls_[r];
    cores_.spend(call_seconds_ / 2);
    context.begin(CallFingerprint::of(call.count, call.collective, algorithm_.traits.id,
                                      static_cast<std::uint32_t>(call.root), call.types),
                  call.reducer);
    cores_.wait([&] { return context.enter(); });
    if (!context.earlier_call_matched()) {
      throw error("papcoll: in virtual time, the ranks' calls do not match");
    }
    algorithm_.run(context, cores_, call);
    context.leave();
    cores_.spend(call_seconds_ / 2);
    exits_[r] = cores_.now();
  }

  VirtualAlgorithm algorithm_;
  Shape shape_;
  NodeCosts costs_;
  VirtualOptions options_;
  Reducer reducer_;
  std::size_t pool_bytes_;
  std::size_t buffers_at_;
  detail::LazyMemory memory_;
  detail::VirtualCores cores_;
  std::optional<Groups> groups_;
  std::deque<Node> nodes_;
  std::deque<detail::VirtualContext> contexts_;
  std::vector<Call> calls_;
  double call_seconds_;
  std::vector<double> exits_;
};

/// Times one call of an arrival-driven algorithm on one node, after others with the same arrivals
/// (seconds, by rank; empty: all at 0). Throws as VirtualNode.
inline Simulated simulate_on_node(const VirtualAlgorithm& algorithm, const Shape& shape,
                                  const NodeCosts& costs, std::vector<double> arrivals = {},
                                  const VirtualOptions& options = {}) {
  VirtualNode node{algorithm, shape, costs, options};
  if (arrivals.empty()) arrivals.resize(static_cast<std::size_t>(shape.size), 0);
  node.warm_up(arrivals);
  return node.call(arrivals);
}

}  // namespace papcoll::inline PAPCOLL_ABI
