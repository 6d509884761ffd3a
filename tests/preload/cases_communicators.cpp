// SPDX-License-Identifier: BSD-3-Clause
// Communicators of all kinds, by the first argument:
//   kinds     one rank, an inter-communicator, copies of one that is taken over
//   many N    so many made, used and freed one after the other, and as many alive at a time
//   threads   four threads on eight communicators each (MPI_THREAD_MULTIPLE)
//   finalize  collectives in callbacks of MPI_Finalize
//   handler   collectives in an error handler
//   short     a buffer that is too short, on one rank, in one of the first calls
//   ends      communicators whose attributes end by a collective
//   gpu       with a library in the process that has the name of a GPU's driver

#include "checks.hpp"

#include <dlfcn.h>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int size = 1;

long sum_on(MPI_Comm comm, long mine) {
  long sum = 0;
  CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
  return sum;
}

void kinds() {
  for (int i = 0; i < 10; ++i) CHECK(sum_on(MPI_COMM_SELF, rank) == rank);
  const long all = static_cast<long>(size) * (size - 1) / 2;
  for (int i = 0; i < 10; ++i) CHECK(sum_on(MPI_COMM_WORLD, rank) == all);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; i < 10; ++i) CHECK(sum_on(copy, rank) == all);
  MPI_Comm_free(&copy);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int i = 0; i < 10; ++i) {
    long wanted = 0;
    for (int r = rank % 2; r < size; r += 2) wanted += r;
    CHECK(sum_on(half, rank) == wanted);
  }
  MPI_Comm_free(&half);
}

void between() {
  // Both groups' leaders are their lowest ranks.
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 7, &inter);
  for (int i = 0; i < 5; ++i) {
    long wanted = 0;
    for (int r = 1 - rank % 2; r < size; r += 2) wanted += r;
    CHECK(sum_on(inter, rank) == wanted);
    MPI_Barrier(inter);
  }
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, 0, &merged);
  for (int i = 0; i < 5; ++i) CHECK(sum_on(merged, 1) == size);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

void many(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 == 0 ? rank : -rank, &c);
    CHECK(sum_on(c, i) == static_cast<long>(size) * i);
    MPI_Comm_free(&c);
  }
  std::vector<MPI_Comm> alive(static_cast<std::size_t>(n));
  for (MPI_Comm& c : alive) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < alive.size(); ++i) {
      CHECK(sum_on(alive[i], static_cast<long>(i)) == size * static_cast<long>(i));
    }
  }
  std::FILE* const file = std::fopen("/proc/self/cmdline", "r");
  CHECK(file != nullptr);
  if (file != nullptr) std::fclose(file);
  for (MPI_Comm& c : alive) MPI_Comm_free(&c);
}

void threads() {
  constexpr int per_thread = 8;
  std::vector<std::vector<MPI_Comm>> comms(4, std::vector<MPI_Comm>(per_thread));
  for (auto& list : comms) {
    for (MPI_Comm& c : list) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  }
  std::vector<std::thread> running;
  for (int t = 0; t < 4; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        for (int k = 0; k < per_thread; ++k) {
          // Threads use them in opposite orders.
          const int which = t % 2 == 0 ? k : per_thread - 1 - k;
          const MPI_Comm c = comms[static_cast<std::size_t>(t)][static_cast<std::size_t>(which)];
          CHECK(sum_on(c, t + i + k) == static_cast<long>(size) * (t + i + k));
          MPI_Datatype pair = MPI_DATATYPE_NULL;
          MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
          MPI_Type_commit(&pair);
          int x[3] = {rank == 0 ? t : -1, -5, rank == 0 ? i : -1};
          MPI_Bcast(x, 1, pair, 0, c);
          CHECK(x[0] == t && x[1] == -5 && x[2] == i);
          MPI_Type_free(&pair);
        }
      }
    });
  }
  for (std::thread& t : running) t.join();
  for (auto& list : comms) {
    for (MPI_Comm& c : list) MPI_Comm_free(&c);
  }
}

int at_the_end(MPI_Comm /*self*/, int /*keyval*/, void* /*value*/, void* /*state*/) {
  CHECK(sum_on(MPI_COMM_WORLD, 1) == size);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_SUCCESS;
}

void finalize() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  for (int i = 0; i < 5; ++i) CHECK(sum_on(MPI_COMM_WORLD, 1) == size);
}

/// A call in which MPI finds an error on one rank counts on all of them, for the take-over.
void too_short() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int x[2] = {};
  const bool is_last = rank == size - 1;
  const int code = MPI_Bcast(x, is_last ? 1 : 2, MPI_INT, 0, comm);
  CHECK((code != MPI_SUCCESS) == (is_last && size > 1));
  for (int i = 0; i < 10; ++i) CHECK(sum_on(comm, 2) == 2 * size);
  MPI_Comm_free(&comm);
}

int collective_end(MPI_Comm comm, int /*keyval*/, void* /*value*/, void* /*state*/) {
  return MPI_Barrier(comm);
}

/// What a thread remembers of a communicator that ends is void, whose handle comes again.
void ends() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, collective_end, &key, nullptr);
  for (int n = 0; n < 30; ++n) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, n % 2 == 0 ? 0 : rank % 2, n % 3 == 0 ? -rank : rank, &comm);
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    // MPI ends attributes in an order of its own, by when they were set perhaps: before the first
    // call, before the take-over, or after it.
    for (int i = 0; i < 6; ++i) {
      if (i == n % 5) MPI_Comm_set_attr(comm, key, nullptr);
      CHECK(sum_on(comm, 1) == ranks);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free_keyval(&key);
}

int handled = 0;
void handler(MPI_Comm* comm, int* /*code*/, ...) {
  ++handled;
  CHECK(sum_on(*comm, 1) == size);
}

void in_handler() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(comm, own);
  int x = 0;
  for (int i = 0; i < 5; ++i) {
    MPI_Bcast(&x, -1, MPI_INT, 0, comm);
    CHECK(sum_on(comm, 2) == 2 * size);
  }
  CHECK(handled == 5);
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "kinds";
  int given = 0;
  MPI_Init_thread(&argc, &argv, what == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &given);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (what == "kinds") {
    kinds();
    if (size > 1) between();
  } else if (what == "many") {
    many(std::atoi(argv[2]));
  } else if (what == "threads" && given == MPI_THREAD_MULTIPLE) {
    threads();
  } else if (what == "finalize") {
    finalize();
  } else if (what == "handler") {
    in_handler();
  } else if (what == "short") {
    too_short();
  } else if (what == "ends") {
    ends();
  } else if (what == "gpu") {
    if (rank == size - 1) CHECK(dlopen(argv[2], RTLD_NOW) != nullptr);
    for (int i = 0; i < 5; ++i) CHECK(sum_on(MPI_COMM_WORLD, 1) == size);
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && all == 0 && failures == 0) std::puts("all right");
  return all + failures == 0 ? 0 : 1;
}
