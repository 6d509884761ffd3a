// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <cstddef>
#include <cstdlib>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Simulated ranks compute in no time. Combining takes $PAPCOLL_SIMULATED_GAMMA seconds a byte.
inline double simulated_gamma() {
  static const char* const text = std::getenv("PAPCOLL_SIMULATED_GAMMA");
  static const double gamma = text == nullptr ? 0 : std::strtod(text, nullptr);
  return gamma;
}
inline void charge_combining([[maybe_unused]] std::size_t bytes) {
#ifdef SMPI_H
  if (simulated_gamma() > 0) smpi_execute(simulated_gamma() * static_cast<double>(bytes));
#endif
}

/// Lets this simulated rank's time pass; no effect if ranks are real.
inline void pass_simulated_time([[maybe_unused]] double seconds) {
#ifdef SMPI_H
  if (seconds > 0) smpi_execute(seconds);
#endif
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
