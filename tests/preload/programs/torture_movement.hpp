// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls that move data.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torture_buffers.hpp"

namespace torture {

/// An address, a count and a type; sometimes MPI_BOTTOM and a type that holds the address.
class Argument {
 public:
  Argument(Buffer& b, const Layout& l, int n, bool bottom) : at{b.data()}, count{n}, type{l.type} {
    if (!bottom) return;
    MPI_Aint address = 0;
    const int one = 1;
    MPI_Get_address(at, &address);
    MPI_Type_create_hindexed(1, &one, &address, l.type, &type);
    MPI_Type_commit(&type);
    at = MPI_BOTTOM;
    made_ = true;
  }
  /// For a rank whose argument is not looked at.
  Argument(void* address, int n) : at{address}, count{n}, type{MPI_DATATYPE_NULL} {}
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  ~Argument() {
    if (made_) MPI_Type_free(&type);
  }

  void* at;
  int count;
  MPI_Datatype type;

 private:
  bool made_ = false;
};

struct Communicator {
  MPI_Comm comm;
  int rank;
  int size;
  const char* name;
};

inline std::vector<Communicator> communicators() {
  std::vector<Communicator> r;
  const auto add = [&](MPI_Comm c, const char* name) {
    int rank = 0, size = 0;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    r.push_back({c, rank, size, name});
  };
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  add(MPI_COMM_WORLD, "world");
  MPI_Comm c = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  add(c, "dup");
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - the_run.rank, &c);
  add(c, "reversed");
  MPI_Comm_split(MPI_COMM_WORLD, the_run.rank % 2, the_run.rank, &c);
  add(c, "halves");
  MPI_Comm_split(MPI_COMM_WORLD, the_run.rank == 0 ? 0 : 1, the_run.rank, &c);
  add(c, "without the first");
  add(MPI_COMM_SELF, "self");
  return r;
}

#ifdef MPICH_VERSION
constexpr bool is_mpich = true;
#else
constexpr bool is_mpich = false;
#endif

/// One of the signatures that calls choose from, and this rank's types with it.
struct Shape {
  Signature signature;
  std::array<Layout, 2> layouts;
  std::size_t bytes = 0;
};

inline Shape make_shape(std::uint64_t key) {
  Random shared{mixed(the_run.seed, key)};
  Shape s;
  const int kinds = shared.one_in(2) ? 1 : shared.between(2, 4);
  const auto& all = primitives();
  for (int i = 0; i < kinds; ++i) {
    s.signature.pattern.push_back(shared.of(all));
  }
  if (kinds == 2 && shared.one_in(2)) {
    const std::array<Primitive, 3> first{
        {{MPI_DOUBLE, 8}, {MPI_SHORT, 2}, {MPI_LONG, static_cast<int>(sizeof(long))}}};
    s.signature.pattern = {shared.of(first), {MPI_INT, 4}};
  }
  constexpr std::array<int, 9> repeats{1, 2, 6, 12, 24, 36, 60, 210, 4096};
  s.signature.repeats = shared.one_in(40) ? 20000 : shared.of(repeats);
  // MPICH 4.0.2 says "Message truncated" to some kilobytes of types with gaps that are gathered
  // or scattered, or ends.
  if (is_mpich && !the_run.harsh) {
    s.signature.flat = kinds == 1 && s.signature.repeats > 12;
    if (!s.signature.flat) s.signature.repeats = std::min(s.signature.repeats, 12);
  }
  Random own{mixed(mixed(the_run.seed, key), static_cast<std::uint64_t>(the_run.rank) + 77)};
  for (Layout& l : s.layouts) l = some_layout(s.signature, own);
  for (const Primitive& p : s.signature.pattern) {
    s.bytes += static_cast<std::size_t>(p.bytes) * static_cast<std::size_t>(s.signature.repeats);
  }
  return s;
}

#if MPI_VERSION >= 4
// The forms with large counts, for every other call.
#define TORTURE_CALL(name, ...) (large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
#define TORTURE_CALL(name, ...) (static_cast<void>(large), MPI_##name(__VA_ARGS__))
#endif

struct Choice {
  Communicator on;
  int root;
  int reps;
  bool in_place;
  bool large;
  bool rounds;
  bool bottom;
  Random own;     ///< differs between ranks
  Random shared;  ///< does not
};

inline void broadcast(const Shape& s, Choice c) {
  const bool large = c.large;
  const Layout& l = c.own.of(s.layouts);
  const int n = l.count * c.reps;
  const std::size_t bytes = s.bytes * static_cast<std::size_t>(c.reps);
  Buffer b{l, n, 1};
  Buffer wanted{l, n, 1};
  const Bytes stream = stream_of(c.root, 0, bytes);
  wanted.put(0, stream);
  if (c.on.rank == c.root) b.put(0, stream);
  const Argument a{b, l, n, c.own.one_in(4)};
  accepted(TORTURE_CALL(Bcast, a.at, a.count, a.type, c.root, c.on.comm), "Bcast");
  settle(moved, b, wanted, n, "Bcast into " + l.text);
}

inline void gather(const Shape& s, Choice c, bool to_all) {
  const bool large = c.large;
  const Layout& from = s.layouts[0];
  const Layout& to = s.layouts[1];
  const std::size_t bytes = s.bytes * static_cast<std::size_t>(c.reps);
  const bool receives = to_all || c.on.rank == c.root;
  const bool in_place = c.in_place && receives;
  const int m = to.count * c.reps;
  const int n = from.count * c.reps;
  const Bytes mine = stream_of(c.on.rank, 0, bytes);
  Sent in{from, n, 2};
  in.put(0, mine);
  Buffer out{to, receives ? m * c.on.size : 0, 3};
  Buffer wanted{to, receives ? m * c.on.size : 0, 3};
  if (receives) {
    for (int r = 0; r < c.on.size; ++r) wanted.put(MPI_Aint{r} * m, stream_of(r, 0, bytes));
    if (in_place) out.put(MPI_Aint{c.on.rank} * m, mine);
  }
  const Argument a{in.buffer, from, n, c.own.one_in(5)};
  const std::unique_ptr<Argument> b = receives
                                          ? std::make_unique<Argument>(out, to, m, c.own.one_in(5))
                                          : std::make_unique<Argument>(nullptr, -1);
  const void* const source = in_place ? MPI_IN_PLACE : a.at;
  // With MPI_IN_PLACE count and type are not looked at.
  const int count = in_place && c.own.one_in(2) ? 0 : a.count;
  const MPI_Datatype type = in_place && count == 0 ? MPI_DATATYPE_NULL : a.type;
  const char* const name = to_all ? "Allgather" : "Gather";
  if (to_all) {
    accepted(TORTURE_CALL(Allgather, source, count, type, b->at, b->count, b->type, c.on.comm),
             name);
  } else {
    accepted(TORTURE_CALL(Gather, source, count, type, b->at, b->count, b->type, c.root, c.on.comm),
             name);
  }
  settle(moved, out, wanted, receives ? m * c.on.size : 0,
         std::string{name} + " from " + from.text + " into " + to.text);
  in.settle(name);
}

inline void scatter(const Shape& s, Choice c) {
  const bool large = c.large;
  const Layout& from = s.layouts[0];
  const Layout& to = s.layouts[1];
  const std::size_t bytes = s.bytes * static_cast<std::size_t>(c.reps);
  const bool sends = c.on.rank == c.root;
  const bool in_place = c.in_place && sends;
  const int n = from.count * c.reps;
  const int m = to.count * c.reps;
  Sent in{from, sends ? n * c.on.size : 0, 4};
  for (int r = 0; sends && r < c.on.size; ++r) {
    in.put(MPI_Aint{r} * n, stream_of(c.root, r, bytes));
  }
  Buffer out{to, m, 5};
  Buffer wanted{to, m, 5};
  if (!in_place) wanted.put(0, stream_of(c.root, c.on.rank, bytes));
  const std::unique_ptr<Argument> a =
      sends ? std::make_unique<Argument>(in.buffer, from, n, c.own.one_in(5))
            : std::make_unique<Argument>(nullptr, -1);
  const Argument b{out, to, m, c.own.one_in(5)};
  void* const target = in_place ? MPI_IN_PLACE : b.at;
  accepted(
      TORTURE_CALL(Scatter, a->at, a->count, a->type, target, b.count, b.type, c.root, c.on.comm),
      "Scatter");
  settle(moved, out, wanted, m, "Scatter from " + from.text + " into " + to.text);
  in.settle("Scatter");
}

}  // namespace torture
