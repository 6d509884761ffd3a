#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

class Machine;  ///< in machine.hpp, which whoever describes one in code includes
class MachineOnDemand;
class MachineSource;
struct Place;

namespace detail {
struct RanksTell;
using DescribeMachine = detail::Shared<const MachineOnDemand>(const MachineSource& source,
                                                              const RanksTell& ranks,
                                                              const std::vector<int>& node_of,
                                                              std::vector<Place> places);
}  // namespace detail

/// What describes a machine, for Options::machine: nothing, so that each rank asks Linux where it
/// is; a Machine described in code, whose places the ranks have; or whatever a producer on request
/// reads, such as hwloc_xml("node.xml", 16) or network_file("cluster.network"). A producer is
/// called on rank 0 alone, which tells the others.
class MachineSource {
 public:
  /// Linux, and how each rank is bound.
  MachineSource() = default;
  /// A description in code.
  MachineSource(Machine machine);  // NOLINT(google-explicit-constructor): it is one
  /// For producers: `reader` makes the machine of what `name` says, the same text for the same
  /// machine, and throws papcoll::error with a sentence of its own.
  MachineSource(std::string name, Machine (*reader)(const std::string& name));

  /// Is it Linux?
  bool is_default() const noexcept { return !machine_ && read_ == nullptr; }
  /// What the producer reads; empty for Linux and descriptions in code.
  const std::string& name() const noexcept { return name_; }
  /// The machine. Not of is_default(). Throws papcoll::error.
  Machine read() const;
  /// As detail::described_machine(). Not of is_default().
  detail::DescribeMachine* describe() const noexcept { return describe_; }
  /// The description in code, or null.
  const Machine* in_code() const noexcept { return machine_.get(); }
  /// Is it a description in code, and one of no places?
  bool is_of_no_places() const noexcept;

  friend PAPCOLL_DECL bool operator==(const MachineSource& a, const MachineSource& b);

 private:
  std::string name_;
  Machine (*read_)(const std::string&) = nullptr;
  detail::Shared<const Machine> machine_;
  /// Only where a machine is described, so that other programs do not compile what that takes.
  detail::DescribeMachine* describe_ = nullptr;
};

/// The same number where the sources are the same; descriptions in code by their places.
[[gnu::cold]] PAPCOLL_DECL std::uint64_t hash_of(const MachineSource& source) noexcept;

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/machine_source.ipp>
#endif
