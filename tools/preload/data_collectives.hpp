// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Collectives that move data: bytes, whatever the types are by which each rank describes them.

#include "arguments.hpp"
#include "datatypes.hpp"
#include "dispatch.hpp"
#include "packing.hpp"

#include <papcoll/erased.hpp>

#include <algorithm>
#include <cstddef>

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

inline erased::Element one_byte() noexcept { return erased::Element(1); }

template <class Left>
int broadcast(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
              const Left& left) {
  constexpr Function f = Function::bcast;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left, {count, type});
  Elements e{};
  const auto is_right = [&](const Communicator& c) {
    return is_rank_of(c, root) && data != MPI_IN_PLACE && describe(e, data, count, type);
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    const std::size_t bytes = e.bytes();
    const auto run = [&](void* at) {
      return perform(f, c, bytes, [&](erased::Comm team, const Algorithm& algorithm) {
        erased::bcast(team, at, bytes, one_byte(), papcoll::root{root}, {}, algorithm);
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

/// Returns what a rank contributes to an allgather or a gather, as bytes one after the other. In
/// place there is none: it is in the output.
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

/// Allgather, or gather at its root.
template <class Call>
int collect(Function f, Communicator& c, const Parts& parts, const Call& call) {
  const Elements* const in = parts.own();
  const Elements& block = parts.block;
  const TrimScratches trim;
  const std::size_t sent = in != nullptr ? in->bytes() : block.bytes();
  const std::size_t all = sent * static_cast<std::size_t>(c.size);
  auto* const out = static_cast<std::byte*>(const_cast<void*>(block.address));
  if (lies_together(block) && sent == block.bytes()) {
    const void* const from = in != nullptr ? contribution(*in, out, all) : out;
    return perform(f, c, sent, [&](erased::Comm team, const Algorithm& algorithm) {
      call(team, from, out, sent, algorithm);
    });
  }
  std::byte* const packed = receive_scratch().get(all + 1);
  const auto own = static_cast<std::size_t>(c.rank);
  if (in == nullptr) {
    Packing::pack(block.from(own * block.count, block.count), packed + own * sent);
  }
  const void* const from = in != nullptr ? contribution(*in, packed, all) : packed;
  const int code = perform(f, c, sent, [&](erased::Comm team, const Algorithm& algorithm) {
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
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left, {out_count, out_type});
  Parts parts{true};
  const auto is_right = [&](const Communicator& c) {
    return parts.describe(f, c, {in, in_count, in_type}, {out, out_count, out_type});
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    return collect(f, c, parts,
                   [](erased::Comm team, const void* from, void* to, std::size_t bytes,
                      const Algorithm& algorithm) {
                     erased::allgather(team, from, to, bytes, one_byte(), {}, algorithm);
                   });
  });
}

template <class Left>
int gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::gather;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left);
  Parts parts{};
  const auto is_right = [&](const Communicator& c) {
    parts.has_all = c.rank == root;
    return is_rank_of(c, root) &&
           parts.describe(f, c, {in, in_count, in_type}, {out, out_count, out_type});
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    const auto call = [&](erased::Comm team, const void* from, void* to, std::size_t bytes,
                          const Algorithm& algorithm) {
      erased::gather(team, from, to, bytes, one_byte(), papcoll::root{root}, {}, algorithm);
    };
    if (parts.has_all) return collect(f, c, parts, call);
    const TrimScratches trim;
    const std::size_t bytes = parts.mine.bytes();
    const void* const from = contribution(parts.mine, nullptr, 0);
    return perform(f, c, bytes, [&](erased::Comm team, const Algorithm& algorithm) {
      call(team, from, nullptr, bytes, algorithm);
    });
  });
}

/// The root's side of a scatter.
template <class Call> int distribute(Communicator& c, const Parts& parts, const Call& call) {
  const Elements* const mine = parts.own();
  const Elements& block = parts.block;
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
  if (mine == nullptr) return call(from, const_cast<void*>(from), sent);
  if (lies_together(*mine) && mine->bytes() == sent) {
    return call(from, const_cast<void*>(mine->address), sent);
  }
  std::byte* const packed = receive_scratch().get(sent + 1);
  const int code = call(from, packed, sent);
  if (code != MPI_SUCCESS) return code;
  unpack_blocks(packed, sent, *mine, 1);
  return truncated(c, sent, mine->bytes());
}

template <class Left>
int scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
            MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::scatter;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left);
  Parts parts{};
  const Elements& mine = parts.mine;
  const auto is_right = [&](const Communicator& c) {
    parts.has_all = c.rank == root;
    return is_rank_of(c, root) &&
           parts.describe(f, c, {out, out_count, out_type}, {in, in_count, in_type});
  };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    const TrimScratches trim;
    const auto call = [&](const void* from, void* to, std::size_t bytes) {
      return perform(f, c, bytes, [&](erased::Comm team, const Algorithm& algorithm) {
        erased::scatter(team, from, to, bytes, one_byte(), papcoll::root{root}, {}, algorithm);
      });
    };
    if (parts.has_all) return distribute(c, parts, call);
    if (lies_together(mine)) return call(nullptr, out, mine.bytes());
    const std::size_t bytes = mine.bytes();
    std::byte* const packed = receive_scratch().get(bytes + 1);
    const int code = call(nullptr, packed, bytes);
    if (code == MPI_SUCCESS) Packing::unpack(packed, mine);
    return code;
  });
}

/// MPI_Comm_free and MPI_Comm_disconnect.
template <class Left> int end_communicator(const MPI_Comm* comm, const Left& left) {
  if (!is_active() || comm == nullptr || *comm == MPI_COMM_NULL) return left();
  const int code = [&] {
    const Communicators::Ending ending(*comm);
    return left();
  }();
  communicators().freed_one();
  return code;
}

template <class Left> int barrier(MPI_Comm comm, const Left& left) {
  constexpr Function f = Function::barrier;
  Communicator* const own = ours(comm);
  if (own == nullptr) return leave(f, comm, left);
  constexpr auto is_right = [](const Communicator&) { return true; };
  return enter(f, *own, left, is_right, [&](Communicator& c) {
    return perform(f, c, 0, [&](erased::Comm team, const Algorithm& algorithm) {
      erased::barrier(team, algorithm);
    });
  });
}

}  // namespace preload
