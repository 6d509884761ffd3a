// SPDX-License-Identifier: BSD-3-Clause
// While a communicator is made, one rank finds no memory: all ranks must get an exception, or all a
// communicator, and nobody may hang. So where one starts a request. Where ranks find no random
// numbers, they share no memory.

#include "outcome.hpp"

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/communicator.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include <sys/types.h>
#include <unistd.h>

namespace {

constexpr unsigned patience = 200;  ///< seconds until a rank that hangs ends itself
constexpr std::chrono::milliseconds longest{5000};

thread_local long until_no_memory = 0;  ///< allocations, the one that fails included; 0: none does
thread_local bool has_failed = false;   ///< one
bool no_random_numbers = false;
std::chrono::milliseconds deadline{15};  ///< what each failure takes

/// As with malloc; counts.
void* take(std::size_t bytes, std::size_t alignment) {
  if (until_no_memory != 0 && --until_no_memory == 0) {
    has_failed = true;
    return nullptr;
  }
  const std::size_t whole = (bytes + alignment) / alignment * alignment;
  return std::aligned_alloc(alignment, whole);
}
void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const memory = take(bytes, alignment)) return memory;
  throw std::bad_alloc{};
}

constexpr std::size_t usual = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t n) { return take_or_throw(n, usual); }
void* operator new[](std::size_t n) { return take_or_throw(n, usual); }
void* operator new(std::size_t n, std::align_val_t a) {
  return take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, usual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, usual); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

/// In the place of the C library's.
extern "C" ssize_t getrandom(void* bytes, std::size_t n, unsigned /*flags*/) {
  if (no_random_numbers) {
    errno = ENOSYS;
    return -1;
  }
  std::FILE* const source = std::fopen("/dev/urandom", "rb");
  if (source == nullptr) return -1;
  const std::size_t got = std::fread(bytes, 1, n, source);
  std::fclose(source);
  return static_cast<ssize_t>(got);
}

namespace {

int failed = 0;

void complain(int rank, const std::string& when, const std::string& what) {
  std::fprintf(stderr, "FAILED: rank %d, %s: %s\n", rank, when.c_str(), what.c_str());
  failed = 1;
}

struct Made {
  Outcome outcome;
  int fine = 0;  ///< ranks that have a communicator
  std::string no_shared_memory;
};

/// Do the ranks know each other from a communicator with the same Options?
enum class Ranks { strangers, known };

/// All ranks make a communicator of their own copy of MPI_COMM_WORLD, and call with it if they can.
Made make(int rank, int size, const std::string& when, Ranks ranks) {
  MPI_Comm mpi = MPI_COMM_NULL;
  {
    const long armed = until_no_memory;
    until_no_memory = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi);
    until_no_memory = armed;
  }
  papcoll::Options options;
  static std::chrono::nanoseconds others{0};
  options.deadline = deadline + (ranks == Ranks::strangers ? ++others : others);
  const auto start = std::chrono::steady_clock::now();
  std::optional<papcoll::Communicator> comm;
  Made made;
  made.outcome = outcome_of([&] { comm.emplace(mpi, options); });
  until_no_memory = 0;
  if (std::chrono::steady_clock::now() - start > longest) {
    complain(rank, when, "took too long: " + made.outcome.what);
  }
  const int mine = comm ? 1 : 0;
  MPI_Allreduce(&mine, &made.fine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (made.fine == size) {
    if (papcoll::allreduce(*comm, 1) != size) complain(rank, when, "a wrong sum");
    made.no_shared_memory = comm->why_no_shared_memory();
  }
  comm.reset();
  // The MPI communicator of one that failed may have collectives under way: it stays.
  if (made.fine == size) MPI_Comm_free(&mpi);
  return made;
}

/// The last rank finds no memory when it starts a request. The others hear of it, unless that was
/// before the request had its number: then the rank has not made the call.
void test_requests(int rank, int size) {
  constexpr int most_before_number = 2;
  constexpr long most = 200;
  const int victim = size - 1;
  int unheard = 0;
  int left = 0;
  long n = 1;
  for (; left == 0 && n < most; ++n) {
    MPI_Comm mpi = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi);
    papcoll::Options options;
    options.deadline = std::chrono::milliseconds{200};
    papcoll::Communicator comm{mpi, options};
    int sum = 1;
    has_failed = false;
    const Outcome outcome = outcome_of([&] {
      if (rank == victim) until_no_memory = n;
      papcoll::Request request =
          papcoll::iallreduce<papcoll::Ring, papcoll::ShmTransport>(comm, &sum, 1);
      until_no_memory = 0;
      request.wait();
    });
    until_no_memory = 0;
    const int late = outcome.kind == "deadline_exceeded" ? 1 : 0;
    int any_late = 0;
    MPI_Allreduce(&late, &any_late, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    unheard += any_late;
    left = has_failed ? 0 : 1;
    MPI_Bcast(&left, 1, MPI_INT, victim, MPI_COMM_WORLD);
    if (left != outcome.is_fine()) complain(rank, "request", outcome.kind + ": " + outcome.what);
  }
  if (rank == 0) std::printf("a request: %ld allocations, %d unheard\n", n - 2, unheard);
  if (unheard > most_before_number || n == most) complain(rank, "requests", "not heard of");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  alarm(patience);
  make(rank, size, "with all it needs", Ranks::strangers);

  // The first rank makes the memory of a node; the last only joins.
  constexpr long most = 2000;
  const auto test = [&](int victim, Ranks ranks) {
    long failures = 0;
    long n = 1;
    for (bool spared = false; !spared && n < most; ++n) {
      const std::string when = "allocation " + std::to_string(n) + " of rank " +
                               std::to_string(victim) + " fails" +
                               (ranks == Ranks::known ? ", known" : "");
      if (ranks == Ranks::known) make(rank, size, when, Ranks::strangers);
      has_failed = false;
      if (rank == victim) until_no_memory = n;
      const Made made = make(rank, size, when, ranks);
      if (made.fine != 0 && made.fine != size) {
        complain(rank, when, "only some have a communicator; here " + made.outcome.kind);
      }
      if (made.fine == 0) ++failures;
      // Done when the rank needs no more than n − 1 in all, and no rank was late.
      int left = rank == victim && !has_failed ? 1 : 0;
      MPI_Bcast(&left, 1, MPI_INT, victim, MPI_COMM_WORLD);
      spared = left != 0 && made.fine == size;
    }
    if (rank == victim) {
      std::printf("rank %d made %ld allocations; %ld that failed made all ranks fail\n", victim,
                  n - 2, failures);
      if (failures == 0 || n == most) complain(rank, "allocations", "counted wrongly");
    }
  };
  for (const int victim : {0, size - 1}) {
    for (const Ranks ranks : {Ranks::strangers, Ranks::known}) test(victim, ranks);
  }

  test_requests(rank, size);

  no_random_numbers = true;
  deadline = longest;
  const Made made = make(rank, size, "no random numbers", Ranks::strangers);
  if (made.fine != size || made.no_shared_memory.find("no random number") == std::string::npos) {
    complain(rank, "no random numbers", made.outcome.what + made.no_shared_memory);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::fflush(stdout);
  if (failed != 0) _exit(EXIT_FAILURE);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
