#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// What a step does. Every one is started and then polled on the transport.
enum class OpKind : unsigned char {
  send,     ///< `a` goes to the peer
  receive,  ///< what the peer sent is stored at `to`
  reduce,   ///< to = op(a, b); `a` holds the lower ranks
  copy,     ///< to = a; the two may overlap; of no elements, only others wait for it
};

/// Where an element lives on the rank that runs the plan.
enum class Space : unsigned char {
  in,       ///< the call's input, never written
  out,      ///< the call's output (and input, in place)
  scratch,  ///< memory of the engine, one area for each block in flight
};

/// An element of a space.
struct Operand {
  Space space = Space::in;
  std::size_t offset = 0;  ///< elements
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// One step of one position's plan, over n elements.
struct Step {
  OpKind kind = OpKind::copy;
  int peer = -1;  ///< a position; −1 for local steps
  std::uint32_t number =
      0;  ///< this is the number-th send (or receive) of this block to (from) peer
  std::size_t n = 0;
  Operand to{};
  Operand a{};
  Operand b{};
};

/// A step (its index in the plan) and a later one that may start only when it is complete.
struct Dependency {
  std::uint32_t earlier;
  std::uint32_t later;
};

/// What one position does for one block of the vector: a directed acyclic graph of steps. Steps
/// stand in an order in which they may also be run one after the other.
class Plan {
 public:
  Plan() = default;

  /// `scratch` and `count` as the functions of the same name; each dependency is given once.
  [[gnu::cold]] Plan(detail::Vector<Step> steps, std::span<const Dependency> dependencies,
                     std::size_t scratch, std::size_t count)
      : steps_(std::move(steps)), scratch_(scratch), count_(count) {
    const std::size_t n = steps_.size();
    links_.resize(2 * n + 1 + dependencies.size());
    std::uint32_t* const predecessors = links_.data();
    std::uint32_t* const begins = predecessors + n;
    for (const Dependency& d : dependencies) {
      ++predecessors[d.later];
      ++begins[d.earlier];
    }
    auto end = static_cast<std::uint32_t>(2 * n + 1);
    for (std::size_t i = 0; i <= n; ++i) begins[i] = end += begins[i];
    for (std::size_t i = dependencies.size(); i-- != 0;) {  // from the end of each to its begin
      links_[--begins[dependencies[i].earlier]] = dependencies[i].later;
    }
  }

  std::span<const Step> steps() const noexcept { return {steps_.data(), size()}; }
  std::size_t size() const noexcept { return steps_.size(); }
  const Step& operator[](std::size_t i) const noexcept { return steps_[i]; }

  /// The steps that may start only when step i is complete.
  std::span<const std::uint32_t> successors(std::size_t i) const noexcept {
    const std::uint32_t* const begin = links_.data() + size() + i;
    return {links_.data() + begin[0], begin[1] - begin[0]};
  }
  /// How many steps must complete before step i may start.
  std::uint32_t predecessors(std::size_t i) const noexcept { return links_[i]; }
  std::span<const std::uint32_t> predecessors() const noexcept { return {links_.data(), size()}; }

  std::size_t scratch() const noexcept { return scratch_; }  ///< elements of scratch space
  std::size_t count() const noexcept { return count_; }      ///< elements of the vector

 private:
  detail::Vector<Step> steps_;
  /// Of each step the number of its predecessors; then where the successors of each begin in here,
  /// and where those of the last end; then these.
  detail::Vector<std::uint32_t> links_;
  std::size_t scratch_ = 0;
  std::size_t count_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
