#pragma once

#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/catalogue/grammar.hpp>
#include <papcoll/catalogue/rows.hpp>

#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The algorithm of a name, for calls to run: "Rabenseifner+MpiTransport", "DynamicLeader",
/// "KNomial:8" (grammar.hpp has the grammar). Throws unknown_algorithm.
inline Algorithm algorithm(std::string_view name, Catalogue rows = catalogue()) {
  ParsedName parsed = parse_name(name, rows);
  Selection selection;
  if (parsed.row != nullptr) selection.arrival = parsed.row->algorithm;
  selection.schedule = parsed.plan;
  selection.contract = parsed.contract;
  return {parsed.text(), std::move(selection), parsed.transport};
}

}  // namespace papcoll::inline PAPCOLL_ABI
