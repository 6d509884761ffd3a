#pragma once

#include <papcoll/catalogue/algorithm.hpp>
#include <papcoll/catalogue/composite.hpp>
#include <papcoll/catalogue/grammar.hpp>
#include <papcoll/catalogue/rows.hpp>
#include <papcoll/catalogue/select.hpp>
#include <papcoll/run_composite.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

inline Selection selection_of(const ParsedName& parsed) {
  Selection selection;
  if (parsed.by_ticket) {
    set_ticket_chain(selection);
  } else {
    if (parsed.row != nullptr) selection.arrival = parsed.row->algorithm;
    selection.schedule = parsed.plan;
    selection.predictor = parsed.predictor;
  }
  selection.contract = parsed.contract;
  return selection;
}

/// The levels of a composite's name from the given one outwards.
inline std::shared_ptr<const Composite> composite_of(const std::vector<ParsedName>& parts,
                                                     std::size_t level = 0) {
  auto c = std::make_shared<Composite>();
  c->within = selection_of(parts[level]);
  c->within_transport = parts[level].transport;
  c->within.transport_name = c->within_transport;
  if (level + 2 == parts.size()) {
    c->between = selection_of(parts[level + 1]);
    c->between_transport = parts[level + 1].transport;
    c->between.transport_name = c->between_transport;
  } else {
    c->inner = composite_of(parts, level + 1);
    c->between.composite = c->inner.get();
  }
  c->id = composite_id(*c);
  c->run = &run_composite<>;
  return c;
}

}  // namespace detail

/// The algorithm of a name in a catalogue, for calls to run. Throws unknown_algorithm.
inline Algorithm algorithm(std::string_view name, Catalogue rows) {
  ParsedName parsed = parse_name(name, rows);
  Selection selection = detail::selection_of(parsed);
  std::shared_ptr<const Composite> composite;
  if (!parsed.parts.empty()) {
    composite = detail::composite_of(parsed.parts);
    selection.composite = composite.get();
  }
  return {parsed.text(), std::move(selection), parsed.transport, std::move(composite)};
}

namespace detail {

template <class>
Algorithm algorithm_named(std::string_view name) {
  return algorithm(name, catalogue());
}
PAPCOLL_COMPILE_ONCE(Algorithm algorithm_named<>(std::string_view))

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
