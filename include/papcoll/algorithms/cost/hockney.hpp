#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// Hockney's model of a machine: a message of m bytes takes alpha + beta·m seconds, and combining m
/// bytes with others takes gamma·m.
///
/// The defaults are those published for a Cray XC40 and its Aries network: Nuriyev et al., "SUARA",
/// JPDC 183, 2024. alpha and beta may be those of one algorithm, fitted to its runs.
struct Hockney {
  double alpha = 1.5e-6;   ///< seconds a message
  double beta = 6.25e-11;  ///< seconds a byte sent
  double gamma = 2e-10;    ///< seconds a byte combined

  /// What a message of so many bytes takes.
  constexpr double message(double bytes) const noexcept { return alpha + beta * bytes; }

  friend bool operator==(const Hockney&, const Hockney&) = default;
};

/// The same, and how long a message keeps its port beside its bytes, in seconds: all of alpha in
/// Hockney's own model, less where one message's latency passes while the next one leaves (LogGP's
/// g), nothing in a network that only delays. What goes from hand to hand does not tell them apart;
/// pipelines do.
struct HockneyWithGap : Hockney {
  double gap = alpha;  ///< seconds

  constexpr HockneyWithGap() = default;
  /// All of alpha, as in Hockney's own model.
  // NOLINTNEXTLINE(google-explicit-constructor): Hockney's model is one of them
  constexpr HockneyWithGap(const Hockney& h) noexcept : Hockney(h), gap(h.alpha) {}
  /// A gap of so many seconds.
  constexpr HockneyWithGap(const Hockney& h, double seconds) noexcept : Hockney(h), gap(seconds) {}

  /// How long a message of so many bytes keeps its port.
  constexpr double port(double bytes) const noexcept { return gap + beta * bytes; }

  friend bool operator==(const HockneyWithGap&, const HockneyWithGap&) = default;
};

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
/// Every position but the root must receive the vector.
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
