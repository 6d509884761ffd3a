// SPDX-License-Identifier: BSD-3-Clause
// The calls that paired.py times, compiled once against each of two checkouts. All symbols but two
// are hidden, so that one process can load both.

#include <papcoll/papcoll.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace papcoll;  // NOLINT(google-build-using-namespace)

constexpr std::size_t most_bytes = std::size_t{1} << 26U;

std::optional<Communicator> communicator;
std::vector<double> input;
std::vector<double> output;

/// Mean µs of a call.
template <class Call> double timed(int calls, Call&& call) {
  for (int i = 0; i < calls / 8 + 1; ++i) call();
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  return (MPI_Wtime() - begin) * 1e6 / calls;
}

struct Buffers {
  std::span<const double> in;
  std::span<double> out;
  std::span<const double> all_in;
  std::span<double> all_out;
};

struct Timed {
  const char* name;
  double (*run)(Communicator& comm, const Buffers& b, int calls);
};

#define PAPCOLL_TIMED(name, statements)                                          \
  Timed {                                                                        \
    name, [](Communicator& comm, [[maybe_unused]] const Buffers& b, int calls) { \
      return timed(calls, [&] { statements; });                                  \
    }                                                                            \
  }

// Rooted collectives go with a barrier, so that no rank runs ahead.
constexpr std::array all {
  PAPCOLL_TIMED("allreduce", allreduce(comm, b.in, b.out)),
      PAPCOLL_TIMED("allreduce DynamicLeader",
                    (allreduce<DynamicLeader, ShmTransport>(comm, b.in, b.out))),
      PAPCOLL_TIMED("allreduce RecursiveDoubling+ShmTransport",
                    (allreduce<RecursiveDoubling, ShmTransport>(comm, b.in, b.out))),
      PAPCOLL_TIMED("allreduce RecursiveDoubling+MpiTransport",
                    (allreduce<RecursiveDoubling, MpiTransport>(comm, b.in, b.out))),
      PAPCOLL_TIMED("allreduce Ring+ShmTransport",
                    (allreduce<Ring, ShmTransport>(comm, b.in, b.out))),
      PAPCOLL_TIMED("iallreduce", iallreduce(comm, b.in, b.out).wait()),
      PAPCOLL_TIMED("reduce, barrier", reduce(comm, b.in, b.out, root{0}); barrier(comm)),
      PAPCOLL_TIMED("bcast, barrier", bcast(comm, b.out, root{0}); barrier(comm)),
      PAPCOLL_TIMED("allgather", allgather(comm, b.in, b.all_out)),
      PAPCOLL_TIMED("reduce_scatter", reduce_scatter(comm, b.all_in, b.out)),
      PAPCOLL_TIMED("barrier", barrier(comm)),
      PAPCOLL_TIMED("registration", (Registration{comm, b.out})),  // and its end
};

}  // namespace

extern "C" {

/// The name of a call, null behind the last.
[[gnu::visibility("default")]] const char* paired_name(int call) {
  return static_cast<std::size_t>(call) < all.size() ? all[static_cast<std::size_t>(call)].name
                                                     : nullptr;
}

/// Mean µs of so many calls with so many bytes a rank. With none, before MPI_Finalize, frees all.
[[gnu::visibility("default")]] double paired_run(int call, std::size_t bytes, int calls) {
  if (calls == 0) {
    communicator.reset();
    return 0;
  }
  if (!communicator) {
    communicator.emplace(MPI_COMM_WORLD);
    input.assign(most_bytes / sizeof(double), 1.0);
    output.assign(most_bytes / sizeof(double), 0.0);
  }
  const std::size_t n = bytes / sizeof(double);
  const std::size_t ranks = static_cast<std::size_t>(communicator->size());
  const Buffers b{
      {input.data(), n}, {output.data(), n}, {input.data(), n * ranks}, {output.data(), n * ranks}};
  return all[static_cast<std::size_t>(call)].run(*communicator, b, calls);
}

}  // extern "C"
