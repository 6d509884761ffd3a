// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// A one-way channel between two ranks of a node: a ring of cells in shared memory. A message is
/// cut into cells; messages follow each other in the order in which they were sent.
///
/// Invariant: cell i (counted from the beginning of time) is written by the sender only while
/// i − consumed < cells, and read by the receiver only while written(i) == i + 1.
struct Channel {
  static constexpr std::uint32_t cells = 8;
  static constexpr std::size_t cell_bytes = 8192;

  struct Header {
    // release by the sender after the payload, before a ring of the receiver's bell; acquire by the
    // receiver before it, and sequentially consistent since it looks here before it sleeps (see
    // BasicDoorbells).
    std::atomic<std::uint32_t> written;
    std::uint32_t bytes;     ///< of this cell's payload
    std::uint32_t sequence;  ///< the message: see TransportOp
    std::uint32_t block;
    std::uint32_t number;
    std::uint32_t unused;
    std::uint64_t total;  ///< bytes of the whole message
  };
  static constexpr std::size_t payload_bytes = cell_bytes - sizeof(Header);

  struct Cell {
    Header header;
    std::byte payload[payload_bytes];
  };
  static_assert(sizeof(Cell) == cell_bytes);

  // release by the receiver after it read a cell, acquire by the sender before it writes that cell
  // again, and sequentially consistent for the same reason.
  alignas(cache_line) std::atomic<std::uint32_t> consumed;
  alignas(cache_line) Cell ring[cells];

  Cell& cell(std::uint32_t i) noexcept { return ring[i % cells]; }
};

/// The channels of all pairs of a node, over memory that begins as zeros. Only the channels that
/// are used ever get pages.
class Channels {
 public:
  static std::size_t bytes(int ranks) noexcept {
    return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * sizeof(Channel);
  }

  Channels(std::byte* memory, int ranks) noexcept : memory_(memory), ranks_(ranks) {}

  std::size_t offset(int from, int to) const noexcept {
    return (static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
            static_cast<std::size_t>(to)) *
           sizeof(Channel);
  }

  Channel& between(int from, int to) noexcept {
    return *std::launder(reinterpret_cast<Channel*>(memory_ + offset(from, to)));
  }

 private:
  std::byte* memory_;
  int ranks_;
};

/// What a message is known by between two ranks, see TransportOp.
struct MessageKey {
  std::uint32_t sequence;
  std::uint32_t block;
  std::uint32_t number;

  friend bool operator==(const MessageKey&, const MessageKey&) = default;
  std::size_t hash() const noexcept {
    std::uint32_t h = (sequence * 0x9e3779b1U ^ block) * 0x85ebca6bU ^ number;
    h = (h ^ h >> 15) * 0xc2b2ae35U;
    return h ^ h >> 13;
  }
};

/// Messages by their keys. To add and to take one needs the same time, however many there are, and
/// no memory that was not needed before.
template <class T, class Key = MessageKey> class MessageTable {
 public:
  bool empty() const noexcept { return size_ == 0; }

  void add(const Key& key, const T& message) {
    if (size_ >= most_) grow();
    if (free_ == 0) [[unlikely]]
      make_entry();
    const std::uint32_t entry = free_;
    Entry& e = entries_[entry - 1];
    free_ = std::exchange(e.next, 0);
    e.key = key;
    e.message = message;
    append(entry);
    ++size_;
  }

  /// Takes the one that was added first of those with the key. False: there is none.
  bool take(const Key& key, T& message) noexcept {
    if (size_ == 0) return false;
    for (std::uint32_t* link = &row_of(key); *link != 0; link = &entries_[*link - 1].next) {
      Entry& e = entries_[*link - 1];
      if (!(e.key == key)) continue;
      message = e.message;
      --size_;
      const std::uint32_t taken = std::exchange(*link, e.next);
      e.next = std::exchange(free_, taken);
      return true;
    }
    return false;
  }

  /// Takes all messages, and calls f with each.
  template <class F> void clear(F&& f) {
    for (std::uint32_t& row : rows_) {
      for (std::uint32_t e = row; e != 0; e = entries_[e - 1].next) f(entries_[e - 1].message);
      row = 0;
    }
    entries_.clear();
    free_ = 0;
    size_ = 0;
  }

 private:
  struct Entry {
    Key key{};
    T message{};
    std::uint32_t next = 0;  ///< number of the next entry of the row, or of the next free one; or 0
  };

  static constexpr std::size_t most_a_row = 4;  ///< on average

  std::uint32_t& row_of(const Key& key) noexcept {
    return rows_.size() == 1 ? rows_[0] : rows_[key.hash() & (rows_.size() - 1)];
  }

  /// Makes it the last of its row.
  void append(std::uint32_t entry) noexcept {
    std::uint32_t* link = &row_of(entries_[entry - 1].key);
    while (*link != 0) link = &entries_[*link - 1].next;
    *link = entry;
  }

  [[gnu::cold, gnu::noinline]] void make_entry() {
    entries_.push_back({});
    free_ = static_cast<std::uint32_t>(entries_.size());
  }

  /// At first one row has all, until they are more than those of a call or two.
  [[gnu::cold, gnu::noinline]] void grow() {
    detail::Vector<std::uint32_t> before(most_ == 0 ? 1
                                                    : std::max<std::size_t>(4, 2 * rows_.size()));
    before.swap(rows_);
    most_ = static_cast<std::uint32_t>(most_a_row * std::max<std::size_t>(2, rows_.size()));
    for (std::uint32_t entry : before) {
      while (entry != 0) append(std::exchange(entry, std::exchange(entries_[entry - 1].next, 0)));
    }
  }

  detail::Vector<Entry> entries_;       ///< numbered from 1
  detail::Vector<std::uint32_t> rows_;  ///< the first entry of each; a power of two
  std::uint32_t free_ = 0;              ///< an entry that has no message
  std::uint32_t most_ = 0;              ///< for so many there are rows
  std::size_t size_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
