#pragma once

#include <papcoll/config.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The collectives papcoll offers, as values. Each is also a type, by which a schedule says with
/// one overload of emit() that it serves it.
enum class Collective : unsigned char {
  allreduce,
  reduce,
  bcast,
  allgather,
  reduce_scatter,
  gather,
  scatter,
  barrier,
};

inline constexpr std::size_t collective_count = 8;

/// The name as in the API and on command lines.
constexpr std::string_view name_of(Collective c) noexcept {
  constexpr std::array<std::string_view, collective_count> names{
      "allreduce",      "reduce", "bcast",   "allgather",
      "reduce_scatter", "gather", "scatter", "barrier"};
  return names[static_cast<std::size_t>(c)];
}

constexpr bool is_rooted(Collective c) noexcept {
  return c == Collective::reduce || c == Collective::bcast || c == Collective::gather ||
         c == Collective::scatter;
}

/// Does it combine elements with an operator?
constexpr bool is_reduction(Collective c) noexcept {
  return c == Collective::allreduce || c == Collective::reduce || c == Collective::reduce_scatter;
}

/// A call as messages name it: "reduce of 3 elements with root 1".
[[gnu::cold]] inline std::string describe(Collective c, std::size_t count, int root) {
  std::string text{name_of(c)};
  if (c == Collective::barrier) return text;
  text += " of " + std::to_string(count) + (count == 1 ? " element" : " elements");
  if (is_rooted(c)) text += " with root " + std::to_string(root);
  return text;
}

template <Collective C>
struct CollectiveTag {
  static constexpr Collective value = C;
};
struct Allreduce : CollectiveTag<Collective::allreduce> {};
struct Reduce : CollectiveTag<Collective::reduce> {};
struct Bcast : CollectiveTag<Collective::bcast> {};
struct Allgather : CollectiveTag<Collective::allgather> {};
struct ReduceScatter : CollectiveTag<Collective::reduce_scatter> {};
struct Gather : CollectiveTag<Collective::gather> {};
struct Scatter : CollectiveTag<Collective::scatter> {};
struct Barrier : CollectiveTag<Collective::barrier> {};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
