// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Memory that MPI reads and writes, and what it must hold afterwards.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "torture_layouts.hpp"

namespace torture {

using Bytes = std::vector<unsigned char>;

/// Memory for so many elements of a layout, with room around it; all of it is a pattern at first.
class Buffer {
 public:
  Buffer(const Layout& l, int copies, std::uint64_t salt, MPI_Aint around = 64) : layout_{&l} {
    const Span s = span_of(l, copies);
    constexpr MPI_Aint line = 64;
    // A multiple of the line lies between the memory and the element, for its alignment.
    offset_ = around + (-s.low + line - 1) / line * line;
    if (s.low > 0) offset_ = around - s.low / line * line;
    memory_.resize(static_cast<std::size_t>(offset_ + s.high + around + line));
    while ((reinterpret_cast<std::uintptr_t>(memory_.data()) + static_cast<std::size_t>(shift_)) %
               line !=
           0) {
      ++shift_;
    }
    // The pattern begins where MPI's part does, so that two buffers of one salt are equal; it
    // repeats itself.
    constexpr std::size_t period = 256;
    const auto first = static_cast<std::size_t>(shift_);
    for (std::size_t i = 0; first + i < memory_.size() && i < period; ++i) {
      memory_[first + i] = static_cast<unsigned char>((i * 37 + salt) ^ 0xa5U);
    }
    for (std::size_t i = first + period; i < memory_.size(); i += period) {
      std::memcpy(&memory_[i], &memory_[first], std::min(period, memory_.size() - i));
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
  unsigned char* place(MPI_Aint element, const Piece& p) {
    return memory_.data() + shift_ + offset_ + element * layout_->extent + p.at;
  }

  const Layout* layout_ = nullptr;
  MPI_Aint offset_ = 0;
  MPI_Aint shift_ = 0;
  Bytes memory_;
};

/// A buffer that MPI only reads, and what it must be afterwards.
struct Sent {
  Buffer buffer;
  Buffer before;
  Sent(const Layout& l, int copies, std::uint64_t salt)
      : buffer{l, copies, salt}, before{l, copies, salt} {}
  void put(MPI_Aint first, const Bytes& stream) {
    buffer.put(first, stream);
    before.put(first, stream);
  }
  void settle(const std::string& what) const {
    if (!(buffer == before)) complain(what + " changed what it sends");
  }
};

/// What `rank` sends, block by block.
inline Bytes stream_of(int rank, int block, std::size_t bytes) {
  Bytes r(bytes);
  const std::uint64_t key = mixed(mixed(the_run.seed, static_cast<std::uint64_t>(the_run.call)),
                                  static_cast<std::uint64_t>(rank * 1000 + block));
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t x = mixed(key + i);
    std::memcpy(r.data() + i, &x, std::min<std::size_t>(8, bytes - i));
  }
  return r;
}

inline void settle(Class c, Buffer& got, Buffer& wanted, int elements, const std::string& what) {
  got.ignore_padding(elements);
  wanted.ignore_padding(elements);
  if (!(got == wanted)) complain(what + " left wrong bytes: " + got.difference(wanted));
  the_run.hashes[c] = mixed(the_run.hashes[c], got.hash());
}

/// Returns true if MPI's own packing finds the bytes where we do. Open MPI 4.1.4 does not for some
/// types of single bytes, and no collective could then be compared; and of some it writes beside
/// them, for which there is room here.
inline bool packs_rightly(const Layout& l) {
  const int n = std::min(2 * l.count, 64);
  const Span span = span_of(l, n);
  const MPI_Aint room = 4096 + (span.high - span.low + 63) / 64 * 64;
  Buffer from{l, n, 8, room};
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
  Buffer to{l, n, 8, room};
  position = 0;
  MPI_Unpack(packed.data(), size, &position, to.data(), n, l.type, MPI_COMM_SELF);
  from.ignore_padding(n);
  to.ignore_padding(n);
  // As a stream, too, since a wrong order may cancel out.
  packed.resize(static_cast<std::size_t>(size));
  return to == from && (padding > 0 || packed == stream_of(0, 0, bytes * copies));
}

}  // namespace torture
