#pragma once

#include <papcoll/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

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
template <class T, class Key = MessageKey>
class MessageTable {
 public:
  bool empty() const noexcept { return size_ == 0; }

  void add(const Key& key, T message) {
    if (size_ >= most_) grow();
    row_of(key).push_back({key, std::move(message)});
    ++size_;
  }

  /// Takes the one that was added first of those with the key. False: there is none.
  bool take(const Key& key, T& message) {
    if (size_ == 0) return false;
    std::vector<Entry>& row = row_of(key);
    const auto e =
        std::find_if(row.begin(), row.end(), [&](const Entry& x) { return x.key == key; });
    if (e == row.end()) return false;
    message = std::move(e->message);
    row.erase(e);
    --size_;
    return true;
  }

  void clear() noexcept {
    few_.clear();
    for (auto& row : rows_) row.clear();
    size_ = 0;
  }

 private:
  struct Entry {
    Key key;
    T message;
  };

  static constexpr std::size_t most_a_row = 4;  ///< on average

  std::vector<Entry>& row_of(const Key& key) noexcept {
    return rows_.empty() ? few_ : rows_[key.hash() % rows_.size()];
  }

  [[gnu::noinline]] void grow() {
    std::vector<std::vector<Entry>> before(2 * std::max(rows_.size(), most_ / most_a_row));
    before.swap(rows_);
    most_ = most_a_row * rows_.size();
    before.push_back(std::move(few_));
    few_.clear();
    for (auto& row : before) {
      for (Entry& e : row) row_of(e.key).push_back(std::move(e));
    }
  }

  std::vector<Entry> few_;                ///< all, until they were more than those of a call or two
  std::vector<std::vector<Entry>> rows_;  ///< then
  std::size_t size_ = 0;
  std::size_t most_ = 2 * most_a_row;  ///< for so many there is room
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
