// SPDX-License-Identifier: BSD-3-Clause
// The reduce kernels alone: every element type under every vectorised operator, in every variant
// this machine can run, against scalar code written here. One file, since all cases share that
// code.

#include "catch.hpp"

#include <papcoll/op.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using papcoll::detail::InstructionSet;
using papcoll::detail::Kernel;
using Bytes = std::vector<std::byte>;

__extension__ typedef unsigned __int128 Wide;

enum class Kind { sum, prod, min, max, bit_and, bit_or, bit_xor };

/// One element, by exact arithmetic in 128 bits cut down to T. Never inlined, so that no compiler
/// makes a vector loop of it.
template <class T> [[gnu::noinline]] T expected(Kind kind, T low, T high) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool is_min = kind == Kind::min;
    if (is_min || kind == Kind::max) {
      if (low != low || high != high) return std::numeric_limits<T>::quiet_NaN();
      if (low == high) return std::signbit(low) == is_min ? low : high;
    }
  }
  if (kind == Kind::min) {
    if (high < low) return high;
    return low;
  }
  if (kind == Kind::max) {
    if (high > low) return high;
    return low;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return kind == Kind::sum ? low + high : low * high;
  } else {
    const auto a = static_cast<Wide>(low);
    const auto b = static_cast<Wide>(high);
    switch (kind) {
      case Kind::sum: return static_cast<T>(a + b);
      case Kind::prod: return static_cast<T>(a * b);
      case Kind::bit_and: return static_cast<T>(a & b);
      case Kind::bit_or: return static_cast<T>(a | b);
      default: return static_cast<T>(a ^ b);
    }
  }
}

/// Random bits for integers; for floating point half of them ordinary numbers, half the special
/// ones, NaNs of several payloads among them.
template <class T> T random_element(std::mt19937_64& random) {
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto nan = [&](Bits payload) {
      T value = Limits::quiet_NaN();
      Bits bits;
      std::memcpy(&bits, &value, sizeof bits);
      bits |= payload;
      std::memcpy(&value, &bits, sizeof bits);
      return value;
    };
    const std::array<T, 10> special{T{0},
                                    -T{0},
                                    Limits::infinity(),
                                    -Limits::infinity(),
                                    Limits::denorm_min(),
                                    Limits::max(),
                                    -Limits::max(),
                                    nan(1),
                                    nan(2),
                                    -nan(3)};
    if (random() % 2 == 0) return special[random() % special.size()];
    return static_cast<T>(static_cast<double>(random() % 20000) / 64.0 - 150.0);
  } else {
    return static_cast<T>(random());
  }
}

struct Case {
  std::string name;
  std::size_t size;  ///< of an element
  Kernel* kernel;
  const void* context;
  void (*fill)(std::byte* out, std::size_t n, std::mt19937_64& random);
  void (*expect)(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                 const std::byte* got);
};

template <class T> void fill(std::byte* out, std::size_t n, std::mt19937_64& random) {
  for (std::size_t i = 0; i < n; ++i) {
    const T value = random_element<T>(random);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

/// Writes what the kernel should have written. A sum or product of two NaNs is one of the two, and
/// compilers choose which: there, what the kernel got is right if it is either.
template <class T, Kind K>
void expect(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
            const std::byte* got) {
  for (std::size_t at = 0; at < n * sizeof(T); at += sizeof(T)) {
    T a;
    T b;
    std::memcpy(&a, low + at, sizeof(T));
    std::memcpy(&b, high + at, sizeof(T));
    T value = expected<T>(K, a, b);
    if ((K == Kind::sum || K == Kind::prod) && a != a && b != b) {
      const bool is_high = std::memcmp(got + at, high + at, sizeof(T)) == 0;
      value = is_high ? b : a;
    }
    std::memcpy(out + at, &value, sizeof(T));
  }
}

const char* name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::baseline: return " baseline";
    case InstructionSet::avx2: return " avx2";
    default: return " avx512";
  }
}

template <class T, class Op, Kind K> void add(std::vector<Case>& cases, const std::string& type) {
  static constexpr Op op{};
  Case c{type + " " + Op::name, sizeof(T), papcoll::detail::plain_kernel<T, Op>, &op, fill<T>,
         expect<T, K>};
  const std::string name = c.name;
  c.name = name + " plain";
  cases.push_back(c);
  for (const InstructionSet set : papcoll::detail::instruction_sets) {
    if (!supported(set)) continue;
    c.name = name + name_of(set);
    c.kernel = papcoll::detail::vector_kernel<T, Op>(set);
    c.context = nullptr;
    cases.push_back(c);
  }
}

template <class T> void add_all(std::vector<Case>& cases, const std::string& type) {
  add<T, papcoll::Sum, Kind::sum>(cases, type);
  add<T, papcoll::Prod, Kind::prod>(cases, type);
  add<T, papcoll::Min, Kind::min>(cases, type);
  add<T, papcoll::Max, Kind::max>(cases, type);
  if constexpr (std::is_integral_v<T>) {
    add<T, papcoll::BitAnd, Kind::bit_and>(cases, type);
    add<T, papcoll::BitOr, Kind::bit_or>(cases, type);
    add<T, papcoll::BitXor, Kind::bit_xor>(cases, type);
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_all<char>(cases, "char");
  add_all<signed char>(cases, "signed char");
  add_all<unsigned char>(cases, "unsigned char");
  add_all<short>(cases, "short");
  add_all<unsigned short>(cases, "unsigned short");
  add_all<int>(cases, "int");
  add_all<unsigned>(cases, "unsigned");
  add_all<long>(cases, "long");
  add_all<unsigned long>(cases, "unsigned long");
  add_all<long long>(cases, "long long");
  add_all<unsigned long long>(cases, "unsigned long long");
  add_all<char16_t>(cases, "char16_t");
  add_all<wchar_t>(cases, "wchar_t");
  add_all<float>(cases, "float");
  add_all<double>(cases, "double");
  return cases;
}

enum class Alias { none, low, high };

/// Where the three operands lie relative to a 64-byte boundary.
struct Offsets {
  std::size_t out, low, high;
};

constexpr std::byte untouched{0xA5};

/// The address in `block` that lies `offset` bytes past a 64-byte boundary, with room before it.
std::byte* place(Bytes& block, std::size_t offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(block.data());
  return block.data() + (128 - address % 64) + offset;
}

/// Runs one kernel once. Returns true if the result, the inputs and the bytes around are right.
bool right(const Case& c, std::size_t n, Offsets offsets, Alias alias, std::mt19937_64& random) {
  const std::size_t bytes = n * c.size;
  Bytes low_block(bytes + 320, untouched);
  Bytes high_block(bytes + 320, untouched);
  Bytes out_block(bytes + 320, untouched);
  std::byte* low = place(low_block, offsets.low);
  std::byte* high = place(high_block, offsets.high);
  c.fill(low, n, random);
  c.fill(high, n, random);
  const Bytes low_before(low, low + bytes);
  const Bytes high_before(high, high + bytes);

  Bytes& block = alias == Alias::low ? low_block : alias == Alias::high ? high_block : out_block;
  std::byte* out = alias == Alias::low    ? low
                   : alias == Alias::high ? high
                                          : place(out_block, offsets.out);
  Bytes want = block;
  c.kernel(out, low, high, n, c.context);
  c.expect(want.data() + (out - block.data()), low_before.data(), high_before.data(), n, out);
  return block == want &&
         (alias == Alias::low || std::equal(low, low + bytes, low_before.data())) &&
         (alias == Alias::high || std::equal(high, high + bytes, high_before.data()));
}

/// Placements that make sense for the element size: all at a boundary, all the same way past one,
/// each its own way, and not even aligned for an element.
std::array<Offsets, 4> placements(const Case& c) {
  const std::size_t s = c.size;
  return {{{0, 0, 0}, {s, s, s}, {3 * s, 0, 16}, {1, 3, 5}}};
}

bool right_under_all_aliases(const Case& c, std::size_t n, Offsets offsets,
                             std::mt19937_64& random) {
  return right(c, n, offsets, Alias::none, random) && right(c, n, offsets, Alias::low, random) &&
         right(c, n, offsets, Alias::high, random);
}

}  // namespace

TEST_CASE("every variant of every kernel gives the bits of scalar arithmetic") {
  std::mt19937_64 random{20240607};
  for (const Case& c : all_cases()) {
    CAPTURE(c.name);
    std::vector<std::size_t> failed;
    for (std::size_t n = 0; n <= 70; ++n) {
      const Offsets offsets = placements(c)[random() % 4];
      if (!right_under_all_aliases(c, n, offsets, random)) failed.push_back(n);
    }
    for (const std::size_t n : {std::size_t{255}, std::size_t{1001}}) {
      for (const Offsets& offsets : placements(c)) {
        if (!right_under_all_aliases(c, n, offsets, random)) failed.push_back(n);
      }
    }
    CHECK(failed == std::vector<std::size_t>{});
  }
}

TEST_CASE("of min and max a NaN wins, and -0 is less than +0") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Row {
    double low, high, min, max;
  };
  const std::array<Row, 6> rows{{{+0.0, -0.0, -0.0, +0.0},
                                 {-0.0, +0.0, -0.0, +0.0},
                                 {-nan, 1.0, nan, nan},
                                 {1.0, nan, nan, nan},
                                 {-1.0, 2.0, -1.0, 2.0},
                                 {2.0, -1.0, -1.0, 2.0}}};
  // 37 elements: wide vectors, a narrow one and single elements in each variant.
  constexpr std::size_t n = 37;
  using Numbers = std::array<double, n>;
  const auto run = [](Kernel* kernel, const Numbers& low, const Numbers& high) {
    Numbers out{};
    kernel(reinterpret_cast<std::byte*>(out.data()), reinterpret_cast<const std::byte*>(low.data()),
           reinterpret_cast<const std::byte*>(high.data()), n, nullptr);
    return out;
  };
  for (const Row& row : rows) {
    Numbers low, high, min, max;
    low.fill(row.low), high.fill(row.high), min.fill(row.min), max.fill(row.max);
    for (const InstructionSet set : papcoll::detail::instruction_sets) {
      if (!supported(set)) continue;
      CAPTURE(row.low, row.high, name_of(set));
      using papcoll::detail::vector_kernel;
      const Numbers got_min = run(vector_kernel<double, papcoll::Min>(set), low, high);
      const Numbers got_max = run(vector_kernel<double, papcoll::Max>(set), low, high);
      CHECK(std::memcmp(got_min.data(), min.data(), sizeof min) == 0);
      CHECK(std::memcmp(got_max.data(), max.data(), sizeof max) == 0);
    }
  }
}

TEST_CASE("types of one size share kernels") {
  using papcoll::detail::vector_kernel;
  const InstructionSet best = papcoll::detail::best_instruction_set();
  CHECK(supported(best));
  CHECK(vector_kernel<long, papcoll::Min>(best) == vector_kernel<long long, papcoll::Min>(best));
  CHECK(vector_kernel<long, papcoll::Sum>(best) ==
        vector_kernel<unsigned long, papcoll::Sum>(best));
  CHECK(vector_kernel<long, papcoll::Min>(best) !=
        vector_kernel<unsigned long, papcoll::Min>(best));
}
