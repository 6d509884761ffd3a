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
