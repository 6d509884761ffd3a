// SPDX-License-Identifier: BSD-3-Clause
// Function objects, their traits, and the Reducer made of them. One file, since all
// cases share the types and operators.

#include "catch.hpp"

#include <papcoll/op.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using papcoll::is_commutative;
using papcoll::OperatorFor;
using papcoll::Reducer;
using papcoll::ValueIndex;

using Arithmetic = std::tuple<bool, char, signed char, unsigned char, short, unsigned short, int,
                              unsigned, long, unsigned long, long long, unsigned long long, wchar_t,
                              char8_t, char16_t, char32_t, float, double, long double>;

/// Calls f with a value of every arithmetic type.
template <class F> void for_each_arithmetic(F f) {
  std::apply([&](auto... zero) { (f(zero), ...); }, Arithmetic{});
}

template <class T>
std::vector<T> apply(const Reducer& reducer, const std::vector<T>& low,
                     const std::vector<T>& high) {
  std::vector<T> out(low.size());
  reducer.apply(reinterpret_cast<std::byte*>(out.data()),
                reinterpret_cast<const std::byte*>(low.data()),
                reinterpret_cast<const std::byte*>(high.data()), low.size(), reducer.context);
  return out;
}

/// A run of ranks, first to last, as long as it was put together in rank order without gaps.
struct Run {
  int first;
  int last;
  bool ordered;
  bool operator==(const Run&) const = default;
};
constexpr auto join = [](const Run& low, const Run& high) {
  return Run{low.first, high.last, low.ordered && high.ordered && low.last + 1 == high.first};
};

int difference(int low, int high) { return low - high; }

/// 2x2 matrices: their product does not commute, and `prod` must know.
struct Matrix {
  std::int64_t a, b, c, d;
  friend Matrix operator*(const Matrix& x, const Matrix& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
            x.c * y.b + x.d * y.d};
  }
  friend Matrix operator+(const Matrix& x, const Matrix& y) {
    return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d};
  }
  bool operator==(const Matrix&) const = default;
};

struct OwnOperator {
  static constexpr bool commutative = true;
  int operator()(int low, int high) const { return low + high; }
};

}  // namespace

TEST_CASE("operators of every arithmetic type") {
  for_each_arithmetic([](auto zero) {
    using T = decltype(zero);
    const T one{1};
    CHECK(papcoll::sum(one, zero) == one);
    CHECK(papcoll::prod(one, zero) == zero);
    CHECK(papcoll::min(one, zero) == zero);
    CHECK(papcoll::max(zero, one) == one);
    CHECK(papcoll::logical_and(one, zero) == zero);
    CHECK(papcoll::logical_and(one, one) == one);
    CHECK(papcoll::logical_or(zero, one) == one);
    CHECK(papcoll::logical_or(zero, zero) == zero);
    CHECK(papcoll::logical_xor(one, zero) == one);
    CHECK(papcoll::logical_xor(one, one) == zero);
    if constexpr (std::is_integral_v<T>) {
      CHECK(papcoll::bit_and(one, zero) == zero);
      CHECK(papcoll::bit_or(one, zero) == one);
      CHECK(papcoll::bit_xor(one, one) == zero);
    }
    if constexpr (!std::is_same_v<T, bool>) {
      const auto three = static_cast<T>(3);
      const auto five = static_cast<T>(5);
      CHECK(papcoll::sum(three, five) == static_cast<T>(8));
      CHECK(papcoll::prod(three, five) == static_cast<T>(15));
      CHECK(papcoll::min(three, five) == three);
      CHECK(papcoll::max(three, five) == five);
      CHECK(papcoll::logical_and(three, five) == one);
      CHECK(papcoll::logical_xor(three, five) == zero);
    }
  });
  CHECK(papcoll::sum(true, true) == true);
  CHECK(papcoll::bit_and(std::byte{6}, std::byte{3}) == std::byte{2});
}

TEST_CASE("integers wrap, and in constant expressions too") {
  using papcoll::prod;
  using papcoll::sum;
  constexpr auto int_max = std::numeric_limits<int>::max();
  static_assert(sum(int_max, 1) == std::numeric_limits<int>::min());
  static_assert(prod(int_max, 2) == -2);
  static_assert(sum(std::int8_t{127}, std::int8_t{1}) == -128);
  static_assert(prod(std::int8_t{-128}, std::int8_t{-1}) == -128);
  static_assert(prod(std::uint16_t{65535}, std::uint16_t{65535}) == 1);
  static_assert(sum(std::uint8_t{255}, std::uint8_t{2}) == 1);
  static_assert(sum(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}) ==
                std::numeric_limits<std::int64_t>::max());
  static_assert(std::is_same_v<decltype(sum(std::int8_t{1}, std::int8_t{1})), std::int8_t>);

  const std::vector<int> low(100, int_max);
  const std::vector<int> high(100, 2);
  CHECK(apply(papcoll::reducer<int>(sum), low, high) == std::vector<int>(100, -int_max));
  CHECK(apply(papcoll::reducer<int>(prod), low, high) == std::vector<int>(100, -2));
}

TEST_CASE("complex numbers have sum and prod") {
  using Complex = std::complex<double>;
  const std::vector<Complex> low(7, Complex{1, 2});
  const std::vector<Complex> high(7, Complex{3, -1});
  CHECK(apply(papcoll::reducer<Complex>(papcoll::sum), low, high) ==
        std::vector<Complex>(7, Complex{4, 1}));
  CHECK(apply(papcoll::reducer<Complex>(papcoll::prod), low, high) ==
        std::vector<Complex>(7, Complex{5, 5}));
  STATIC_REQUIRE(OperatorFor<papcoll::Prod, std::complex<float>>);
  STATIC_REQUIRE(OperatorFor<papcoll::Sum, std::complex<long double>>);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::Min, Complex>);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::LogicalAnd, Complex>);
}

TEST_CASE("built-in operators serve classes that have the operation") {
  const Matrix shear{1, 1, 0, 1};
  const Matrix swap{0, 1, 1, 0};
  const std::vector<Matrix> low(3, shear);
  const std::vector<Matrix> high(3, swap);
  CHECK(apply(papcoll::reducer<Matrix>(papcoll::sum), low, high) ==
        std::vector<Matrix>(3, Matrix{1, 2, 1, 1}));
  CHECK(apply(papcoll::reducer<Matrix>(papcoll::prod), low, high) ==
        std::vector<Matrix>(3, Matrix{1, 1, 1, 0}));
}

TEST_CASE("minloc and maxloc take the lower index of equal values") {
  using Pair = ValueIndex<double>;
  using papcoll::maxloc;
  using papcoll::minloc;
  CHECK(minloc(Pair{1, 5}, Pair{2, 3}) == Pair{1, 5});
  CHECK(minloc(Pair{2, 3}, Pair{1, 5}) == Pair{1, 5});
  CHECK(minloc(Pair{1, 5}, Pair{1, 3}) == Pair{1, 3});
  CHECK(minloc(Pair{1, 3}, Pair{1, 5}) == Pair{1, 3});
  CHECK(maxloc(Pair{1, 5}, Pair{2, 7}) == Pair{2, 7});
  CHECK(maxloc(Pair{2, 7}, Pair{1, 5}) == Pair{2, 7});
  CHECK(maxloc(Pair{2, 7}, Pair{2, 3}) == Pair{2, 3});
  CHECK(maxloc(Pair{2, 3}, Pair{2, 7}) == Pair{2, 3});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto is_nan_at = [](Pair p, int index) { return std::isnan(p.value) && p.index == index; };
  CHECK(is_nan_at(minloc(Pair{1, 5}, Pair{nan, 3}), 3));
  CHECK(is_nan_at(minloc(Pair{nan, 5}, Pair{1, 3}), 5));
  CHECK(is_nan_at(maxloc(Pair{1, 5}, Pair{nan, 3}), 3));
  CHECK(is_nan_at(maxloc(Pair{nan, 5}, Pair{1, 3}), 5));

  using Wide = ValueIndex<long double, std::int64_t>;
  const std::vector<Wide> low(9, Wide{2, 1});
  const std::vector<Wide> high(9, Wide{2, 0});
  CHECK(apply(papcoll::reducer<Wide>(maxloc), low, high) == high);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::MinLoc, double>);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::Min, Wide>);
}

TEST_CASE("which operators are taken as commutative") {
  const auto lambda = [](int a, int b) { return a + b; };
  const auto declared = papcoll::commutative(lambda);
  const auto ordered = papcoll::non_commutative(papcoll::sum);
  for_each_arithmetic([](auto zero) {
    using T = decltype(zero);
    STATIC_REQUIRE(is_commutative<papcoll::Sum, T>);
    STATIC_REQUIRE(is_commutative<papcoll::Prod, T>);
    STATIC_REQUIRE(is_commutative<papcoll::Min, T>);
    STATIC_REQUIRE(is_commutative<papcoll::Max, T>);
    STATIC_REQUIRE(is_commutative<papcoll::BitAnd, T>);
    STATIC_REQUIRE(is_commutative<papcoll::BitOr, T>);
    STATIC_REQUIRE(is_commutative<papcoll::BitXor, T>);
    STATIC_REQUIRE(is_commutative<papcoll::LogicalAnd, T>);
    STATIC_REQUIRE(is_commutative<papcoll::LogicalOr, T>);
    STATIC_REQUIRE(is_commutative<papcoll::LogicalXor, T>);
  });
  STATIC_REQUIRE(is_commutative<papcoll::MinLoc, ValueIndex<float>>);
  STATIC_REQUIRE(is_commutative<papcoll::MaxLoc, ValueIndex<float>>);
  STATIC_REQUIRE(is_commutative<papcoll::Prod, std::complex<double>>);
  STATIC_REQUIRE_FALSE(is_commutative<papcoll::Prod, Matrix>);
  STATIC_REQUIRE(is_commutative<papcoll::Sum, Matrix>);
  STATIC_REQUIRE_FALSE(is_commutative<decltype(lambda), int>);
  STATIC_REQUIRE_FALSE(is_commutative<decltype(difference), int>);
  STATIC_REQUIRE_FALSE(is_commutative<decltype(&difference), int>);
  STATIC_REQUIRE_FALSE(is_commutative<std::plus<>, int>);
  STATIC_REQUIRE(is_commutative<OwnOperator, int>);
  STATIC_REQUIRE(is_commutative<decltype(declared), int>);
  STATIC_REQUIRE_FALSE(is_commutative<decltype(ordered), int>);

  CHECK(papcoll::reducer<int>(papcoll::sum).commutative);
  CHECK(papcoll::reducer<int>(declared).commutative);
  CHECK_FALSE(papcoll::reducer<int>(lambda).commutative);
  CHECK_FALSE(papcoll::reducer<int>(ordered).commutative);
  CHECK_FALSE(papcoll::reducer<Matrix>(papcoll::prod).commutative);
}

TEST_CASE("what counts as an operator for a type") {
  const auto by_value = [](int a, int b) { return a - b; };
  const auto by_reference = [](int& a, int& b) { return a - b; };
  const auto to_text = [](int, int) { return std::string{}; };
  const auto to_nothing = [](int, int) {};
  const auto widening = [](short a, short b) { return a + b; };
  const auto mutating = [n = 0](int a, int b) mutable { return a + b + n++; };
  STATIC_REQUIRE(OperatorFor<decltype(by_value), int>);
  STATIC_REQUIRE(OperatorFor<decltype(widening), short>);
  STATIC_REQUIRE(OperatorFor<decltype(difference), int>);
  STATIC_REQUIRE(OperatorFor<decltype(&difference), int>);
  STATIC_REQUIRE(OperatorFor<decltype(papcoll::commutative(by_value)), int>);
  STATIC_REQUIRE(OperatorFor<std::plus<>, double>);
  STATIC_REQUIRE(OperatorFor<papcoll::Prod, Matrix>);
  STATIC_REQUIRE_FALSE(OperatorFor<decltype(by_reference), int>);
  STATIC_REQUIRE_FALSE(OperatorFor<decltype(to_text), int>);
  STATIC_REQUIRE_FALSE(OperatorFor<decltype(to_nothing), int>);
  STATIC_REQUIRE_FALSE(OperatorFor<decltype(mutating), int>);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::BitAnd, double>);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::Min, Matrix>);
  STATIC_REQUIRE_FALSE(OperatorFor<papcoll::Sum, std::string>);
}

TEST_CASE("a reducer calls lambdas with state, functions and pointers to functions") {
  const std::vector<int> low{10, 20, 30};
  const std::vector<int> high{1, 2, 3};
  int factor = 2;
  const auto scaled = [&factor](int a, int b) { return a + factor * b; };
  const Reducer reducer = papcoll::reducer<int>(scaled);
  CHECK(reducer.context == &scaled);
  CHECK(reducer.size == sizeof(int));
  CHECK(apply(reducer, low, high) == std::vector{12, 24, 36});
  factor = 3;
  CHECK(apply(reducer, low, high) == std::vector{13, 26, 39});

  CHECK(apply(papcoll::reducer<int>(difference), low, high) == std::vector{9, 18, 27});
  int (*const pointer)(int, int) = difference;
  CHECK(apply(papcoll::reducer<int>(pointer), low, high) == std::vector{9, 18, 27});
  const auto declared = papcoll::commutative(difference);
  CHECK(declared(7, 3) == 4);
  CHECK(apply(papcoll::reducer<int>(declared), low, high) == std::vector{9, 18, 27});
}

TEST_CASE("built-in operators keep their vector kernels whatever is declared of them") {
  using papcoll::detail::vector_kernel;
  const auto best = papcoll::detail::best_instruction_set();
  const auto ordered = papcoll::non_commutative(papcoll::sum);
  CHECK(papcoll::reducer<double>(papcoll::sum).apply == vector_kernel<double, papcoll::Sum>(best));
  CHECK(papcoll::reducer<double>(ordered).apply == vector_kernel<double, papcoll::Sum>(best));
  CHECK(papcoll::reducer<long double>(papcoll::sum).apply ==
        papcoll::detail::plain_kernel<long double, papcoll::Sum>);
}

TEST_CASE("every combination is op(low, high)") {
  constexpr int n = 21;
  const Reducer reducer = papcoll::reducer<Run>(join);
  const std::vector<Run> want(n, Run{0, 4, true});
  std::vector<Run> low(n, Run{0, 1, true});
  std::vector<Run> high(n, Run{2, 4, true});
  CHECK(apply(reducer, low, high) == want);
  CHECK_FALSE(apply(reducer, high, low) == want);

  auto* low_bytes = reinterpret_cast<std::byte*>(low.data());
  auto* high_bytes = reinterpret_cast<std::byte*>(high.data());
  SECTION("out is low") {
    reducer.apply(low_bytes, low_bytes, high_bytes, n, reducer.context);
    CHECK(low == want);
  }
  SECTION("out is high") {
    reducer.apply(high_bytes, low_bytes, high_bytes, n, reducer.context);
    CHECK(high == want);
  }
  SECTION("addresses that are not aligned for the element") {
    std::vector<std::byte> packed(n * sizeof(Run) + 1);
    std::memcpy(packed.data() + 1, low_bytes, n * sizeof(Run));
    reducer.apply(packed.data() + 1, packed.data() + 1, high_bytes, n, reducer.context);
    std::memcpy(low_bytes, packed.data() + 1, n * sizeof(Run));
    CHECK(low == want);
  }
}

TEST_CASE("an operator that throws ends the program") {
  const auto throws = [](int, int) -> int { throw std::runtime_error{"operator"}; };
  const Reducer reducer = papcoll::reducer<int>(throws);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::set_terminate([] { _exit(42); });
    try {
      apply(reducer, std::vector{1}, std::vector{2});
    } catch (...) {
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("every built-in operator has a name of its own") {
  using namespace papcoll;
  const std::set<std::string> names{
      Sum::name,       Prod::name,       Min::name,    Max::name,    MinNumber::name,
      MaxNumber::name, BitAnd::name,     BitOr::name,  BitXor::name, LogicalAnd::name,
      LogicalOr::name, LogicalXor::name, MinLoc::name, MaxLoc::name};
  CHECK(names.size() == 14);
}
