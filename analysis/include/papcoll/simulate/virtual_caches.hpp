#pragma once

#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
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

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Zeroed memory whose pages come when they are touched.
class LazyMemory {
 public:
  explicit LazyMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      throw system_error("papcoll: no memory for the ranks of a node in virtual time", errno);
    }
    data_ = static_cast<std::byte*>(at);
  }
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
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

/// In which caches the lines of a node's memory are, as far as the times of its ranks depend on it:
/// who wrote a line last, who has read it since, and how much each of them has touched afterwards,
/// which may have driven it out of its own cache.
class VirtualCaches {
 public:
  /// Where a rank finds a line.
  enum class Place : unsigned char {
    here,    ///< in its own cache
    shared,  ///< only in the last-level cache
    near,    ///< in the cache of one that shares the last-level cache
    apart,   ///< in that of one that does not
    memory
  };
  static constexpr std::size_t places = 5;
  /// Bytes by place.
  using Bytes = std::array<double, places>;

  /// `colours`: ranks of one colour share a last-level cache; empty: all do.
  VirtualCaches(const std::byte* begin, std::size_t bytes, std::size_t ranks,
                std::vector<int> colours, const NodeCosts& costs)
      : begin_(begin),
        bytes_(bytes),
        lines_((bytes / cache_line + 1) * sizeof(Line)),
        touched_(ranks, 0),
        colours_(std::move(colours)),
        own_lines_(costs.own_cache / cache_line),
        // A rank's part of what all of its colour share.
        shared_lines_(costs.shared_cache / cache_line) {}

  bool contain(const void* p) const noexcept {
    const auto* const b = static_cast<const std::byte*>(p);
    return b >= begin_ && b < begin_ + bytes_;
  }

  bool are_near(std::size_t a, std::size_t b) const noexcept {
    return colours_.empty() || colours_[a] == colours_[b];
  }

  /// Where a rank that wants to read the line finds it.
  Place to_read(std::size_t rank, const void* p) const noexcept {
    const Line& l = line(p);
    if (l.owner == 0) return Place::memory;
    const std::size_t owner = l.owner - 1U;
    if (l.holders.has(rank)) {
      const bool wrote = owner == rank;
      if (wrote || l.reader == rank + 1) {
        std::uint64_t last = wrote ? l.written : 0;
        if (l.reader == rank + 1) last = std::max(last, l.read);
        return by_age(touched_[rank] - last, Place::here);
      }
      return Place::here;  // others have read it since
    }
    return by_age(touched_[owner] - l.written, beside(rank, owner));
  }

  /// Where one that wants to write it finds it.
  Place to_write(std::size_t rank, const void* p) const noexcept {
    const Line& l = line(p);
    if (l.owner == 0) return Place::memory;
    const std::size_t owner = l.owner - 1U;
    if (owner == rank && l.holders.is_only(rank)) {
      return by_age(touched_[rank] - l.written, Place::here);
    }
    // Whoever has read it last knows best whether caches still hold it.
    const std::size_t other = l.reader != 0 && l.reader != rank + 1 ? l.reader - 1U : owner;
    const std::uint64_t last = other == owner ? l.written : l.read;
    if (other == rank) return Place::here;
    return by_age(touched_[other] - last, beside(rank, other));
  }

  bool holds(std::size_t rank, const void* p) const noexcept { return line(p).holders.has(rank); }
  const RankSet& holders(const void* p) const noexcept { return line(p).holders; }

  void read(std::size_t rank, const void* p) noexcept {
    Line& l = line(p);
    l.holders.add(rank);
    l.reader = static_cast<std::uint16_t>(rank + 1);
    l.read = ++touched_[rank];
    if (l.owner == 0) {
      l.owner = l.reader;
      l.written = l.read;
    }
  }
  void write(std::size_t rank, const void* p) noexcept {
    Line& l = line(p);
    l.holders.set_only(rank);
    l.owner = static_cast<std::uint16_t>(rank + 1);
    l.reader = 0;
    l.written = ++touched_[rank];
  }

  /// n bytes are read, or written: where they were, and that they are here now.
  Bytes read_all(std::size_t rank, const std::byte* p, std::size_t n) noexcept {
    return each(p, n, [&](const std::byte* at) {
      const Place place = to_read(rank, at);
      read(rank, at);
      return place;
    });
  }
  Bytes write_all(std::size_t rank, const std::byte* p, std::size_t n) noexcept {
    return each(p, n, [&](const std::byte* at) {
      const Place place = to_write(rank, at);
      write(rank, at);
      return place;
    });
  }
  /// The same past the caches: nobody holds them afterwards.
  void write_past(const std::byte* p, std::size_t n) noexcept {
    each(p, n, [&](const std::byte* at) {
      line(at) = Line{};
      return Place::memory;
    });
  }

 private:
  struct Line {
    RankSet holders;
    std::uint64_t written = 0;  ///< what its owner had touched then
    std::uint64_t read = 0;     ///< what its last reader had touched then
    std::uint16_t owner = 0;    ///< 1 + who wrote it last, or had it first; 0: nobody has
    std::uint16_t reader = 0;   ///< 1 + who has read it last since; 0: nobody has
  };

  Place beside(std::size_t rank, std::size_t other) const noexcept {
    return are_near(rank, other) ? Place::near : Place::apart;
  }

  /// One that was touched so many lines ago, and was `young` then.
  Place by_age(std::uint64_t age, Place young) const noexcept {
    if (age <= own_lines_) return young;
    if (age > shared_lines_) return Place::memory;
    return young == Place::apart ? Place::apart : Place::shared;
  }

  Line& line(const void* p) const noexcept {
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_);
    return reinterpret_cast<Line*>(lines_.data())[at / cache_line];
  }

  /// Memory that is not the node's is the rank's own, and in its cache.
  template <class F>
  Bytes each(const std::byte* p, std::size_t n, F&& f) noexcept {
    Bytes found{};
    if (n == 0) return found;
    if (!contain(p)) {
      found[0] = static_cast<double>(n);
      return found;
    }
    const auto first = static_cast<std::size_t>(p - begin_) / cache_line;
    const auto last = (static_cast<std::size_t>(p - begin_) + n - 1) / cache_line;
    for (std::size_t i = first; i <= last; ++i) {
      found[static_cast<std::size_t>(f(begin_ + i * cache_line))] += 1;
    }
    for (double& lines : found) lines *= static_cast<double>(n) / static_cast<double>(last - first + 1);
    return found;
  }

  const std::byte* begin_;
  std::size_t bytes_;
  LazyMemory lines_;
  std::vector<std::uint64_t> touched_;  ///< lines, of each rank
  std::vector<int> colours_;
  std::uint64_t own_lines_;
  std::uint64_t shared_lines_;
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
