#pragma once

// What the explored ranks do: a sequence of collectives, with what must come out of it.

#include "algorithms.hpp"

#include <papcoll/base/call.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/op.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace explore {

using papcoll::Collective;

/// A chunk of the explored boards, bytes.
inline constexpr std::size_t chunk_bytes = 64;

/// One call, the same on all ranks.
struct CallSpec {
  Algorithm algorithm;
  Collective collective;
  std::size_t count;  ///< elements: see Sum and Ordered
  int root = 0;
  bool in_place = false;
  bool rank_order = false;  ///< elements are Ordered, else Sum
  /// Elements are Ordered although the call does not ask for rank order: two ranks keep it anyway.
  bool of_a_pair = false;
  bool invalid = false;  ///< a call that its rank refuses by itself
  bool uneven = false;   ///< reduce_scatter with counts: nothing for rank 0, twice for the last

  friend bool operator==(const CallSpec&, const CallSpec&) = default;

  std::string describe() const {
    return std::string(algorithm.name()) + " " + std::string(papcoll::name_of(collective)) +
           " of " + std::to_string(count) + ", root " + std::to_string(root) +
           (in_place ? ", in place" : "") + (rank_order ? ", rank order" : "") +
           (uneven ? ", uneven" : "");
  }
};

/// Elements whose order of combination does not matter: 16 in a chunk, 10 within a header.
using Sum = std::uint32_t;

/// Upper triangular matrices [1 a c; 0 1 b; 0 0 1]: their product is associative and never
/// commutes. 5 in a chunk, 3 within a header.
struct Ordered {
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t c;
};

inline void add(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                const void*) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    Sum x = 0;
    Sum y = 0;
    std::memcpy(&x, low + i * sizeof x, sizeof x);
    std::memcpy(&y, high + i * sizeof y, sizeof y);
    x += y;
    std::memcpy(out + i * sizeof x, &x, sizeof x);
  }
}

inline void multiply(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                     const void*) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    Ordered x{};
    Ordered y{};
    std::memcpy(&x, low + i * sizeof x, sizeof x);
    std::memcpy(&y, high + i * sizeof y, sizeof y);
    const Ordered z{x.a + y.a, x.b + y.b, x.c + y.c + x.a * y.b};
    std::memcpy(out + i * sizeof z, &z, sizeof z);
  }
}

inline papcoll::Reducer reducer_of(const CallSpec& s) {
  if (s.rank_order || s.of_a_pair) return {&multiply, nullptr, sizeof(Ordered), false};
  return {&add, nullptr, sizeof(Sum), true};
}

/// Bytes that say which call, rank and element they belong to.
inline std::vector<std::byte> contribution(std::size_t call, int rank, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = (call + 1) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(rank) * 77777;
  for (std::byte& b : data) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    b = static_cast<std::byte>(state >> 56);
  }
  return data;
}

/// One rank's memory for one call, with guards around it, and what must be in it afterwards.
class Buffers {
 public:
  Buffers(const CallSpec& s, std::size_t call, int rank, int ranks) : spec_(s) {
    const papcoll::Reducer reducer = reducer_of(s);
    const std::size_t bytes = s.count * reducer.size;
    const std::size_t all = static_cast<std::size_t>(ranks) * bytes;
    const bool gathers = s.collective == Collective::allgather;
    const bool scatters = s.collective == Collective::reduce_scatter;
    counts_.assign(static_cast<std::size_t>(ranks), s.count);
    if (s.uneven && ranks > 1) {
      counts_.front() = 0;
      counts_.back() = 2 * s.count;
    }
    const std::size_t in_bytes = scatters ? all : bytes;
    out_bytes_ = gathers    ? all
                 : scatters ? counts_[static_cast<std::size_t>(rank)] * reducer.size
                            : bytes;
    in_at_ = guard;
    out_at_ = s.in_place ? guard : guard + in_bytes + guard;
    if (s.in_place && gathers) in_at_ += static_cast<std::size_t>(rank) * bytes;
    before_.assign(std::max(in_at_ + in_bytes, out_at_ + out_bytes_) + guard, std::byte{0xa5});

    const std::vector<std::byte> mine = contribution(call, rank, in_bytes);
    if (s.collective != Collective::bcast || rank == s.root) copy(before_, in_at_, mine);
    after_ = before_;
    switch (s.collective) {
      case Collective::allreduce:
      case Collective::reduce:
        if (s.collective == Collective::reduce && rank != s.root) break;
        {
          std::vector<std::byte> result = contribution(call, 0, bytes);
          for (int r = 1; r < ranks; ++r) {
            const std::vector<std::byte> next = contribution(call, r, bytes);
            reducer.apply(result.data(), result.data(), next.data(), s.count, nullptr);
          }
          copy(after_, out_at_, result);
        }
        break;
      case Collective::reduce_scatter: {
        std::vector<std::byte> result = contribution(call, 0, all);
        for (int r = 1; r < ranks; ++r) {
          const std::vector<std::byte> next = contribution(call, r, all);
          reducer.apply(result.data(), result.data(), next.data(), all / reducer.size, nullptr);
        }
        std::size_t first = 0;
        for (std::size_t r = 0; r < static_cast<std::size_t>(rank); ++r) first += counts_[r];
        std::memcpy(after_.data() + out_at_, result.data() + first * reducer.size, out_bytes_);
        break;
      }
      case Collective::bcast:
        if (rank != s.root) copy(after_, out_at_, contribution(call, s.root, bytes));
        break;
      case Collective::allgather:
        for (int r = 0; r < ranks; ++r) {
          copy(after_, out_at_ + static_cast<std::size_t>(r) * bytes, contribution(call, r, bytes));
        }
        break;
      default:
        break;
    }
  }

  std::size_t bytes() const noexcept { return before_.size(); }
  /// Where they lie, in memory of the world.
  void place(std::byte* memory) noexcept { memory_ = memory; }
  std::byte* memory() const noexcept { return memory_; }

  papcoll::Call prepare() {
    if (memory_ == nullptr) {
      own_.resize(before_.size());
      memory_ = own_.data();
    }
    std::memcpy(memory_, before_.data(), before_.size());
    papcoll::Call c;
    c.collective = spec_.collective;
    c.in = memory_ + in_at_;
    c.out = memory_ + out_at_;
    c.count = spec_.count;
    if (spec_.uneven) {
      c.count = spec_.count * counts_.size();
      c.counts = counts_.data();
    }
    c.reducer = reducer_of(spec_);
    c.root = spec_.root;
    c.input_in_output = spec_.in_place;
    c.rank_order = spec_.rank_order;
    return c;
  }

  bool complete() const noexcept { return is(after_); }
  bool untouched() const noexcept { return is(before_); }
  /// Nothing but the output has changed.
  bool confined() const noexcept {
    return std::memcmp(memory_, before_.data(), out_at_) == 0 &&
           std::memcmp(memory_ + out_at_ + out_bytes_, before_.data() + out_at_ + out_bytes_,
                       guard) == 0;
  }
  /// Does a rank with this role write nothing?
  bool writes_nothing() const noexcept { return before_ == after_; }

 private:
  static constexpr std::size_t guard = 64;

  bool is(const std::vector<std::byte>& what) const noexcept {
    return std::memcmp(memory_, what.data(), what.size()) == 0;
  }

  static void copy(std::vector<std::byte>& to, std::size_t at, const std::vector<std::byte>& from) {
    if (!from.empty()) std::memcpy(to.data() + at, from.data(), from.size());
  }

  CallSpec spec_;
  std::size_t in_at_ = 0;
  std::size_t out_at_ = 0;
  std::size_t out_bytes_ = 0;
  std::vector<std::size_t> counts_;
  std::vector<std::byte> before_;
  std::vector<std::byte> after_;
  std::vector<std::byte> own_;  ///< where nobody has given it a place
  std::byte* memory_ = nullptr;
};

/// A rank that makes another call than the others.
struct Deviation {
  int rank;
  std::size_t call;
  CallSpec made;
};

/// What ranks reach of each other's memory.
enum class Reach {
  all,
  pools,  ///< and no buffers of users
  slots,  ///< not even that: chunks go through the board
};

struct Script {
  int ranks;
  std::vector<CallSpec> calls;
  std::vector<Deviation> deviations{};
  std::uint32_t first_epoch = 1;
  /// Calls that other algorithms made before: words that these do not use are as old as that.
  std::uint32_t unused_for = 0;
  Reach reach = Reach::all;
  std::vector<int> colours{};       ///< of groups that the ranks are in; empty: one group
  std::size_t chunk = chunk_bytes;  ///< bytes of a chunk of the board

  const CallSpec& call_of(int rank, std::size_t i) const {
    for (const Deviation& d : deviations) {
      if (d.rank == rank && d.call == i) return d.made;
    }
    return calls[i];
  }
  bool deviates(std::size_t i) const {
    for (const Deviation& d : deviations) {
      if (d.call == i) return true;
    }
    return false;
  }
  /// In call i, or because of the one before it in its frame, of so many that a board has.
  bool may_fail(std::size_t i, std::size_t frames) const {
    return deviates(i) || (i >= frames && deviates(i - frames));
  }
  /// Are call i's words the same on all ranks?
  template <class Words>
  bool all_call(std::size_t i, Words&& words) const {
    for (int r = 1; r < ranks; ++r) {
      if (!(words(call_of(r, i)) == words(call_of(0, i)))) return false;
    }
    return true;
  }
};

}  // namespace explore
