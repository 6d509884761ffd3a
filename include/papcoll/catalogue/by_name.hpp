#pragma once

#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/catalogue/grammar.hpp>
#include <papcoll/catalogue/rows.hpp>

#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// The algorithm of a name in a catalogue, for calls to run. Throws unknown_algorithm.
inline Algorithm algorithm(std::string_view name, Catalogue rows) {
  ParsedName parsed = parse_name(name, rows);
  Selection selection;
  if (parsed.row != nullptr) selection.arrival = parsed.row->algorithm;
  selection.schedule = parsed.plan;
  selection.predictor = parsed.predictor;
  selection.contract = parsed.contract;
  return {parsed.text(), std::move(selection), parsed.transport};
}

namespace detail {

template <class = void>
Algorithm algorithm_named(std::string_view name) {
  return algorithm(name, catalogue());
}
PAPCOLL_COMPILE_ONCE(Algorithm algorithm_named<>(std::string_view))

}  // namespace detail

/// One of the library's own: "Rabenseifner+MpiTransport", "DynamicLeader", "KNomial:8"; "auto":
/// chosen for each call (grammar.hpp has the grammar).
inline Algorithm algorithm(std::string_view name) { return detail::algorithm_named<>(name); }

}  // namespace papcoll::inline PAPCOLL_ABI
