#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/names/transport_names.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

inline constexpr std::string_view predicted_name = PredictedOrder<>::name;
inline constexpr std::string_view machine_name = OnTopology::name;

/// Does the arrival policy give any static schedule an order of its positions?
inline bool gives_order(std::string_view arrival) noexcept {
  return arrival == predicted_name || arrival == machine_name;
}

/// The name of a schedule that is chosen for each call.
inline constexpr std::string_view left_open = "auto";

[[gnu::cold]] inline bool is_arrival(std::string_view name, Catalogue catalogue) {
  return gives_order(name) ||
         std::any_of(catalogue.begin(), catalogue.end(),
                     [name](const CatalogueRow& row) { return row.arrival == name; });
}

[[gnu::cold]] inline bool is_schedule(std::string_view name, Catalogue catalogue) {
  return std::any_of(catalogue.begin(), catalogue.end(),
                     [name](const CatalogueRow& row) { return row.schedule == name; });
}

/// Programs may bring transports of their own, which only their teams know. What resembles one of
/// the library's is a slip.
[[gnu::cold]] inline bool is_transport_name(std::string_view name) {
  constexpr std::string_view ending = "Transport";
  bool resembles = false;
  for (const TransportName& t : transport_names) {
    if (t.name == name) return true;
    resembles |= edit_distance(t.name, name) <= 2;
  }
  return !resembles && name.size() > ending.size() && name.ends_with(ending);
}

/// Every policy that a name may have.
[[gnu::cold]] inline std::vector<std::string_view> all_policy_names(Catalogue catalogue) {
  std::vector<std::string_view> names{left_open, predicted_name, machine_name};
  for (const CatalogueRow& row : catalogue) {
    if (!row.arrival.empty()) names.push_back(row.arrival);
    names.push_back(row.schedule);
  }
  for (const TransportName& t : transport_names) names.push_back(t.name);
  for (const ContractTraits& c : contracts) names.push_back(c.name);
  return names;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
