// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the library has to know of datatypes: how many bytes an element has, where they lie, and
// which of MPI's operators are for it. Found once for each type, and kept as an attribute of it.

#include "generation.hpp"
#include "never_destroyed.hpp"
#include "own_communicator.hpp"

#include <papcoll/erased.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

namespace preload {

namespace erased = papcoll::erased;

/// The groups of types by which the standard says which operators are for which (MPI-4, 6.9.2).
enum class TypeGroup : unsigned char {
  derived,  ///< of none of them: operators of the program's only
  c_integer,
  fortran_integer,
  floating_point,
  logical,
  complex,
  byte,
  several_languages,
  pair,
  character,
  unknown,  ///< predefined, but none that is known here
};

/// Where the bytes of elements lie.
enum class Lies : unsigned char {
  together,   ///< without gaps, and in the order of the type map
  in_order,   ///< each in a span of its own, one extent after the other, with gaps
  elsewhere,  ///< anywhere else
};

struct Datatype {
  std::size_t size = 0;  ///< bytes of an element, without gaps
  MPI_Aint extent = 0;
  Lies lies = Lies::elsewhere;
  TypeGroup group = TypeGroup::derived;
  std::optional<erased::ElementType> kernel;  ///< papcoll's own type, if it is one
  std::uint32_t number = 0;                   ///< of a known predefined type; 0: of none
};

/// A list of types, by their handles.
class PredefinedTypes {
 public:
  /// When MPI is there.
  void fill() {
    add_c_types();
    add_fortran_types();
  }

  const Datatype* find(MPI_Datatype handle) const noexcept {
    for (std::size_t i = place_of(handle);; i = (i + 1) % places) {
      if (!used_[i]) return nullptr;
      if (handles_[i] == handle) return &types_[i];
    }
  }

 private:
  static constexpr std::size_t places = 256;

  static std::size_t place_of(MPI_Datatype handle) noexcept {
    std::uintptr_t bits = 0;
    std::memcpy(&bits, &handle, sizeof handle);
    return (bits * 0x9e3779b97f4a7c15U) >> 56U;
  }

  void add(MPI_Datatype handle, TypeGroup group) {
    if (handle == MPI_DATATYPE_NULL || handle == MPI_Datatype{} || find(handle) != nullptr) return;
    Datatype t;
    MPI_Count size = 0;
    MPI_Aint lb = 0;
    MPI_Aint true_lb = 0;
    MPI_Aint true_extent = 0;
    if (MPI_Type_size_x(handle, &size) != MPI_SUCCESS || size <= 0 ||
        MPI_Type_get_extent(handle, &lb, &t.extent) != MPI_SUCCESS ||
        MPI_Type_get_true_extent(handle, &true_lb, &true_extent) != MPI_SUCCESS) {
      return;
    }
    t.size = static_cast<std::size_t>(size);
    const bool dense = lb == 0 && true_lb == 0 && size == t.extent && size == true_extent;
    t.lies = dense ? Lies::together : Lies::in_order;
    t.group = group;
    t.kernel = kernel_of(group, t.size, is_signed_);
    t.number = ++added_;
    std::size_t i = place_of(handle);
    while (used_[i]) i = (i + 1) % places;
    used_[i] = true;
    handles_[i] = handle;
    types_[i] = t;
  }

  /// Integers count by size and sign.
  static std::optional<erased::ElementType> kernel_of(TypeGroup group, std::size_t size,
                                                      bool is_signed) {
    using enum erased::ElementType;
    switch (group) {
      case TypeGroup::floating_point:
        if (size == 4) return float32;
        if (size == 8) return float64;
        return std::nullopt;
      case TypeGroup::c_integer:
      case TypeGroup::fortran_integer:
      case TypeGroup::several_languages:
        if (size == 1) return is_signed ? int8 : uint8;
        if (size == 2) return is_signed ? int16 : uint16;
        if (size == 4) return is_signed ? int32 : uint32;
        if (size == 8) return is_signed ? int64 : uint64;
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  void add_all(TypeGroup group, std::initializer_list<MPI_Datatype> types, bool is_signed = true) {
    is_signed_ = is_signed;
    for (const MPI_Datatype type : types) add(type, group);
  }

  void add_c_types() {
    add_all(TypeGroup::c_integer, {MPI_INT, MPI_LONG, MPI_SHORT, MPI_LONG_LONG, MPI_SIGNED_CHAR,
                                   MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T});
    add_all(TypeGroup::c_integer,
            {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_LONG_LONG,
             MPI_UNSIGNED_CHAR, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T},
            false);
    add_all(TypeGroup::floating_point, {MPI_DOUBLE, MPI_FLOAT, MPI_LONG_DOUBLE});
    add_all(TypeGroup::logical, {MPI_C_BOOL});
    add_all(TypeGroup::complex,
            {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX});
    add_all(TypeGroup::byte, {MPI_BYTE});
    add_all(TypeGroup::several_languages, {MPI_AINT, MPI_OFFSET, MPI_COUNT});
    add_all(TypeGroup::pair, {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                              MPI_LONG_DOUBLE_INT});
    add_all(TypeGroup::character, {MPI_CHAR, MPI_WCHAR});
    add_all(TypeGroup::unknown, {MPI_PACKED});
#ifdef MPI_CXX_BOOL
    add_all(TypeGroup::logical, {MPI_CXX_BOOL});
    add_all(TypeGroup::complex,
            {MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX});
#endif
  }

  void add_fortran_types() {
    add_all(TypeGroup::fortran_integer,
            {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8});
    add_all(TypeGroup::floating_point, {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8});
    add_all(TypeGroup::logical, {MPI_LOGICAL});
    add_all(TypeGroup::complex, {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16});
    add_all(TypeGroup::pair, {MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER});
    add_all(TypeGroup::character, {MPI_CHARACTER});
  }

  std::array<bool, places> used_{};
  std::array<MPI_Datatype, places> handles_{};
  std::array<Datatype, places> types_{};
  std::uint32_t added_ = 0;
  bool is_signed_ = true;
};

/// All types: those of MPI from a list, those of the program by their attribute.
class Datatypes {
 public:
  /// In MPI_Init.
  void begin() {
    predefined_.fill();
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &Datatypes::ends, &keyval_, nullptr);
  }

  /// Null: MPI refuses the type (it is none, or not committed).
  const Datatype* find(MPI_Datatype handle) {
    if (handle == MPI_DATATYPE_NULL) return nullptr;
    if (const Datatype* const known = predefined_.find(handle)) return known;
    static constinit thread_local Remembered<MPI_Datatype, const Datatype> last{};
    const std::uint64_t now = generation_.now();
    if (last.is(handle, now)) return last.found;
    const Datatype* const found = attached(handle);
    last = {handle, found, now};
    return found;
  }

 private:
  static int ends(MPI_Datatype /*handle*/, int /*keyval*/, void* value, void* /*state*/) {
    generation_.end_one();
    delete static_cast<Datatype*>(value);
    return MPI_SUCCESS;
  }

  [[gnu::cold, gnu::noinline]] const Datatype* attached(MPI_Datatype handle) {
    // Two threads may be given a new type at the same time, and only one attribute may be set.
    const std::lock_guard lock(mutex_);
    void* value = nullptr;
    int is_there = 0;
    if (MPI_Type_get_attr(handle, keyval_, &value, &is_there) != MPI_SUCCESS) return nullptr;
    if (is_there != 0) return static_cast<Datatype*>(value);
    if (!is_committed(handle)) return nullptr;
    auto* const made = new Datatype(look_at(handle));
    if (MPI_Type_set_attr(handle, keyval_, made) != MPI_SUCCESS) {
      delete made;
      return nullptr;
    }
    return made;
  }

  static bool is_committed(MPI_Datatype handle) {
    std::byte nothing{};
    int position = 0;
    return MPI_Pack(&nothing, 0, handle, &nothing, 1, &position, own_communicator().get()) ==
           MPI_SUCCESS;
  }

  Datatype look_at(MPI_Datatype handle) const {
    Datatype t;
    MPI_Count size = 0;
    MPI_Aint lb = 0;
    MPI_Aint true_lb = 0;
    MPI_Aint true_extent = 0;
    MPI_Type_size_x(handle, &size);
    MPI_Type_get_extent(handle, &lb, &t.extent);
    MPI_Type_get_true_extent(handle, &true_lb, &true_extent);
    t.size = static_cast<std::size_t>(size);
    const bool dense = lb == 0 && true_lb == 0 && size == t.extent && size == true_extent;
    if (dense && size != 0 && is_without_gaps(handle)) {
      t.lies = Lies::together;
    } else if (lb == 0 && true_lb >= 0 && t.extent > 0 && true_lb + true_extent <= t.extent) {
      t.lies = Lies::in_order;
    }
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    MPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner);
    if (is_predefined(combiner)) t.group = TypeGroup::unknown;
    return t;
  }

  static bool is_predefined(int combiner) noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  }

  /// A dense type whose bytes also are in order: of one predefined type, as it is, duplicated or
  /// repeated. (An indexed type can have any order at the same size and extent.)
  bool is_without_gaps(MPI_Datatype handle) const {
    if (const Datatype* const known = predefined_.find(handle)) {
      return known->lies == Lies::together;
    }
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    MPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner);
    if (is_predefined(combiner)) {
      MPI_Count size = 0;
      MPI_Aint lb = 0;
      MPI_Aint extent = 0;
      MPI_Type_size_x(handle, &size);
      MPI_Type_get_extent(handle, &lb, &extent);
      return size == extent;
    }
    if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) return false;
    std::vector<int> numbers(static_cast<std::size_t>(integers) + 1);
    std::vector<MPI_Aint> places(static_cast<std::size_t>(addresses) + 1);
    std::vector<MPI_Datatype> inner(static_cast<std::size_t>(types) + 1);
    if (types != 1 || MPI_Type_get_contents(handle, integers, addresses, types, numbers.data(),
                                            places.data(), inner.data()) != MPI_SUCCESS) {
      return false;  // such as one of MPI_Type_contiguous_c
    }
    const bool is_so = is_without_gaps(inner[0]);
    MPI_Type_get_envelope(inner[0], &integers, &addresses, &types, &combiner);
    if (!is_predefined(combiner)) MPI_Type_free(inner.data());
    return is_so;
  }

  static inline constinit Generation generation_{};

  PredefinedTypes predefined_;
  std::mutex mutex_;
  int keyval_ = MPI_KEYVAL_INVALID;
};
inline constinit NeverDestroyed<Datatypes> all_datatypes{};
inline Datatypes& datatypes() noexcept { return all_datatypes.value; }

}  // namespace preload
