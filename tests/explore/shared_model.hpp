// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The memory that explored ranks share: what is where, and which accesses are ordered.
//
// Only atomics are scheduling points. That is enough, for plain accesses are checked for races by
// vector clocks: a release stores the clock of its rank at the atomic, an acquire takes it over.
// Two plain accesses that no such chain orders are a fault, whichever came first in this run; and
// where there is none, it does not matter how plain accesses interleave.

#include "scheduler.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace explore {

class SharedModel {
 public:
  /// Forgets everything; the memory is [begin, begin + bytes) and belongs to the world `owner`.
  void map(const void* owner, std::byte* begin, std::size_t bytes) {
    owner_ = owner;
    begin_ = begin;
    cells_.assign(bytes / grain, {});
    object_of_.assign(bytes / grain, 0);
    objects_.assign(1, "padding");
  }

  const void* owner() const noexcept { return owner_; }

  /// Gives a part of the memory a name. A plain access must stay within one object.
  void name(const void* at, std::size_t bytes, const std::string& what) {
    objects_.push_back(what);
    const std::size_t first = cell_of(at);
    for (std::size_t i = 0; i < bytes / grain; ++i) object_of_[first + i] = objects_.size() - 1;
  }

  /// Before each run: no access has happened.
  void reset() noexcept {
    ++run_;
    for (std::size_t r = 0; r < clocks_.size(); ++r) {
      clocks_[r] = {};
      clocks_[r][r] = 1;
      delayed_[r].clear();
    }
  }

  bool contains(const void* p) const noexcept {
    const auto* const b = static_cast<const std::byte*>(p);
    return begin_ != nullptr && b >= begin_ && b < begin_ + cells_.size() * grain;
  }

  std::string name_of(const void* p) const {
    return contains(p) ? objects_[object_of_[cell_of(p)]] : "private memory";
  }

  void plain_read(const void* p, std::size_t n) {
    const std::size_t reader = me();
    const Clock& mine = clocks_[reader];
    each_cell(p, n, "reads", [&](Cell& c) {
      if (c.written_at > mine[c.written_by]) race(p, "reads", c.written_by, "writes");
      c.read_at[reader] = mine[reader];
    });
  }

  void plain_write(const void* p, std::size_t n) {
    const std::size_t writer = me();
    const auto ranks = static_cast<std::size_t>(scheduler().ranks());
    const Clock& mine = clocks_[writer];
    each_cell(p, n, "writes", [&](Cell& c) {
      if (c.written_at > mine[c.written_by]) race(p, "writes", c.written_by, "writes");
      for (std::size_t r = 0; r < ranks; ++r) {
        if (c.read_at[r] > mine[r]) race(p, "writes", r, "reads");
      }
      c.written_by = writer;
      c.written_at = mine[writer];
    });
  }

  void atomic_load(const void* p, std::memory_order order) {
    if (acquires(order)) take(cell(p).released);
  }

  template <class T> void atomic_store(T& to, T value, std::memory_order order) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    DelayedStore store{&to, sizeof value, {}, {}};
    std::memcpy(store.value.data(), &value, sizeof value);
    if (releases(order)) give(store.released);
    delayed_[me()].push_back(store);
    const bool at_once = !delays_stores || order == std::memory_order_seq_cst;
    publish(delayed_[me()], at_once ? 0 : most_delayed);
  }

  /// Another rank's release stays visible through a read-modify-write.
  void atomic_change(const void* p, std::memory_order order) {
    Cell& c = cell(p);
    if (acquires(order)) take(c.released);
    if (releases(order)) give(c.released);
  }

  /// True if stores that are not sequentially consistent stay unseen by the other ranks until their
  /// rank's next sequentially consistent store, read-modify-write or sleep, or until another rank
  /// waits for them: what a processor with a store buffer may do, at its laziest.
  bool delays_stores = false;
  /// So many at most: of more, the oldest become visible. With few of them, others may see that a
  /// rank is there before they see what it did next.
  std::size_t most_delayed = all_stores;
  static constexpr std::size_t all_stores = std::numeric_limits<std::size_t>::max();

  /// The running rank's stores become visible.
  void publish_stores() { publish(delayed_[me()]); }

  /// The running rank waits until all that were made are.
  void publish_all_stores() {
    for (std::vector<DelayedStore>& stores : delayed_) publish(stores);
  }

  /// What the running rank sees at `from`: its own stores, before anybody else does.
  template <class T> T value_seen(const T& from) const {
    T value = from;
    for (const DelayedStore& s : delayed_[me()]) {
      if (s.to == &from) std::memcpy(&value, s.value.data(), sizeof value);
    }
    return value;
  }

 private:
  using Clock = std::array<std::uint32_t, max_ranks>;
  static constexpr std::size_t grain = 4;

  struct DelayedStore {
    void* to;
    std::size_t bytes;
    std::array<std::byte, sizeof(std::uint64_t)> value;
    Clock released;
  };

  struct Cell {
    std::uint64_t run = 0;  ///< the cell is as new unless it was touched in this run
    Clock released{};
    Clock read_at{};
    std::size_t written_by = 0;
    std::uint32_t written_at = 0;
  };

  /// All but the last `kept` of them.
  void publish(std::vector<DelayedStore>& stores, std::size_t kept = 0) {
    if (stores.size() <= kept) return;
    const auto end = stores.end() - static_cast<std::ptrdiff_t>(kept);
    for (auto s = stores.begin(); s != end; ++s) {
      std::memcpy(s->to, s->value.data(), s->bytes);
      cell(s->to).released = s->released;
      scheduler().unblock_all(s->to);  // whoever looks at the word again and again
    }
    stores.erase(stores.begin(), end);
  }

  static bool acquires(std::memory_order o) noexcept {
    return o == std::memory_order_acquire || o == std::memory_order_acq_rel ||
           o == std::memory_order_seq_cst;
  }
  static bool releases(std::memory_order o) noexcept {
    return o == std::memory_order_release || o == std::memory_order_acq_rel ||
           o == std::memory_order_seq_cst;
  }

  static std::size_t me() noexcept { return static_cast<std::size_t>(scheduler().current()); }

  std::size_t cell_of(const void* p) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) / grain;
  }
  Cell& cell(const void* p) { return fresh(cells_[cell_of(p)]); }
  Cell& fresh(Cell& c) const {
    if (c.run != run_) {
      c = {};
      c.run = run_;
    }
    return c;
  }

  void take(const Clock& theirs) noexcept {
    Clock& mine = clocks_[me()];
    for (std::size_t r = 0; r < mine.size(); ++r) {
      if (theirs[r] > mine[r]) mine[r] = theirs[r];
    }
  }
  void give(Clock& to) noexcept {
    Clock& mine = clocks_[me()];
    for (std::size_t r = 0; r < mine.size(); ++r) {
      if (mine[r] > to[r]) to[r] = mine[r];
    }
    ++mine[me()];
  }

  template <class F> void each_cell(const void* p, std::size_t n, const char* does, F&& f) {
    if (n == 0 || !contains(p) || !scheduler().running()) return;
    const std::size_t first = cell_of(p);
    const std::size_t last =
        (static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) + n - 1) / grain;
    if (last >= cells_.size() || object_of_[first] != object_of_[last] || object_of_[first] == 0) {
      scheduler().fail(std::string(does) + " " + std::to_string(n) + " bytes past the end of " +
                       name_of(p));
    }
    if (scheduler().tracing) scheduler().trace(std::string(does) + " " + name_of(p));
    for (std::size_t i = first; i <= last; ++i) f(fresh(cells_[i]));
  }

  [[noreturn]] void race(const void* p, const char* mine, std::size_t other, const char* theirs) {
    scheduler().fail(std::string(mine) + " " + name_of(p) + " while rank " + std::to_string(other) +
                     " " + theirs + " it (data race)");
  }

  const void* owner_ = nullptr;
  std::byte* begin_ = nullptr;
  std::vector<Cell> cells_;
  std::vector<std::size_t> object_of_;
  std::vector<std::string> objects_;
  std::uint64_t run_ = 0;
  std::array<Clock, max_ranks> clocks_{};
  std::array<std::vector<DelayedStore>, max_ranks> delayed_;
};

namespace detail {
inline SharedModel the_shared_model;
}
inline SharedModel& shared_model() { return detail::the_shared_model; }

/// As long as it lives, stores that are not sequentially consistent are seen late: `most` of a rank
/// at a time.
struct LazyStores {
  explicit LazyStores(std::size_t most = SharedModel::all_stores) {
    shared_model().delays_stores = true;
    shared_model().most_delayed = most;
  }
  LazyStores(const LazyStores&) = delete;
  LazyStores& operator=(const LazyStores&) = delete;
  ~LazyStores() {
    shared_model().delays_stores = false;
    shared_model().most_delayed = SharedModel::all_stores;
  }
};

}  // namespace explore
