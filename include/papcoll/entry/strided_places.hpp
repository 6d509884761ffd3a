#pragma once

#include <papcoll/buffers.hpp>
#include <papcoll/config.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Which bytes a strided buffer has, upwards from its lowest address, whatever the order of its
/// blocks. At least one block of at least one byte; no two of them overlap.
struct Places {
  std::uintptr_t first;
  std::size_t blocks;
  std::size_t bytes;  ///< of a block
  std::size_t apart;  ///< from one block to the next, in bytes

  std::uintptr_t last() const noexcept { return first + (blocks - 1) * apart; }
  std::uintptr_t end() const noexcept { return last() + bytes; }
};

/// Elements from block to block, upwards; a block alone is as if more followed at once.
template <class T>
std::size_t elements_apart(const Strided<T>& s) noexcept {
  if (s.blocks <= 1) return s.block;
  const auto stride = static_cast<std::size_t>(s.stride);
  return s.stride < 0 ? 0 - stride : stride;
}

/// Are its elements neighbours, one block after the other?
template <class T>
bool is_in_one_piece(const Strided<T>& s) noexcept {
  return s.blocks <= 1 || (s.stride > 0 && elements_apart(s) == s.block);
}

template <class T>
Places places(const Strided<T>& s) noexcept {
  Places p{reinterpret_cast<std::uintptr_t>(s.data), s.blocks, s.block * sizeof(T),
           elements_apart(s) * sizeof(T)};
  if (s.blocks > 1 && s.stride < 0) p.first -= (p.blocks - 1) * p.apart;
  return p;
}

/// Does p have one of the `n` bytes from `at` on?
inline bool has_one_of(const Places& p, std::uintptr_t at, std::size_t n) noexcept {
  if (at < p.first) return at + n > p.first;
  const std::size_t from = at - p.first;
  const std::size_t block = from / p.apart;
  if (block >= p.blocks) return false;
  const std::size_t in_block = from - block * p.apart;
  return in_block < p.bytes || (block + 1 < p.blocks && in_block + n > p.apart);
}

/// Have the two a byte in common? Columns of one matrix are told apart in a few steps; otherwise
/// there is one for each block of the buffer with fewer of them.
inline bool share_bytes(Places a, Places b) noexcept {
  if (a.end() <= b.first || b.end() <= a.first) return false;
  if (a.apart == b.apart) {
    // Block i of a and block j of b lie to each other as a's last and block j + a.blocks - 1 - i.
    b.blocks += a.blocks - 1;
    return has_one_of(b, a.last(), a.bytes);
  }
  if (a.blocks > b.blocks) std::swap(a, b);
  for (std::size_t i = 0; i < a.blocks; ++i) {
    if (has_one_of(b, a.first + i * a.apart, a.bytes)) return true;
  }
  return false;
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
