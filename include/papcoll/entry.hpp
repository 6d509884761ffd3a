#pragma once

#include <papcoll/buffers.hpp>
#include <papcoll/call.hpp>
#include <papcoll/catalogue/automatic.hpp>
#include <papcoll/catalogue/select.hpp>
#include <papcoll/op.hpp>
#include <papcoll/team.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

// What the entry points say of a buffer of the wrong type.
#define PAPCOLL_NOT_WRITABLE_IN_PLACE                                                              \
  "papcoll: an in-place collective writes its buffer: pass an lvalue or a std::span of non-const " \
  "elements, or pass in and out"
#define PAPCOLL_NOT_WRITABLE \
  "papcoll: the output of a collective is an lvalue or a std::span of non-const elements"
#define PAPCOLL_TYPES_DIFFER \
  "papcoll: input and output of a collective have elements of the same type"

/// Gives the TeamCore behind whatever a collective accepts as its first argument: a Communicator, a
/// ThreadTeam::Rank, or (where communicator.hpp is included) a bare MPI_Comm.
template <class C>
struct TeamOf {
  static TeamCore& core(C& team) requires requires {
    { team.core() } -> std::same_as<TeamCore&>;
  }
  { return team.core(); }
};

/// What a collective accepts as its first argument.
template <class C>
concept Team = requires(std::remove_cvref_t<C>& c) {
  { TeamOf<std::remove_cvref_t<C>>::core(c) } -> std::same_as<TeamCore&>;
};

namespace detail {

template <class C>
TeamCore& core_of(C&& team) {
  return TeamOf<std::remove_cvref_t<C>>::core(const_cast<std::remove_cvref_t<C>&>(team));
}

constexpr std::uint32_t text_hash(std::string_view text) noexcept {
  std::uint32_t h = 2166136261U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
  return h;
}

/// The same number on all ranks that use the same type. Closures have no names to compare.
template <class T>
consteval std::uint32_t type_hash() noexcept {
  return text_hash(__PRETTY_FUNCTION__);
}

/// Ends the call on all ranks if `wrong`.
inline void require(TeamCore& core, Collective collective, bool right, const char* what) {
  if (!right) core.refuse(collective, what);
}

/// The local checks of a call's buffers. `in_count` and `out_count` are in elements.
inline void check_buffers(TeamCore& core, const Call& c, std::size_t in_count,
                          std::size_t out_count) {
  if constexpr (assertion_level == 0) return;
  const std::byte* const in_end = c.in + in_count * c.reducer.size;
  const std::byte* const out_end = c.out + out_count * c.reducer.size;
  require(core, c.collective, c.in != nullptr || in_count == 0,
          "the input is a null pointer: pass a buffer, or a count of 0");
  require(core, c.collective, c.out != nullptr || out_count == 0,
          "the output is a null pointer: pass a buffer, or a count of 0");
  const bool overlap = in_count != 0 && out_count != 0 && c.in < out_end && c.out < in_end;
  require(core, c.collective, !overlap || c.in_place(),
          "input and output overlap: pass the same buffer once (in place), or two separate ones");
}

inline void check_root(TeamCore& core, Collective collective, int r) {
  if (r >= 0 && r < core.size()) return;
  core.refuse(collective, "root " + std::to_string(r) + " is not a rank: ranks are 0 to " +
                              std::to_string(core.size() - 1));
}

inline std::size_t checked_count(TeamCore& core, Collective collective, std::ptrdiff_t n) {
  if (n < 0) {
    core.refuse(collective, "the count " + std::to_string(n) + " is negative: counts start at 0");
  }
  return static_cast<std::size_t>(n);
}

template <class T>
Call call_of(Collective collective, const T* in, T* out, std::size_t n) {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "papcoll: the elements of a collective are copied byte by byte, and this type is not "
      "trivially copyable");
  Call c;
  c.collective = collective;
  c.in = reinterpret_cast<const std::byte*>(in);
  c.out = reinterpret_cast<std::byte*>(out);
  c.count = n;
  c.reducer.size = sizeof(T);
  c.types = type_hash<T>();
  return c;
}

template <class Op, class T>
struct operator_fits_elements {
  static constexpr bool ok = OperatorFor<Op, T>;
  static_assert(
      ok,
      "papcoll: this operator cannot be called with two elements of this type: pass "
      "papcoll::sum, papcoll::max… or any function object (an MPI_Op or MPI_Datatype has no "
      "meaning here: the type is deduced)");
};

/// A call with an operator; `op` must outlive it.
template <class T, class Op>
Call reduction_of(Collective collective, const T* in, T* out, std::size_t n, const Op& op) {
  Call c = call_of(collective, in, out, n);
  if constexpr (operator_fits_elements<Op, T>::ok) {
    c.reducer = reducer<T>(op);
    c.types = c.types * 31 + (std::is_empty_v<Op> ? type_hash<Op>() : 1U);
  }
  return c;
}

/// A selection with everything filled in, checked against the call. Holds no memory of its own
/// unless the choice was made here.
struct Resolved {
  const ArrivalAlgorithm* arrival = nullptr;
  const AnySchedule* schedule = nullptr;
  const TransportTable* transport = nullptr;
  Selection chosen;

  Resolved(TeamCore& core, const Selection& s, Call& call, Choose* choose, bool non_blocking) {
    transport = s.transport                ? s.transport
                : s.transport_name.empty() ? &core.default_transport()
                                           : &core.transport(s.transport_name);
    call.rank_order = !call.reducer.commutative || s.contract == NumericalContract::reproducible;
    if (s.is_automatic()) {
      chosen.transport = transport;
      choose(chosen, call, core.size(), core.waiter().oversubscribed, core.options().chunk_bytes,
             non_blocking);
      arrival = chosen.arrival;
      schedule = &chosen.schedule;
    } else {
      arrival = s.arrival;
      schedule = &s.schedule;
    }
    check(core, s, call, non_blocking);
  }
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;

 private:
  void check(TeamCore& core, const Selection& s, const Call& call, bool non_blocking) const {
    const Collective c = call.collective;
    if (transport != &core.default_transport()) core.require(*transport);
    if (arrival != nullptr) {
      const std::string name{arrival->name};
      if (non_blocking) {
        core.refuse(c,
                    name + " cannot be non-blocking: take a static schedule or the blocking call");
      }
      if ((transport->offers & capability::node_memory) == 0 || !core.on_one_node()) {
        core.refuse(c, name + " on " + std::string(transport->name) + ": " +
                           capability::node_memory_sentence);
      }
      if (!arrival->serves(c)) core.refuse(c, name + " does not serve it: see `papcoll list`");
      if (call.reducer.size > core.options().chunk_bytes) {
        core.refuse(c, name + " takes elements of at most " +
                           std::to_string(core.options().chunk_bytes) +
                           " bytes: take a static schedule, or larger Options::chunk_bytes");
      }
    } else {
      if (!schedule->serves(c)) {
        core.refuse(c, schedule->name() + " does not serve it: see `papcoll list`");
      }
      if (!call.reducer.commutative && schedule->commutative_only()) {
        core.refuse(c, schedule->name() +
                           " combines out of rank order and the operator is not known to commute: "
                           "wrap it as papcoll::commutative(op), or take Rabenseifner or Exchange");
      }
    }
    static_cast<void>(s);
  }
};

/// Runs a blocking call.
inline void execute(TeamCore& core, const Selection& selection, Call& call, Choose* choose) {
  const Resolved r{core, selection, call, choose, false};
  if (r.arrival != nullptr) {
    core.run(*r.arrival, call);
  } else {
    core.run(*r.schedule, *r.transport, call);
  }
}

/// The policies, or the algorithm chosen at run time; not both.
template <class Tag, bool NonBlocking, bool Commutes, class... Ps>
Selection selection_of(const Algorithm& algorithm) {
  if constexpr (sizeof...(Ps) == 0) {
    return algorithm.selection();
  } else {
    return select<Tag, NonBlocking, Commutes, Ps...>();
  }
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
