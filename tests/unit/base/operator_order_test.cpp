// SPDX-License-Identifier: BSD-3-Clause
// Built-in operators that commute are associative, too, on every type and on special numbers, so
// that no order and no grouping of ranks changes a bit. Only sums and products of floating-point
// numbers are not.

#include "catch.hpp"

#include <papcoll/op.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

using papcoll::ValueIndex;

template <class T> std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers{
      T{0}, T{1}, static_cast<T>(-1), Limits::lowest(), Limits::max(), static_cast<T>(5)};
  if constexpr (std::is_floating_point_v<T>) {
    numbers.insert(numbers.end(),
                   {-T{0}, T{-5}, Limits::min(), -Limits::min(), Limits::denorm_min(),
                    -Limits::denorm_min(), 3 * Limits::denorm_min(), Limits::infinity(),
                    -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()});
  }
  if constexpr (std::is_same_v<T, float>) {
    for (const std::uint32_t nan :
         {0x7fc00123U, 0xffc00123U, 0x7f800001U, 0xff800001U, 0x7fffffffU}) {
      numbers.push_back(std::bit_cast<float>(nan));
    }
  }
  if constexpr (std::is_same_v<T, double>) {
    for (const std::uint64_t nan : {0x7ff8000000000123U, 0xfff8000000000123U, 0x7ff0000000000001U,
                                    0xfff0000000000001U, 0x7fffffffffffffffU}) {
      numbers.push_back(std::bit_cast<double>(nan));
    }
  }
  return numbers;
}

template <class T>
constexpr std::size_t bytes_with_meaning = std::is_same_v<T, long double> ? 10 : sizeof(T);

template <class T> bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, bytes_with_meaning<T>) == 0;
}
template <class T, class Index>
bool same_bits(const ValueIndex<T, Index>& a, const ValueIndex<T, Index>& b) {
  return same_bits(a.value, b.value) && a.index == b.index;
}

/// How many pairs and triples show that op does not commute or is not associative.
template <class T, class Op> int faults(const std::vector<T>& elements, const Op& op) {
  int found = 0;
  for (const T& a : elements) {
    for (const T& b : elements) {
      const T both = op(a, b);
      if (!same_bits(both, T(op(b, a)))) ++found;
      for (const T& c : elements) {
        if (!same_bits(T(op(both, c)), T(op(a, T(op(b, c)))))) ++found;
      }
    }
  }
  return found;
}

template <class T> std::vector<ValueIndex<T>> special_pairs() {
  std::vector<ValueIndex<T>> pairs;
  for (const T& value : special_numbers<T>()) {
    for (const int index : {0, 1, 2}) pairs.push_back({value, index});
  }
  return pairs;
}

}  // namespace

TEMPLATE_TEST_CASE("operators: no order and no grouping changes a bit", "", bool, char, signed char,
                   unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
                   long long, unsigned long long, float, double, long double) {
  const std::vector<TestType> numbers = special_numbers<TestType>();
  CHECK(faults(numbers, papcoll::min) == 0);
  CHECK(faults(numbers, papcoll::max) == 0);
  CHECK(faults(numbers, papcoll::logical_and) == 0);
  CHECK(faults(numbers, papcoll::logical_or) == 0);
  CHECK(faults(numbers, papcoll::logical_xor) == 0);
  CHECK(faults(special_pairs<TestType>(), papcoll::minloc) == 0);
  CHECK(faults(special_pairs<TestType>(), papcoll::maxloc) == 0);
  if constexpr (std::is_floating_point_v<TestType>) {
    CHECK(faults(numbers, papcoll::min_number) == 0);
    CHECK(faults(numbers, papcoll::max_number) == 0);
  } else {
    CHECK(faults(numbers, papcoll::sum) == 0);
    CHECK(faults(numbers, papcoll::prod) == 0);
    CHECK(faults(numbers, papcoll::bit_and) == 0);
    CHECK(faults(numbers, papcoll::bit_or) == 0);
    CHECK(faults(numbers, papcoll::bit_xor) == 0);
  }
}

TEMPLATE_TEST_CASE("minimum and maximum are IEEE 754's", "", float, double, long double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T infinity = std::numeric_limits<T>::infinity();
  const T tiny = std::numeric_limits<T>::denorm_min();
  CHECK(same_bits(papcoll::min(T{0}, -T{0}), -T{0}));
  CHECK(same_bits(papcoll::max(-T{0}, T{0}), T{0}));
  CHECK(same_bits(papcoll::min(-nan, infinity), nan));
  CHECK(same_bits(papcoll::max(-infinity, -nan), nan));
  CHECK(papcoll::min(infinity, T{3}) == T{3});
  CHECK(papcoll::max(-infinity, T{-3}) == T{-3});
  CHECK(papcoll::min(T{-3}, T{-2}) == T{-3});
  CHECK(papcoll::max(T{-3}, T{-2}) == T{-2});
  CHECK(papcoll::min(2 * tiny, tiny) == tiny);
  CHECK(papcoll::max(-2 * tiny, -tiny) == -tiny);
  CHECK(papcoll::min_number(nan, T{3}) == T{3});
  CHECK(papcoll::max_number(T{3}, -nan) == T{3});
  CHECK(same_bits(papcoll::min_number(-nan, -nan), nan));
  CHECK(same_bits(papcoll::max_number(-T{0}, T{0}), T{0}));
  CHECK(same_bits(papcoll::minloc(ValueIndex<T>{3, 1}, ValueIndex<T>{-nan, 5}).value, nan));
  CHECK(papcoll::maxloc(ValueIndex<T>{nan, 7}, ValueIndex<T>{nan, 5}).index == 5);
  CHECK(papcoll::minloc(ValueIndex<T>{T{0}, 1}, ValueIndex<T>{-T{0}, 2}).index == 1);
}

TEST_CASE("minimum and maximum in constant expressions") {
  static_assert(papcoll::min(2.0, -1.0) == -1.0);
  static_assert(papcoll::max(2.0L, -1.0L) == 2.0L);
  static_assert(papcoll::max(2, -1) == 2);
  static_assert(papcoll::min(std::numeric_limits<float>::quiet_NaN(), 1.0F) !=
                papcoll::min(std::numeric_limits<float>::quiet_NaN(), 1.0F));
}

namespace {
/// Of a type of which the standard library may not know.
template <class T> void check_compilers_own() {
  const T nan = static_cast<T>(std::numeric_limits<double>::quiet_NaN());
  const T infinity = static_cast<T>(std::numeric_limits<double>::infinity());
  const std::vector<T> numbers{T(5), nan, T(1), T(4), -nan, T(0), -T(0), infinity, -infinity};
  CHECK(faults(numbers, papcoll::min) == 0);
  CHECK(faults(numbers, papcoll::max) == 0);
  CHECK(faults(numbers, papcoll::max_number) == 0);
  CHECK(faults(numbers, papcoll::logical_and) == 0);
  CHECK(same_bits(papcoll::min(T(1), -nan), nan));
  CHECK(same_bits(papcoll::max(-T(0), T(0)), T(0)));
  CHECK(papcoll::min_number(nan, T(-4)) == T(-4));
}
}  // namespace

TEST_CASE("minimum and maximum of the compilers' own floating-point numbers") {
#if defined(__SIZEOF_FLOAT128__)
  __extension__ using Quad = __float128;
  check_compilers_own<Quad>();
#endif
#if defined(__FLT16_MANT_DIG__) && (!defined(__clang__) || __clang_major__ >= 15)
  check_compilers_own<_Float16>();
#endif
}

TEST_CASE("indices that are floating-point numbers are in one order, too") {
  using Pair = ValueIndex<float, float>;
  std::vector<Pair> pairs;
  for (const float value : special_numbers<float>()) {
    for (const float index : {0.0F, -0.0F, 2.0F, std::numeric_limits<float>::quiet_NaN()}) {
      pairs.push_back({value, index});
    }
  }
  const auto differ = [](const Pair& a, const Pair& b) {
    return !same_bits(a.value, b.value) || !same_bits(a.index, b.index);
  };
  int found = 0;
  for (const Pair& a : pairs) {
    for (const Pair& b : pairs) {
      const Pair both = papcoll::minloc(a, b);
      found += differ(both, papcoll::minloc(b, a)) ? 1 : 0;
      for (const Pair& c : pairs) {
        found +=
            differ(papcoll::minloc(both, c), papcoll::minloc(a, papcoll::minloc(b, c))) ? 1 : 0;
      }
    }
  }
  CHECK(found == 0);
}

TEST_CASE("minimum and maximum need no more of a class than operator<") {
  struct Degrees {
    explicit Degrees(int d) : degrees(d) {}
    bool operator<(const Degrees& o) const { return degrees < o.degrees; }
    int degrees;
  };
  CHECK(papcoll::max(Degrees{2}, Degrees{7}).degrees == 7);
  CHECK(papcoll::min(Degrees{2}, Degrees{7}).degrees == 2);
}

#if defined(__SSE2__)
TEST_CASE("subnormal numbers keep their order where the program counts them as zero") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040U);  // flush to zero, denormals are zero
  const std::vector<double> numbers = special_numbers<double>();
  const int found = faults(numbers, papcoll::min) + faults(numbers, papcoll::max);
  const double least = papcoll::min(5e-324, 0.0);
  const double greatest = papcoll::max(5e-324, 1e-323);
  const int at =
      papcoll::minloc(ValueIndex<double>{1e-323, 0}, ValueIndex<double>{5e-324, 1}).index;
  const bool is_true = papcoll::logical_and(5e-324, 1.0) != 0;
  _mm_setcsr(before);
  CHECK(found == 0);
  CHECK(least == 0.0);
  CHECK(same_bits(greatest, 1e-323));
  CHECK(at == 1);
  CHECK(is_true);
}
#endif
