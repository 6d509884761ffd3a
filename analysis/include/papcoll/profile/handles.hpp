// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// A handle of MPI as a number: a pointer in one library, an integer in another.
template <class Handle> std::uint64_t bits_of(Handle handle) noexcept {
  std::uint64_t bits = 0;
  static_assert(sizeof(Handle) <= sizeof bits);  // NOLINT(bugprone-sizeof-expression): or a pointer
  std::memcpy(&bits, &handle, sizeof(Handle));   // NOLINT(bugprone-sizeof-expression)
  return bits;
}

/// Predefined handles with an index of a table of names and a value, found in 1 to 2 ns.
template <class Value> class HandleTable {
 public:
  struct Known {
    std::uint64_t handle = 0;
    std::uint16_t index = 0;  ///< 0: not here
    Value value{};
  };

  void add(std::uint64_t handle, std::size_t index, Value value) noexcept {
    for (std::size_t i = hashed(handle);; ++i) {
      Known& k = slots_[i % slots];
      if (k.index != 0 && k.handle != handle) continue;
      if (k.index == 0) k = {handle, static_cast<std::uint16_t>(index), value};
      return;  // the first of two names of one handle stands
    }
  }

  const Known& find(std::uint64_t handle) const noexcept {
    for (std::size_t i = hashed(handle);; ++i) {
      const Known& k = slots_[i % slots];
      if (k.index == 0 || k.handle == handle) return k;
    }
  }

 private:
  static constexpr std::size_t slots = 128;  // several times as many as handles: searches end
  static std::size_t hashed(std::uint64_t handle) noexcept {
    return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15U) >> 57U);
  }
  std::array<Known, slots> slots_{};
};

/// Datatypes by handle: a name where they have one, and their size.
class Types {
 public:
  struct About {
    std::uint16_t index = 0;  ///< of type_names
    std::uint64_t size = 0;   ///< of one element's data
  };

  explicit Types(const MpiCalls& mpi) : mpi_(mpi) {
    const std::array<MPI_Datatype, type_names.size()> handles{MPI_DATATYPE_NULL,
                                                              MPI_CHAR,
                                                              MPI_SIGNED_CHAR,
                                                              MPI_UNSIGNED_CHAR,
                                                              MPI_BYTE,
                                                              MPI_SHORT,
                                                              MPI_UNSIGNED_SHORT,
                                                              MPI_INT,
                                                              MPI_UNSIGNED,
                                                              MPI_LONG,
                                                              MPI_UNSIGNED_LONG,
                                                              MPI_LONG_LONG,
                                                              MPI_FLOAT,
                                                              MPI_DOUBLE,
                                                              MPI_LONG_DOUBLE,
                                                              MPI_INT8_T,
                                                              MPI_INT16_T,
                                                              MPI_INT32_T,
                                                              MPI_INT64_T,
                                                              MPI_UINT8_T,
                                                              MPI_UINT16_T,
                                                              MPI_UINT32_T,
                                                              MPI_UINT64_T,
                                                              MPI_INTEGER,
                                                              MPI_REAL,
                                                              MPI_DOUBLE_PRECISION,
                                                              MPI_COMPLEX,
                                                              MPI_DOUBLE_COMPLEX,
                                                              MPI_LOGICAL,
                                                              MPI_DOUBLE_INT,
                                                              MPI_2INT};
    for (std::size_t i = 1; i < handles.size(); ++i) {
      // Libraries without Fortran have null handles for Fortran's types.
      if (handles[i] == MPI_DATATYPE_NULL) continue;
      MPI_Count size = 0;
      if (mpi_.Type_size_x(handles[i], &size) != MPI_SUCCESS || size <= 0) continue;
      known_.add(bits_of(handles[i]), i, static_cast<std::uint64_t>(size));
    }
  }

  /// A type that the program is about to pass to MPI; MPI_DATATYPE_NULL has no size.
  About of(MPI_Datatype type) const noexcept {
    const auto& known = known_.find(bits_of(type));
    if (known.index != 0) return {known.index, known.value};
    if (type == MPI_DATATYPE_NULL) return {};
    MPI_Count size = 0;
    if (mpi_.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return {};
    return {0, static_cast<std::uint64_t>(size)};
  }

 private:
  const MpiCalls& mpi_;
  HandleTable<std::uint64_t> known_;
};

/// Operators by handle.
class Ops {
 public:
  static constexpr std::uint16_t none = 0;
  static constexpr std::uint16_t of_user = 1;

  Ops() {
    const std::array<MPI_Op, op_names.size() - 2> handles{
        MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_BAND,   MPI_BOR,
        MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};
    for (std::size_t i = 0; i < handles.size(); ++i) known_.add(bits_of(handles[i]), i + 2, 0);
  }

  /// Index into op_names.
  std::uint16_t of(MPI_Op op) const noexcept {
    const auto& known = known_.find(bits_of(op));
    return known.index == 0 ? of_user : known.index;
  }

 private:
  HandleTable<char> known_;
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
