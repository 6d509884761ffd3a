// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

class Machine;  ///< in machine.hpp, for descriptions in code
class MachineOnDemand;
class MachineSource;
struct Place;

namespace detail {
struct RankAllgather;
using DescribeMachine = Shared<const MachineOnDemand>(const MachineSource& source,
                                                      const RankAllgather& ranks,
                                                      const std::vector<int>& node_of,
                                                      std::vector<Place> places);
}  // namespace detail

/// What describes a machine, for Options::machine: by default nothing, so that each rank asks Linux
/// for its place; a Machine described in code, whose places the ranks have; or whatever a producer
/// on request reads, such as hwloc_xml("node.xml", 16) or network_file("cluster.network"). A
/// producer is called on rank 0 alone, which sends the result to the others.
class MachineSource {
 public:
  /// Linux, and how each rank is bound.
  MachineSource() = default;
  /// A description in code.
  MachineSource(Machine machine);  // NOLINT(google-explicit-constructor): it is one
  /// For producers: `reader` makes the machine that `name` describes, the same text for the same
  /// machine, and throws papcoll::error with a sentence of its own.
  MachineSource(std::string name, Machine (*reader)(const std::string& name));

  /// Returns true if the machine is as Linux describes it.
  bool is_default() const noexcept { return !machine_ && read_ == nullptr; }
  /// Returns what the producer reads; empty for Linux and descriptions in code.
  const std::string& name() const noexcept { return name_; }
  /// The machine. Not of is_default(). Throws papcoll::error.
  Machine read() const;
  /// As detail::described_machine(). Not of is_default().
  detail::DescribeMachine* describe() const noexcept { return describe_; }
  /// The description in code, or null.
  const Machine* in_code() const noexcept { return machine_.get(); }
  /// Returns true if it is a description in code that has no places.
  bool is_of_no_places() const noexcept;

  friend PAPCOLL_DECL bool operator==(const MachineSource& a, const MachineSource& b);

 private:
  std::string name_;
  Machine (*read_)(const std::string&) = nullptr;
  detail::Shared<const Machine> machine_;
  /// Only where a machine is described, so that other programs do not compile what that takes.
  detail::DescribeMachine* describe_ = nullptr;
};

/// Returns a hash of the source; of a description in code, a hash of its places and network.
[[gnu::cold]] PAPCOLL_DECL std::uint64_t hash_of(const MachineSource& source);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/text.hpp>
#include <papcoll/topology/described_machine.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/network.hpp>
#include <papcoll/topology/packed_machine.hpp>

#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL MachineSource::MachineSource(Machine machine)
    : machine_(detail::make_shared<const Machine>(std::move(machine))),
      describe_(&detail::described_machine) {}
PAPCOLL_DECL MachineSource::MachineSource(std::string name, Machine (*reader)(const std::string&))
    : name_(std::move(name)), read_(reader), describe_(&detail::described_machine) {}

PAPCOLL_DECL Machine MachineSource::read() const { return machine_ ? *machine_ : read_(name_); }

PAPCOLL_DECL bool MachineSource::is_of_no_places() const noexcept {
  return machine_ != nullptr && machine_->size() == 0;
}

PAPCOLL_DECL bool operator==(const MachineSource& a, const MachineSource& b) {
  const bool same_code =
      a.machine_ == b.machine_ || (a.machine_ && b.machine_ && *a.machine_ == *b.machine_);
  return a.read_ == b.read_ && a.name_ == b.name_ && same_code;
}

PAPCOLL_DECL std::uint64_t hash_of(const MachineSource& source) {
  detail::Packer pack;
  pack(source.name());
  if (const Machine* const m = source.in_code()) {
    pack(m->places(), m->network().uplinks(), m->network().hops_matrix());
  }
  return detail::hash_of_text(pack.bytes);
}

}  // namespace papcoll::inline PAPCOLL_ABI

#endif
