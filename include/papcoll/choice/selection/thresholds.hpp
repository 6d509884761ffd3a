#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What a choice goes by where nothing was measured: the network as closed forms see it, and where
/// one way gives way to the next. The same on every rank: a choice must be.
/// A selection file (selection_file.hpp, written by `papcoll-bench --tune`) overrides them by the
/// names of their group and their own.
struct Thresholds {
  /// Calls by messages.
  struct Network {
    // What is tried first by messages the closed forms of model/ say, for a network as these
    // describe it: by default the published one of a Cray XC40 (see Hockney), and a gap that
    // nothing was measured for: MPI libraries have some 0.3 µs. papcoll-bench --tune measures it.
    std::size_t alpha_ns = 1500;       ///< of a message, in nanoseconds
    std::size_t gap_ns = 300;          ///< how much of that keeps its port
    std::size_t beta_as = 62500000;    ///< of a byte sent, in attoseconds
    std::size_t gamma_as = 200000000;  ///< of a byte combined, in attoseconds

    /// The last node of an allreduce comes after the others by so many hundredths of the call's own
    /// time: then it is tried first by nodes, with StragglAR if it is the same one again. A virtual
    /// cluster of 4 nodes with 2 ranks each, joined at 500 Mbit/s (TCP, Open MPI): in the least
    /// that was measured, 45 hundredths (1 MB, 20 ms late), it takes 36 ms, Rabenseifner and Ring
    /// 52 to 62; in time it takes 44, the others 35 to 48: by these numbers it is worth it from 30
    /// on.
    std::size_t late_percent = 30;

    /// What passes the heaviest link in rank order, in hundredths of what passes it in the order of
    /// the machine, from which calls between nodes run in that: by the model of mapping/cost.hpp.
    std::size_t order_percent = 110;

    friend bool operator==(const Network&, const Network&) = default;
  } network;

  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

/// A threshold by its name. All are of the group "network".
struct ThresholdField {
  std::string_view name;
  std::size_t Thresholds::Network::*at;

  std::size_t of(const Thresholds& t) const noexcept { return t.network.*at; }
  /// "network.alpha_ns"
  std::string full_name() const { return detail::joined({"network.", name}); }
};

/// All of them. Whoever reads, writes or speaks of thresholds goes by this table.
#define PAPCOLL_THRESHOLD(member) \
  ThresholdField { #member, &Thresholds::Network::member }
inline constexpr std::array threshold_fields{
    PAPCOLL_THRESHOLD(alpha_ns), PAPCOLL_THRESHOLD(gap_ns),       PAPCOLL_THRESHOLD(beta_as),
    PAPCOLL_THRESHOLD(gamma_as), PAPCOLL_THRESHOLD(late_percent), PAPCOLL_THRESHOLD(order_percent),
};
#undef PAPCOLL_THRESHOLD
static_assert(sizeof(Thresholds) == threshold_fields.size() * sizeof(std::size_t));

/// One that there is.
consteval const ThresholdField& threshold(std::string_view name) {
  for (const ThresholdField& f : threshold_fields) {
    if (f.name == name) return f;
  }
  throw "papcoll: there is no such threshold";
}

}  // namespace papcoll::inline PAPCOLL_ABI
