// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The arguments of a call that describe buffers, and whether MPI refuses them on this rank.

#include "call_outcomes.hpp"
#include "communicators.hpp"
#include "datatypes.hpp"
#include "process.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <cstddef>
#include <cstdint>

namespace preload {

/// Returns true if a buffer of such elements may have that address: it is not null, or this MPI
/// does not refuse null.
inline bool is_there(const void* address, const Elements& e) {
  return address != nullptr || e.bytes() == 0 || e.type->lies != Lies::together ||
         !this_process().refusals().null_buffer;
}

/// Looks at the arguments that describe a buffer; false: MPI refuses them.
inline bool describe(Elements& e, const void* address, MPI_Count count, MPI_Datatype type) {
  if (count < 0) return false;
  const Datatype* known = datatypes().find(type);
  if (known == nullptr) {
    if (count != 0 || type != MPI_DATATYPE_NULL || this_process().refusals().no_type_of_nothing) {
      return false;
    }
    type = MPI_BYTE;
    known = datatypes().find(type);
  }
  e = {address, static_cast<std::size_t>(count), type, known};
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(e.count, known->size, &bytes) || bytes > PTRDIFF_MAX) return false;
  return is_there(address, e);
}

inline bool lies_together(const Elements& e) noexcept { return e.type->lies == Lies::together; }

/// The elements of a buffer with a block for each rank.
inline Elements for_all(const Elements& block, int ranks) noexcept {
  return {block.address, block.count * static_cast<std::size_t>(ranks), block.handle, block.type};
}

/// Returns true if a rank passes its own block at its place in the other buffer, and this MPI
/// refuses that.
inline bool is_own_block(Function f, const Communicator& c, const Elements& block,
                         const Elements& all) noexcept {
  return this_process().refusals().of_one_buffer(f) && block.handle == all.handle &&
         block.count == all.count && block.bytes() != 0 && block.address != MPI_BOTTOM &&
         block.address == all.from(static_cast<std::size_t>(c.rank) * all.count, 0).address;
}

/// A buffer as it is passed.
struct Passed {
  const void* address;
  MPI_Count count;
  MPI_Datatype type;
};

/// What a rank passes to an allgather, gather or scatter: a part of its own, unless that lies in
/// place, and the blocks of all ranks, where it has them.
struct Parts {
  bool has_all = false;
  bool in_place = false;
  Elements mine{};
  Elements block{};

  /// Looks at the arguments that describe both; false: MPI refuses them.
  bool describe(Function f, const Communicator& c, const Passed& own, const Passed& all) {
    in_place = own.address == MPI_IN_PLACE;
    if (in_place ? !has_all : !preload::describe(mine, own.address, own.count, own.type)) {
      return false;
    }
    if (!has_all) return true;
    return all.address != MPI_IN_PLACE &&
           preload::describe(block, all.address, all.count, all.type) &&
           (in_place || !is_own_block(f, c, mine, block));
  }
  const Elements* own() const noexcept { return in_place ? nullptr : &mine; }
};

inline bool is_rank_of(const Communicator& c, int root) noexcept {
  return root >= 0 && root < c.size;
}

}  // namespace preload
