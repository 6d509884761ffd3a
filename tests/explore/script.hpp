// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the explored ranks do: a sequence of collectives, with what must come out of it.

#include "algorithms.hpp"

#include <papcoll/base/call.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/op.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace explore {

using papcoll::Collective;
using papcoll::Holds;

/// A chunk buffer of the explored control blocks, bytes.
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
  /// With counts: nothing for rank 0, twice for the last; of an alltoall all kinds of pairs.
  bool irregular = false;
  bool reproducible = false;  ///< see papcoll::Call

  friend bool operator==(const CallSpec&, const CallSpec&) = default;

  std::string describe() const {
    return std::string(algorithm.name()) + " " + std::string(papcoll::name_of(collective)) +
           " of " + std::to_string(count) + ", root " + std::to_string(root) +
           (in_place ? ", in place" : "") + (rank_order ? ", rank order" : "") +
           (reproducible ? ", reproducible" : "") + (irregular ? ", uneven" : "");
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
  Buffers(const CallSpec& s, std::size_t call, int rank, int ranks)
      : spec_(s), rank_(rank), ranks_(ranks) {
    const papcoll::Reducer reducer = reducer_of(s);
    const auto [in, out] = papcoll::buffers_of(s.collective, rank == s.root);
    const std::size_t in_bytes = bytes_of(in) * reducer.size;
    out_bytes_ = bytes_of(out) * reducer.size;
    const bool both = in != Holds::nothing && out != Holds::nothing;
    is_in_place_ = s.in_place && both;
    in_at_ = guard;
    out_at_ = is_in_place_ ? guard : guard + in_bytes + guard;
    if (is_in_place_ && in == Holds::own_block) in_at_ += first_of(rank) * reducer.size;
    // A scatter's root keeps its block where it is.
    const bool keeps = is_in_place_ && s.collective == Collective::scatter;
    if (keeps) out_bytes_ = 0;
    before_.assign(std::max(in_at_ + in_bytes, out_at_ + out_bytes_) + guard, std::byte{0xa5});
    if (s.collective != Collective::bcast || rank == s.root) {
      copy(before_, in_at_, contribution(call, rank, in_bytes));
    }
    after_ = before_;
    if (!keeps) copy(after_, out_at_, result(call, out));
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
    c.out = memory_ + (is_in_place_ && spec_.collective == Collective::scatter ? in_at_ : out_at_);
    c.count = spec_.count;
    if (spec_.irregular) prepare_counts(c);
    c.reducer = reducer_of(spec_);
    c.root = spec_.root;
    c.input_in_output = is_in_place_;
    c.rank_order = spec_.rank_order;
    if (spec_.reproducible) c.contract = papcoll::NumericalContract::reproducible;
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

  // --- what belongs to whom, in elements

  std::size_t share(int r) const noexcept {
    if (!spec_.irregular || ranks_ == 1) return spec_.count;
    return r == 0 ? 0 : r + 1 == ranks_ ? 2 * spec_.count : spec_.count;
  }
  /// In place, two ranks have as much for each other.
  std::size_t pair(int from, int to) const noexcept {
    return spec_.irregular ? spec_.count * static_cast<std::size_t>((from + to) % 3) : spec_.count;
  }
  std::size_t first_of(int rank) const noexcept {
    std::size_t n = 0;
    for (int r = 0; r < rank; ++r) n += share(r);
    return n;
  }
  std::size_t bytes_of(Holds what) const noexcept {
    std::size_t n = 0;
    switch (what) {
      case Holds::nothing: return 0;
      case Holds::own_block: return share(rank_);
      case Holds::vector:
        return papcoll::traits_of(spec_.collective).vector == papcoll::VectorOf::one_block
                   ? spec_.count
                   : first_of(ranks_);
      case Holds::blocks_to_all:
        for (int r = 0; r < ranks_; ++r) n += pair(rank_, r);
        return n;
      case Holds::blocks_from_all:
        for (int r = 0; r < ranks_; ++r) n += pair(r, rank_);
        return n;
    }
    return 0;
  }

  /// What must be in the output.
  std::vector<std::byte> result(std::size_t call, Holds out) const {
    const papcoll::Reducer reducer = reducer_of(spec_);
    const std::size_t size = reducer.size;
    std::vector<std::byte> all;
    const auto append = [&](const std::vector<std::byte>& from, std::size_t first, std::size_t n) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first * size);
      all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(n * size));
    };
    if (out == Holds::nothing || spec_.collective == Collective::barrier) return all;
    switch (spec_.collective) {
      case Collective::bcast:
        return rank_ == spec_.root ? all : contribution(call, spec_.root, spec_.count * size);
      case Collective::allgather:
      case Collective::gather:
        for (int r = 0; r < ranks_; ++r)
          append(contribution(call, r, share(r) * size), 0, share(r));
        return all;
      case Collective::scatter:
        append(contribution(call, spec_.root, first_of(ranks_) * size), first_of(rank_),
               share(rank_));
        return all;
      case Collective::alltoall:
        for (int r = 0; r < ranks_; ++r) {
          std::size_t before = 0;
          std::size_t of_rank = 0;
          for (int to = 0; to < ranks_; ++to) {
            if (to == rank_) before = of_rank;
            of_rank += pair(r, to);
          }
          append(contribution(call, r, of_rank * size), before, pair(r, rank_));
        }
        return all;
      default: break;
    }
    const bool scatters = spec_.collective == Collective::reduce_scatter;
    const std::size_t n = scatters ? first_of(ranks_) : spec_.count;
    const auto wanted = papcoll::contributors(spec_.collective, rank_, ranks_);
    if (wanted.first == wanted.last) return all;
    std::vector<std::byte> combined = contribution(call, 0, n * size);
    for (int r = 1; r < wanted.last; ++r) {
      const std::vector<std::byte> next = contribution(call, r, n * size);
      reducer.apply(combined.data(), combined.data(), next.data(), n, nullptr);
    }
    if (!scatters) return combined;
    append(combined, first_of(rank_), share(rank_));
    return all;
  }

  void prepare_counts(papcoll::Call& c) {
    counts_.clear();
    places_.clear();
    const auto add = [&](auto&& length) {
      std::size_t at = 0;
      for (int r = 0; r < ranks_; ++r) {
        counts_.push_back(length(r));
        places_.push_back(at);
        at += counts_.back();
      }
    };
    if (spec_.collective == Collective::alltoall) {
      add([this](int r) { return pair(rank_, r); });
      add([this](int r) { return pair(r, rank_); });
    } else {
      add([this](int r) { return share(r); });
    }
    const bool all_know =
        spec_.collective == Collective::reduce_scatter || spec_.collective == Collective::allgather;
    c.count = all_know ? first_of(ranks_) : 1;
    c.local_counts = !all_know;
    c.counts = counts_.data();
    c.displacements = places_.data();
  }

  CallSpec spec_;
  int rank_;
  int ranks_;
  bool is_in_place_ = false;
  std::size_t in_at_ = 0;
  std::size_t out_at_ = 0;
  std::size_t out_bytes_ = 0;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> places_;
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
  pools,          ///< and no buffers of users
  chunk_buffers,  ///< not even that: chunks go through chunk buffers
  mixed,          ///< of some ranks the pool, of some all but that, of some neither
};

struct Script {
  int ranks;
  std::vector<CallSpec> calls;
  std::vector<Deviation> deviations{};
  std::uint32_t first_epoch = 1;
  /// Calls that other algorithms made before: words that these do not use are as old as that.
  std::uint32_t unused_for = 0;
  Reach reach = Reach::all;
  int first_kind = 0;  ///< of the three kinds of ranks that Reach::mixed has, that of rank 0
  std::vector<int> colours{};       ///< of groups that the ranks are in; empty: one group
  std::size_t chunk = chunk_bytes;  ///< bytes of a chunk buffer

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
  /// In call i, or because of the one before it in its epoch slot, of so many that a control block
  /// has.
  bool may_fail(std::size_t i, std::size_t epoch_slots) const {
    return deviates(i) || (i >= epoch_slots && deviates(i - epoch_slots));
  }
  /// Are call i's fingerprints the same on all ranks?
  template <class Fingerprint> bool all_call(std::size_t i, Fingerprint&& fingerprint) const {
    for (int r = 1; r < ranks; ++r) {
      if (!(fingerprint(call_of(r, i)) == fingerprint(call_of(0, i)))) return false;
    }
    return true;
  }
};

}  // namespace explore
