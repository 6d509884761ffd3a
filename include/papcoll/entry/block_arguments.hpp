#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/buffers.hpp>
#include <papcoll/entry/arguments.hpp>
#include <papcoll/runtime/call_blocks.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// A buffer that has a block for each rank, as the caller passed it.
struct BlockedBuffer {
  /// Of a buffer given by its address alone.
  static constexpr std::size_t any_length = ~std::size_t{0};

  const char* name;        ///< for messages: "input"
  blocks given;            ///< lengths and places
  std::size_t length = 0;  ///< elements
  bool is_written = false;
};

/// The numbers of one buffer's blocks, in CallBlocks::numbers.
struct BlockNumbersOfBuffer {
  std::size_t* counts;
  std::size_t* places;
  std::size_t total = 0;   ///< elements of all blocks
  bool one_by_one = true;  ///< the blocks stand one after the other from the beginning
  std::size_t n = 0;       ///< blocks; 0: one for each rank
};

/// The buffers of an alltoallv as the caller passed them. In place: the input is the output.
struct BlocksOfBothBuffers {
  const void* in;
  std::size_t in_length;  ///< elements, or BlockedBuffer::any_length
  const blocks& sent;
  void* out;
  std::size_t out_length;
  const blocks& received;
  ElementNumbers element;
};

/// The buffers of an allgatherv, gatherv or scatterv: one of them has a block for each rank.
struct BlocksOfOneBuffer {
  const void* in;
  std::size_t in_length;  ///< elements, or BlockedBuffer::any_length
  void* out;
  std::size_t out_length;
  const blocks& each;
  bool in_place;  ///< this rank's own block is where it belongs
  ElementNumbers element;
};

/// The same of elements of type T.
template <class T>
struct TypedBlocks {
  const T* in;
  std::size_t in_length;
  T* out;
  std::size_t out_length;
  const blocks& each;
  bool in_place = false;

  BlocksOfOneBuffer untyped() const noexcept {
    return {in, in_length, out, out_length, each, in_place, element_numbers<T>()};
  }
};

/// What a blocking call keeps its blocks in.
PAPCOLL_DECL CallBlocks& blocks_of(const Caller& caller);

/// Makes room for the numbers of so many buffers: 2·size() each, counts of all and then places of
/// all, and as many once more to check them with.
PAPCOLL_DECL std::size_t* room_for_blocks(const Caller& caller, CallBlocks& blocks,
                                          std::size_t buffers);

/// Copies and checks the numbers of a buffer. Refuses counts that are negative or too few, whose
/// sum is too much, that do not fit the buffer, and blocks of an output that overlap.
PAPCOLL_DECL BlockNumbersOfBuffer check_blocks(const Caller& caller, const BlockedBuffer& buffer,
                                               std::size_t element_size, std::size_t* counts,
                                               std::size_t* places, std::size_t* spare);

/// Tells static schedules where blocks are that do not stand one after the other.
PAPCOLL_DECL const DataView* view_of_blocks(const BlockNumbersOfBuffer& numbers, int ranks,
                                            std::size_t element_size, DataView& view);

/// Refuses a block for the rank itself that is not as long in the output as in the input.
PAPCOLL_DECL void check_own_block(const Caller& caller, const BlockNumbersOfBuffer& in,
                                  const BlockNumbersOfBuffer& out);

/// Refuses one buffer whose blocks of the input are others than those of the output.
PAPCOLL_DECL void check_blocks_in_place(const Caller& caller, const BlockNumbersOfBuffer& in,
                                        const BlockNumbersOfBuffer& out);

/// Refuses buffers that have a byte in common but are not the same.
PAPCOLL_DECL void check_blocks_apart(const Caller& caller, const Call& call,
                                     const BlockNumbersOfBuffer& in,
                                     const BlockNumbersOfBuffer& out);

/// Tells the other ranks, which are in the next call or will be, that this one cannot come to it.
PAPCOLL_DECL void tell_of_failure(const Caller& caller, const std::exception& problem) noexcept;

/// `n` elements for what the others are about to send.
template <class T>
std::vector<T> room_for(const Caller& caller, std::size_t n) {
  try {
    return std::vector<T>(n);
  } catch (const std::exception& problem) {
    tell_of_failure(caller, problem);
    throw;
  }
}

// -- The checked calls, which borrow `numbers`.

PAPCOLL_DECL Call alltoallv_call(const Caller& caller, const BlocksOfBothBuffers& a,
                                 CallBlocks& numbers);
PAPCOLL_DECL Call allgatherv_call(const Caller& caller, const BlocksOfOneBuffer& a,
                                  CallBlocks& numbers);
PAPCOLL_DECL Call gatherv_call(const Caller& caller, root r, const BlocksOfOneBuffer& a,
                               CallBlocks& numbers);
PAPCOLL_DECL Call scatterv_call(const Caller& caller, root r, const BlocksOfOneBuffer& a,
                                CallBlocks& numbers);

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/impl/blocks.ipp>
#endif
