// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/native_types.hpp"

#include "candidates/native.hpp"

#include <papcoll/simulate/smpi/simulated_time.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace bench {
namespace {

MPI_Op predefined(Op op) {
  switch (op) {
    case Op::sum: return MPI_SUM;
    case Op::prod: return MPI_PROD;
    case Op::min: return MPI_MIN;
    case Op::max: return MPI_MAX;
  }
  return MPI_OP_NULL;
}

template <class T, Op op> void combine(const T* a, T* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (op == Op::sum) b[i] = static_cast<T>(a[i] + b[i]);
    if constexpr (op == Op::prod) b[i] = static_cast<T>(a[i] * b[i]);
    if constexpr (op == Op::min) b[i] = std::min(a[i], b[i]);
    if constexpr (op == Op::max) b[i] = std::max(a[i], b[i]);
  }
}

/// What MPI combines with in a simulation, where its own operators take no time.
template <class T, Op op> struct Charged {
  static void call(void* in, void* inout, int* n, MPI_Datatype*) {
    const auto count = static_cast<std::size_t>(*n);
    combine<T, op>(static_cast<const T*>(in), static_cast<T*>(inout), count);
    papcoll::detail::charge_combining(count * sizeof(T));
  }
};

/// What an element of the derived type is made of, which a user's operator is not told.
struct Noncontiguous {
  Layout layout;
  std::size_t count = 0;
} noncontiguous;

template <class T, Op op> struct OfNoncontiguous {
  static void call(void* in, void* inout, int* n, MPI_Datatype*) {
    const std::size_t extent = noncontiguous.layout.extent(noncontiguous.count);
    const std::size_t end = static_cast<std::size_t>(*n) * extent;
    for (std::size_t at = 0; at < end; at += noncontiguous.layout.stride) {
      combine<T, op>(static_cast<const T*>(in) + at, static_cast<T*>(inout) + at,
                     noncontiguous.layout.block);
    }
    if constexpr (papcoll::detail::simulated) {
      papcoll::detail::charge_combining(static_cast<std::size_t>(*n) * noncontiguous.count *
                                        sizeof(T));
    }
  }
};

template <template <class, Op> class Function> MPI_Op made_operator(Type type, Op op) {
  return with_type(type, [op]<class T>(std::type_identity<T>) {
    constexpr std::array<MPI_User_function*, 4> functions{
        &Function<T, Op::sum>::call, &Function<T, Op::prod>::call, &Function<T, Op::min>::call,
        &Function<T, Op::max>::call};
    MPI_Op made = MPI_OP_NULL;
    MPI_Op_create(functions[static_cast<std::size_t>(op)], 1, &made);
    return made;
  });
}

template <class Handle> std::shared_ptr<const void> owned(Handle made, int (*release)(Handle*)) {
  return std::shared_ptr<const Handle>(new Handle(made), [release](const Handle* h) {
    Handle copy = *h;
    release(&copy);
    delete h;
  });
}

/// One element of it is `count` that lie apart; the next one begins where another block would.
MPI_Datatype vector_type(const Problem& problem) {
  const Layout& layout = problem.layout;
  MPI_Datatype blocks = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(to_int(problem.count / layout.block, "blocks", problem),
                  to_int(layout.block, "elements", problem),
                  to_int(layout.stride, "elements", problem), datatype(problem.type), &blocks);
  const std::size_t extent = layout.extent(problem.count) * size_of(problem.type);
  MPI_Type_create_resized(blocks, 0, static_cast<MPI_Aint>(extent), &made);
  MPI_Type_commit(&made);
  MPI_Type_free(&blocks);
  return made;
}

}  // namespace

int to_int(std::size_t n, const char* what, const Problem& problem) {
  if (n <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return static_cast<int>(n);
  throw std::invalid_argument(fmt::format("{} {} are more than an int can count, as {} does", n,
                                          what, native_name(problem)));
}

std::vector<int> to_ints(const std::vector<std::size_t>& numbers, const char* what,
                         const Problem& problem) {
  std::vector<int> ints;
  for (const std::size_t n : numbers) ints.push_back(to_int(n, what, problem));
  return ints;
}

MPI_Datatype datatype(Type type) {
  switch (type) {
    case Type::float64: return MPI_DOUBLE;
    case Type::float32: return MPI_FLOAT;
    case Type::int32: return MPI_INT32_T;
    case Type::int64: return MPI_INT64_T;
    case Type::uint8: return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

NativeElements::NativeElements(const Problem& problem)
    : n(to_int(problem.count, "elements", problem)), type(datatype(problem.type)) {
  const bool is_noncontiguous = problem.layout.is_noncontiguous() && problem.count > 0;
  if (is_noncontiguous) {
    n = 1;
    type = vector_type(problem);
    owned_type = owned<MPI_Datatype>(type, MPI_Type_free);
  }
  if (!papcoll::is_reduction(problem.collective)) return;
  if (is_noncontiguous) {
    noncontiguous = {problem.layout, problem.count};
    op = made_operator<OfNoncontiguous>(problem.type, problem.op);
  } else if (papcoll::detail::simulated) {
    op = made_operator<Charged>(problem.type, problem.op);
  } else {
    op = predefined(problem.op);
    return;
  }
  owned_op = owned<MPI_Op>(op, MPI_Op_free);
}

}  // namespace bench
