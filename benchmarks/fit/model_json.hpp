// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "fit/chunk_search.hpp"
#include "fit/modelled.hpp"
#include "fit/schedule_fit.hpp"
#include "machine/model_probes.hpp"

#include <nlohmann/json.hpp>
#include <papcoll/model/log_gops.hpp>

#include <cstddef>
#include <vector>

// What fit_models writes, piece by piece; benchmarks/README.md has the format.
namespace bench {

/// With the keys that `papcoll simulate --model` reads.
nlohmann::ordered_json model_json(const papcoll::LogGops& m);

nlohmann::ordered_json model_json(const MessageCosts& costs);
nlohmann::ordered_json model_json(const CombiningCost& cost);

/// `runs` were fitted, `others` were not.
nlohmann::ordered_json model_json(const Modelled& schedule, const ScheduleFit& fit,
                                  const std::vector<Run>& runs, const std::vector<Run>& others);

/// `fit`: what the closed form's number of chunks comes from.
nlohmann::ordered_json model_json(const Modelled& schedule, std::size_t bytes,
                                  const ScheduleFit& fit, const ChunkChoice& choice);

}  // namespace bench
