// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The names of the arrival-driven algorithms, from the catalogue, for tests that call by name.

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/catalogue.hpp>

#include <string>
#include <vector>

/// Those of which `wanted` is true, in the order of listings.
inline std::vector<std::string> arrival_names(bool (*wanted)(const papcoll::ArrivalTraits&) =
                                                  [](const auto&) { return true; }) {
  std::vector<std::string> names;
  for (const papcoll::CatalogueRow& row : papcoll::catalogue()) {
    if (row.algorithm != nullptr && wanted(*row.algorithm)) names.emplace_back(row.name);
  }
  return names;
}

/// Those that reduce where peers' buffers are: reduce and allreduce.
inline std::vector<std::string> names_that_reduce_in_place() {
  return arrival_names([](const papcoll::ArrivalTraits& a) {
    return a.exposes_buffers && a.serves(papcoll::Collective::reduce) &&
           a.serves(papcoll::Collective::allreduce);
  });
}
