// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/simulate/node_costs.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Zeroed memory whose pages come when they are touched.
class LazyMemory : Pinned {
 public:
  explicit LazyMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      throw system_error("papcoll: no memory for the ranks of a node in virtual time", errno);
    }
    data_ = static_cast<std::byte*>(at);
  }
  ~LazyMemory() { munmap(data_, bytes_); }

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

/// A set of ranks of a node.
class RankSet {
 public:
  static constexpr std::size_t most = 256;

  bool has(std::size_t r) const noexcept { return (words_[r / 64] >> (r % 64) & 1U) != 0; }
  void add(std::size_t r) noexcept { words_[r / 64] |= std::uint64_t{1} << (r % 64); }
  bool is_only(std::size_t r) const noexcept {
    RankSet one;
    one.add(r);
    return words_ == one.words_;
  }
  void set_only(std::size_t r) noexcept {
    words_ = {};
    add(r);
  }

 private:
  std::array<std::uint64_t, most / 64> words_{};
};

/// The lines in one processor's cache: sets of eight, of which the one that was touched longest ago
/// gives way.
class VirtualCache {
 public:
  /// `by_page`: pages fall on sets at random, as those of physical memory do; else in turns.
  VirtualCache(std::size_t bytes, bool by_page)
      : sets_(std::max<std::size_t>(1, bytes / cache_line / ways)),
        by_page_(by_page),
        lines_(sets_ * ways, none) {}

  bool has(std::uint32_t line) const noexcept {
    const std::uint32_t* const set = set_of(line);
    return std::find(set, set + ways, line) != set + ways;
  }
  /// The line comes, or is used.
  void touch(std::uint32_t line) noexcept {
    std::uint32_t* const set = set_of(line);
    std::uint32_t* at = std::find(set, set + ways - 1, line);
    // In place of the last one, which is none where there is room.
    for (; at != set; --at) *at = *(at - 1);
    *set = line;
  }
  /// Another rank has taken it.
  void drop(std::uint32_t line) noexcept {
    std::uint32_t* const set = set_of(line);
    std::uint32_t* at = std::find(set, set + ways, line);
    if (at == set + ways) return;
    for (; at != set + ways - 1; ++at) *at = *(at + 1);
    *at = none;
  }

 private:
  static constexpr std::size_t ways = 8;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t lines_of_page = 64;

  const std::uint32_t* set_of(std::uint32_t line) const noexcept {
    std::size_t at = line;
    if (by_page_) {
      const std::uint32_t page = line / lines_of_page;
      const std::uint32_t drawn = (page * 0x9e3779b1U ^ page >> 7U) * 0x85ebca6bU >> 8U;
      at = std::size_t{drawn} * lines_of_page + line % lines_of_page;
    }
    return lines_.data() + at % sets_ * ways;
  }
  std::uint32_t* set_of(std::uint32_t line) noexcept {
    return const_cast<std::uint32_t*>(std::as_const(*this).set_of(line));  // NOLINT
  }

  std::size_t sets_;
  bool by_page_;
  std::vector<std::uint32_t> lines_;
};

/// In which caches the lines of a node's memory are, as far as the times of its ranks depend on it:
/// who wrote a line last, who has read it since, and whether their own caches still hold it.
class VirtualCaches {
 public:
  /// How a rank finds a line: that decides what it takes to touch it.
  enum class Found : unsigned char {
    here,         ///< in its own cache, and in no other that matters
    shared,       ///< only in the last-level cache
    memory,       ///< in none
    read,         ///< see PairCosts, of one that shares the last-level cache
    reread,       ///< the same
    write,        ///< the same
    write_lent,   ///< the same
    write_over,   ///< the same
    write_after,  ///< the same
    cross_l3      ///< from here on the same six, of one that does not
  };
  static constexpr std::size_t of_a_pair = 6;
  static constexpr std::size_t kinds = 3 + 2 * of_a_pair;
  /// Bytes by how they are found.
  using Bytes = std::array<double, kinds>;

  /// `colours`: ranks of one colour share a last-level cache; empty: all do.
  VirtualCaches(const std::byte* begin, std::size_t bytes, std::size_t ranks,
                std::vector<int> colours, const NodeCosts& costs)
      : begin_(begin),
        bytes_(bytes),
        lines_((bytes / cache_line + 1) * sizeof(Line)),
        brought_(ranks, 0),
        nearest_(ranks, VirtualCache{costs.nearest_cache, false}),
        own_(ranks, VirtualCache{costs.own_cache, true}),
        colours_(std::move(colours)),
        shared_lines_(costs.shared_cache / cache_line) {}

  bool contain(const void* p) const noexcept {
    const auto* const b = static_cast<const std::byte*>(p);
    return b >= begin_ && b < begin_ + bytes_;
  }

  bool share_l3(std::size_t a, std::size_t b) const noexcept {
    return colours_.empty() || colours_[a] == colours_[b];
  }

  /// Returns true if it was found with another rank, one that does not share the last-level cache.
  static bool is_cross_l3(std::size_t found) noexcept { return found >= 3 + of_a_pair; }
  static constexpr std::size_t number(Found f) noexcept { return static_cast<std::size_t>(f); }

  /// Returns how a rank that wants to read the line finds it.
  std::size_t to_read(std::size_t rank, const void* p) const noexcept {
    const Line& l = line(p);
    if (l.owner == 0) return untouched(l);
    const std::size_t owner = l.owner - 1U;
    const std::uint32_t at = index(p);
    if (l.holders.has(rank)) {
      const bool lent = owner == rank && l.reader != 0 && !l.many;
      if (!lent) {
        return if_held(rank, at, owner == rank ? l.written : l.read, number(Found::here));
      }
      const std::size_t reader = l.reader - 1U;
      return if_held(reader, at, l.read, with(rank, reader, Found::reread));
    }
    return if_held(owner, at, l.written, with(rank, owner, Found::read));
  }

  /// Returns how a rank that wants to write the line finds it.
  std::size_t to_write(std::size_t rank, const void* p) const noexcept {
    const Line& l = line(p);
    if (l.owner == 0) return untouched(l);
    const std::size_t owner = l.owner - 1U;
    const std::uint32_t at = index(p);
    if (l.reader == 0) {
      return if_held(owner, at, l.written,
                     owner == rank ? number(Found::here) : with(rank, owner, Found::write_over));
    }
    const std::size_t reader = l.reader - 1U;
    if (reader == rank && !l.many) {
      return if_held(rank, at, l.read, with(rank, owner, Found::write_after));
    }
    if (owner == rank && !l.many && nearest_[rank].has(at)) {
      return if_held(reader, at, l.read, with(rank, reader, Found::write_lent));
    }
    return if_held(reader, at, l.read, with(rank, reader == rank ? owner : reader, Found::write));
  }

  bool holds(std::size_t rank, const void* p) const noexcept { return line(p).holders.has(rank); }
  const RankSet& holders(const void* p) const noexcept { return line(p).holders; }

  /// The rank reads the line, which it finds so.
  void read(std::size_t rank, const void* p, std::size_t found) noexcept {
    Line& l = line(p);
    bring(rank, index(p), found);
    if (l.owner == 0) l.owner = static_cast<std::uint16_t>(rank + 1);
    if (l.owner == rank + 1 && l.reader == 0) {  // it stays its own
      l.written = brought_[rank];
    } else {
      // Once the owner has read it again, both hold it for good.
      l.many = l.many || l.owner == rank + 1 || (l.reader != 0 && l.reader != rank + 1);
      l.reader = static_cast<std::uint16_t>(rank + 1);
      l.read = brought_[rank];
    }
    l.holders.add(rank);
  }
  void write(std::size_t rank, const void* p, std::size_t found) noexcept {
    Line& l = line(p);
    const std::uint32_t at = index(p);
    bring(rank, at, found);
    if (l.owner != 0 && !l.holders.is_only(rank)) {
      for (std::size_t r = 0; r < own_.size(); ++r) {
        if (r == rank || !l.holders.has(r)) continue;
        nearest_[r].drop(at);
        own_[r].drop(at);
      }
    }
    l.holders.set_only(rank);
    l.owner = static_cast<std::uint16_t>(rank + 1);
    l.reader = 0;
    l.many = false;
    l.written = brought_[rank];
  }

  /// n bytes are read, or written: how they were found.
  Bytes read_all(std::size_t rank, const std::byte* p, std::size_t n) noexcept {
    return each(p, n, [&](const std::byte* at) {
      const std::size_t found = to_read(rank, at);
      read(rank, at, found);
      return found;
    });
  }
  Bytes write_all(std::size_t rank, const std::byte* p, std::size_t n) noexcept {
    return each(p, n, [&](const std::byte* at) {
      const std::size_t found = to_write(rank, at);
      write(rank, at, found);
      return found;
    });
  }
  /// Writes n bytes past the caches: no cache holds them afterwards.
  void write_past(const std::byte* p, std::size_t n) noexcept {
    each(p, n, [&](const std::byte* at) {
      Line& l = line(at);
      l = Line{};
      l.past = true;
      return number(Found::memory);
    });
  }

 private:
  struct Line {
    RankSet holders;
    std::uint64_t written = 0;  ///< how much its owner had brought when it touched it last
    std::uint64_t read = 0;     ///< and its last reader
    std::uint16_t owner = 0;    ///< 1 + who wrote it last, or had it first; 0: none has
    std::uint16_t reader = 0;   ///< 1 + who has read it last since; 0: no other has
    bool past = false;          ///< it was written past the caches
    bool many = false;          ///< and others have, too, or the owner has after it
  };

  /// Calls before the first have left it in the last-level cache.
  static std::size_t untouched(const Line& l) noexcept {
    return number(l.past ? Found::memory : Found::shared);
  }

  std::size_t with(std::size_t rank, std::size_t other, Found f) const noexcept {
    return number(f) + (share_l3(rank, other) ? 0 : of_a_pair);
  }

  /// So, if the rank's own cache still holds the line; it had brought so many when it touched it.
  std::size_t if_held(std::size_t rank, std::uint32_t at, std::uint64_t then,
                      std::size_t young) const noexcept {
    if (own_[rank].has(at)) return young;
    if (brought_[rank] - then > shared_lines_) return number(Found::memory);
    return is_cross_l3(young) ? young : number(Found::shared);
  }

  void bring(std::size_t rank, std::uint32_t at, std::size_t found) noexcept {
    if (found == number(Found::shared) || found == number(Found::memory)) ++brought_[rank];
    nearest_[rank].touch(at);
    own_[rank].touch(at);
  }

  std::uint32_t index(const void* p) const noexcept {
    return static_cast<std::uint32_t>(
        static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) / cache_line);
  }
  Line& line(const void* p) const noexcept {
    return reinterpret_cast<Line*>(lines_.data())[index(p)];
  }

  /// Memory that is not the node's is the rank's own, and in its cache.
  template <class F> Bytes each(const std::byte* p, std::size_t n, F&& f) noexcept {
    Bytes found{};
    if (n == 0) return found;
    if (!contain(p)) {
      found[number(Found::here)] = static_cast<double>(n);
      return found;
    }
    const auto first = static_cast<std::size_t>(p - begin_) / cache_line;
    const auto last = (static_cast<std::size_t>(p - begin_) + n - 1) / cache_line;
    for (std::size_t i = first; i <= last; ++i) found[f(begin_ + i * cache_line)] += 1;
    const double part = static_cast<double>(n) / static_cast<double>(last - first + 1);
    for (double& lines : found) lines *= part;
    return found;
  }

  const std::byte* begin_;
  std::size_t bytes_;
  LazyMemory lines_;
  std::vector<std::uint64_t> brought_;  ///< lines, by each rank to its own cache
  std::vector<VirtualCache> nearest_;   ///< of each rank
  std::vector<VirtualCache> own_;       ///< which hold those of the nearest, too
  std::vector<int> colours_;
  std::uint64_t shared_lines_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
