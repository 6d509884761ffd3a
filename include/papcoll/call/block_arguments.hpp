#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/call_arguments.hpp>
#include <papcoll/runtime/call_blocks.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A buffer that has a block for each rank, as the caller passed it.
struct BlockedBuffer {
  const char* name;        ///< for messages: "input"
  blocks given;            ///< lengths and places
  std::size_t length = 0;  ///< elements, or any_length
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
PAPCOLL_DECL const BufferView* view_of_blocks(const BlockNumbersOfBuffer& numbers, int ranks,
                                              std::size_t element_size, BufferView& view);

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

/// Has the other ranks hear that this one makes no room for so many elements; they are in the call
/// that moves them, or will be.
PAPCOLL_DECL void tell_no_room(const Caller& caller, std::size_t elements,
                               const std::exception& problem);

/// Memory for what comes, once this rank knows how much that is.
template <class T>
std::vector<T> room_for(const Caller& caller, std::size_t elements) {
  try {
    return std::vector<T>(elements);
  } catch (const std::exception& problem) {
    tell_no_room(caller, elements, problem);
    throw;
  }
}

/// Checks the blocks of an input that is called with unknown_counts: their lengths, by rank.
PAPCOLL_DECL std::vector<std::size_t> checked_lengths(const Caller& caller, const blocks& each,
                                                      std::size_t length, std::size_t element_size,
                                                      const void* data);

PAPCOLL_DECL std::size_t sum_of(const std::vector<std::size_t>& lengths) noexcept;

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/blocks.ipp>
#endif
