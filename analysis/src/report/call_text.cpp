// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/call_text.hpp>

#include <papcoll/report/run.hpp>
#include <papcoll/report/unfinished.hpp>
#include <papcoll/simulate/quantity_text.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

std::string time_text(double nanoseconds) {
  constexpr double nanosecond = 1e-9;
  return papcoll::detail::duration_text(nanoseconds * nanosecond);
}

std::string percent_text(double part) {
  constexpr double hundred = 100;
  const double percent = part * hundred;
  return papcoll::detail::decimal(percent, percent < 1 ? 2 : percent < 10 ? 1 : 0) + " %";
}

std::string call_text(profile::MpiCollective collective, std::uint32_t flags, std::uint64_t bytes) {
  std::string name = name_of(collective, flags);
  if (collective == profile::MpiCollective::barrier) return name;
  return name + " of " + papcoll::detail::bytes_text(bytes);
}

std::string call_text(const Run& run, const CallOf& c) {
  std::string text = call_text(c.collective, c.flags, c.bytes);
  if (c.root >= 0) text += " with root " + std::to_string(c.root);
  if (c.communicator < run.communicators.size()) {
    text += ", call " + std::to_string(c.number) + " on " + run.communicators[c.communicator].name;
  }
  return text + ", at " + place_text(run, c.place);
}

namespace detail {

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
