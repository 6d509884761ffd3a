// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Collectives that combine data. All ranks describe them by the same type and operator, so whether
// papcoll's kernels are for these is known to all alike.

#include "arguments.hpp"
#include "data_collectives.hpp"
#include "datatypes.hpp"
#include "dispatch.hpp"
#include "never_destroyed.hpp"
#include "operators.hpp"
#include "packing.hpp"

#include <papcoll/erased.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace preload {

/// Where elements of all buffers lie. One object for all calls: one that each call makes for itself
/// takes 2 ns.
inline constinit NeverDestroyed<erased::Layouts> elements_in_order{};
inline const erased::Layouts& in_order() noexcept { return elements_in_order.value; }

/// The arguments of a reduction as far as they are the same for all of them.
struct Reduction {
  Function function;
  Elements in;   ///< of the whole vector; in place, the output's
  Elements out;  ///< of as many as this rank gets; count 0 where it gets none
  MPI_Op op;
  std::size_t bytes;  ///< by which an algorithm is chosen
};

/// Elements in memory of the library's, as a LocalReduction takes them.
class ReductionCopy {
 public:
  static std::size_t bytes(const Elements& e) noexcept {
    return e.count * LocalReduction::bytes_of_one(*e.type) + 1;
  }

  /// Gaps are not read; in the copy they are zero.
  static void fill(const Elements& e, std::byte* copy) {
    if (e.type->lies != Lies::in_order) return Packing::pack(e, copy);
    std::memset(copy, 0, bytes(e));
    std::byte* const packed = flat().get(e.bytes() + 1);
    Packing::pack(e, packed);
    Packing::unpack(packed, Elements{copy, e.count, e.handle, e.type});
    flat().trim();
  }
  /// Gaps are not written.
  static void empty(const std::byte* copy, const Elements& e) {
    if (e.type->lies != Lies::in_order) return Packing::unpack(copy, e);
    std::byte* const packed = flat().get(e.bytes() + 1);
    Packing::pack(Elements{copy, e.count, e.handle, e.type}, packed);
    Packing::unpack(packed, e);
    flat().trim();
  }

 private:
  static Scratch& flat() {
    static thread_local Scratch scratch;
    return scratch;
  }
};

/// Returns true if papcoll may write the output in place. It may not write to a part of the input:
/// the result of a reduce_scatter in place begins where the input does, and a rank whose own block
/// of the input is its output is wrong, but not refused by every MPI.
inline bool has_separate_output(const Reduction& r) noexcept {
  if (r.out.count == 0 || (r.in.address == r.out.address && r.in.count == r.out.count)) return true;
  return !meet(r.in.address, r.in.bytes(), r.out.address, r.out.bytes());
}

/// Runs a reduction by what MPI knows of its operator: call(team, in, out, operator, algorithm).
template <class Call>
[[gnu::noinline]] int combine_by_mpi(Communicator& c, const Reduction& r, OperatorName name,
                                     bool commutes, const Call& call) {
  const TrimScratches trim;
  const LocalReduction local(r.op, r.in);
  const papcoll::Reducer reducer =
      extreme_of_floats(name, r.in.handle).value_or(local.reducer(commutes));
  const erased::Operator op(reducer, erased::Element(reducer.size, r.in.type->number),
                            static_cast<std::uint32_t>(name) + 1);
  const void* in = r.in.address;
  void* out = r.out.count == 0 ? nullptr : const_cast<void*>(r.out.address);
  const bool separate = has_separate_output(r);
  const bool copies = !lies_together(r.in);
  std::byte* copy_of_out = nullptr;
  if (copies) {
    std::byte* const copy = send_scratch().get(ReductionCopy::bytes(r.in));
    ReductionCopy::fill(r.in, copy);
    in = copy;
    if (r.out.count != 0) out = copy_of_out = receive_scratch().get(ReductionCopy::bytes(r.out));
  } else if (!separate) {
    out = copy_of_out = receive_scratch().get(ReductionCopy::bytes(r.out));
  }
  const int code = perform(
      r.function, c, r.bytes,
      [&](erased::Comm team, const Algorithm& algorithm) { call(team, in, out, op, algorithm); });
  if (code == MPI_SUCCESS && copy_of_out != nullptr) ReductionCopy::empty(copy_of_out, r.out);
  return code;
}

/// The operator decides by whom its elements are combined.
template <class Left, class Call>
int combine(Communicator& c, const Reduction& r, const Left& left, const Call& call) {
  const OperatorName name = operators().name_of(r.op);
  if (!fits(name, r.in.type->group)) return leave_one(r.function, Outcome::operator_unfit, left);
  const erased::Operator* const kernel = operators().kernel(name, *r.in.type);
  if (kernel == nullptr || !has_separate_output(r)) {
    int commutes = 1;
    if (name == OperatorName::users && MPI_Op_commutative(r.op, &commutes) != MPI_SUCCESS) {
      return leave_one(r.function, Outcome::arguments, left);
    }
    if (kernel == nullptr) return combine_by_mpi(c, r, name, commutes != 0, call);
    const TrimScratches trim;
    std::byte* const out = receive_scratch().get(r.out.bytes());
    const int code =
        perform(r.function, c, r.bytes, [&](erased::Comm team, const Algorithm& algorithm) {
          call(team, r.in.address, out, *kernel, algorithm);
        });
    if (code == MPI_SUCCESS) Packing::unpack(out, r.out);
    return code;
  }
  if (c.only_algorithm != nullptr) c.last_reduction = {r.in.handle, r.op, kernel, r.in.type->size};
  void* const out = r.out.count == 0 ? nullptr : const_cast<void*>(r.out.address);
  return perform(r.function, c, r.bytes, [&](erased::Comm team, const Algorithm& algorithm) {
    call(team, r.in.address, out, *kernel, algorithm);
  });
}

/// Two buffers of that many bytes apart from each other, neither of them null or MPI_IN_PLACE.
[[gnu::always_inline]] inline bool is_ordinary(const void* in, const void* out,
                                               std::size_t bytes) noexcept {
  const auto a = reinterpret_cast<std::uintptr_t>(in);
  const auto b = reinterpret_cast<std::uintptr_t>(out);
  return in != nullptr && out != nullptr && in != MPI_IN_PLACE && out != MPI_IN_PLACE &&
         (a < b ? b - a : a - b) >= bytes;
}

/// Returns true if this MPI refuses one buffer as input and output.
inline bool is_one_buffer(Function f, const void* in, const void* out, MPI_Count count) noexcept {
  return in == out && count != 0 && in != MPI_BOTTOM && this_process().refusals().of_one_buffer(f);
}

/// Returns true if MPI refuses the operator for the type. Asked before the communicator is taken
/// over, where ranks wait for each other, since such a call waits for no rank; later by combine().
inline bool is_unfit(const Communicator& c, MPI_Op op, MPI_Datatype type) {
  if (c.is_taken_over() || op == MPI_OP_NULL) return false;
  const Datatype* const known = datatypes().find(type);
  return known != nullptr && !fits(operators().name_of(op), known->group);
}

template <class Left>
int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::allreduce;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left, {count, type});
  if (is_unfit(*own, op, type)) return leave_one(f, Outcome::operator_unfit, left);
  const bool in_place = in == MPI_IN_PLACE;
  Reduction r{f, {}, {}, op, 0};
  const auto is_right = [&](const Communicator&) {
    return op != MPI_OP_NULL && out != MPI_IN_PLACE && !is_one_buffer(f, in, out, count) &&
           describe(r.in, in_place ? out : in, count, type) && is_there(out, r.in);
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    r.out = r.in;
    r.out.address = out;
    r.bytes = r.in.bytes();
    return combine(c, r, left,
                   [&](erased::Comm team, const void* from, void* to, const erased::Operator& o,
                       const Algorithm& algorithm) {
                     erased::allreduce(team, from, to, r.in.count, o, in_order(), algorithm);
                   });
  });
}

/// Returns true if type and operator are those of the communicator's last reduction, so that
/// neither they nor the buffers need be examined again.
[[gnu::always_inline]] inline bool is_as_before(const Communicator& c, const void* in,
                                                const void* out, MPI_Count count, MPI_Datatype type,
                                                MPI_Op op) noexcept {
  return c.last_reduction.is(type, op) && count > 0 &&
         is_ordinary(in, out, static_cast<std::size_t>(count) * c.last_reduction.size);
}

/// Such an allreduce.
[[gnu::always_inline]] inline int allreduce_as_before(Communicator& c, const void* in, void* out,
                                                      MPI_Count count) {
  int code = MPI_SUCCESS;
  try {
    erased::allreduce(*c.team, in, out, static_cast<std::size_t>(count), *c.last_reduction.kernel,
                      in_order(), *c.only_algorithm);
    preload::count(Function::allreduce, Outcome::taken_over);
    return MPI_SUCCESS;
  } catch (...) {
    code = code_of_failure(Function::allreduce);
  }
  return report(c.handle, code);
}

template <class Left>
int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::reduce;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left, {count, type});
  if (is_unfit(*own, op, type)) return leave_one(f, Outcome::operator_unfit, left);
  const bool in_place = in == MPI_IN_PLACE;
  Reduction r{f, {}, {}, op, 0};
  const auto is_right = [&](const Communicator& c) {
    const bool is_root = c.rank == root;
    if (op == MPI_OP_NULL || root < 0 || root >= c.size || (in_place && !is_root)) return false;
    if (is_root && (out == MPI_IN_PLACE || is_one_buffer(f, in, out, count))) return false;
    return describe(r.in, in_place ? out : in, count, type) &&
           (!is_root || describe(r.out, out, count, type));
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    r.bytes = r.in.bytes();
    if (c.rank != root) r.out = {nullptr, 0, r.in.handle, r.in.type};
    return combine(c, r, left,
                   [&](erased::Comm team, const void* from, void* to, const erased::Operator& o,
                       const Algorithm& algorithm) {
                     erased::reduce(team, from, to, r.in.count, o, papcoll::root{root}, in_order(),
                                    algorithm);
                   });
  });
}

template <class Left>
int reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::reduce_scatter_block;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left, {count, type});
  if (is_unfit(*own, op, type)) return leave_one(f, Outcome::operator_unfit, left);
  const bool in_place = in == MPI_IN_PLACE;
  Reduction r{f, {}, {}, op, 0};
  const auto is_right = [&](const Communicator& c) {
    MPI_Count all = 0;
    return op != MPI_OP_NULL && out != MPI_IN_PLACE && !is_one_buffer(f, in, out, count) &&
           !__builtin_mul_overflow(count, static_cast<MPI_Count>(c.size), &all) &&
           describe(r.in, in_place ? out : in, all, type) && describe(r.out, out, count, type);
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    r.bytes = r.out.bytes();
    return combine(c, r, left,
                   [&](erased::Comm team, const void* from, void* to, const erased::Operator& o,
                       const Algorithm& algorithm) {
                     erased::reduce_scatter(team, from, to, r.out.count, o, in_order(), algorithm);
                   });
  });
}

template <class Count, class Left>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::reduce_scatter;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left);
  if (is_unfit(*own, op, type)) return leave_one(f, Outcome::operator_unfit, left);
  const bool in_place = in == MPI_IN_PLACE;
  Reduction r{f, {}, {}, op, 0};
  std::span<const Count> each;
  bool is_even = true;
  const auto is_right = [&](const Communicator& c) {
    if (counts == nullptr || op == MPI_OP_NULL || out == MPI_IN_PLACE) return false;
    each = {counts, static_cast<std::size_t>(c.size)};
    MPI_Count all = 0;
    for (const Count n : each) {
      if (n < 0 || __builtin_add_overflow(all, MPI_Count{n}, &all)) return false;
      is_even = is_even && n == each[0];
    }
    const MPI_Count mine{each[static_cast<std::size_t>(c.rank)]};
    return !is_one_buffer(f, in, out, all) && describe(r.in, in_place ? out : in, all, type) &&
           describe(r.out, out, mine, type);
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    r.bytes = r.in.bytes() / static_cast<std::size_t>(c.size);
    return combine(c, r, left,
                   [&](erased::Comm team, const void* from, void* to, const erased::Operator& o,
                       const Algorithm& algorithm) {
                     if (is_even) {
                       erased::reduce_scatter(team, from, to, r.out.count, o, in_order(),
                                              algorithm);
                     } else {
                       erased::reduce_scatter(team, from, to, papcoll::counts(each), o, algorithm);
                     }
                   });
  });
}

}  // namespace preload
