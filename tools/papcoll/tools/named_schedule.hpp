#pragma once

#include <papcoll/error.hpp>
#include <papcoll/names/grammar.hpp>
#include <papcoll/names/parsed_name.hpp>
#include <papcoll/names/row.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

/// The name of a static schedule, such as KNomial:5 or PredictedOrder+Ring. Throws
/// unknown_algorithm for what is no algorithm, and argument_error for what has no plan to `verb`;
/// `or_else` is something else to do than to name one.
inline ParsedName schedule_to(const std::string& verb, const std::string& name, Catalogue catalogue,
                              const std::string& or_else = {}) {
  ParsedName parsed = parse_name(name, catalogue);
  if (parsed.row == nullptr) {
    throw argument_error("papcoll: '" + name + "' names no schedule to " + verb +
                         ": name one, such as Ring" + or_else);
  }
  if (parsed.row->is_hierarchical) {
    throw argument_error("papcoll: " + std::string(parsed.row->name) +
                         " is made of other algorithms: " + verb +
                         " those of them that are schedules");
  }
  if (!parsed.plan) {
    throw argument_error("papcoll: " + std::string(parsed.row->name) +
                         " decides by who arrives when, so it has no plan to " + verb +
                         ": name a static schedule, such as Ring");
  }
  return parsed;
}

/// Refuses names with a transport that the simulator's model does not describe. Throws
/// argument_error.
inline void require_messages(const ParsedName& algorithm) {
  constexpr std::string_view messages = "MpiTransport";
  if (algorithm.transport.empty() || algorithm.transport == messages) return;
  ParsedName other = algorithm;
  other.transport = messages;
  throw argument_error("papcoll: " + algorithm.text() + ": the simulator times messages, as " +
                       std::string(messages) + " passes them, and not " + algorithm.transport +
                       ": write " + other.text());
}

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
