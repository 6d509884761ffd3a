// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Elements of any type as bytes one after the other, in the order of the type map, and back. Ranks
// may describe the same bytes by different types, so that these bytes are what calls move.

#include "datatypes.hpp"
#include "own_communicator.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace preload {

/// Memory of a thread's that its calls use again. What is larger than is worth keeping goes after
/// the call.
class Scratch {
 public:
  Scratch() noexcept = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    delete[] memory_;
    memory_ = nullptr;  // a program may still call MPI when its main thread has ended
    size_ = 0;
  }

  std::byte* get(std::size_t bytes) {
    if (bytes > size_) {
      delete[] memory_;
      memory_ = nullptr;
      size_ = 0;
      memory_ = new std::byte[bytes];
      size_ = bytes;
    }
    return memory_;
  }
  void trim() noexcept {
    if (size_ <= kept) return;
    delete[] memory_;
    memory_ = nullptr;
    size_ = 0;
  }

 private:
  static constexpr std::size_t kept = std::size_t{1} << 20;

  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// A buffer as a function of MPI describes it.
struct Elements {
  const void* address;
  std::size_t count;
  MPI_Datatype handle;
  const Datatype* type;

  std::size_t bytes() const noexcept { return count * type->size; }
  /// Its elements from number n on, `many` of them.
  Elements from(std::size_t n, std::size_t many) const noexcept {
    // An address, or an offset where the type has addresses: never looked at here.
    const auto at =
        reinterpret_cast<std::uintptr_t>(address) + n * static_cast<std::uintptr_t>(type->extent);
    return {reinterpret_cast<const void*>(at), many, handle, type};
  }
};

/// Returns true if the two have a byte in common.
inline bool meet(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) noexcept {
  const auto x = reinterpret_cast<std::uintptr_t>(a);
  const auto y = reinterpret_cast<std::uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

/// Packs and unpacks by MPI, in pieces that its int counts can hold.
class Packing {
 public:
  static void pack(const Elements& e, std::byte* to) {
    move(e, [&](const Elements& part, std::size_t at) { pack_piece(part, to + at); });
  }
  static void unpack(const std::byte* from, const Elements& e) {
    move(e, [&](const Elements& part, std::size_t at) { unpack_piece(from + at, part); });
  }

 private:
  template <class Move> static void move(const Elements& e, Move&& piece) {
    if (e.bytes() == 0) return;
    const std::size_t most = std::max<std::size_t>(1, most_bytes / e.type->size);
    for (std::size_t done = 0; done < e.count; done += most) {
      const std::size_t n = std::min(most, e.count - done);
      piece(e.from(done, n), done * e.type->size);
    }
  }

  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

  static void pack_piece(const Elements& e, std::byte* to) {
    if (e.type->lies == Lies::together) {
      std::memcpy(to, e.address, e.bytes());
    } else if (e.bytes() > INT_MAX) {
      exchange(e.address, 1, e.handle, to, e.bytes(), true);
    } else {
      const Located l(e);
      int position = 0;
      MPI_Pack(l.address(), l.count(), l.type(), to, static_cast<int>(e.bytes()), &position,
               own_communicator().get());
    }
  }

  static void unpack_piece(const std::byte* from, const Elements& e) {
    if (e.type->lies == Lies::together) {
      std::memcpy(const_cast<void*>(e.address), from, e.bytes());
    } else if (e.bytes() > INT_MAX) {
      exchange(e.address, 1, e.handle, const_cast<std::byte*>(from), e.bytes(), false);
    } else {
      const Located l(e);
      int position = 0;
      MPI_Unpack(from, static_cast<int>(e.bytes()), &position, l.address(), l.count(), l.type(),
                 own_communicator().get());
    }
  }

  /// One element that is longer than MPI_Pack can say, by a message of this rank to itself.
  static void exchange(const void* address, int count, MPI_Datatype type, std::byte* packed,
                       std::size_t bytes, bool packs) {
    static constinit std::atomic<int> messages{0};
    const int tag = messages.fetch_add(1, std::memory_order_relaxed) & 0x7fff;
    const WideBytes wide(bytes);
    void* const user = const_cast<void*>(address);
    if (packs) {
      MPI_Sendrecv(user, count, type, 0, tag, packed, 1, wide.type(), 0, tag,
                   own_communicator().get(), MPI_STATUS_IGNORE);
    } else {
      MPI_Sendrecv(packed, 1, wide.type(), 0, tag, user, count, type, 0, tag,
                   own_communicator().get(), MPI_STATUS_IGNORE);
    }
  }

  /// A type of so many bytes, which are more than INT_MAX.
  class WideBytes {
   public:
    explicit WideBytes(std::size_t bytes) {
      const auto chunks = static_cast<int>(bytes / most_bytes);
      MPI_Datatype whole = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(static_cast<int>(most_bytes), MPI_BYTE, &whole);
      int lengths[2] = {chunks, static_cast<int>(bytes % most_bytes)};
      MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes - bytes % most_bytes)};
      MPI_Datatype types[2] = {whole, MPI_BYTE};
      MPI_Type_create_struct(2, lengths, places, types, &type_);
      MPI_Type_commit(&type_);
      MPI_Type_free(&whole);
    }
    WideBytes(const WideBytes&) = delete;
    WideBytes& operator=(const WideBytes&) = delete;
    ~WideBytes() { MPI_Type_free(&type_); }

    MPI_Datatype type() const noexcept { return type_; }

   private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
  };

  /// Elements as MPI_Pack takes them. MPICH's refuses MPI_BOTTOM: what has addresses in its type is
  /// given a base.
  class Located {
   public:
    explicit Located(const Elements& e)
        : address_(const_cast<void*>(e.address)),
          count_(static_cast<int>(e.count)),
          type_(e.handle) {
      if (e.address != MPI_BOTTOM) return;
      MPI_Aint base = 0;
      MPI_Aint extent = 0;
      MPI_Type_get_true_extent(e.handle, &base, &extent);
      MPI_Aint back = -base;
      MPI_Type_create_hindexed(1, &count_, &back, e.handle, &type_);
      MPI_Type_commit(&type_);
      address_ = reinterpret_cast<void*>(base);
      count_ = 1;
      made_ = true;
    }
    Located(const Located&) = delete;
    Located& operator=(const Located&) = delete;
    ~Located() {
      if (made_) MPI_Type_free(&type_);
    }

    void* address() const noexcept { return address_; }
    int count() const noexcept { return count_; }
    MPI_Datatype type() const noexcept { return type_; }

   private:
    void* address_;
    int count_;
    MPI_Datatype type_;
    bool made_ = false;
  };
};

}  // namespace preload
