// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// MPI's operators as papcoll's: its own kernels where type and operator are common ones, and
// MPI_Reduce_local for all else, which knows every type and every operator of the program.

#include "datatypes.hpp"
#include "never_destroyed.hpp"
#include "packing.hpp"

#include <papcoll/base/op.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

namespace preload {

/// MPI's own operators, in the order of Operators::handles_.
enum class OperatorName : unsigned char {
  sum,
  max,
  min,
  prod,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  minloc,
  maxloc,
  replace,
  no_op,
  users,  ///< one of the program's
};

/// Returns true if the operator is defined for types of this group (MPI-4, 6.9.2 and 6.9.4).
constexpr bool fits(OperatorName op, TypeGroup group) noexcept {
  using enum OperatorName;
  using enum TypeGroup;
  const bool is_integer =
      group == c_integer || group == fortran_integer || group == several_languages;
  switch (op) {
    case sum:
    case prod: return is_integer || group == floating_point || group == complex;
    case max:
    case min: return is_integer || group == floating_point;
    case band:
    case bor:
    case bxor: return is_integer || group == byte;
    case land:
    case lor:
    case lxor: return group == c_integer || group == logical;
    case minloc:
    case maxloc: return group == pair;
    case users: return true;
    default: return false;
  }
}

/// A reduction by MPI_Reduce_local, which computes inout = in op inout: the lower ranks are `in`.
/// An object lives as long as the call.
class LocalReduction {
 public:
  LocalReduction(MPI_Op op, const Elements& e) noexcept
      : op_(op), handle_(e.handle), type_(e.type) {}

  /// In what is combined: one extent, or packed bytes, of which elements without any have one that
  /// says nothing, since papcoll knows no others.
  static std::size_t bytes_of_one(const Datatype& type) noexcept {
    return type.lies != Lies::elsewhere ? static_cast<std::size_t>(type.extent)
                                        : std::max<std::size_t>(type.size, 1);
  }

  /// For elements that are one extent after the other; else they are packed.
  papcoll::Reducer reducer(bool commutes) const noexcept {
    papcoll::Reducer r;
    const bool whole = type_->lies != Lies::elsewhere;
    r.apply = whole ? &LocalReduction::apply_whole : &LocalReduction::apply_packed;
    r.context = this;
    r.size = bytes_of_one(*type_);
    r.commutative = commutes;
    return r;
  }

 private:
  static constexpr std::size_t piece_bytes = 65536;

  void combine(const void* low, void* high, std::size_t n) const noexcept {
    MPI_Reduce_local(low, high, static_cast<int>(n), handle_, op_);
  }

  static void apply_whole(std::byte* out, const std::byte* low, const std::byte* high,
                          std::size_t n, const void* context) noexcept {
    const auto& self = *static_cast<const LocalReduction*>(context);
    const auto extent = static_cast<std::size_t>(self.type_->extent);
    if (out == low && out != high) {
      // The result belongs where the lower operand is: the higher one is needed elsewhere.
      static thread_local Scratch scratch;
      const std::size_t piece = std::max<std::size_t>(1, piece_bytes / extent);
      for (std::size_t done = 0; done < n; done += piece) {
        const std::size_t m = std::min(piece, n - done);
        std::byte* const copy = scratch.get(m * extent);
        std::memcpy(copy, high + done * extent, m * extent);
        self.combine(low + done * extent, copy, m);
        std::memcpy(out + done * extent, copy, m * extent);
      }
      return;
    }
    if (out != high) std::memcpy(out, high, n * extent);
    constexpr std::size_t most = std::size_t{1} << 30;
    for (std::size_t done = 0; done < n; done += most) {
      self.combine(low + done * extent, out + done * extent, std::min(most, n - done));
    }
  }

  /// Of elements that do not lie one after the other: each is combined for itself, where the type
  /// has it.
  static void apply_packed(std::byte* out, const std::byte* low, const std::byte* high,
                           std::size_t n, const void* context) noexcept {
    const auto& self = *static_cast<const LocalReduction*>(context);
    static thread_local Scratch of_low;
    static thread_local Scratch of_high;
    MPI_Aint first = 0;
    MPI_Aint span = 0;
    MPI_Type_get_true_extent(self.handle_, &first, &span);
    const auto bytes = static_cast<std::size_t>(span);
    std::byte* const a = of_low.get(bytes + 1);
    std::byte* const b = of_high.get(bytes + 1);
    std::memset(a, 0, bytes);
    std::memset(b, 0, bytes);
    const Elements lower{a - first, 1, self.handle_, self.type_};
    const Elements higher{b - first, 1, self.handle_, self.type_};
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = i * self.type_->size;
      Packing::unpack(low + at, lower);
      Packing::unpack(high + at, higher);
      self.combine(lower.address, const_cast<void*>(higher.address), 1);
      Packing::pack(higher, out + at);
    }
  }

  MPI_Op op_;
  MPI_Datatype handle_;
  const Datatype* type_;
};

/// papcoll's own minimum or maximum of elements that may be NaNs, of which MPI's depend on the
/// order, and for which it has no kernels; else nothing.
inline std::optional<papcoll::Reducer> extreme_of_floats(OperatorName op, MPI_Datatype type) {
  const auto of_numbers = [&]<class T>(T) {
    return op == OperatorName::min ? papcoll::reducer<T>(papcoll::min)
                                   : papcoll::reducer<T>(papcoll::max);
  };
  const auto of_pairs = [&]<class Pair>(Pair) {
    return op == OperatorName::minloc ? papcoll::reducer<Pair>(papcoll::minloc)
                                      : papcoll::reducer<Pair>(papcoll::maxloc);
  };
  if (op == OperatorName::min || op == OperatorName::max) {
    if (type == MPI_LONG_DOUBLE) return of_numbers(0.0L);
  } else if (op == OperatorName::minloc || op == OperatorName::maxloc) {
    using papcoll::ValueIndex;
    if (type == MPI_FLOAT_INT) return of_pairs(ValueIndex<float>{});
    if (type == MPI_DOUBLE_INT) return of_pairs(ValueIndex<double>{});
    if (type == MPI_LONG_DOUBLE_INT) return of_pairs(ValueIndex<long double>{});
    if (type == MPI_DATATYPE_NULL) return std::nullopt;  // as Fortran's are, where it is missing
    if (type == MPI_2REAL) return of_pairs(ValueIndex<float, float>{});
    if (type == MPI_2DOUBLE_PRECISION) return of_pairs(ValueIndex<double, double>{});
  }
  return std::nullopt;
}

/// What is known of operators.
class Operators {
 public:
  /// In MPI_Init.
  void begin() {
    handles_ = {MPI_SUM,  MPI_MAX, MPI_MIN,  MPI_PROD,   MPI_BAND,   MPI_BOR,     MPI_BXOR,
                MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    using enum erased::Operation;
    // In the order of OperatorName.
    constexpr std::array operations{sum,    max,     min,         prod,       bit_and,
                                    bit_or, bit_xor, logical_and, logical_or, logical_xor};
    static_assert(operations.size() == operations_of_type);
    kernels_.reserve(types * operations.size());
    for (std::size_t t = 0; t < types; ++t) {
      for (const erased::Operation operation : operations) {
        kernels_.push_back(erased::reducer(static_cast<erased::ElementType>(t), operation));
      }
    }
  }

  OperatorName name_of(MPI_Op op) const noexcept {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (handles_[i] == op) return static_cast<OperatorName>(i);
    }
    return OperatorName::users;
  }

  /// papcoll's own operator, or null.
  const erased::Operator* kernel(OperatorName op, const Datatype& type) const noexcept {
    if (!type.kernel || op > OperatorName::lxor) return nullptr;
    return &kernels_[static_cast<std::size_t>(*type.kernel) * operations_of_type +
                     static_cast<std::size_t>(op)];
  }

 private:
  static constexpr std::size_t types = 10;  ///< integers and floating point
  static constexpr std::size_t operations_of_type = 10;

  std::array<MPI_Op, 14> handles_{};
  std::vector<erased::Operator> kernels_;
};
inline constinit NeverDestroyed<Operators> all_operators{};
inline Operators& operators() noexcept { return all_operators.value; }

}  // namespace preload
