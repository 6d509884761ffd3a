#pragma once

#include <papcoll/config.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <cstddef>
#include <cstdlib>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Lets this simulated rank's time pass; nothing where ranks are real.
inline void pass_simulated_time([[maybe_unused]] double seconds) {
#ifdef SMPI_H
  if (seconds > 0) smpi_execute(seconds);
#endif
}

/// Simulated ranks compute in no time. Combining takes as long as $PAPCOLL_SIMULATED_GAMMA says,
/// in seconds a byte.
inline double simulated_gamma() {
  static const char* const text = std::getenv("PAPCOLL_SIMULATED_GAMMA");
  static const double gamma = text == nullptr ? 0 : std::strtod(text, nullptr);
  return gamma;
}
inline void charge_combining(std::size_t bytes) {
  pass_simulated_time(simulated_gamma() * static_cast<double>(bytes));
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
