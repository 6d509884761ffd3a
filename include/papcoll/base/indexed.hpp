#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Elements in a list of blocks, each of a length and at a place of its own. Made by indexed().
template <class T>
struct Indexed {
  T* data;         ///< what displacements are counted from
  counts lengths;  ///< elements of each block
  counts places;   ///< elements from `data` to the first of each block
};

/// Block i has lengths[i] elements from data[displacements[i]] on, as in an indexed datatype of
/// MPI; blocks are counted in the order of the list. Lengths may be 0, displacements negative;
/// blocks may touch, and overlap where they are input only. Both are contiguous ranges of integers
/// of any type, as many of the one as of the other. They are borrowed, and must live until the call
/// returns; a request copies them.
template <class T, class Lengths, class Displacements>
Indexed<T> indexed(T* data, const Lengths& lengths, const Displacements& displacements) noexcept {
  return {data, counts(lengths), counts(displacements)};
}

}  // namespace papcoll::inline PAPCOLL_ABI
