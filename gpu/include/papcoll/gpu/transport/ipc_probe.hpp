// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/transport/device_memory.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>
#include <papcoll/gpu/transport/device_steps.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/pulled_messages.hpp>
#include <papcoll/node/node.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a rank of a node publishes of its device, where its mailbox with itself would be. Written
/// by that rank alone.
struct RankNotice {
  /// What state says. 0: the rank is not connected. It has mapped nothing, nor will it, since every
  /// message of this rank has been answered.
  static constexpr std::uint32_t open = 1;
  static constexpr std::uint32_t closed = 2;   ///< it has ended, and closed what it mapped
  static constexpr std::uint32_t gave_up = 3;  ///< it has ended, and what it mapped is still mapped
  /// What trial says. 0: nothing yet.
  static constexpr std::uint32_t offered = 1;  ///< the handles are there
  static constexpr std::uint32_t tried = 2;    ///< and the reason: it imports no more for the trial

  /// Goes up. The rank's release says that it has closed what it had mapped, and makes `memory`
  /// visible to the acquire of who may free it.
  std::atomic<std::uint32_t> state{0};
  /// Goes up. The rank's release makes the handles and then the reason visible to the acquire of
  /// the others, who read them only after that.
  std::atomic<std::uint32_t> trial{0};
  /// Of threads: the memory of a rank that has ended. Who exchanges it for null, by acquire and
  /// release, frees it: one alone.
  std::atomic<detail::Shared<DeviceMemory>*> memory{nullptr};
  std::uint64_t physical_device = 0;  ///< as gpu::Api::physical_device(); written before `trial`
  gpu::MemoryHandle trial_memory{};   ///< of an allocation
  gpu::EventHandle trial_event{};     ///< of an event
  std::array<char, 512> reason{};     ///< why the rank's device does not share; ends with 0
};

static_assert(sizeof(RankNotice) <= device_mailbox_bytes);

/// The trial by which ranks find out, while their first calls are in progress, if all of them can
/// share memory and events of devices: each exports one of its own, imports those of all others,
/// and closes them again. No rank waits: the calls notice a rank that dies meanwhile.
class IpcProbe {
 public:
  /// `notices`: of all ranks. `steps` and `notices` stay longer. Throws device_error for what is no
  /// refusal.
  IpcProbe(DeviceSteps& steps, std::vector<RankNotice*> notices, int rank)
      : steps_(&steps), notices_(std::move(notices)), rank_(rank) {
    if (notices_.size() == 1) return;
    own().physical_device = steps.api().physical_device(steps.device());
    std::byte* const memory = steps.memory()->take(1, DeviceSteps::scratch_order);
    steps.memory()->give_back(memory, DeviceSteps::scratch_order);
    const std::string problem = problem_of([&] {
      event_ = {steps.api(), steps.api().make_event(steps.device(), true)};
      own().trial_memory = steps.memory()->handle_of(*steps.memory()->find(memory));
      own().trial_event = steps.api().export_event(event_.get());
    });
    if (problem.empty()) {
      own().trial.store(RankNotice::offered, std::memory_order_release);
    } else {
      finish(problem);
    }
  }

  /// Moves the trial; true: all ranks have tried.
  bool progress() {
    if (notices_.size() == 1) return true;
    if (!has_tried_ && all_are(RankNotice::offered)) finish(try_all());
    return has_tried_ && all_are(RankNotice::tried);
  }

  /// Returns, after that, why they cannot share, the same on all ranks; empty if they can. `ranks`
  /// is how the team numbers them.
  std::string reason(const std::vector<int>& ranks) const {
    for (std::size_t r = 0; r < notices_.size(); ++r) {
      const std::string why = notices_[r]->reason.data();
      if (!why.empty()) return detail::joined({"on rank ", ranks[r], ": ", why});
    }
    return "";
  }

 private:
  /// Returns what a device refused.
  static std::string problem_of(auto&& f) {
    try {
      f();
    } catch (const gpu::device_error& problem) {
      const bool refused =
          problem.fault == gpu::Fault::ipc_refused || problem.fault == gpu::Fault::no_peer_access;
      if (!refused) throw;
      return detail::bare(problem.what());
    }
    return "";
  }

  RankNotice& own() noexcept { return *notices_[static_cast<std::size_t>(rank_)]; }

  bool all_are(std::uint32_t least) const noexcept {
    return std::all_of(notices_.begin(), notices_.end(), [least](const RankNotice* n) {
      return n->trial.load(std::memory_order_acquire) >= least;
    });
  }

  /// Imports and closes what each of the others has, unless one has refused already.
  std::string try_all() {
    for (const RankNotice* n : notices_) {
      // The reason of a rank that has not tried yet is not to be read.
      const bool knows = n->trial.load(std::memory_order_acquire) == RankNotice::tried;
      if (knows && n->reason[0] != 0) return "";
    }
    gpu::Api& api = steps_->api();
    return problem_of([&] {
      for (const RankNotice* n : notices_) {
        if (n == &own()) continue;
        const gpu::ImportedMemory memory{api, api.import_memory(steps_->device(), n->trial_memory)};
        const gpu::OwnedEvent event{api, api.import_event(steps_->device(), n->trial_event)};
      }
    });
  }

  void finish(const std::string& problem) noexcept {
    auto& reason = own().reason;
    const std::size_t n = std::min(problem.size(), reason.size() - 1);
    std::copy_n(problem.begin(), n, reason.begin());
    has_tried_ = true;
    own().trial.store(RankNotice::tried, std::memory_order_release);
  }

  DeviceSteps* steps_;
  std::vector<RankNotice*> notices_;
  int rank_;
  gpu::OwnedEvent event_;
  bool has_tried_ = false;
};

/// Where in a node's memory its ranks publish what they know of their devices: a mailbox for each
/// pair, and where a rank's mailbox with itself would be, what it sends to all others.
class MailboxTable {
 public:
  /// What a rank publishes to all others.
  struct OfRank {
    RankNotice notice;
    DeviceControlBlock control;
  };
  static_assert(sizeof(OfRank) <= device_mailbox_bytes);

  /// Makes sure that all of it has pages. Throws system_error.
  explicit MailboxTable(const Node& node) : node_(node) {
    for (int p = 0; p < node.size; ++p) {
      reserve(p, p);
      if (p == node.rank) continue;
      reserve(node.rank, p);
      reserve(p, node.rank);
    }
  }

  /// The mailboxes of this rank by rank of the team, in which those of the node are ranks `here`.
  std::vector<MailboxPair> peers(int size, const std::vector<int>& here) const {
    std::vector<MailboxPair> peers(static_cast<std::size_t>(size));
    for (int p = 0; p < node_.size; ++p) {
      if (p == node_.rank) continue;
      peers[static_cast<std::size_t>(here[static_cast<std::size_t>(p)])] = {&box(node_.rank, p),
                                                                            &box(p, node_.rank), p};
    }
    return peers;
  }

  /// Returns what a rank of the node has published.
  RankNotice& notice(int rank) const { return of_rank(rank).notice; }
  /// Returns the notices of all ranks.
  std::vector<RankNotice*> notices() const { return of_all(&OfRank::notice); }
  /// Returns what they show in calls that depend on arrivals.
  std::vector<DeviceControlBlock*> control_blocks() const { return of_all(&OfRank::control); }

 private:
  std::byte* place(int from, int to) const {
    const auto ranks = static_cast<std::size_t>(node_.size);
    const std::size_t pair = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return node_.device_mailboxes + pair * device_mailbox_bytes;
  }
  Mailbox& box(int from, int to) const {
    return *std::launder(reinterpret_cast<Mailbox*>(place(from, to)));
  }
  OfRank& of_rank(int rank) const {
    return *std::launder(reinterpret_cast<OfRank*>(place(rank, rank)));
  }
  template <class Part> std::vector<Part*> of_all(Part OfRank::*part) const {
    std::vector<Part*> all;
    all.reserve(static_cast<std::size_t>(node_.size));
    for (int p = 0; p < node_.size; ++p) all.push_back(&(of_rank(p).*part));
    return all;
  }
  void reserve(int from, int to) const { node_.reserve(place(from, to), device_mailbox_bytes); }

  Node node_;  ///< keeps the memory mapped
};

}  // namespace papcoll::inline PAPCOLL_ABI
