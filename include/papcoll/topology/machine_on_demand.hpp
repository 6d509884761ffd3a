// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>

#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Where the ranks of a team sit, and the Machine that is made of it when one is first asked for.
/// Threads may ask at once.
class MachineOnDemand {
 public:
  /// The machine that Linux describes, with all nodes on one switch.
  explicit MachineOnDemand(std::vector<Place> places) : places_(std::move(places)) {}
  /// As described.
  explicit MachineOnDemand(Machine machine)
      : places_(machine.places().begin(), machine.places().end()),
        machine_(detail::make_shared<const Machine>(std::move(machine))) {}
  /// The machine of some ranks of `whole`, which are then 0, 1, … in the order given.
  MachineOnDemand(detail::Shared<const MachineOnDemand> whole, std::vector<int> ranks)
      : whole_(std::move(whole)), ranks_(std::move(ranks)) {
    places_.reserve(ranks_.size());
    for (const int r : ranks_) places_.push_back(whole_->places_[static_cast<std::size_t>(r)]);
  }

  std::span<const Place> places() const noexcept { return places_; }

  const Machine& get() const {
    const std::lock_guard lock{making_};
    if (machine_ == nullptr) machine_ = make();
    return *machine_;
  }

 private:
  [[gnu::cold]] detail::Shared<const Machine> make() const {
    if (whole_ != nullptr) return detail::make_shared<const Machine>(whole_->get().among(ranks_));
    auto machine = detail::make_shared<Machine>(places_);
    machine->source = "Linux";
    machine->caches = linux_caches();
    return machine;
  }

  std::vector<Place> places_;
  detail::Shared<const MachineOnDemand> whole_;
  std::vector<int> ranks_;
  mutable std::mutex making_;
  mutable detail::Shared<const Machine> machine_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
