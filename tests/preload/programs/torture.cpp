// torture [seed=1] [calls=2000] [trace=0]: random calls of all blocking collectives that a preload
// takes over, on random communicators, derived types, operators and counts.
//
// Every rank knows what every other contributes, so that each call is checked on its own: a buffer
// must hold what it should, byte by byte, and keep what it held in gaps and around. Beyond that the
// program prints hashes of what was received, to be compared between two runs. Those of floats
// whose sums depend on the order stand apart.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

// ------------------------------------------------------------------------------ random numbers

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mixed(mixed(a) ^ (b + 1)); }

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed} {}
  std::uint64_t next() { return state_ = mixed(state_); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// ------------------------------------------------------------------------- what this run counts

struct Run {
  std::uint64_t seed = 1;
  long calls = 2000;
  bool trace = false;
  bool harsh = false;
  int rank = 0;
  long call = 0;
  long wrong = 0;
  long types_refused = 0;  ///< that MPI_Pack reads otherwise than the standard says
  long gaps_of_pairs = 0;  ///< calls that wrote into the gap of a predefined pair type
  std::array<std::uint64_t, 4> hashes{};
};

enum Class : unsigned { moved, integers, exact, rounded };
constexpr std::array<const char*, 4> class_names{"moved", "integers", "exact", "rounded"};

Run the_run;

void complain(const std::string& what) {
  if (++the_run.wrong <= 10) {
    std::fprintf(stderr, "torture: rank %d, call %ld: %s\n", the_run.rank, the_run.call,
                 what.c_str());
  }
}

/// MPI accepted what it had to accept.
bool accepted(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return true;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  complain(what + ": " + text.data());
  return false;
}

// -------------------------------------------------------------------------------------- layouts

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

void free_type(Layout& l) {
  if (l.owned) MPI_Type_free(&l.type);
  l.owned = false;
}

struct Primitive {
  MPI_Datatype type;
  int bytes;
  int padding = 0;
};

const std::vector<Primitive>& primitives() {
  static const std::vector<Primitive> all = [] {
    std::vector<Primitive> r;
    for (const MPI_Datatype t : {MPI_INT,
                                 MPI_DOUBLE,
                                 MPI_CHAR,
                                 MPI_SHORT,
                                 MPI_LONG,
                                 MPI_FLOAT,
                                 MPI_BYTE,
                                 MPI_UNSIGNED,
                                 MPI_LONG_DOUBLE,
                                 MPI_C_BOOL,
                                 MPI_INT8_T,
                                 MPI_UINT64_T,
                                 MPI_WCHAR,
                                 MPI_AINT,
                                 MPI_C_FLOAT_COMPLEX,
                                 MPI_C_DOUBLE_COMPLEX,
                                 MPI_INTEGER,
                                 MPI_REAL,
                                 MPI_DOUBLE_PRECISION,
                                 MPI_LOGICAL,
                                 MPI_CHARACTER,
                                 MPI_COMPLEX,
                                 MPI_DOUBLE_COMPLEX}) {
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

void measure(Layout& l) { MPI_Type_get_extent(l.type, &l.lb, &l.extent); }

/// `to` becomes a type of copies of `from` at these displacements, in this order.
void put_copies(Layout& to, const Layout& from, const std::vector<MPI_Aint>& places) {
  to.map.reserve(from.map.size() * places.size());
  for (const MPI_Aint p : places) {
    for (const Piece& m : from.map) to.map.push_back({m.at + p, m.bytes, m.padding});
  }
}

/// The block lengths of a random partition of n, some of them zero.
std::vector<int> partition(int n, Random& random) {
  std::vector<int> r;
  while (n > 0) {
    const int length = random.one_in(6) ? 0 : random.between(1, std::min(n, 5));
    r.push_back(length);
    n -= length;
  }
  return r;
}

/// Where blocks of these lengths lie: in random order, and with gaps of up to `most`.
std::vector<int> places_of(const std::vector<int>& lengths, int most, Random& random) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!random.one_in(3)) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
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

int a_divisor(int n, Random& random) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors[static_cast<std::size_t>(random.below(static_cast<int>(divisors.size())))];
}

Layout contiguous(const Layout& in, int n) {
  Layout r;
  MPI_Type_contiguous(n, in.type, &r.type);
  std::vector<MPI_Aint> places;
  for (int i = 0; i < n; ++i) places.push_back(i * in.extent);
  put_copies(r, in, places);
  r.text = "contiguous";
  return r;
}

Layout vector(const Layout& in, int n, bool in_bytes, Random& random) {
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

Layout indexed(const Layout& in, int n, Indexed how, Random& random) {
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

Layout indexed_block(const Layout& in, int n, bool in_bytes, Random& random) {
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

Layout subarray(const Layout& in, int n, Random& random) {
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

Layout resized(const Layout& in, int n, Random& random) {
  Layout copies = contiguous(in, n);
  measure(copies);
  MPI_Aint lb = 0, extent = 0;
  switch (random.below(4)) {
    case 0:
      lb = copies.lb, extent = copies.extent + 16 * random.between(0, 3);
      break;
    case 1:
      lb = copies.lb - 16, extent = copies.extent + 32;
      break;
    case 2:
      lb = 0, extent = std::max<MPI_Aint>(copies.lb + copies.extent, 16);
      break;
    // Copies of what lies around interleave, where they fit.
    default:
      lb = copies.lb, extent = std::max<MPI_Aint>(in.extent, 16);
      break;
  }
  Layout r;
  MPI_Type_create_resized(copies.type, lb, extent, &r.type);
  MPI_Type_free(&copies.type);
  r.map = std::move(copies.map);
  r.text = "resized";
  return r;
}

Layout wrapped(const Layout& in, int n, Random& random) {
  Layout r;
  switch (random.below(11)) {
    case 0:
      r = contiguous(in, n);
      break;
    case 1:
      r = vector(in, n, false, random);
      break;
    case 2:
      r = vector(in, n, true, random);
      break;
    case 3:
      r = indexed(in, n, by_elements, random);
      break;
    case 4:
      r = indexed(in, n, by_bytes, random);
      break;
    case 5:
      r = indexed(in, n, as_struct, random);
      break;
    case 6:
      r = indexed_block(in, n, false, random);
      break;
    case 7:
      r = indexed_block(in, n, true, random);
      break;
    case 8:
      r = subarray(in, n, random);
      break;
    case 9:
      r = resized(in, n, random);
      break;
    default: {
      Layout copies = n == 1 ? in : contiguous(in, n);
      MPI_Type_dup(copies.type, &r.type);
      r.map = copies.map;
      if (n != 1) MPI_Type_free(&copies.type);
      r.text = "dup";
    }
  }
  measure(r);
  r.owned = true;
  r.text += "(" + in.text + ")";
  return r;
}

/// The predefined pair type of this pattern, if there is one: it has a gap.
MPI_Datatype pair_type(const std::vector<Primitive>& pattern) {
  if (pattern.size() != 2 || pattern[1].type != MPI_INT) return MPI_DATATYPE_NULL;
  if (pattern[0].type == MPI_DOUBLE) return MPI_DOUBLE_INT;
  if (pattern[0].type == MPI_SHORT) return MPI_SHORT_INT;
  if (pattern[0].type == MPI_LONG) return MPI_LONG_INT;
  return MPI_DATATYPE_NULL;
}

std::string name_of(MPI_Datatype t) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  MPI_Type_get_name(t, name.data(), &length);
  return name.data();
}

Layout base(const std::vector<Primitive>& pattern, Random& random) {
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

Span span_of(const Layout& l, int copies) {
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
bool without_overlap(const Layout& l) {
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

bool packs_rightly(const Layout& l);

/// A random type with this signature, nested three deep.
Layout some_layout(const Signature& signature, Random& random) {
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

// -------------------------------------------------------------------------------------- buffers

using Bytes = std::vector<unsigned char>;

/// Memory for so many elements of a layout, with room around it; all of it is a pattern at first.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Layout& l, int copies, std::uint64_t salt, MPI_Aint around = 64)
      : layout_{&l}, salt_{salt} {
    const Span s = span_of(l, copies);
    constexpr MPI_Aint line = 64;
    // A multiple of the line lies between the memory and the element, for its alignment.
    offset_ = around + (-s.low + line - 1) / line * line;
    if (s.low > 0) offset_ = around - s.low / line * line;
    memory_.resize(static_cast<std::size_t>(offset_ + s.high + around + line));
    fill_from(0);
    shift_ = 0;
    while ((reinterpret_cast<std::uintptr_t>(memory_.data()) + static_cast<std::size_t>(shift_)) %
               line !=
           0) {
      ++shift_;
    }
  }

  /// What MPI is given.
  void* data() { return memory_.data() + shift_ + offset_; }

  /// Puts a stream of bytes into elements from the `first` on.
  void put(MPI_Aint first, const unsigned char* stream, std::size_t bytes) {
    std::size_t at = 0;
    for (MPI_Aint e = first; at < bytes; ++e) {
      for (const Piece& p : layout_->map) {
        std::memcpy(place(e, p), stream + at, static_cast<std::size_t>(p.bytes));
        at += static_cast<std::size_t>(p.bytes);
      }
    }
  }
  void put(MPI_Aint first, const Bytes& stream) { put(first, stream.data(), stream.size()); }

  /// These bytes of elements may hold anything.
  void ignore(MPI_Aint first, MPI_Aint n, const std::vector<Piece>& pieces) {
    for (MPI_Aint e = first; e < first + n; ++e) {
      for (const Piece& p : pieces) {
        std::memset(place(e, p), 0, static_cast<std::size_t>(p.bytes));
      }
    }
  }
  void ignore(MPI_Aint first, MPI_Aint n) { ignore(first, n, layout_->map); }

  void ignore_padding(MPI_Aint n) {
    for (const Piece& p : layout_->map) {
      if (p.padding > 0) ignore(0, n, {{p.at + p.bytes, p.padding}});
    }
  }

  /// The stream that elements hold.
  Bytes get(MPI_Aint first, MPI_Aint n) {
    Bytes r;
    for (MPI_Aint e = first; e < first + n; ++e) {
      for (const Piece& p : layout_->map) {
        const unsigned char* const from = place(e, p);
        r.insert(r.end(), from, from + p.bytes);
      }
    }
    return r;
  }

  bool operator==(const Buffer& o) const {
    // Two buffers may lie differently by less than a line.
    const std::size_t n = memory_.size() - 64;
    return memory_.size() == o.memory_.size() &&
           std::memcmp(memory_.data() + shift_, o.memory_.data() + o.shift_, n) == 0;
  }

  /// Where two buffers first differ, in words.
  std::string difference(const Buffer& o) const {
    for (std::size_t i = 0; i + 64 < memory_.size(); ++i) {
      const int a = memory_[i + static_cast<std::size_t>(shift_)];
      const int b = o.memory_[i + static_cast<std::size_t>(o.shift_)];
      if (a != b) {
        return "byte " + std::to_string(static_cast<MPI_Aint>(i) - offset_) + " is " +
               std::to_string(a) + " instead of " + std::to_string(b);
      }
    }
    return "none";
  }

  /// The pattern begins where MPI's part does, so that two buffers of one salt are equal.
  void fill() { fill_from(static_cast<std::size_t>(shift_)); }

  std::uint64_t hash() const {
    std::uint64_t h = 0xcbf29ce484222325U;
    const unsigned char* const first = memory_.data() + shift_;
    for (std::size_t i = 0, n = memory_.size() - 64; i < n; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, first + i, std::min(sizeof word, n - i));
      h = (h ^ word) * 0x100000001b3U;
      h ^= h >> 32U;
    }
    return h;
  }

 private:
  /// The pattern, from this byte on: it repeats itself.
  void fill_from(std::size_t first) {
    constexpr std::size_t period = 256;
    for (std::size_t i = 0; first + i < memory_.size() && i < period; ++i) {
      memory_[first + i] = static_cast<unsigned char>((i * 37 + salt_) ^ 0xa5U);
    }
    for (std::size_t i = first + period; i < memory_.size(); i += period) {
      std::memcpy(&memory_[i], &memory_[first], std::min(period, memory_.size() - i));
    }
  }
  unsigned char* place(MPI_Aint element, const Piece& p) {
    return memory_.data() + shift_ + offset_ + element * layout_->extent + p.at;
  }

  const Layout* layout_ = nullptr;
  std::uint64_t salt_ = 0;
  MPI_Aint offset_ = 0;
  MPI_Aint shift_ = 0;
  Bytes memory_;
};

Buffer filled(const Layout& l, int copies, std::uint64_t salt, MPI_Aint around = 64) {
  Buffer b{l, copies, salt, around};
  b.fill();
  return b;
}

/// What `rank` sends, block by block.
Bytes stream_of(int rank, int block, std::size_t bytes) {
  Bytes r(bytes);
  const std::uint64_t key = mixed(mixed(the_run.seed, static_cast<std::uint64_t>(the_run.call)),
                                  static_cast<std::uint64_t>(rank * 1000 + block));
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t x = mixed(key + i);
    std::memcpy(r.data() + i, &x, std::min<std::size_t>(8, bytes - i));
  }
  return r;
}

void settle(Class c, Buffer& got, Buffer& wanted, int elements, const std::string& what) {
  got.ignore_padding(elements);
  wanted.ignore_padding(elements);
  if (!(got == wanted)) complain(what + " left wrong bytes: " + got.difference(wanted));
  the_run.hashes[c] = mixed(the_run.hashes[c], got.hash());
}

/// Whether MPI's own packing finds the bytes where we do. Open MPI 4.1.4 does not for some types of
/// single bytes, and no collective could then be compared; and of some it writes beside them, for
/// which there is room here.
bool packs_rightly(const Layout& l) {
  const int n = std::min(2 * l.count, 64);
  const Span span = span_of(l, n);
  const MPI_Aint room = 4096 + (span.high - span.low + 63) / 64 * 64;
  Buffer from = filled(l, n, 8, room);
  std::size_t bytes = 0, padding = 0;
  for (const Piece& p : l.map) {
    bytes += static_cast<std::size_t>(p.bytes);
    padding += static_cast<std::size_t>(p.padding);
  }
  const auto copies = static_cast<std::size_t>(n);
  from.put(0, stream_of(0, 0, bytes * copies));
  int position = 0;
  const int size = static_cast<int>((bytes + padding) * copies);
  Bytes packed(static_cast<std::size_t>(size + room));
  MPI_Pack(from.data(), n, l.type, packed.data(), size, &position, MPI_COMM_SELF);
  Buffer to = filled(l, n, 8, room);
  position = 0;
  MPI_Unpack(packed.data(), size, &position, to.data(), n, l.type, MPI_COMM_SELF);
  from.ignore_padding(n);
  to.ignore_padding(n);
  // As a stream, too, since a wrong order may cancel out.
  packed.resize(static_cast<std::size_t>(size));
  return to == from && (padding > 0 || packed == stream_of(0, 0, bytes * copies));
}

// --------------------------------------------------------------------- what a call hands to MPI

/// An address, a count and a type; sometimes MPI_BOTTOM and a type that holds the address.
class Argument {
 public:
  Argument(Buffer& b, const Layout& l, int n, bool bottom) : at{b.data()}, count{n}, type{l.type} {
    if (!bottom) return;
    MPI_Aint address = 0;
    const int one = 1;
    MPI_Get_address(at, &address);
    MPI_Type_create_hindexed(1, &one, &address, l.type, &type);
    MPI_Type_commit(&type);
    at = MPI_BOTTOM;
    made_ = true;
  }
  /// For a rank whose argument is not looked at.
  Argument(void* address, int n) : at{address}, count{n}, type{MPI_DATATYPE_NULL} {}
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  ~Argument() {
    if (made_) MPI_Type_free(&type);
  }

  void* at;
  int count;
  MPI_Datatype type;

 private:
  bool made_ = false;
};

struct Communicator {
  MPI_Comm comm;
  int rank;
  int size;
  const char* name;
};

std::vector<Communicator> communicators() {
  std::vector<Communicator> r;
  const auto add = [&](MPI_Comm c, const char* name) {
    int rank = 0, size = 0;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    r.push_back({c, rank, size, name});
  };
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  add(MPI_COMM_WORLD, "world");
  MPI_Comm c = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  add(c, "dup");
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - the_run.rank, &c);
  add(c, "reversed");
  MPI_Comm_split(MPI_COMM_WORLD, the_run.rank % 2, the_run.rank, &c);
  add(c, "halves");
  MPI_Comm_split(MPI_COMM_WORLD, the_run.rank == 0 ? 0 : 1, the_run.rank, &c);
  add(c, "without the first");
  add(MPI_COMM_SELF, "self");
  return r;
}

// ------------------------------------------------------------------------------- data movement

#ifdef MPICH_VERSION
constexpr bool is_mpich = true;
#else
constexpr bool is_mpich = false;
#endif

/// One of the signatures that calls choose from, and this rank's types with it.
struct Shape {
  Signature signature;
  std::array<Layout, 2> layouts;
  std::size_t bytes = 0;
};

Shape make_shape(std::uint64_t key) {
  Random shared{mixed(the_run.seed, key)};
  Shape s;
  const int kinds = shared.one_in(2) ? 1 : shared.between(2, 4);
  const auto& all = primitives();
  for (int i = 0; i < kinds; ++i) {
    s.signature.pattern.push_back(
        all[static_cast<std::size_t>(shared.below(static_cast<int>(all.size())))]);
  }
  if (kinds == 2 && shared.one_in(2)) {
    const std::array<Primitive, 3> first{
        {{MPI_DOUBLE, 8}, {MPI_SHORT, 2}, {MPI_LONG, static_cast<int>(sizeof(long))}}};
    s.signature.pattern = {first[static_cast<std::size_t>(shared.below(3))], {MPI_INT, 4}};
  }
  constexpr std::array<int, 9> repeats{1, 2, 6, 12, 24, 36, 60, 210, 4096};
  s.signature.repeats = shared.one_in(40)
                            ? 20000
                            : repeats[static_cast<std::size_t>(shared.below(int{repeats.size()}))];
  // MPICH 4.0.2 says "Message truncated" to some kilobytes of types with gaps that are gathered
  // or scattered, or ends.
  if (is_mpich && !the_run.harsh) {
    s.signature.flat = kinds == 1 && s.signature.repeats > 12;
    if (!s.signature.flat) s.signature.repeats = std::min(s.signature.repeats, 12);
  }
  Random own{mixed(mixed(the_run.seed, key), static_cast<std::uint64_t>(the_run.rank) + 77)};
  for (Layout& l : s.layouts) l = some_layout(s.signature, own);
  for (const Primitive& p : s.signature.pattern) {
    s.bytes += static_cast<std::size_t>(p.bytes) * static_cast<std::size_t>(s.signature.repeats);
  }
  return s;
}

#if MPI_VERSION >= 4
// The forms with large counts, for every other call.
#define TORTURE_CALL(name, ...) (large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
#define TORTURE_CALL(name, ...) (static_cast<void>(large), MPI_##name(__VA_ARGS__))
#endif

struct Choice {
  Communicator on;
  int root;
  int reps;
  bool in_place;
  bool large;
  bool rounds;
  bool bottom;
  Random own;     ///< differs between ranks
  Random shared;  ///< does not
};

void broadcast(const Shape& s, Choice c) {
  const bool large = c.large;
  const Layout& l = s.layouts[static_cast<std::size_t>(c.own.below(2))];
  const int n = l.count * c.reps;
  const std::size_t bytes = s.bytes * static_cast<std::size_t>(c.reps);
  Buffer b = filled(l, n, 1);
  Buffer wanted = b;
  wanted.fill();
  const Bytes stream = stream_of(c.root, 0, bytes);
  wanted.put(0, stream);
  if (c.on.rank == c.root) b.put(0, stream);
  const Argument a{b, l, n, c.own.one_in(4)};
  accepted(TORTURE_CALL(Bcast, a.at, a.count, a.type, c.root, c.on.comm), "Bcast");
  settle(moved, b, wanted, n, "Bcast into " + l.text);
}

void gather(const Shape& s, Choice c, bool to_all) {
  const bool large = c.large;
  const Layout& from = s.layouts[0];
  const Layout& to = s.layouts[1];
  const std::size_t bytes = s.bytes * static_cast<std::size_t>(c.reps);
  const bool receives = to_all || c.on.rank == c.root;
  const bool in_place = c.in_place && receives;
  const int m = to.count * c.reps;
  const int n = from.count * c.reps;
  Buffer in = filled(from, n, 2);
  const Bytes mine = stream_of(c.on.rank, 0, bytes);
  in.put(0, mine);
  Buffer in_before = in;
  in_before.fill();
  in_before.put(0, mine);
  Buffer out = filled(to, receives ? m * c.on.size : 0, 3);
  Buffer wanted = out;
  wanted.fill();
  if (receives) {
    for (int r = 0; r < c.on.size; ++r) wanted.put(MPI_Aint{r} * m, stream_of(r, 0, bytes));
    if (in_place) out.put(MPI_Aint{c.on.rank} * m, mine);
  }
  const Argument a{in, from, n, c.own.one_in(5)};
  const std::unique_ptr<Argument> b = receives
                                          ? std::make_unique<Argument>(out, to, m, c.own.one_in(5))
                                          : std::make_unique<Argument>(nullptr, -1);
  const void* const source = in_place ? MPI_IN_PLACE : a.at;
  // With MPI_IN_PLACE count and type are not looked at.
  const int count = in_place && c.own.one_in(2) ? 0 : a.count;
  const MPI_Datatype type = in_place && count == 0 ? MPI_DATATYPE_NULL : a.type;
  const char* const name = to_all ? "Allgather" : "Gather";
  if (to_all) {
    accepted(TORTURE_CALL(Allgather, source, count, type, b->at, b->count, b->type, c.on.comm),
             name);
  } else {
    accepted(TORTURE_CALL(Gather, source, count, type, b->at, b->count, b->type, c.root, c.on.comm),
             name);
  }
  settle(moved, out, wanted, receives ? m * c.on.size : 0,
         std::string{name} + " from " + from.text + " into " + to.text);
  if (!(in == in_before)) complain(std::string{name} + " changed what it sends");
}

void scatter(const Shape& s, Choice c) {
  const bool large = c.large;
  const Layout& from = s.layouts[0];
  const Layout& to = s.layouts[1];
  const std::size_t bytes = s.bytes * static_cast<std::size_t>(c.reps);
  const bool sends = c.on.rank == c.root;
  const bool in_place = c.in_place && sends;
  const int n = from.count * c.reps;
  const int m = to.count * c.reps;
  Buffer in = filled(from, sends ? n * c.on.size : 0, 4);
  Buffer in_before = in;
  in_before.fill();
  if (sends) {
    for (int r = 0; r < c.on.size; ++r) {
      const Bytes block = stream_of(c.root, r, bytes);
      in.put(MPI_Aint{r} * n, block);
      in_before.put(MPI_Aint{r} * n, block);
    }
  }
  Buffer out = filled(to, m, 5);
  Buffer wanted = out;
  wanted.fill();
  if (!in_place) wanted.put(0, stream_of(c.root, c.on.rank, bytes));
  const std::unique_ptr<Argument> a = sends
                                          ? std::make_unique<Argument>(in, from, n, c.own.one_in(5))
                                          : std::make_unique<Argument>(nullptr, -1);
  const Argument b{out, to, m, c.own.one_in(5)};
  void* const target = in_place ? MPI_IN_PLACE : b.at;
  accepted(
      TORTURE_CALL(Scatter, a->at, a->count, a->type, target, b.count, b.type, c.root, c.on.comm),
      "Scatter");
  settle(moved, out, wanted, m, "Scatter from " + from.text + " into " + to.text);
  if (!(in == in_before)) complain("Scatter changed what it sends");
}

// ---------------------------------------------------------------------------------- reductions

/// An operator and a type, and what it does to two elements.
struct Operation {
  std::string name;
  MPI_Op op = MPI_OP_NULL;
  const Layout* layout = nullptr;
  Class result = integers;
  bool user = false;
  bool can_round = false;  ///< values may be such that the order of the sums shows
  /// An element, as a stream of bytes.
  std::function<void(Random&, unsigned char*, bool rounds)> value;
  /// b becomes a ∘ b.
  std::function<void(const unsigned char*, unsigned char*)> combine;
  std::function<bool(const unsigned char*, const unsigned char*)> close;
  /// What may change: the bytes of a long double that are none of its value.
  std::vector<Piece> padding = {};
  /// What must not change, but is no part of the value: gaps of predefined pairs.
  std::vector<Piece> gaps = {};
};

std::size_t stream_bytes(const Layout& l) {
  MPI_Aint n = 0;
  for (const Piece& p : l.map) n += p.bytes;
  return static_cast<std::size_t>(n);
}

/// What a rank contributes.
Bytes operand(const Operation& o, int rank, int count, bool rounds) {
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
Bytes reduced(const Operation& o, int ranks, int count, bool rounds) {
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

template <class T>
T read_as(const unsigned char* p) {
  T x{};
  std::memcpy(&x, p, static_cast<std::size_t>(value_bytes<T>));
  return x;
}
template <class T>
void write_as(unsigned char* p, const T& x) {
  std::memcpy(p, &x, static_cast<std::size_t>(value_bytes<T>));
}

enum Which { sum, prod, min, max, band, bor, bxor, land, lor, lxor, minloc, maxloc };

struct Predefined {
  Which which;
  MPI_Op op;
  const char* name;
};

const std::vector<Predefined>& predefined() {
  static const std::vector<Predefined> all{
      {sum, MPI_SUM, "sum"},    {prod, MPI_PROD, "prod"},       {min, MPI_MIN, "min"},
      {max, MPI_MAX, "max"},    {band, MPI_BAND, "band"},       {bor, MPI_BOR, "bor"},
      {bxor, MPI_BXOR, "bxor"}, {land, MPI_LAND, "land"},       {lor, MPI_LOR, "lor"},
      {lxor, MPI_LXOR, "lxor"}, {minloc, MPI_MINLOC, "minloc"}, {maxloc, MPI_MAXLOC, "maxloc"}};
  return all;
}

template <class T>
T integer_of(Which w, T a, T b) {
  // Wraps around as the machine does, which in C++ only unsigned types may.
  using U = std::uint64_t;
  const auto wide = [](T x) { return static_cast<U>(x); };
  switch (w) {
    case sum:
      return static_cast<T>(wide(a) + wide(b));
    case prod:
      return static_cast<T>(wide(a) * wide(b));
    case min:
      return std::min(a, b);
    case max:
      return std::max(a, b);
    case band:
      return static_cast<T>(wide(a) & wide(b));
    case bor:
      return static_cast<T>(wide(a) | wide(b));
    case bxor:
      return static_cast<T>(wide(a) ^ wide(b));
    case land:
      return static_cast<T>(a != 0 && b != 0);
    case lor:
      return static_cast<T>(a != 0 || b != 0);
    default:
      return static_cast<T>((a != 0) != (b != 0));
  }
}

template <class T>
T number_value(Which w, Random& random) {
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

template <class T>
T integer_value(Which w, Random& random) {
  if (w == land || w == lor || w == lxor) return static_cast<T>(random.below(3) != 0 ? 1 : 0);
  if constexpr (std::is_same_v<T, bool>)
    return random.one_in(2);
  else
    return number_value<T>(w, random);
}

/// Layouts of predefined types, which outlive the operations that point to them.
const Layout& predefined_layout(MPI_Datatype type, std::vector<Piece> map, const char* name) {
  static std::vector<std::unique_ptr<Layout>> all;
  auto l = std::make_unique<Layout>();
  l->type = type;
  l->map = std::move(map);
  l->text = name;
  measure(*l);
  all.push_back(std::move(l));
  return *all.back();
}

bool exists(MPI_Datatype t, std::size_t bytes) {
  int size = 0;
  return t != MPI_DATATYPE_NULL && MPI_Type_size(t, &size) == MPI_SUCCESS &&
         size == static_cast<int>(bytes);
}

using Operations = std::vector<Operation>;

template <class T>
void add_integer(Operations& all, MPI_Datatype type, const char* name,
                 std::initializer_list<Which> which) {
  if (!exists(type, sizeof(T))) return;
  const Layout& l = predefined_layout(type, {{0, sizeof(T)}}, name);
  for (const Which w : which) {
    const Predefined& p = predefined()[w];
    Operation o;
    o.name = std::string{p.name} + " of " + name;
    o.op = p.op;
    o.layout = &l;
    o.value = [w](Random& random, unsigned char* at, bool) {
      write_as(at, integer_value<T>(w, random));
    };
    o.combine = [w](const unsigned char* a, unsigned char* b) {
      write_as(b, integer_of<T>(w, read_as<T>(a), read_as<T>(b)));
    };
    all.push_back(std::move(o));
  }
}

template <class T>
void add_real(Operations& all, MPI_Datatype type, const char* name) {
  if (!exists(type, sizeof(T))) return;
  std::vector<Piece> padding;
  if (value_bytes<T> < MPI_Aint{sizeof(T)}) {
    padding = {{value_bytes<T>, MPI_Aint{sizeof(T)} - value_bytes<T>}};
  }
  const Layout& l = predefined_layout(type, {{0, value_bytes<T>}}, name);
  for (const Which w : {sum, prod, min, max}) {
    const Predefined& p = predefined()[w];
    Operation o;
    o.name = std::string{p.name} + " of " + name;
    o.op = p.op;
    o.layout = &l;
    o.result = exact;
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
    all.push_back(std::move(o));
  }
}

template <class T>
void add_complex(Operations& all, MPI_Datatype type, const char* name) {
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
    const Predefined& p = predefined()[w];
    Operation o;
    o.name = std::string{p.name} + " of " + name;
    o.op = p.op;
    o.layout = &l;
    o.result = exact;
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
    all.push_back(std::move(o));
  }
}

template <class T, class I>
void add_pair(Operations& all, MPI_Datatype type, const char* name) {
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
    const Predefined& p = predefined()[w];
    Operation o;
    o.name = std::string{p.name} + " of " + name;
    o.op = p.op;
    o.layout = &l;
    o.result = std::is_integral_v<T> ? integers : exact;
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
    all.push_back(std::move(o));
  }
}

/// All predefined operators on all types that the standard allows, as far as this MPI has them.
Operations all_operations() {
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
Operations usable(Operations all) {
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

// ------------------------------------------------------------------------ operators of the user

/// The layout that the operator meets, since calls come one after the other; and where its element
/// lies if the type has absolute addresses.
const Layout* met = nullptr;
MPI_Aint met_at = 0;

enum User { user_sum, user_circle, user_affine, user_left, user_right, users };

template <class T>
void user_combine(User u, const unsigned char* a, unsigned char* b, const std::vector<Piece>& map,
                  bool streams) {
  // Of streams the pieces lie one beside the other.
  const auto at = [&](std::size_t i) {
    return streams ? static_cast<MPI_Aint>(i * sizeof(T)) : map[i].at;
  };
  for (std::size_t i = 0; i < map.size(); ++i) {
    const T x = read_as<T>(a + at(i)), y = read_as<T>(b + at(i));
    switch (u) {
      case user_sum:
        write_as<T>(b + at(i), static_cast<T>(x + y));
        break;
      case user_circle:
        write_as<T>(b + at(i), static_cast<T>(x + y + x * y));
        break;
      case user_left:
        write_as<T>(b + at(i), x);
        break;
      case user_affine:
        // (x, s) after (y, t) is (x y, x t + s): does not commute.
        if (i + 1 < map.size()) {
          const T s = read_as<T>(a + at(i + 1)), t = read_as<T>(b + at(i + 1));
          write_as<T>(b + at(i), static_cast<T>(x * y));
          write_as<T>(b + at(i + 1), static_cast<T>(x * t + s));
        }
        ++i;
        break;
      default:
        break;
    }
  }
}

template <User u>
void user_function(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(*type, &lb, &extent);
  if (met == nullptr || extent != met->extent) {
    complain("the user's operator met a type that it was not called for");
    return;
  }
  for (int i = 0; i < *length; ++i) {
    const unsigned char* const a = static_cast<const unsigned char*>(in) + met_at + i * extent;
    unsigned char* const b = static_cast<unsigned char*>(inout) + met_at + i * extent;
    if (met->map[0].bytes == 4) {
      user_combine<std::uint32_t>(u, a, b, met->map, false);
    } else {
      user_combine<std::uint64_t>(u, a, b, met->map, false);
    }
  }
}

struct UserOperators {
  std::array<MPI_Op, users> ops{};
  UserOperators() {
    MPI_Op_create(&user_function<user_sum>, 1, &ops[user_sum]);
    MPI_Op_create(&user_function<user_circle>, 1, &ops[user_circle]);
    MPI_Op_create(&user_function<user_affine>, 0, &ops[user_affine]);
    MPI_Op_create(&user_function<user_left>, 0, &ops[user_left]);
    MPI_Op_create(&user_function<user_right>, 0, &ops[user_right]);
  }
  UserOperators(const UserOperators&) = delete;
  UserOperators& operator=(const UserOperators&) = delete;
  ~UserOperators() {
    for (MPI_Op& o : ops) MPI_Op_free(&o);
  }
};

Operation user_operation(const UserOperators& operators, const Layout& l, User u) {
  Operation o;
  o.name = std::array<const char*, users>{"user's sum", "user's circle", "user's affine maps",
                                          "user's left", "user's right"}[u];
  o.name += " of " + l.text;
  o.op = operators.ops[u];
  o.user = true;
  o.layout = &l;
  const MPI_Aint bytes = l.map[0].bytes;
  const std::size_t pieces = l.map.size();
  o.value = [bytes, pieces](Random& random, unsigned char* at, bool) {
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::uint64_t x = random.next();
      std::memcpy(at + i * static_cast<std::size_t>(bytes), &x, static_cast<std::size_t>(bytes));
    }
  };
  o.combine = [u, bytes, &l](const unsigned char* a, unsigned char* b) {
    if (u == user_right) return;
    if (bytes == 4) {
      user_combine<std::uint32_t>(u, a, b, l.map, true);
    } else {
      user_combine<std::uint64_t>(u, a, b, l.map, true);
    }
  };
  return o;
}

/// A type that all ranks have alike, as reductions want it.
Layout make_reduced(std::uint64_t key) {
  Random shared{mixed(the_run.seed, key + 900000)};
  constexpr std::array<int, 6> repeats{2, 6, 12, 24, 60, 420};
  Signature s;
  s.pattern = {shared.one_in(2) ? Primitive{MPI_UINT32_T, 4} : Primitive{MPI_UINT64_T, 8}};
  s.reduces = true;
  s.repeats = repeats[static_cast<std::size_t>(shared.below(int{repeats.size()}))];
  return some_layout(s, shared);
}

enum Reduction { allreduce, reduce, reduce_scatter, reduce_scatter_block };
constexpr std::array<const char*, 4> reduction_names{"Allreduce", "Reduce", "Reduce_scatter",
                                                     "Reduce_scatter_block"};

/// Compares the values of elements, then all else.
void settle_reduced(const Operation& o, Buffer& got, Buffer& wanted, int count, bool rounds,
                    const std::string& what) {
  const std::size_t each = stream_bytes(*o.layout);
  const Bytes a = got.get(0, count), b = wanted.get(0, count);
  bool same = a == b;
  if (rounds && o.close) {
    same = true;
    for (std::size_t i = 0; i < a.size(); i += each) {
      same = same && o.close(a.data() + i, b.data() + i);
    }
  }
  if (!same) complain(what + " has a wrong result");
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const unsigned char x : a) h = (h ^ x) * 0x100000001b3U;
  const Class c = rounds ? rounded : o.result;
  the_run.hashes[c] = mixed(the_run.hashes[c], h);
  got.ignore(0, count);
  wanted.ignore(0, count);
  got.ignore(0, count, o.padding);
  wanted.ignore(0, count, o.padding);
  if (!o.gaps.empty() && !(got == wanted)) {
    got.ignore(0, count, o.gaps);
    wanted.ignore(0, count, o.gaps);
    if (got == wanted) ++the_run.gaps_of_pairs;
  }
  if (!(got == wanted)) complain(what + " wrote beside its elements");
}

void reduction(const Operation& o, Reduction which, Choice c, int block) {
  const bool large = c.large;
  const int n = c.on.size;
  const int rank = c.on.rank;
  const bool rounds = o.can_round && c.rounds;
  std::vector<int> counts(static_cast<std::size_t>(n), block);
  if (which == reduce_scatter) {
    for (int& x : counts) x = c.shared.one_in(4) ? 0 : c.shared.between(0, block + 2);
  }
  const bool scatters = which == reduce_scatter || which == reduce_scatter_block;
  const int total = scatters ? std::accumulate(counts.begin(), counts.end(), 0) : block;
  const int mine = scatters ? counts[static_cast<std::size_t>(rank)] : block;
  const int before = scatters ? std::accumulate(counts.begin(), counts.begin() + rank, 0) : 0;
  const bool receives = which != reduce || rank == c.root;
  // All ranks of a call without root, or the root.
  // MPICH 4.0.2 may read from MPI_IN_PLACE, and ends.
  const bool refuses = is_mpich && !the_run.harsh && which == reduce;
  const bool in_place = c.in_place && receives && !refuses;
  const std::string what = std::string{reduction_names[which]} + (in_place ? " in place" : "") +
                           ", " + o.name + ", " + std::to_string(total) + " elements";
  met = o.layout;

  const Bytes own = operand(o, rank, total, rounds);
  Buffer in = filled(*o.layout, total, 6);
  in.put(0, own);
  Buffer in_before = filled(*o.layout, total, 6);
  in_before.put(0, own);
  const int room = in_place ? total : mine;
  Buffer out = filled(*o.layout, room, 7);
  Buffer wanted = filled(*o.layout, room, 7);
  if (in_place) {
    out.put(0, own);
    wanted.put(0, own);
  }
  const Bytes result = reduced(o, n, total, rounds);
  if (receives) {
    const std::size_t each = stream_bytes(*o.layout);
    wanted.put(0, result.data() + static_cast<std::size_t>(before) * each,
               static_cast<std::size_t>(mine) * each);
  }
  const void* const source = in_place ? MPI_IN_PLACE : in.data();
  // Absolute addresses fit one buffer only, and no predefined operator takes a derived type.
  // Those begin elsewhere than at zero, see suits: Open MPI's ring takes as many elements as ranks.
  const bool survives = is_mpich || the_run.harsh || total < n;
  const bool bottom = c.bottom && in_place && which == allreduce && o.user && survives;
  const Argument target{out, *o.layout, room, bottom};
  met_at = 0;
  if (bottom) MPI_Get_address(out.data(), &met_at);
  void* const to = receives || c.own.one_in(2) ? target.at : nullptr;
  const MPI_Comm comm = c.on.comm;
  int code = MPI_SUCCESS;
  switch (which) {
    case allreduce:
      code = TORTURE_CALL(Allreduce, source, to, total, target.type, o.op, comm);
      break;
    case reduce:
      code = TORTURE_CALL(Reduce, source, to, total, target.type, o.op, c.root, comm);
      break;
    case reduce_scatter_block:
      code = TORTURE_CALL(Reduce_scatter_block, source, to, block, target.type, o.op, comm);
      break;
    default: {
#if MPI_VERSION >= 4
      const std::vector<MPI_Count> wide(counts.begin(), counts.end());
      if (large) {
        code = MPI_Reduce_scatter_c(source, to, wide.data(), target.type, o.op, comm);
        break;
      }
#endif
      code = MPI_Reduce_scatter(source, to, counts.data(), target.type, o.op, comm);
    }
  }
  accepted(code, what);
  if (in_place && scatters) {  // what becomes of the other blocks is not said
    out.ignore(mine, room - mine);
    wanted.ignore(mine, room - mine);
    out.ignore(mine, room - mine, o.padding);
    wanted.ignore(mine, room - mine, o.padding);
    out.ignore(mine, room - mine, o.gaps);
    wanted.ignore(mine, room - mine, o.gaps);
  }
  settle_reduced(o, out, wanted, receives ? mine : 0, rounds, what);
  if (!(in == in_before)) complain(what + " changed what it sends");
  met = nullptr;
}

// --------------------------------------------------------------------------------------- the run

struct Pools {
  std::vector<Shape> shapes;
  std::vector<Layout> reduced;
};

void replace_some(Pools& p, Random& shared, long call) {
  const auto key = static_cast<std::uint64_t>(call) + 1000;
  if (shared.one_in(4)) {
    Shape& s = p.shapes[static_cast<std::size_t>(shared.below(static_cast<int>(p.shapes.size())))];
    for (Layout& l : s.layouts) free_type(l);
    s = make_shape(key);
  }
  if (shared.one_in(8)) {
    Layout& l =
        p.reduced[static_cast<std::size_t>(shared.below(static_cast<int>(p.reduced.size())))];
    free_type(l);
    l = make_reduced(key);
  }
}

constexpr std::array<const char*, 9> collective_names{
    "Bcast",  "Gather",  "Scatter",        "Allgather",           "Allreduce",
    "Reduce", "Barrier", "Reduce_scatter", "Reduce_scatter_block"};

int some_count(Random& shared) {
  constexpr std::array<int, 8> counts{0, 1, 1, 2, 3, 7, 30, 129};
  if (shared.one_in(100)) return 20000;
  return counts[static_cast<std::size_t>(shared.below(int{counts.size()}))];
}

void one_call(Pools& pools, const std::vector<Communicator>& comms, const Operations& operations,
              const UserOperators& user, std::array<long, 9>& made) {
  const auto call = static_cast<std::uint64_t>(the_run.call);
  Random shared{mixed(the_run.seed, call)};
  replace_some(pools, shared, the_run.call);
  Choice c{comms[static_cast<std::size_t>(shared.below(static_cast<int>(comms.size())))],
           0,
           0,
           shared.one_in(4),
           shared.one_in(2),
           shared.one_in(4),
           shared.one_in(4),
           Random{mixed(mixed(the_run.seed, call), static_cast<std::uint64_t>(the_run.rank) + 99)},
           Random{0}};
  c.root = shared.below(1 << 20) % c.on.size;
  c.reps = shared.one_in(8) ? 0 : shared.between(1, 3);
  const int which = shared.below(9);
  ++made[static_cast<std::size_t>(which)];
  const Shape& s =
      pools.shapes[static_cast<std::size_t>(shared.below(static_cast<int>(pools.shapes.size())))];
  const Layout& l =
      pools.reduced[static_cast<std::size_t>(shared.below(static_cast<int>(pools.reduced.size())))];
  Operation o;
  int count = some_count(shared);
  if (shared.one_in(3)) {
    o = user_operation(user, l, static_cast<User>(shared.below(users)));
    // MPICH 4.0.2 reduces in a wrong order where it scatters what does not commute.
    if (is_mpich && !the_run.harsh && which >= 7) o = user_operation(user, l, user_circle);
    if (l.map.size() % 2 != 0 && !(is_mpich && which >= 7)) o = user_operation(user, l, user_left);
    count = std::min(count, static_cast<int>(4000 / l.map.size() + 1));
  } else {
    o = operations[static_cast<std::size_t>(shared.below(static_cast<int>(operations.size())))];
  }
  c.shared = Random{shared.next()};
  switch (which) {
    case 0:
      broadcast(s, c);
      break;
    case 1:
      gather(s, c, false);
      break;
    case 2:
      scatter(s, c);
      break;
    case 3:
      gather(s, c, true);
      break;
    case 4:
      reduction(o, allreduce, c, count);
      break;
    case 5:
      reduction(o, reduce, c, count);
      break;
    case 6:
      accepted(MPI_Barrier(c.on.comm), "Barrier");
      break;
    case 7:
      reduction(o, reduce_scatter, c, std::min(count, 2000));
      break;
    default:
      reduction(o, reduce_scatter_block, c, std::min(count, 2000));
      break;
  }
  if (the_run.trace) {
    std::printf("%d %ld %s %s %016llx %016llx %016llx\n", the_run.rank, the_run.call,
                collective_names[static_cast<std::size_t>(which)], c.on.name,
                static_cast<unsigned long long>(the_run.hashes[moved]),
                static_cast<unsigned long long>(the_run.hashes[integers]),
                static_cast<unsigned long long>(the_run.hashes[exact]));
  }
}

/// The sums and hashes of all ranks, at rank 0; by messages, so that no collective is needed.
void report(const std::array<long, 9>& made, int ranks) {
  std::array<std::uint64_t, 7> mine{};
  std::copy(the_run.hashes.begin(), the_run.hashes.end(), mine.begin());
  mine[4] = static_cast<std::uint64_t>(the_run.wrong);
  mine[5] = static_cast<std::uint64_t>(the_run.gaps_of_pairs);
  mine[6] = static_cast<std::uint64_t>(the_run.types_refused);
  if (the_run.rank != 0) {
    MPI_Send(mine.data(), int{mine.size()}, MPI_UINT64_T, 0, 5, MPI_COMM_WORLD);
    return;
  }
  std::array<std::uint64_t, 7> all = mine;
  for (int r = 1; r < ranks; ++r) {
    MPI_Recv(mine.data(), int{mine.size()}, MPI_UINT64_T, r, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (std::size_t c = 0; c < 4; ++c) all[c] = mixed(all[c], mine[c]);
    for (std::size_t k = 4; k < mine.size(); ++k) all[k] += mine[k];
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::printf("calls of %s: %ld\n", collective_names[i], made[i]);
  }
  for (std::size_t c = 0; c < 4; ++c) {
    std::printf("%s %016llx\n", class_names[c], static_cast<unsigned long long>(all[c]));
  }
  std::printf("types that MPI packs wrongly %llu\ngaps of pairs written %llu\nwrong %llu\n",
              static_cast<unsigned long long>(all[6]), static_cast<unsigned long long>(all[5]),
              static_cast<unsigned long long>(all[4]));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    const auto number =
        std::strtol(argv[i] + std::min(word.find('=') + 1, word.size()), nullptr, 10);
    if (word.starts_with("seed=")) {
      the_run.seed = static_cast<std::uint64_t>(number);
    } else if (word.starts_with("calls=")) {
      the_run.calls = number;
    } else if (word.starts_with("trace=")) {
      the_run.trace = number != 0;
    } else if (word.starts_with("harsh=")) {
      the_run.harsh = number != 0;
    } else {
      std::fprintf(stderr, "torture [seed=N] [calls=N] [harsh=1] [trace=1]\n");
      return 2;
    }
  }
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &the_run.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Communicator> comms = communicators();
  std::array<long, 9> made{};
  {
    const Operations operations = usable(all_operations());
    const UserOperators user;
    Pools pools;
    for (std::uint64_t i = 0; i < 48; ++i) pools.shapes.push_back(make_shape(i));
    for (std::uint64_t i = 0; i < 12; ++i) pools.reduced.push_back(make_reduced(i));
    for (the_run.call = 0; the_run.call < the_run.calls; ++the_run.call) {
      one_call(pools, comms, operations, user, made);
    }
    for (Shape& s : pools.shapes) {
      for (Layout& l : s.layouts) free_type(l);
    }
    for (Layout& l : pools.reduced) free_type(l);
  }
  report(made, ranks);
  for (Communicator& c : comms) {
    if (c.comm != MPI_COMM_WORLD && c.comm != MPI_COMM_SELF) MPI_Comm_free(&c.comm);
  }
  MPI_Finalize();
  return the_run.wrong == 0 ? 0 : 1;
}
