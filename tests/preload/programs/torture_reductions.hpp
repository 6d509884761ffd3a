// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Operators of the user's, and calls that reduce.

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "torture_movement.hpp"
#include "torture_operations.hpp"

namespace torture {

/// The layout that the operator meets, since calls come one after the other; and where its element
/// lies if the type has absolute addresses.
inline const Layout* met = nullptr;
inline MPI_Aint met_at = 0;

enum User { user_sum, user_circle, user_affine, user_left, user_right, users };

template <class T>
void combine_as(User u, const unsigned char* a, unsigned char* b, const std::vector<Piece>& map,
                bool streams) {
  // Of streams the pieces lie one beside the other.
  const auto at = [&](std::size_t i) {
    return streams ? static_cast<MPI_Aint>(i * sizeof(T)) : map[i].at;
  };
  for (std::size_t i = 0; i < map.size(); ++i) {
    const T x = read_as<T>(a + at(i)), y = read_as<T>(b + at(i));
    switch (u) {
      case user_sum: write_as<T>(b + at(i), static_cast<T>(x + y)); break;
      case user_circle: write_as<T>(b + at(i), static_cast<T>(x + y + x * y)); break;
      case user_left: write_as<T>(b + at(i), x); break;
      case user_affine:
        // (x, s) after (y, t) is (x y, x t + s): does not commute.
        if (i + 1 < map.size()) {
          const T s = read_as<T>(a + at(i + 1)), t = read_as<T>(b + at(i + 1));
          write_as<T>(b + at(i), static_cast<T>(x * y));
          write_as<T>(b + at(i + 1), static_cast<T>(x * t + s));
        }
        ++i;
        break;
      default: break;
    }
  }
}

/// b becomes a ∘ b, for unsigned integers of four or eight bytes.
inline void user_combine(User u, const unsigned char* a, unsigned char* b,
                         const std::vector<Piece>& map, bool streams) {
  (map[0].bytes == 4 ? combine_as<std::uint32_t> : combine_as<std::uint64_t>)(u, a, b, map,
                                                                              streams);
}

template <User u> void user_function(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(*type, &lb, &extent);
  if (met == nullptr || extent != met->extent) {
    complain("the user's operator met a type that it was not called for");
    return;
  }
  for (int i = 0; i < *length; ++i) {
    const unsigned char* const a = static_cast<const unsigned char*>(in) + met_at + i * extent;
    unsigned char* const b = static_cast<unsigned char*>(inout) + met_at + i * extent;
    user_combine(u, a, b, met->map, false);
  }
}

struct UserOperators {
  std::array<MPI_Op, users> ops{};
  UserOperators() {
    MPI_Op_create(&user_function<user_sum>, 1, &ops[user_sum]);
    MPI_Op_create(&user_function<user_circle>, 1, &ops[user_circle]);
    MPI_Op_create(&user_function<user_affine>, 0, &ops[user_affine]);
    MPI_Op_create(&user_function<user_left>, 0, &ops[user_left]);
    MPI_Op_create(&user_function<user_right>, 0, &ops[user_right]);
  }
  UserOperators(const UserOperators&) = delete;
  UserOperators& operator=(const UserOperators&) = delete;
  ~UserOperators() {
    for (MPI_Op& o : ops) MPI_Op_free(&o);
  }
};

inline Operation user_operation(const UserOperators& operators, const Layout& l, User u) {
  Operation o;
  o.name = std::array<const char*, users>{"user's sum", "user's circle", "user's affine maps",
                                          "user's left", "user's right"}[u];
  o.name += " of " + l.text;
  o.op = operators.ops[u];
  o.user = true;
  o.layout = &l;
  const MPI_Aint bytes = l.map[0].bytes;
  const std::size_t pieces = l.map.size();
  o.value = [bytes, pieces](Random& random, unsigned char* at, bool) {
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::uint64_t x = random.next();
      std::memcpy(at + i * static_cast<std::size_t>(bytes), &x, static_cast<std::size_t>(bytes));
    }
  };
  o.combine = [u, &l](const unsigned char* a, unsigned char* b) {
    user_combine(u, a, b, l.map, true);
  };
  return o;
}

/// A type that all ranks have alike, as reductions want it.
inline Layout make_reduced(std::uint64_t key) {
  Random shared{mixed(the_run.seed, key + 900000)};
  constexpr std::array<int, 6> repeats{2, 6, 12, 24, 60, 420};
  Signature s;
  s.pattern = {shared.one_in(2) ? Primitive{MPI_UINT32_T, 4} : Primitive{MPI_UINT64_T, 8}};
  s.reduces = true;
  s.repeats = shared.of(repeats);
  return some_layout(s, shared);
}

enum Reduction { allreduce, reduce, reduce_scatter, reduce_scatter_block };
constexpr std::array<const char*, 4> reduction_names{"Allreduce", "Reduce", "Reduce_scatter",
                                                     "Reduce_scatter_block"};

/// Compares the values of elements, then all else.
inline void settle_reduced(const Operation& o, Buffer& got, Buffer& wanted, int count, bool rounds,
                           const std::string& what) {
  const std::size_t each = stream_bytes(*o.layout);
  const Bytes a = got.get(0, count), b = wanted.get(0, count);
  bool same = a == b;
  if (rounds && o.close) {
    same = true;
    for (std::size_t i = 0; i < a.size(); i += each) {
      same = same && o.close(a.data() + i, b.data() + i);
    }
  }
  if (!same) complain(what + " has a wrong result");
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const unsigned char x : a) h = (h ^ x) * 0x100000001b3U;
  const Class c = rounds ? rounded : o.result;
  the_run.hashes[c] = mixed(the_run.hashes[c], h);
  for (Buffer* buffer : {&got, &wanted}) {
    buffer->ignore(0, count);
    buffer->ignore(0, count, o.padding);
  }
  if (!o.gaps.empty() && !(got == wanted)) {
    got.ignore(0, count, o.gaps);
    wanted.ignore(0, count, o.gaps);
    if (got == wanted) ++the_run.gaps_of_pairs;
  }
  if (!(got == wanted)) complain(what + " wrote beside its elements");
}

inline void reduction(const Operation& o, Reduction which, Choice c, int block) {
  const bool large = c.large;
  const int n = c.on.size;
  const int rank = c.on.rank;
  const bool rounds = o.can_round && c.rounds;
  std::vector<int> counts(static_cast<std::size_t>(n), block);
  if (which == reduce_scatter) {
    for (int& x : counts) x = c.shared.one_in(4) ? 0 : c.shared.between(0, block + 2);
  }
  const bool scatters = which == reduce_scatter || which == reduce_scatter_block;
  const int total = scatters ? std::accumulate(counts.begin(), counts.end(), 0) : block;
  const int mine = scatters ? counts[static_cast<std::size_t>(rank)] : block;
  const int before = scatters ? std::accumulate(counts.begin(), counts.begin() + rank, 0) : 0;
  const bool receives = which != reduce || rank == c.root;
  // All ranks of a call without root, or the root.
  // MPICH 4.0.2 may read from MPI_IN_PLACE, and ends.
  const bool refuses = is_mpich && !the_run.harsh && which == reduce;
  const bool in_place = c.in_place && receives && !refuses;
  const std::string what = std::string{reduction_names[which]} + (in_place ? " in place" : "") +
                           ", " + o.name + ", " + std::to_string(total) + " elements";
  met = o.layout;

  const Bytes own = operand(o, rank, total, rounds);
  Sent in{*o.layout, total, 6};
  in.put(0, own);
  const int room = in_place ? total : mine;
  Buffer out{*o.layout, room, 7};
  Buffer wanted{*o.layout, room, 7};
  if (in_place) {
    out.put(0, own);
    wanted.put(0, own);
  }
  const Bytes result = reduced(o, n, total, rounds);
  if (receives) {
    const std::size_t each = stream_bytes(*o.layout);
    wanted.put(0, result.data() + static_cast<std::size_t>(before) * each,
               static_cast<std::size_t>(mine) * each);
  }
  const void* const source = in_place ? MPI_IN_PLACE : in.buffer.data();
  // Absolute addresses fit one buffer only, and no predefined operator takes a derived type.
  // Those begin elsewhere than at zero, see suits: Open MPI's ring takes as many elements as ranks.
  const bool survives = is_mpich || the_run.harsh || total < n;
  const bool bottom = c.bottom && in_place && which == allreduce && o.user && survives;
  const Argument target{out, *o.layout, room, bottom};
  met_at = 0;
  if (bottom) MPI_Get_address(out.data(), &met_at);
  void* const to = receives || c.own.one_in(2) ? target.at : nullptr;
  const MPI_Comm comm = c.on.comm;
  int code = MPI_SUCCESS;
  switch (which) {
    case allreduce:
      code = TORTURE_CALL(Allreduce, source, to, total, target.type, o.op, comm);
      break;
    case reduce:
      code = TORTURE_CALL(Reduce, source, to, total, target.type, o.op, c.root, comm);
      break;
    case reduce_scatter_block:
      code = TORTURE_CALL(Reduce_scatter_block, source, to, block, target.type, o.op, comm);
      break;
    default: {
#if MPI_VERSION >= 4
      const std::vector<MPI_Count> wide(counts.begin(), counts.end());
      if (large) {
        code = MPI_Reduce_scatter_c(source, to, wide.data(), target.type, o.op, comm);
        break;
      }
#endif
      code = MPI_Reduce_scatter(source, to, counts.data(), target.type, o.op, comm);
    }
  }
  accepted(code, what);
  if (in_place && scatters) {  // what becomes of the other blocks is not said
    for (Buffer* b : {&out, &wanted}) {
      b->ignore(mine, room - mine);
      b->ignore(mine, room - mine, o.padding);
      b->ignore(mine, room - mine, o.gaps);
    }
  }
  settle_reduced(o, out, wanted, receives ? mine : 0, rounds, what);
  in.settle(what);
  met = nullptr;
}

}  // namespace torture
