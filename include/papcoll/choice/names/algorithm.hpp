// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/choice/policies/algorithm_spec.hpp>

#include <span>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

struct CatalogueRow;

/// Returns one of the library's algorithms by its name, for calls to run:
/// "Rabenseifner+MpiTransport", "DynamicLeader", "KNomial:8"; "auto": chosen for each call. The
/// grammar is in name_parser.hpp. Throws unknown_algorithm, argument_error.
PAPCOLL_DECL Algorithm algorithm(std::string_view name);
/// Returns the algorithm of that name in a catalogue.
PAPCOLL_DECL Algorithm algorithm(std::string_view name, std::span<const CatalogueRow> catalogue);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/selection/run_hierarchical.hpp>

#include <cstddef>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

[[gnu::cold]] inline AlgorithmSpec spec_of(const ParsedName& parsed) {
  AlgorithmSpec spec;
  if (parsed.tickets != nullptr) {
    spec.follow_tickets(*parsed.tickets);
  } else {
    if (parsed.row != nullptr) spec.arrival = parsed.row->algorithm;
    spec.schedule = parsed.plan;
    spec.order = parsed.order;
  }
  spec.contract = parsed.contract;
  return spec;
}

/// The levels of a hierarchical algorithm's name from the given one outwards.
[[gnu::cold]] inline Shared<const HierarchicalSpec> hierarchical_spec_of(
    const Vector<ParsedName>& parts, std::size_t level = 0) {
  auto c = make_shared<HierarchicalSpec>();
  c->intra = spec_of(parts[level]);
  c->intra_transport = parts[level].transport;
  c->intra.transport_name = c->intra_transport;
  if (level + 2 == parts.size()) {
    c->inter = spec_of(parts[level + 1]);
    c->inter_transport = parts[level + 1].transport;
    c->inter.transport_name = c->inter_transport;
  } else {
    c->inner = hierarchical_spec_of(parts, level + 1);
    c->inter.hierarchical = c->inner.get();
  }
  c->id = hierarchical_id(*c);
  return c;
}

}  // namespace detail

[[gnu::cold]] PAPCOLL_DECL Algorithm algorithm(std::string_view name,
                                               std::span<const CatalogueRow> rows) {
  ParsedName parsed = parse_name(name, rows);
  AlgorithmSpec spec = detail::spec_of(parsed);
  detail::Shared<const HierarchicalSpec> hierarchical;
  if (!parsed.parts.empty()) {
    hierarchical = detail::hierarchical_spec_of(parsed.parts);
    spec.hierarchical = hierarchical.get();
    spec.run_hierarchical = &detail::run_any_hierarchical<>;
  }
  return {parsed.text(), std::move(spec), parsed.transport, std::move(hierarchical)};
}

PAPCOLL_DECL Algorithm algorithm(std::string_view name) { return algorithm(name, catalogue()); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
