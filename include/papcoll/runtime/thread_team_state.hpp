// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/runtime/setup/division.hpp>
#include <papcoll/runtime/setup/hierarchy.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/described_machine.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/transport/memory_transports.hpp>
#include <papcoll/transport/transport.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The memory of a team of threads, and each rank's side of it.
class ThreadTeamState : Pinned {
 public:
  [[gnu::cold]] ThreadTeamState(int ranks, const Options& options)
      : bytes_(node_bytes(checked(ranks, options), options.chunk_bytes)),
        memory_(zeros(page_aligned(bytes_.heads) + bytes_.late +
                      static_cast<std::size_t>(ranks) * Node::pool_of(options.arena_bytes))) {
    const Node first = node_of(0, ranks, options);
    Doorbells::initialise(first.bells, ranks);
    control_block_of(first, options.chunk_bytes).initialise(options.first_epoch);
    const std::string files = read_selection_files(options);
    const auto processors = static_cast<std::size_t>(ProcessorSet::of_this_thread().count());
    const bool oversubscribed = outnumber(static_cast<std::size_t>(ranks), processors);
    const auto machine = machine_of(ranks, options.machine);
    const auto groups = machine != nullptr ? cache_groups(machine->places()) : nullptr;
    static constexpr std::array transports{&transport_table<ThreadTransport>};
    nodes_.reserve(static_cast<std::size_t>(ranks));
    cores_.reserve(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      Node node = node_of(r, ranks, options);
      node.groups = groups;
      nodes_.push_back(make_owned<const Node>(std::move(node)));
      TeamEnvironment environment;
      environment.transports = transports;
      environment.rank = r;
      environment.size = ranks;
      environment.node = nodes_.back().get();
      environment.processes = false;
      environment.machine = machine;
      cores_.push_back(make_owned<TeamCore>(std::move(environment), options));
      cores_.back()->set_oversubscribed(oversubscribed);
      cores_.back()->files = files;
      cores_.back()->processors_at_first = processors;
    }
    if (!options.groups.empty()) {
      divide_all(options.groups, options, false);
    } else if (groups != nullptr) {
      divide_all({groups->of}, options, true);
    }
  }

  [[gnu::cold]] ~ThreadTeamState() { cores_[0]->keep_parts(); }

  TeamCore& core(int rank) noexcept { return *cores_[static_cast<std::size_t>(rank)]; }

  /// ThreadTeam::run.
  void run(void (*body)(void*, int rank), void* context) {
    std::vector<std::exception_ptr> problems(cores_.size());
    std::atomic<int> first{-1};
    {
      Threads threads;
      threads.reserve(cores_.size());
      for (int r = 0; r < static_cast<int>(cores_.size()); ++r) {
        const auto abort = [&, r] { core(r).abort_node(static_cast<std::uint32_t>(r) + 1); };
        const auto run_rank = [&, r, abort] {
          try {
            body(context, r);
          } catch (...) {
            problems[static_cast<std::size_t>(r)] = std::current_exception();
            int none = -1;
            first.compare_exchange_strong(none, r);
            abort();
          }
        };
        try {
          threads.emplace_back(run_rank);
        } catch (...) {  // no more threads: those that run may be waiting for this one
          abort();
          throw;
        }
      }
    }
    if (first >= 0) std::rethrow_exception(problems[static_cast<std::size_t>(first.load())]);
  }

 private:
  /// Joins them, as those of std::jthread, which libc++ has since version 20.
  struct Threads : std::vector<std::thread> {
    ~Threads() {
      for (std::thread& t : *this) t.join();
    }
  };

  static int checked(int ranks, const Options& options) {
    if (ranks < 1) {
      throw argument_error(
          joined({"papcoll: a thread team of ", ranks, " ranks: it needs at least one"}));
    }
    std::string problem = options.problem();
    if (problem.empty()) problem = problem_of(options.groups, ranks);
    if (!problem.empty())
      throw argument_error(joined({"papcoll: Options of a thread team: ", problem}));
    return ranks;
  }

  /// Returns where the threads sit, if that is described: Linux moves threads that are not bound.
  [[gnu::cold]] static Shared<const MachineOnDemand> machine_of(int ranks,
                                                                const MachineSource& source) {
    if (source.is_default()) return nullptr;
    const Machine described = source.read();
    if (described.size() == 0) {
      throw argument_error(
          joined({"papcoll: Options of a thread team: machine: ", source.name(),
                  " describes a network alone, and threads are on one node: describe its "
                  "places, or leave the machine out"}));
    }
    std::string why;
    std::vector<Place> places =
        described_places(described, std::vector<int>(static_cast<std::size_t>(ranks), 0), why);
    if (!why.empty()) {
      throw argument_error(joined(
          {"papcoll: Options of a thread team: machine: ", why, ": describe more cores or nodes"}));
    }
    Machine machine{std::move(places), described.network()};
    machine.source = described.source;
    return detail::make_shared<const MachineOnDemand>(std::move(machine));
  }

  /// Makes the teams within this one.
  [[gnu::cold]] void divide_all(const GroupColours& groups, const Options& options,
                                bool by_caches) {
    const auto plans = detail::make_shared<const HierarchyPlans>(
        groups, std::vector<int>(cores_.size(), 0), 0, options.chunk_bytes, by_caches);
    HierarchyMemory memory;
    const std::size_t late_at = page_aligned(plans->bytes().heads);
    division_memory_ = zeros(late_at + plans->bytes().late + 1);
    memory.heads = division_memory_.data();
    memory.late = memory.heads + late_at;
    for (std::size_t r = 0; r < cores_.size(); ++r) {
      memory.outer = *nodes_[r];
      memory.outer.groups = nullptr;
      memory.outer.set_pool(nullptr, 0);
      make_teams(*cores_[r], plan_teams(*cores_[r], plans), memory);
    }
  }

  static LazyMapping zeros(std::size_t bytes) {
    LazyMapping memory = LazyMapping::of_zeros(bytes);
    const int why = errno;
    if (memory.data() != nullptr) return memory;
    throw system_error(
        joined({"papcoll: no memory for a thread team of ", bytes,
                " bytes: fewer threads, or smaller Options::chunk_bytes or arena_bytes"}),
        why);
  }

  Node node_of(int rank, int ranks, const Options& options) const {
    Node n{rank, ranks};
    std::byte* const late = memory_.data() + page_aligned(bytes_.heads);
    detail::lay_out(n, memory_.data(), late, options.chunk_bytes);
    n.copies = detail::make_shared<CopyChoice>(
        options.copy_method, last_level_cache_bytes() / static_cast<std::size_t>(ranks));
    if (options.peer_access == PeerAccess::staged) n.peers = PeerMemory{memory_.data(), 0, {}};
    // What threads allocate all of them see anyway.
    n.set_pool(late + bytes_.late, Node::pool_of(options.arena_bytes));
    return n;
  }

  NodeBytes bytes_;
  LazyMapping memory_;
  LazyMapping division_memory_;
  Vector<Owned<const Node>> nodes_;
  Vector<Owned<TeamCore>> cores_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
