#pragma once

#include <papcoll/algorithms/cost/hockney.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// The least that any schedule takes which sends and receives one message at a time: what must pass
/// one port, and what must be combined, as far as the two cannot overlap entirely.
namespace bandwidth_bound {

/// (p−1)/p of m.
inline double others_share(int p, double m) noexcept { return m * (p - 1) / p; }

/// Every position must receive the result or what it is made of, and give its own.
inline double allreduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return std::max(2 * h.beta, h.gamma) * others_share(p, m);
}
inline double bcast(const Hockney& h, int p, double m) noexcept { return p < 2 ? 0 : h.beta * m; }
/// The root has its own contribution, and must combine p−1 others somewhere.
inline double reduce(const Hockney& h, int p, double m) noexcept {
  if (p < 2) return 0;
  return std::max(h.beta * m, h.gamma * others_share(p, m));
}
/// Also gather and scatter.
inline double allgather(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : h.beta * others_share(p, m);
}
inline double reduce_scatter(const Hockney& h, int p, double m) noexcept {
  return p < 2 ? 0 : std::max(h.beta, h.gamma) * others_share(p, m);
}

}  // namespace bandwidth_bound

}  // namespace papcoll::inline PAPCOLL_ABI
