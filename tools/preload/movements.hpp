#pragma once

// Collectives that move data: bytes, whatever the types are by which each rank describes them.

#include "datatypes.hpp"
#include "packing.hpp"
#include "running.hpp"

#include <papcoll/erased.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace preload {

/// Memory for what a thread's calls send and receive, where it does not lie together.
inline Scratch& send_scratch() {
  static thread_local Scratch scratch;
  return scratch;
}
inline Scratch& receive_scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

/// Gives large scratches back after a call.
struct TrimScratches {
  TrimScratches() = default;
  TrimScratches(const TrimScratches&) = delete;
  TrimScratches& operator=(const TrimScratches&) = delete;
  ~TrimScratches() {
    send_scratch().trim();
    receive_scratch().trim();
  }
};

inline papcoll::erased::Element one_byte() noexcept { return papcoll::erased::Element(1); }

/// May a buffer of such elements have that address, as far as MPI refuses null?
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

/// The same of a buffer with a block for each rank.
inline Elements for_all(const Elements& block, int ranks) noexcept {
  return {block.address, block.count * static_cast<std::size_t>(ranks), block.handle, block.type};
}

/// Is what a rank gives itself its own block, at its place in the other buffer, where this MPI says
/// that it may not?
inline bool is_own_block(Function f, const Communicator& c, const Elements& block,
                         const Elements& all) noexcept {
  return this_process().refusals().of_one_buffer(f) && block.handle == all.handle &&
         block.count == all.count && block.bytes() != 0 && block.address != MPI_BOTTOM &&
         block.address == all.from(static_cast<std::size_t>(c.rank) * all.count, 0).address;
}

template <class Left>
int broadcast(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
              const Left& left) {
  constexpr Function f = Function::bcast;
  Elements e{};
  const auto is_right = [&](const Communicator& c) {
    return root >= 0 && root < c.size && data != MPI_IN_PLACE && describe(e, data, count, type);
  };
  return enter(f, comm, left, is_right, [&](Communicator& c) {
    const std::size_t bytes = e.bytes();
    const auto run = [&](void* at) {
      return perform(f, c, bytes, {at, bytes, at, bytes},
                     [&](papcoll::erased::Comm team, const papcoll::Algorithm& algorithm) {
                       papcoll::erased::bcast(team, at, bytes, one_byte(), papcoll::root{root}, {},
                                              algorithm);
                     });
    };
    if (lies_together(e)) return run(data);
    const TrimScratches trim;
    std::byte* const packed = send_scratch().get(bytes);
    if (c.rank == root) Packing::pack(e, packed);
    const int code = run(packed);
    if (code == MPI_SUCCESS && c.rank != root) Packing::unpack(packed, e);
    return code;
  });
}

/// What a rank contributes to an allgather or a gather, as bytes one after the other. In place
/// there is none: it is in the output.
inline const void* contribution(const Elements& in, const void* out, std::size_t out_bytes) {
  if (in.bytes() == 0) return send_scratch().get(1);
  // One in the output stands for another thing with papcoll, or is refused, and MPI would read it.
  if (lies_together(in) && !meet(in.address, in.bytes(), out, out_bytes)) return in.address;
  std::byte* const copy = send_scratch().get(in.bytes());
  Packing::pack(in, copy);
  return copy;
}

/// Blocks of `sent` bytes from all ranks, for a buffer that has blocks of `all.bytes()`. Each block
/// is unpacked for itself if those are not the same number: a program whose receiver has more room
/// is wrong, yet MPI does not mind.
inline void unpack_blocks(const std::byte* from, std::size_t sent, const Elements& block,
                          int ranks) {
  if (sent == block.bytes()) return Packing::unpack(from, for_all(block, ranks));
  const std::size_t elements =
      block.type->size == 0 ? 0 : std::min(sent, block.bytes()) / block.type->size;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    Packing::unpack(from + r * sent, block.from(r * block.count, elements));
  }
}

inline int truncated(Communicator& c, std::size_t sent, std::size_t room) {
  return sent <= room ? MPI_SUCCESS : report(c.handle, MPI_ERR_TRUNCATE);
}

/// Allgather, or gather at its root: `block` describes the output.
template <class Call>
int collect(Function f, Communicator& c, const Elements* in, const Elements& block,
            const Call& call) {
  const TrimScratches trim;
  const std::size_t sent = in != nullptr ? in->bytes() : block.bytes();
  const std::size_t all = sent * static_cast<std::size_t>(c.size);
  auto* const out = static_cast<std::byte*>(const_cast<void*>(block.address));
  if (lies_together(block) && sent == block.bytes()) {
    const void* const from = in != nullptr ? contribution(*in, out, all) : out;
    return perform(f, c, sent, {from, sent, out, all},
                   [&](papcoll::erased::Comm team, const papcoll::Algorithm& algorithm) {
                     call(team, from, out, sent, algorithm);
                   });
  }
  std::byte* const packed = receive_scratch().get(all + 1);
  const auto own = static_cast<std::size_t>(c.rank);
  if (in == nullptr) {
    Packing::pack(block.from(own * block.count, block.count), packed + own * sent);
  }
  const void* const from = in != nullptr ? contribution(*in, packed, all) : packed;
  const int code = perform(f, c, sent, {from, sent, packed, all},
                           [&](papcoll::erased::Comm team, const papcoll::Algorithm& algorithm) {
                             call(team, from, packed, sent, algorithm);
                           });
  if (code != MPI_SUCCESS) return code;
  unpack_blocks(packed, sent, block, c.size);
  return truncated(c, sent, block.bytes());
}

template <class Left>
int allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
              MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::allgather;
  const bool in_place = in == MPI_IN_PLACE;
  Elements mine{};
  Elements block{};
  const auto is_right = [&](const Communicator& c) {
    return out != MPI_IN_PLACE && describe(block, out, out_count, out_type) &&
           (in_place ||
            (describe(mine, in, in_count, in_type) && !is_own_block(f, c, mine, block)));
  };
  return enter(f, comm, left, is_right, [&](Communicator& c) {
    return collect(f, c, in_place ? nullptr : &mine, block,
                   [](papcoll::erased::Comm team, const void* from, void* to, std::size_t bytes,
                      const papcoll::Algorithm& algorithm) {
                     papcoll::erased::allgather(team, from, to, bytes, one_byte(), {}, algorithm);
                   });
  });
}

template <class Left>
int gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::gather;
  const bool in_place = in == MPI_IN_PLACE;
  Elements mine{};
  Elements block{};
  const auto is_right = [&](const Communicator& c) {
    if (root < 0 || root >= c.size || (in_place && c.rank != root)) return false;
    if (!in_place && !describe(mine, in, in_count, in_type)) return false;
    return c.rank != root || (out != MPI_IN_PLACE && describe(block, out, out_count, out_type) &&
                              (in_place || !is_own_block(f, c, mine, block)));
  };
  return enter(f, comm, left, is_right, [&](Communicator& c) {
    const auto call = [&](papcoll::erased::Comm team, const void* from, void* to, std::size_t bytes,
                          const papcoll::Algorithm& algorithm) {
      papcoll::erased::gather(team, from, to, bytes, one_byte(), papcoll::root{root}, {},
                              algorithm);
    };
    if (c.rank == root) return collect(f, c, in_place ? nullptr : &mine, block, call);
    const TrimScratches trim;
    const std::size_t bytes = mine.bytes();
    const void* const from = contribution(mine, nullptr, 0);
    return perform(f, c, bytes, {from, bytes, nullptr, 0},
                   [&](papcoll::erased::Comm team, const papcoll::Algorithm& algorithm) {
                     call(team, from, nullptr, bytes, algorithm);
                   });
  });
}

/// The root's side of a scatter, whose output is `mine`, or none in place.
template <class Call>
int distribute(Communicator& c, const Elements& block, const Elements* mine, const Call& call) {
  const std::size_t sent = block.bytes();
  const std::size_t all = sent * static_cast<std::size_t>(c.size);
  const void* from = block.address;
  const bool are_one = mine != nullptr && lies_together(*mine) &&
                       meet(mine->address, mine->bytes(), block.address, all);
  if (!lies_together(block) || are_one || all == 0) {
    std::byte* const copy = send_scratch().get(all + 1);
    Packing::pack(for_all(block, c.size), copy);
    from = copy;
  }
  if (mine == nullptr) return call(from, const_cast<void*>(from), sent, all);
  if (lies_together(*mine) && mine->bytes() == sent) {
    return call(from, const_cast<void*>(mine->address), sent, all);
  }
  std::byte* const packed = receive_scratch().get(sent + 1);
  const int code = call(from, packed, sent, all);
  if (code != MPI_SUCCESS) return code;
  unpack_blocks(packed, sent, *mine, 1);
  return truncated(c, sent, mine->bytes());
}

template <class Left>
int scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
            MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::scatter;
  const bool in_place = out == MPI_IN_PLACE;
  Elements mine{};
  Elements block{};
  const auto is_right = [&](const Communicator& c) {
    if (root < 0 || root >= c.size || (in_place && c.rank != root)) return false;
    if (!in_place && !describe(mine, out, out_count, out_type)) return false;
    return c.rank != root || (in != MPI_IN_PLACE && describe(block, in, in_count, in_type) &&
                              (in_place || !is_own_block(f, c, mine, block)));
  };
  return enter(f, comm, left, is_right, [&](Communicator& c) {
    const TrimScratches trim;
    const auto call = [&](const void* from, void* to, std::size_t bytes, std::size_t all) {
      return perform(f, c, bytes, {from, all, to, bytes},
                     [&](papcoll::erased::Comm team, const papcoll::Algorithm& algorithm) {
                       papcoll::erased::scatter(team, from, to, bytes, one_byte(),
                                                papcoll::root{root}, {}, algorithm);
                     });
    };
    if (c.rank == root) return distribute(c, block, in_place ? nullptr : &mine, call);
    if (lies_together(mine)) return call(nullptr, out, mine.bytes(), 0);
    const std::size_t bytes = mine.bytes();
    std::byte* const packed = receive_scratch().get(bytes + 1);
    const int code = call(nullptr, packed, bytes, 0);
    if (code == MPI_SUCCESS) Packing::unpack(packed, mine);
    return code;
  });
}

/// MPI_Comm_free and MPI_Comm_disconnect.
template <class Left>
int end_communicator(const MPI_Comm* comm, const Left& left) {
  if (!is_active() || comm == nullptr || *comm == MPI_COMM_NULL) return left();
  const Communicators::Ending ending(*comm);
  return left();
}

template <class Left>
int barrier(MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::barrier;
  constexpr auto is_right = [](const Communicator&) { return true; };
  return enter(f, comm, left, is_right, [&](Communicator& c) {
    return perform(f, c, 0, {},
                   [&](papcoll::erased::Comm team, const papcoll::Algorithm& algorithm) {
                     papcoll::erased::barrier(team, algorithm);
                   });
  });
}

}  // namespace preload
