// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// All predefined operators on all types that the standard allows.

#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "torture_buffers.hpp"

namespace torture {

/// An operator and a type, and what it does to two elements.
struct Operation {
  std::string name;
  MPI_Op op = MPI_OP_NULL;
  const Layout* layout = nullptr;
  Class result = integers;
  bool user = false;
  bool can_round = false;  ///< values may be such that the order of the sums shows
  /// An element, as a stream of bytes.
  std::function<void(Random&, unsigned char*, bool rounds)> value = {};
  /// b becomes a ∘ b.
  std::function<void(const unsigned char*, unsigned char*)> combine = {};
  std::function<bool(const unsigned char*, const unsigned char*)> close = {};
  /// What may change: the bytes of a long double that are none of its value.
  std::vector<Piece> padding = {};
  /// What must not change, but is no part of the value: gaps of predefined pairs.
  std::vector<Piece> gaps = {};
};

inline std::size_t stream_bytes(const Layout& l) {
  MPI_Aint n = 0;
  for (const Piece& p : l.map) n += p.bytes;
  return static_cast<std::size_t>(n);
}

/// What a rank contributes.
inline Bytes operand(const Operation& o, int rank, int count, bool rounds) {
  const std::size_t each = stream_bytes(*o.layout);
  Bytes r(each * static_cast<std::size_t>(count));
  Random random{mixed(mixed(the_run.seed, static_cast<std::uint64_t>(the_run.call)),
                      static_cast<std::uint64_t>(rank) + 5000)};
  for (int i = 0; i < count; ++i) {
    o.value(random, r.data() + static_cast<std::size_t>(i) * each, rounds);
  }
  return r;
}

/// The result in rank order, from the left.
inline Bytes reduced(const Operation& o, int ranks, int count, bool rounds) {
  const std::size_t each = stream_bytes(*o.layout);
  Bytes sum = operand(o, 0, count, rounds);
  for (int r = 1; r < ranks; ++r) {
    Bytes next = operand(o, r, count, rounds);
    for (std::size_t at = 0; at < next.size(); at += each) {
      o.combine(sum.data() + at, next.data() + at);
    }
    sum = std::move(next);
  }
  return sum;
}

/// How many bytes of a T are its value: of a long double, ten of sixteen.
template <class T>
constexpr MPI_Aint value_bytes = std::is_same_v<T, long double>&& std::numeric_limits<T>::digits ==
                                         64
                                     ? 10
                                     : sizeof(T);

template <class T> T read_as(const unsigned char* p) {
  T x{};
  std::memcpy(&x, p, static_cast<std::size_t>(value_bytes<T>));
  return x;
}
template <class T> void write_as(unsigned char* p, const T& x) {
  std::memcpy(p, &x, static_cast<std::size_t>(value_bytes<T>));
}

enum Which { sum, prod, min, max, band, bor, bxor, land, lor, lxor, minloc, maxloc };

struct Predefined {
  Which which;
  MPI_Op op;
  const char* name;
};

inline const std::vector<Predefined>& predefined() {
  static const std::vector<Predefined> all{
      {sum, MPI_SUM, "sum"},    {prod, MPI_PROD, "prod"},       {min, MPI_MIN, "min"},
      {max, MPI_MAX, "max"},    {band, MPI_BAND, "band"},       {bor, MPI_BOR, "bor"},
      {bxor, MPI_BXOR, "bxor"}, {land, MPI_LAND, "land"},       {lor, MPI_LOR, "lor"},
      {lxor, MPI_LXOR, "lxor"}, {minloc, MPI_MINLOC, "minloc"}, {maxloc, MPI_MAXLOC, "maxloc"}};
  return all;
}

template <class T> T integer_of(Which w, T a, T b) {
  // Wraps around as the machine does, which in C++ only unsigned types may.
  using U = std::uint64_t;
  const auto wide = [](T x) { return static_cast<U>(x); };
  switch (w) {
    case sum: return static_cast<T>(wide(a) + wide(b));
    case prod: return static_cast<T>(wide(a) * wide(b));
    case min: return std::min(a, b);
    case max: return std::max(a, b);
    case band: return static_cast<T>(wide(a) & wide(b));
    case bor: return static_cast<T>(wide(a) | wide(b));
    case bxor: return static_cast<T>(wide(a) ^ wide(b));
    case land: return static_cast<T>(a != 0 && b != 0);
    case lor: return static_cast<T>(a != 0 || b != 0);
    default: return static_cast<T>((a != 0) != (b != 0));
  }
}

template <class T> T number_value(Which w, Random& random) {
  if (w == min || w == max) {
    // MPICH 4.0.2 compares unsigned numbers as signed ones, Open MPI 4.1.4 unsigned long, too, and
    // MPI_OFFSET as unsigned. Here are numbers that are less either way.
    return static_cast<T>((random.next() & std::numeric_limits<std::make_unsigned_t<T>>::max()) >>
                          1);
  }
  if (w == band || w == bor || w == bxor) return static_cast<T>(random.next());
  // No sum or product of a few ranks overflows, since Open MPI's sums of short integers saturate.
  const bool has_sign = std::is_signed_v<T>;
  if (w == prod)
    return static_cast<T>(random.one_in(4) ? 2 : random.one_in(2) || !has_sign ? 1 : -1);
  return static_cast<T>(random.between(has_sign ? -12 : 0, 12));
}

template <class T> T integer_value(Which w, Random& random) {
  if (w == land || w == lor || w == lxor) return static_cast<T>(random.below(3) != 0 ? 1 : 0);
  if constexpr (std::is_same_v<T, bool>)
    return random.one_in(2);
  else
    return number_value<T>(w, random);
}

/// Layouts of predefined types, which outlive the operations that point to them.
inline const Layout& predefined_layout(MPI_Datatype type, std::vector<Piece> map,
                                       const char* name) {
  static std::vector<std::unique_ptr<Layout>> all;
  auto l = std::make_unique<Layout>();
  l->type = type;
  l->map = std::move(map);
  l->text = name;
  measure(*l);
  all.push_back(std::move(l));
  return *all.back();
}

inline bool exists(MPI_Datatype t, std::size_t bytes) {
  int size = 0;
  return t != MPI_DATATYPE_NULL && MPI_Type_size(t, &size) == MPI_SUCCESS &&
         size == static_cast<int>(bytes);
}

using Operations = std::vector<Operation>;

/// One more, of these; the rest is the caller's.
inline Operation& added(Operations& all, Which w, const Layout& l, Class result) {
  const Predefined& p = predefined()[w];
  all.push_back(
      {.name = std::string{p.name} + " of " + l.text, .op = p.op, .layout = &l, .result = result});
  return all.back();
}

template <class T>
void add_integer(Operations& all, MPI_Datatype type, const char* name,
                 std::initializer_list<Which> which) {
  if (!exists(type, sizeof(T))) return;
  const Layout& l = predefined_layout(type, {{0, sizeof(T)}}, name);
  for (const Which w : which) {
    Operation& o = added(all, w, l, integers);
    o.value = [w](Random& random, unsigned char* at, bool) {
      write_as(at, integer_value<T>(w, random));
    };
    o.combine = [w](const unsigned char* a, unsigned char* b) {
      write_as(b, integer_of<T>(w, read_as<T>(a), read_as<T>(b)));
    };
  }
}

template <class T> void add_real(Operations& all, MPI_Datatype type, const char* name) {
  if (!exists(type, sizeof(T))) return;
  std::vector<Piece> padding;
  if (value_bytes<T> < MPI_Aint{sizeof(T)}) {
    padding = {{value_bytes<T>, MPI_Aint{sizeof(T)} - value_bytes<T>}};
  }
  const Layout& l = predefined_layout(type, {{0, value_bytes<T>}}, name);
  for (const Which w : {sum, prod, min, max}) {
    Operation& o = added(all, w, l, exact);
    o.padding = padding;
    o.can_round = w == sum || w == prod;
    o.value = [w](Random& random, unsigned char* at, bool rounds) {
      T x = static_cast<T>(random.between(-1000, 1000)) / 4;
      if (w == prod) x = static_cast<T>(random.one_in(2) ? 1 : random.one_in(2) ? -2 : 0.5);
      if (rounds) x = T{1} / 2 + static_cast<T>(random.below(1 << 20)) / 1048573;
      write_as(at, x);
    };
    o.combine = [w](const unsigned char* pa, unsigned char* pb) {
      const T a = read_as<T>(pa), b = read_as<T>(pb);
      write_as<T>(pb, w == sum    ? a + b
                      : w == prod ? a * b
                      : w == min  ? std::min(a, b)
                                  : std::max(a, b));
    };
    o.close = [](const unsigned char* pa, const unsigned char* pb) {
      const T a = read_as<T>(pa), b = read_as<T>(pb);
      // All are positive.
      return std::max(a, b) - std::min(a, b) <=
             std::max(a, b) * 64 * std::numeric_limits<T>::epsilon();
    };
  }
}

template <class T> void add_complex(Operations& all, MPI_Datatype type, const char* name) {
  if (!exists(type, 2 * sizeof(T))) return;
  constexpr MPI_Aint part = sizeof(T);
  constexpr MPI_Aint used = value_bytes<T>;
  std::vector<Piece> padding;
  if (used < part) padding = {{used, part - used}, {part + used, part - used}};
  const Layout& l = predefined_layout(type, {{0, used}, {part, used}}, name);
  using C = std::complex<T>;
  const auto read = [](const unsigned char* p) {
    return C{read_as<T>(p), read_as<T>(p + value_bytes<T>)};
  };
  const auto write = [](unsigned char* p, const C& x) {
    write_as<T>(p, x.real());
    write_as<T>(p + value_bytes<T>, x.imag());
  };
  for (const Which w : {sum, prod}) {
    Operation& o = added(all, w, l, exact);
    o.padding = padding;
    o.can_round = w == sum;
    o.value = [w, write](Random& random, unsigned char* at, bool rounds) {
      const auto small = [&] { return static_cast<T>(random.between(-1000, 1000)) / 4; };
      const auto fine = [&] { return T{1} + static_cast<T>(random.below(1 << 20)) / 1048573; };
      // No power of 1 + 2i has a part that is zero, whose sign would depend on the order.
      const T sign = static_cast<T>(random.one_in(2) ? 1 : -1);
      write(at, rounds ? C{fine(), fine()} : w == sum ? C{small(), small()} : C{sign, 2 * sign});
    };
    o.combine = [w, read, write](const unsigned char* pa, unsigned char* pb) {
      const C a = read(pa), b = read(pb);
      // Of small integers, thus exact, however the library multiplies.
      write(pb, w == sum ? a + b
                         : C{a.real() * b.real() - a.imag() * b.imag(),
                             a.real() * b.imag() + a.imag() * b.real()});
    };
    o.close = [read](const unsigned char* pa, const unsigned char* pb) {
      const C a = read(pa), b = read(pb);
      return std::abs(a - b) <= std::abs(a) * 64 * std::numeric_limits<T>::epsilon();
    };
  }
}

template <class T, class I> void add_pair(Operations& all, MPI_Datatype type, const char* name) {
  struct Both {
    T value;
    I at;
  };
  constexpr MPI_Aint second = offsetof(Both, at);
  constexpr MPI_Aint first_bytes = value_bytes<T>;
  if (!exists(type, sizeof(T) + sizeof(I))) return;
  const Layout& l =
      predefined_layout(type, {{0, first_bytes}, {second, MPI_Aint{sizeof(I)}}}, name);
  std::vector<Piece> padding, gaps;
  if (first_bytes < MPI_Aint{sizeof(T)}) {
    padding.push_back({first_bytes, MPI_Aint{sizeof(T)} - first_bytes});
  }
  if (MPI_Aint{sizeof(T)} < second) gaps.push_back({sizeof(T), second - MPI_Aint{sizeof(T)}});
  constexpr MPI_Aint end = second + MPI_Aint{sizeof(I)};
  if (end < l.extent) gaps.push_back({end, l.extent - end});
  for (const Which w : {minloc, maxloc}) {
    Operation& o = added(all, w, l, std::is_integral_v<T> ? integers : exact);
    o.padding = padding;
    o.gaps = gaps;
    o.value = [](Random& random, unsigned char* at, bool) {
      // Few values, so that many are equal and the index decides.
      write_as<T>(at, static_cast<T>(random.between(-2, 2)));
      write_as<I>(at + first_bytes, static_cast<I>(random.between(0, 6)));
    };
    o.combine = [w](const unsigned char* pa, unsigned char* pb) {
      const T a = read_as<T>(pa), b = read_as<T>(pb);
      const I i = read_as<I>(pa + first_bytes), k = read_as<I>(pb + first_bytes);
      const bool first_wins = w == minloc ? a < b : b < a;
      const bool equal = !(a < b) && !(b < a);
      if (first_wins) {
        write_as<T>(pb, a);
        write_as<I>(pb + first_bytes, i);
      } else if (equal) {
        write_as<I>(pb + first_bytes, std::min(i, k));
      }
    };
  }
}

/// All predefined operators on all types that the standard allows, as far as this MPI has them.
inline Operations all_operations() {
  Operations all;
  const std::initializer_list<Which> c_integer{sum, prod, min,  max, band,
                                               bor, bxor, land, lor, lxor};
  const std::initializer_list<Which> fortran_integer{sum, prod, min, max, band, bor, bxor};
  const std::initializer_list<Which> logical{land, lor, lxor};
#define TORTURE_INTEGER(c, mpi) add_integer<c>(all, mpi, #mpi, c_integer)
  TORTURE_INTEGER(signed char, MPI_SIGNED_CHAR);
  TORTURE_INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
  TORTURE_INTEGER(short, MPI_SHORT);
  TORTURE_INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
  TORTURE_INTEGER(int, MPI_INT);
  TORTURE_INTEGER(unsigned, MPI_UNSIGNED);
  TORTURE_INTEGER(long, MPI_LONG);
  TORTURE_INTEGER(unsigned long, MPI_UNSIGNED_LONG);
  TORTURE_INTEGER(long long, MPI_LONG_LONG);
  TORTURE_INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  TORTURE_INTEGER(std::int8_t, MPI_INT8_T);
  TORTURE_INTEGER(std::uint8_t, MPI_UINT8_T);
  TORTURE_INTEGER(std::int16_t, MPI_INT16_T);
  TORTURE_INTEGER(std::uint16_t, MPI_UINT16_T);
  TORTURE_INTEGER(std::int32_t, MPI_INT32_T);
  TORTURE_INTEGER(std::uint32_t, MPI_UINT32_T);
  TORTURE_INTEGER(std::int64_t, MPI_INT64_T);
  TORTURE_INTEGER(std::uint64_t, MPI_UINT64_T);
#undef TORTURE_INTEGER
  add_integer<MPI_Aint>(all, MPI_AINT, "MPI_AINT", fortran_integer);
  add_integer<MPI_Offset>(all, MPI_OFFSET, "MPI_OFFSET", fortran_integer);
  add_integer<MPI_Count>(all, MPI_COUNT, "MPI_COUNT", fortran_integer);
  add_integer<unsigned char>(all, MPI_BYTE, "MPI_BYTE", {band, bor, bxor});
  add_integer<bool>(all, MPI_C_BOOL, "MPI_C_BOOL", logical);
  add_integer<bool>(all, MPI_CXX_BOOL, "MPI_CXX_BOOL", logical);
  add_integer<int>(all, MPI_LOGICAL, "MPI_LOGICAL", logical);
  add_integer<int>(all, MPI_INTEGER, "MPI_INTEGER", fortran_integer);
  add_integer<std::int8_t>(all, MPI_INTEGER1, "MPI_INTEGER1", fortran_integer);
  add_integer<std::int16_t>(all, MPI_INTEGER2, "MPI_INTEGER2", fortran_integer);
  add_integer<std::int32_t>(all, MPI_INTEGER4, "MPI_INTEGER4", fortran_integer);
  add_integer<std::int64_t>(all, MPI_INTEGER8, "MPI_INTEGER8", fortran_integer);
  add_real<float>(all, MPI_FLOAT, "MPI_FLOAT");
  add_real<double>(all, MPI_DOUBLE, "MPI_DOUBLE");
  add_real<long double>(all, MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE");
  add_real<float>(all, MPI_REAL, "MPI_REAL");
  add_real<double>(all, MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION");
  add_real<float>(all, MPI_REAL4, "MPI_REAL4");
  add_real<double>(all, MPI_REAL8, "MPI_REAL8");
  add_complex<float>(all, MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX");
  add_complex<double>(all, MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX");
  add_complex<long double>(all, MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX");
  add_complex<float>(all, MPI_CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX");
  add_complex<double>(all, MPI_CXX_DOUBLE_COMPLEX, "MPI_CXX_DOUBLE_COMPLEX");
  add_complex<long double>(all, MPI_CXX_LONG_DOUBLE_COMPLEX, "MPI_CXX_LONG_DOUBLE_COMPLEX");
  add_complex<float>(all, MPI_COMPLEX, "MPI_COMPLEX");
  add_complex<double>(all, MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX");
  add_complex<float>(all, MPI_COMPLEX8, "MPI_COMPLEX8");
  add_complex<double>(all, MPI_COMPLEX16, "MPI_COMPLEX16");
  add_pair<float, int>(all, MPI_FLOAT_INT, "MPI_FLOAT_INT");
  add_pair<double, int>(all, MPI_DOUBLE_INT, "MPI_DOUBLE_INT");
  add_pair<long, int>(all, MPI_LONG_INT, "MPI_LONG_INT");
  add_pair<int, int>(all, MPI_2INT, "MPI_2INT");
  add_pair<short, int>(all, MPI_SHORT_INT, "MPI_SHORT_INT");
  add_pair<long double, int>(all, MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT");
  add_pair<float, float>(all, MPI_2REAL, "MPI_2REAL");
  add_pair<double, double>(all, MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION");
  add_pair<int, int>(all, MPI_2INTEGER, "MPI_2INTEGER");
  return all;
}

/// Leaves those that this MPI carries out, and says which it does not.
inline Operations usable(Operations all) {
  Operations r;
  std::string refused;
  for (Operation& o : all) {
    Buffer a{*o.layout, 1, 0}, b{*o.layout, 1, 0};
    a.put(0, operand(o, 0, 1, false));
    b.put(0, operand(o, 1, 1, false));
    const int code = MPI_Reduce_local(a.data(), b.data(), 1, o.layout->type, o.op);
    if (code == MPI_SUCCESS) {
      r.push_back(std::move(o));
    } else {
      refused += ", " + o.name;
    }
  }
  if (the_run.rank == 0) {
    std::printf("operators on types: %zu%s%s\n", r.size(), refused.empty() ? "" : "; refused",
                refused.c_str());
  }
  return r;
}

}  // namespace torture
