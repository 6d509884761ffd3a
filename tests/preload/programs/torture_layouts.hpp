// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Random derived types, and where their bytes lie.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "torture_run.hpp"

namespace torture {

struct Piece {
  MPI_Aint at;
  MPI_Aint bytes;
  MPI_Aint padding = 0;  ///< bytes behind it that may change: six of a long double's sixteen
};

/// A datatype and, by our own reckoning, where the bytes of its signature lie.
struct Layout {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<Piece> map;
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  bool owned = false;
  int count = 1;  ///< so many make the signature of the shape
  std::string text;
};

inline void free_type(Layout& l) {
  if (l.owned) MPI_Type_free(&l.type);
  l.owned = false;
}

struct Primitive {
  MPI_Datatype type;
  int bytes;
  int padding = 0;
};

inline const std::vector<Primitive>& primitives() {
  static const std::vector<Primitive> all = [] {
    // clang-format off
    const std::array<MPI_Datatype, 23> types{
        MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT, MPI_LONG,
        MPI_FLOAT, MPI_BYTE, MPI_UNSIGNED, MPI_LONG_DOUBLE, MPI_C_BOOL,
        MPI_INT8_T, MPI_UINT64_T, MPI_WCHAR, MPI_AINT, MPI_C_FLOAT_COMPLEX,
        MPI_C_DOUBLE_COMPLEX, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_LOGICAL,
        MPI_CHARACTER, MPI_COMPLEX, MPI_DOUBLE_COMPLEX};
    // clang-format on
    std::vector<Primitive> r;
    for (const MPI_Datatype t : types) {
      int bytes = 0;
      if (t != MPI_DATATYPE_NULL && MPI_Type_size(t, &bytes) == MPI_SUCCESS && bytes > 0) {
        const int padding =
            t == MPI_LONG_DOUBLE && std::numeric_limits<long double>::digits == 64 ? bytes - 10 : 0;
        r.push_back({t, bytes - padding, padding});
      }
    }
    return r;
  }();
  return all;
}

/// What the ranks of a call agree on: so many times these primitives, one after the other.
struct Signature {
  std::vector<Primitive> pattern;
  int repeats = 1;
  bool reduces = false;
  bool flat = false;  ///< no derived types
};

inline void measure(Layout& l) { MPI_Type_get_extent(l.type, &l.lb, &l.extent); }

/// `to` becomes a type of copies of `from` at these displacements, in this order.
inline void put_copies(Layout& to, const Layout& from, const std::vector<MPI_Aint>& places) {
  to.map.reserve(from.map.size() * places.size());
  for (const MPI_Aint p : places) {
    for (const Piece& m : from.map) to.map.push_back({m.at + p, m.bytes, m.padding});
  }
}

/// The block lengths of a random partition of n, some of them zero.
inline std::vector<int> partition(int n, Random& random) {
  std::vector<int> r;
  while (n > 0) {
    const int length = random.one_in(6) ? 0 : random.between(1, std::min(n, 5));
    r.push_back(length);
    n -= length;
  }
  return r;
}

/// Where blocks of these lengths lie: in random order, and with gaps of up to `most`.
inline std::vector<int> places_of(const std::vector<int>& lengths, int most, Random& random) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!random.one_in(3)) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random.next() % i]);
    }
  }
  std::vector<int> r(lengths.size());
  int at = random.between(-1, 1);
  for (const std::size_t i : order) {
    r[i] = at;
    at += lengths[i] + random.between(0, most);
  }
  return r;
}

inline int a_divisor(int n, Random& random) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return random.of(divisors);
}

inline Layout contiguous(const Layout& in, int n, Random&) {
  Layout r;
  MPI_Type_contiguous(n, in.type, &r.type);
  std::vector<MPI_Aint> places;
  for (int i = 0; i < n; ++i) places.push_back(i * in.extent);
  put_copies(r, in, places);
  r.text = "contiguous";
  return r;
}

template <bool in_bytes> Layout vector(const Layout& in, int n, Random& random) {
  Layout r;
  const int length = a_divisor(n, random);
  const int blocks = n / length;
  int stride = length + random.between(0, 2);
  if (random.one_in(4)) stride = -stride;
  MPI_Aint step = stride * in.extent;
  if (in_bytes) {
    step += (stride < 0 ? -16 : 16) * random.between(0, 2);
    MPI_Type_create_hvector(blocks, length, step, in.type, &r.type);
  } else {
    MPI_Type_vector(blocks, length, stride, in.type, &r.type);
  }
  std::vector<MPI_Aint> places;
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < length; ++i) places.push_back(b * step + i * in.extent);
  }
  put_copies(r, in, places);
  r.text = in_bytes ? "hvector" : "vector";
  return r;
}

enum Indexed { by_elements, by_bytes, as_struct };

template <Indexed how> Layout indexed(const Layout& in, int n, Random& random) {
  Layout r;
  const std::vector<int> lengths = partition(n, random);
  std::vector<int> at = places_of(lengths, 2, random);
  const int blocks = static_cast<int>(lengths.size());
  std::vector<MPI_Aint> bytes;
  const int shift = how == by_elements ? 0 : 16 * random.between(-2, 2);
  for (const int a : at) bytes.push_back(a * in.extent + shift);
  if (how == by_elements) {
    MPI_Type_indexed(blocks, lengths.data(), at.data(), in.type, &r.type);
    r.text = "indexed";
  } else if (how == by_bytes) {
    MPI_Type_create_hindexed(blocks, lengths.data(), bytes.data(), in.type, &r.type);
    r.text = "hindexed";
  } else {
    // Of two handles of the same type, by turns.
    MPI_Datatype twin = MPI_DATATYPE_NULL;
    MPI_Type_dup(in.type, &twin);
    std::vector<MPI_Datatype> types;
    for (int b = 0; b < blocks; ++b) types.push_back(b % 2 == 0 ? in.type : twin);
    MPI_Type_create_struct(blocks, lengths.data(), bytes.data(), types.data(), &r.type);
    MPI_Type_free(&twin);
    r.text = "struct";
  }
  std::vector<MPI_Aint> places;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (int i = 0; i < lengths[b]; ++i) places.push_back(bytes[b] + i * in.extent);
  }
  put_copies(r, in, places);
  return r;
}

template <bool in_bytes> Layout indexed_block(const Layout& in, int n, Random& random) {
  Layout r;
  const int length = a_divisor(n, random);
  const std::vector<int> lengths(static_cast<std::size_t>(n / length), length);
  std::vector<int> at = places_of(lengths, 2, random);
  std::vector<MPI_Aint> bytes;
  for (const int a : at) bytes.push_back(a * in.extent);
  if (in_bytes) {
    MPI_Type_create_hindexed_block(n / length, length, bytes.data(), in.type, &r.type);
  } else {
    MPI_Type_create_indexed_block(n / length, length, at.data(), in.type, &r.type);
  }
  std::vector<MPI_Aint> places;
  for (const MPI_Aint b : bytes) {
    for (int i = 0; i < length; ++i) places.push_back(b + i * in.extent);
  }
  put_copies(r, in, places);
  r.text = in_bytes ? "hindexed_block" : "indexed_block";
  return r;
}

inline Layout subarray(const Layout& in, int n, Random& random) {
  Layout r;
  const int rows = a_divisor(n, random);
  const std::array<int, 2> part{rows, n / rows};
  const std::array<int, 2> start{random.between(0, 1), random.between(0, 2)};
  const std::array<int, 2> whole{part[0] + start[0] + random.between(0, 1),
                                 part[1] + start[1] + random.between(0, 1)};
  const bool c = random.one_in(2);
  MPI_Type_create_subarray(2, whole.data(), part.data(), start.data(),
                           c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, in.type, &r.type);
  // The slow and the fast index of the array in memory.
  const std::size_t slow = c ? 0 : 1;
  const std::size_t fast = 1 - slow;
  std::vector<MPI_Aint> places;
  for (int i = 0; i < part[slow]; ++i) {
    for (int k = 0; k < part[fast]; ++k) {
      places.push_back(((start[slow] + i) * MPI_Aint{whole[fast]} + start[fast] + k) * in.extent);
    }
  }
  put_copies(r, in, places);
  r.text = "subarray";
  return r;
}

inline Layout resized(const Layout& in, int n, Random& random) {
  Layout copies = contiguous(in, n, random);
  measure(copies);
  MPI_Aint lb = 0, extent = 0;
  switch (random.below(4)) {
    case 0: lb = copies.lb, extent = copies.extent + 16 * random.between(0, 3); break;
    case 1: lb = copies.lb - 16, extent = copies.extent + 32; break;
    case 2: lb = 0, extent = std::max<MPI_Aint>(copies.lb + copies.extent, 16); break;
    // Copies of what lies around interleave, where they fit.
    default: lb = copies.lb, extent = std::max<MPI_Aint>(in.extent, 16); break;
  }
  Layout r;
  MPI_Type_create_resized(copies.type, lb, extent, &r.type);
  MPI_Type_free(&copies.type);
  r.map = std::move(copies.map);
  r.text = "resized";
  return r;
}

inline Layout duplicate(const Layout& in, int n, Random& random) {
  Layout copies = n == 1 ? in : contiguous(in, n, random);
  Layout r;
  MPI_Type_dup(copies.type, &r.type);
  r.map = copies.map;
  if (n != 1) MPI_Type_free(&copies.type);
  r.text = "dup";
  return r;
}

inline Layout wrapped(const Layout& in, int n, Random& random) {
  constexpr std::array ways{contiguous,
                            vector<false>,
                            vector<true>,
                            indexed<by_elements>,
                            indexed<by_bytes>,
                            indexed<as_struct>,
                            indexed_block<false>,
                            indexed_block<true>,
                            subarray,
                            resized,
                            duplicate};
  Layout r = random.of(ways)(in, n, random);
  measure(r);
  r.owned = true;
  r.text += "(" + in.text + ")";
  return r;
}

/// The predefined pair type of this pattern, if there is one: it has a gap.
inline MPI_Datatype pair_type(const std::vector<Primitive>& pattern) {
  if (pattern.size() != 2 || pattern[1].type != MPI_INT) return MPI_DATATYPE_NULL;
  if (pattern[0].type == MPI_DOUBLE) return MPI_DOUBLE_INT;
  if (pattern[0].type == MPI_SHORT) return MPI_SHORT_INT;
  if (pattern[0].type == MPI_LONG) return MPI_LONG_INT;
  return MPI_DATATYPE_NULL;
}

inline std::string name_of(MPI_Datatype t) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  MPI_Type_get_name(t, name.data(), &length);
  return name.data();
}

inline Layout base(const std::vector<Primitive>& pattern, Random& random) {
  Layout r;
  const MPI_Datatype pair = pair_type(pattern);
  if (pattern.size() == 1) {
    r.type = pattern[0].type;
    r.map = {{0, pattern[0].bytes, pattern[0].padding}};
    r.text = name_of(r.type);
  } else if (pair != MPI_DATATYPE_NULL && random.one_in(2)) {
    r.type = pair;
    r.map = {{0, pattern[0].bytes}, {std::max<MPI_Aint>(pattern[0].bytes, 4), pattern[1].bytes}};
    r.text = name_of(pair);
  } else {
    const std::vector<int> ones(pattern.size(), 1);
    std::vector<MPI_Aint> at;
    std::vector<MPI_Datatype> types;
    const int unit = random.one_in(2) ? 16 : 32;
    for (const int p : places_of(ones, 1, random)) at.push_back(p * unit);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      types.push_back(pattern[i].type);
      r.map.push_back({at[i], pattern[i].bytes, pattern[i].padding});
    }
    MPI_Type_create_struct(static_cast<int>(pattern.size()), ones.data(), at.data(), types.data(),
                           &r.type);
    r.owned = true;
    r.text = "struct of";
    for (const Primitive& p : pattern) r.text += " " + name_of(p.type);
  }
  measure(r);
  return r;
}

struct Span {
  MPI_Aint low;
  MPI_Aint high;
};

inline Span span_of(const Layout& l, int copies) {
  Span s{0, 0};
  if (copies == 0 || l.map.empty()) return s;
  s = {std::numeric_limits<MPI_Aint>::max(), std::numeric_limits<MPI_Aint>::min()};
  for (const Piece& p : l.map) {
    s.low = std::min(s.low, p.at);
    s.high = std::max(s.high, p.at + p.bytes + p.padding);
  }
  s.high += (copies - 1) * l.extent;
  return s;
}

/// No byte occurs twice, in however many copies: such a type can receive.
inline bool without_overlap(const Layout& l) {
  if (l.extent <= 0) return false;
  const Span s = span_of(l, 1);
  const MPI_Aint most = (s.high - s.low) / l.extent + 1;
  if (most > 400) return false;
  std::vector<Piece> all;
  for (MPI_Aint c = 0; c <= most; ++c) {
    for (const Piece& p : l.map) all.push_back({p.at + c * l.extent, p.bytes + p.padding});
  }
  std::sort(all.begin(), all.end(), [](const Piece& a, const Piece& b) { return a.at < b.at; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i - 1].at + all[i - 1].bytes > all[i].at) return false;
  }
  return true;
}

bool packs_rightly(const Layout& l);  // torture_buffers.hpp

/// A random type with this signature, nested three deep.
inline Layout some_layout(const Signature& signature, Random& random) {
  const auto suits = [](const Layout& l, const Signature& of) {
    // Open MPI 4.1.4 writes beside its memory in an allreduce of types that begin elsewhere than at
    // zero (ompi_coll_base_allreduce_intra_ring).
    return !of.reduces || the_run.harsh || (l.lb == 0 && span_of(l, 1).low == 0);
  };
  constexpr int tries = 20;
  constexpr MPI_Aint most_bytes = MPI_Aint{1} << 22;
  for (int i = 0;; ++i) {
    Layout l = base(signature.pattern, random);
    int left = signature.repeats;
    const int depth = signature.flat || random.one_in(8) ? 0 : 3;
    for (int level = 0; level < depth && i < tries; ++level) {
      const int n = std::min(a_divisor(left, random), left);
      left /= n;
      Layout next = wrapped(l, n, random);
      free_type(l);
      l = std::move(next);
    }
    l.count = left;
    int size = 0;
    MPI_Type_size(l.type, &size);
    MPI_Aint bytes = 0;
    for (const Piece& p : l.map) bytes += p.bytes + p.padding;
    if (size != bytes) complain("the size of " + l.text + " is not that of its parts");
    if (i >= tries ||
        (without_overlap(l) && l.extent * l.count < most_bytes && suits(l, signature))) {
      if (l.owned) MPI_Type_commit(&l.type);
      if (i >= tries || packs_rightly(l)) return l;
      ++the_run.types_refused;
    }
    free_type(l);
  }
}

}  // namespace torture
