#pragma once

#include <papcoll/config.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

class MachineSource;

namespace detail {

/// How the ranks of a communicator, of which this is one, tell each other what they know of its
/// machine. Each function is collective.
struct RanksTell {
  int rank = 0;
  const void* context = nullptr;
  /// The problem of the lowest rank that has one, on all ranks, or nothing.
  std::string (*first_problem)(const void* context, const std::string& mine) = nullptr;
  /// From rank 0.
  void (*bcast)(const void* context, void* data, std::size_t bytes) = nullptr;
  void (*allgather)(const void* context, const void* mine, std::size_t bytes, void* all) = nullptr;
};

/// The ranks on the machine that `source`, which is not the default, describes. `node_of`: the
/// lowest rank on the node of each; `places`: where Linux says that they sit, which stands where
/// only the network is described. Collective; throws argument_error, on all ranks.
PAPCOLL_DECL std::shared_ptr<const MachineOnDemand> described_machine(
    const MachineSource& source, const RanksTell& ranks, const std::vector<int>& node_of,
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
  MachineSource(Machine machine)  // NOLINT(google-explicit-constructor): it is one
      : machine_(std::make_shared<const Machine>(std::move(machine))),
        describe_(&detail::described_machine) {}
  /// For producers: `reader` makes the machine of what `name` says, the same text for the same
  /// machine, and throws papcoll::error with a sentence of its own.
  MachineSource(std::string name, Machine (*reader)(const std::string& name))
      : name_(std::move(name)), read_(reader), describe_(&detail::described_machine) {}

  /// Is it Linux?
  bool is_default() const noexcept { return !machine_ && read_ == nullptr; }
  /// What the producer reads; empty for Linux and descriptions in code.
  const std::string& name() const noexcept { return name_; }
  /// The machine. Not of is_default(). Throws papcoll::error.
  Machine read() const { return machine_ ? *machine_ : read_(name_); }
  /// As detail::described_machine(). Not of is_default().
  std::shared_ptr<const MachineOnDemand> describe(const detail::RanksTell& ranks,
                                                  const std::vector<int>& node_of,
                                                  std::vector<Place> places) const {
    return describe_(*this, ranks, node_of, std::move(places));
  }
  /// The description in code, or null.
  const Machine* in_code() const noexcept { return machine_.get(); }

  friend bool operator==(const MachineSource& a, const MachineSource& b) {
    const bool same_code =
        a.machine_ == b.machine_ || (a.machine_ && b.machine_ && *a.machine_ == *b.machine_);
    return a.read_ == b.read_ && a.name_ == b.name_ && same_code;
  }

 private:
  std::string name_;
  Machine (*read_)(const std::string&) = nullptr;
  std::shared_ptr<const Machine> machine_;
  /// Only where a machine is described, so that other programs do not compile what that takes.
  decltype(&detail::described_machine) describe_ = nullptr;
};

/// The same number where the sources are the same; descriptions in code by their places.
inline std::uint64_t hash_of(const MachineSource& source) noexcept {
  std::uint64_t h = 14695981039346656037U;
  const auto add = [&h](std::uint64_t x) { h = (h ^ x) * 1099511628211U; };
  for (const char c : source.name()) add(static_cast<unsigned char>(c));
  if (const Machine* const m = source.in_code()) {
    add(static_cast<std::uint64_t>(m->size()));
    for (const Place& p : m->places()) {
      add(static_cast<std::uint32_t>(p.node));
      add(std::uint64_t{p.package} << 48U | std::uint64_t{p.numa} << 32U |
          std::uint64_t{p.l3} << 16U | p.core);
    }
    for (const Network::Uplink& up : m->network().uplinks()) {
      add(static_cast<std::uint32_t>(up.switch_number));
    }
    for (const float hops : m->network().hops_matrix()) add(static_cast<std::uint64_t>(hops));
  }
  return h;
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/impl/machine_source.ipp>
#endif
