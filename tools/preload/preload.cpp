// SPDX-License-Identifier: BSD-3-Clause
// The library that papcoll-run preloads: blocking collectives of a program that it was not compiled
// for, run by papcoll. It exports the MPI_ and PMPI_ names of every function that it stands before:
// calls from C, Python and all of Fortran's interfaces come through it, each once.
//
// Every parameter is taken as a word, and handed on as it came where a call is left to MPI. So
// calls also pass through a library for another ABI than the program's, whose handles are of
// another size.

#include "data_collectives.hpp"
#include "process.hpp"
#include "reduction_collectives.hpp"

#include "../interpose/mpi_library.hpp"

#include <cstdint>
#include <cstdio>
#include <type_traits>

#define PRELOAD_EXPORT extern "C" __attribute__((visibility("default")))

/// By which such libraries know each other.
PRELOAD_EXPORT const char papcoll_is_interposed;
const char papcoll_is_interposed = 1;

void interpose::found_another_kind(const std::string& sentence) {
  if (!interpose::speaks_for_all()) return;
  std::fprintf(stderr,
               "%s: choose another by papcoll-run --abi; the program runs without papcoll\n",
               sentence.c_str());
}

namespace {

using preload::this_process;

/// A parameter of whatever type, as it comes in a register or on the stack.
using Word = std::uintptr_t;

/// What a word stands for. The upper half of one that holds an int is undefined.
class Argument {
 public:
  constexpr Argument(Word word) noexcept  // NOLINT(google-explicit-constructor): it is one
      : word_(word) {}

  template <class T>
  operator T() const noexcept {  // NOLINT(google-explicit-constructor): the parameter says as what
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(word_);
    } else {
      return static_cast<T>(word_);
    }
  }

 private:
  Word word_;
};

/// Counts of MPI_X are ints, those of MPI_X_c are not.
MPI_Count as_int(Word word) noexcept { return static_cast<int>(word); }
[[maybe_unused]] MPI_Count as_count(Word word) noexcept { return static_cast<MPI_Count>(word); }

}  // namespace

// A name in the assembler's text does not contradict the declaration in <mpi.h>, if it has one, and
// functions that this MPI's header lacks are exported all the same.
#define PRELOAD_EXPORTED(PREFIX, NAME, PARAMETERS)                               \
  PRELOAD_EXPORT int preloaded_##PREFIX##NAME PARAMETERS __asm__(#PREFIX #NAME); \
  int preloaded_##PREFIX##NAME PARAMETERS
// What may leave the call to MPI, by `left`.
#define PRELOAD_BODY(PREFIX, NAME, PARAMETERS, ARGUMENTS, ...)          \
  {                                                                     \
    static int(*const function) PARAMETERS =                            \
        interpose::next_function<int(*) PARAMETERS>(#PREFIX #NAME);     \
    const auto left = preload::Next(function, #PREFIX #NAME) ARGUMENTS; \
    __VA_ARGS__                                                         \
  }
#define PRELOAD_NAMES(NAME, PARAMETERS, ARGUMENTS, ...)        \
  PRELOAD_EXPORTED(MPI_, NAME, PARAMETERS)                     \
  PRELOAD_BODY(MPI_, NAME, PARAMETERS, ARGUMENTS, __VA_ARGS__) \
  PRELOAD_EXPORTED(PMPI_, NAME, PARAMETERS)                    \
  PRELOAD_BODY(PMPI_, NAME, PARAMETERS, ARGUMENTS, __VA_ARGS__)

// An allreduce like the one before needs none of it: to be ready to leave it would cost 5 ns.
#define PRELOAD_ALLREDUCE(PREFIX, NAME, COUNT)                                                    \
  [[gnu::noinline]] static int whole_##PREFIX##NAME(Word in, Word out, Word n, Word t, Word op,   \
                                                    Word comm)                                    \
      PRELOAD_BODY(PREFIX, NAME, (Word, Word, Word, Word, Word, Word), (in, out, n, t, op, comm), \
                   return preload::allreduce(Argument(in), Argument(out), COUNT(n), Argument(t),  \
                                             Argument(op), Argument(comm), left);)                \
          PRELOAD_EXPORTED(PREFIX, NAME,                                                          \
                           (Word in, Word out, Word n, Word t, Word op, Word comm)) {             \
    preload::Communicator* const c = preload::known(Argument(comm));                              \
    if (c == nullptr) return whole_##PREFIX##NAME(in, out, n, t, op, comm);                       \
    if (preload::is_as_before(*c, Argument(in), Argument(out), COUNT(n), Argument(t),             \
                              Argument(op))) [[likely]] {                                         \
      return preload::allreduce_as_before(*c, Argument(in), Argument(out), COUNT(n));             \
    }                                                                                             \
    if (preload::is_left_for_now(*c)) {                                                           \
      static int (*const next)(Word, Word, Word, Word, Word, Word) =                              \
          interpose::next_function<int (*)(Word, Word, Word, Word, Word, Word)>(#PREFIX #NAME);   \
      if (next != nullptr)                                                                        \
        return preload::pass(preload::Function::allreduce, *c, next, in, out, n, t, op, comm);    \
    }                                                                                             \
    return whole_##PREFIX##NAME(in, out, n, t, op, comm);                                         \
  }

// The two forms of each collective; COUNT reads a count.
#define PRELOAD_COLLECTIVES(SUFFIX, COUNT, CountType)                                              \
  PRELOAD_ALLREDUCE(MPI_, Allreduce##SUFFIX, COUNT)                                                \
  PRELOAD_ALLREDUCE(PMPI_, Allreduce##SUFFIX, COUNT)                                               \
  PRELOAD_NAMES(Reduce##SUFFIX,                                                                    \
                (Word in, Word out, Word n, Word t, Word op, Word root, Word comm),                \
                (in, out, n, t, op, root, comm),                                                   \
                return preload::reduce(Argument(in), Argument(out), COUNT(n), Argument(t),         \
                                       Argument(op), Argument(root), Argument(comm), left);)       \
  PRELOAD_NAMES(Bcast##SUFFIX, (Word data, Word n, Word t, Word root, Word comm),                  \
                (data, n, t, root, comm),                                                          \
                return preload::broadcast(Argument(data), COUNT(n), Argument(t), Argument(root),   \
                                          Argument(comm), left);)                                  \
  PRELOAD_NAMES(Allgather##SUFFIX, (Word in, Word n, Word t, Word out, Word m, Word u, Word comm), \
                (in, n, t, out, m, u, comm),                                                       \
                return preload::allgather(Argument(in), COUNT(n), Argument(t), Argument(out),      \
                                          COUNT(m), Argument(u), Argument(comm), left);)           \
  PRELOAD_NAMES(                                                                                   \
      Gather##SUFFIX, (Word in, Word n, Word t, Word out, Word m, Word u, Word root, Word comm),   \
      (in, n, t, out, m, u, root, comm),                                                           \
      return preload::gather(Argument(in), COUNT(n), Argument(t), Argument(out), COUNT(m),         \
                             Argument(u), Argument(root), Argument(comm), left);)                  \
  PRELOAD_NAMES(                                                                                   \
      Scatter##SUFFIX, (Word in, Word n, Word t, Word out, Word m, Word u, Word root, Word comm),  \
      (in, n, t, out, m, u, root, comm),                                                           \
      return preload::scatter(Argument(in), COUNT(n), Argument(t), Argument(out), COUNT(m),        \
                              Argument(u), Argument(root), Argument(comm), left);)                 \
  PRELOAD_NAMES(                                                                                   \
      Reduce_scatter##SUFFIX, (Word in, Word out, Word n, Word t, Word op, Word comm),             \
      (in, out, n, t, op, comm),                                                                   \
      return preload::reduce_scatter<CountType>(Argument(in), Argument(out), Argument(n),          \
                                                Argument(t), Argument(op), Argument(comm), left);) \
  PRELOAD_NAMES(                                                                                   \
      Reduce_scatter_block##SUFFIX, (Word in, Word out, Word n, Word t, Word op, Word comm),       \
      (in, out, n, t, op, comm),                                                                   \
      return preload::reduce_scatter_block(Argument(in), Argument(out), COUNT(n), Argument(t),     \
                                           Argument(op), Argument(comm), left);)
PRELOAD_COLLECTIVES(, as_int, int)
// Not where this MPI has none of them: programs that ask whether there are any would find these.
#if !defined(OPEN_MPI) || MPI_VERSION >= 4
PRELOAD_COLLECTIVES(_c, as_count, MPI_Count)
#endif
PRELOAD_NAMES(Barrier, (Word comm), (comm), return preload::barrier(Argument(comm), left);)

PRELOAD_NAMES(Comm_free, (Word comm), (comm),
              return preload::end_communicator(Argument(comm), left);)
PRELOAD_NAMES(Comm_disconnect, (Word comm), (comm),
              return preload::end_communicator(Argument(comm), left);)

PRELOAD_NAMES(Init, (Word argc, Word argv), (argc, argv), {
  const int code = left();
  if (code == MPI_SUCCESS) this_process().begin();
  return code;
})
PRELOAD_NAMES(Init_thread, (Word argc, Word argv, Word wanted, Word given),
              (argc, argv, wanted, given), {
                const int code = left();
                if (code == MPI_SUCCESS) this_process().begin();
                return code;
              })
PRELOAD_NAMES(Finalize, (void), (), {
  this_process().end();
  return left();
})
