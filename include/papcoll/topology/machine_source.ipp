#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/topology/described_machine.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/network.hpp>

#include <cstdint>
#include <string>
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

PAPCOLL_DECL std::uint64_t hash_of(const MachineSource& source) noexcept {
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

}  // namespace papcoll::inline PAPCOLL_ABI
