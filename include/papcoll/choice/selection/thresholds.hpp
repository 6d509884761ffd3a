#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
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

/// A threshold by the names of its group and of itself.
struct ThresholdField {
  std::string_view group;
  std::string_view name;
  std::size_t at;  ///< in Thresholds, in bytes

  std::size_t& in(Thresholds& t) const noexcept {
    return *reinterpret_cast<std::size_t*>(reinterpret_cast<std::byte*>(&t) + at);
  }
  std::size_t of(const Thresholds& t) const noexcept { return in(const_cast<Thresholds&>(t)); }
  /// "network.alpha_ns"
  std::string full_name() const { return detail::joined({group, ".", name}); }
};

/// All of them. Whoever reads, writes or speaks of thresholds goes by this table.
#define PAPCOLL_THRESHOLD(group, member) \
  ThresholdField { #group, #member, offsetof(Thresholds, group.member) }
inline constexpr std::array threshold_fields{
    PAPCOLL_THRESHOLD(network, alpha_ns),     PAPCOLL_THRESHOLD(network, gap_ns),
    PAPCOLL_THRESHOLD(network, beta_as),      PAPCOLL_THRESHOLD(network, gamma_as),
    PAPCOLL_THRESHOLD(network, late_percent), PAPCOLL_THRESHOLD(network, order_percent),
};
#undef PAPCOLL_THRESHOLD
static_assert(sizeof(Thresholds) == threshold_fields.size() * sizeof(std::size_t));

/// The threshold of those names; null if there is none.
constexpr const ThresholdField* threshold_named(std::string_view group,
                                                std::string_view name) noexcept {
  for (const ThresholdField& f : threshold_fields) {
    if (f.group == group && f.name == name) return &f;
  }
  return nullptr;
}

/// One that there is.
consteval const ThresholdField* threshold(std::string_view group, std::string_view name) {
  const ThresholdField* const f = threshold_named(group, name);
  return f != nullptr ? f : throw "papcoll: there is no such threshold";
}

}  // namespace papcoll::inline PAPCOLL_ABI
