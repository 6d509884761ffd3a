// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

class Endpoint;

/// The parts that a team may have besides what every call needs.
enum class PartKind : unsigned char {
  background_exchanges,
  tickets,
  transport_contexts,
  selection,
  arena,
  packed_memory,
  number,  ///< how many kinds there are
};

/// A part of a rank's side of a team: made by the first call that needs it. A program that
/// never needs it does not compile it. Each part names its `kind`.
class TeamPart : Pinned {
 public:
  virtual ~TeamPart() = default;

  /// Returns true if it has something in flight that is too old to be so beside a call of this
  /// number.
  virtual bool blocks(const Endpoint& /*e*/, std::uint32_t /*sequence*/) noexcept { return false; }
  /// Completes what no rank waits for, since the ranks part here. Returns true if nothing is left.
  virtual bool drain_exchanges() noexcept { return true; }
  /// Called after the team broke. `is_in_use`: something may still use its memory.
  virtual void abandon(bool /*is_in_use*/) noexcept {}
  /// The team ends in order.
  virtual void keep() noexcept {}
  /// Its last chance to use MPI and the memory of the node.
  virtual void close(bool /*broken*/) noexcept {}
};

/// The parts that a team has.
class TeamParts {
 public:
  /// Null if it was never wanted.
  template <class T> T* find() const noexcept {
    return static_cast<T*>(parts_[static_cast<std::size_t>(T::kind)].get());
  }

  /// Made of `args` if it is not there.
  template <class T, class... Args> T& get(Args&&... args) {
    detail::Owned<TeamPart>& part = parts_[static_cast<std::size_t>(T::kind)];
    if (part == nullptr) part = detail::make_owned<T>(std::forward<Args>(args)...);
    return static_cast<T&>(*part);
  }

  /// One that is made already.
  template <class T> T& put(detail::Owned<T> part) noexcept {
    T& made = *part;
    parts_[static_cast<std::size_t>(T::kind)] = std::move(part);
    return made;
  }

  template <class F> void each(F&& f) const {
    for (const auto& part : parts_) {
      if (part != nullptr) f(*part);
    }
  }

 private:
  std::array<detail::Owned<TeamPart>, static_cast<std::size_t>(PartKind::number)> parts_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
