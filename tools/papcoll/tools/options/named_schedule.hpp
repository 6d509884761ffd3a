// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/simulate/hierarchical_schedule.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/device_rows.hpp>
#include <papcoll/tools/options/written.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// As parse_name(), with a text of its own for a name of something else: a collective, or what
/// `papcoll list` shows of GPUs.
inline ParsedName algorithm_named(const std::string& name, Catalogue catalogue) {
  for (const CatalogueRow& row : device_rows) {
    if (name != row.name) continue;
    throw unknown_algorithm("papcoll: " + name + " is for memory of GPUs, in calls of " +
                            "papcoll::gpu alone: name another");
  }
  for (std::size_t i = 0; i < collective_count; ++i) {
    const std::string collective{name_of(static_cast<Collective>(i))};
    if (plain_name(name) != collective) continue;
    throw unknown_algorithm("papcoll: '" + name +
                            "' is a collective: name an algorithm for it, of " +
                            "those that `papcoll list " + collective + "` shows");
  }
  return parse_name(name, catalogue);
}

/// `Hierarchical` of the schedules that a name's parts are; its groups are not known yet. Throws
/// argument_error if they are no schedules in rank order.
inline HierarchicalSchedule hierarchy_named(const ParsedName& named) {
  HierarchicalSchedule schedule;
  for (const ParsedName& part : named.parts) {
    if (part.order || (part.row != nullptr && !part.plan)) {
      throw argument_error(
          "papcoll: " + named.text() + ": " + part.text() +
          (part.order ? " goes by an order" : " decides by who arrives when") +
          ", and the plan of a hierarchy is made of static schedules in rank order: write one in "
          "its place, such as Binomial, or auto" +
          (part.order ? "" : "; `papcoll simulate` takes it alone, on one node"));
    }
    schedule.parts.push_back(part.plan);
  }
  return schedule;
}

/// The name of a static schedule, such as KNomial:5 or PredictedOrder+Ring, or of a hierarchy of
/// them. Throws unknown_algorithm for what is no algorithm, and argument_error for what has no plan
/// to `verb`; `or_else` is something else to do than to name one.
inline ParsedName schedule_to(const std::string& verb, const std::string& name, Catalogue catalogue,
                              const std::string& or_else = {}) {
  ParsedName parsed = algorithm_named(name, catalogue);
  if (parsed.row == nullptr) {
    throw argument_error("papcoll: '" + name + "' names no schedule to " + verb +
                         ": name one, such as Ring" + or_else);
  }
  if (parsed.row->is_hierarchical) parsed.plan = hierarchy_named(parsed);
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

/// Throws argument_error if the root that was `given` belongs to no call, or to no rank.
inline void require_root(Collective c, int root, bool given, int ranks) {
  if (given && !is_rooted(c)) {
    throw argument_error("papcoll: --root: " + std::string(name_of(c)) +
                         " has none: leave it out, or name another --collective");
  }
  if (root < ranks) return;
  throw argument_error("papcoll: --root " + std::to_string(root) + ": there are ranks 0 to " +
                       std::to_string(ranks - 1));
}

/// The collective that is meant by a name or, if that is empty, with an algorithm alone, which
/// serves c if `serves_one(c)`. Throws argument_error if there is none of that name, or if it does
/// not serve it.
template <class Serves>
Collective collective_meant(const std::string& algorithm, Serves&& serves_one,
                            const std::string& named) {
  constexpr std::array first{Collective::allreduce, Collective::bcast};
  std::vector<Collective> served;
  for (const Collective c : first) {
    if (serves_one(c)) served.push_back(c);
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    names.push_back(name_of(c));
    if (serves_one(c) && std::find(served.begin(), served.end(), c) == served.end()) {
      served.push_back(c);
    }
  }
  if (named.empty()) return served.front();
  const auto at = std::find(names.begin(), names.end(), plain_name(named));
  if (at == names.end()) {
    throw argument_error("papcoll: --collective: there is no " + named + ": " +
                         detail::similar_names(plain_name(named), names));
  }
  const auto c = static_cast<Collective>(at - names.begin());
  if (serves_one(c)) return c;
  std::vector<std::string_view> serves;
  for (const Collective one : served) serves.push_back(name_of(one));
  throw argument_error("papcoll: " + algorithm + " does not serve " + std::string(name_of(c)) +
                       ": it serves " + joined(serves));
}

/// The collective that is meant with a schedule.
inline Collective collective_meant(const AnySchedule& schedule, const std::string& named) {
  return collective_meant(
      schedule.name(), [&](Collective c) { return schedule.serves(c); }, named);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
