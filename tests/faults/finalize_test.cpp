// SPDX-License-Identifier: BSD-3-Clause
// The ends of a program: papcoll's objects that exist before MPI_Init, live longer than MPI, or are
// used outside of it. An MPI function that is called after MPI_Finalize ends the job with an error.
//
//   finalize_test outlive   a Communicator of main is destroyed after MPI_Finalize
//   finalize_test bare      only bare MPI communicators are used, MPI_COMM_WORLD among them
//   finalize_test global    objects with static storage duration
//   finalize_test unwind    an exception leaves main's scope after MPI_Finalize
//   finalize_test unused    papcoll is included and not used

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// Made before main, destroyed after it.
papcoll::Algorithm global_algorithm = papcoll::algorithm("DynamicLeader");
papcoll::Options global_options;
std::optional<papcoll::Communicator> global_comm;
std::optional<papcoll::Request> global_request;

bool failed = false;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  failed = true;
}

template <class Comm> void use(Comm& comm) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (const papcoll::Algorithm& a :
       {papcoll::Algorithm{}, global_algorithm, papcoll::algorithm("Ring+ShmTransport"),
        papcoll::algorithm("Ring+MpiTransport")}) {
    expect(papcoll::allreduce(comm, 1, papcoll::sum, a) == size, "a result");
  }
  std::vector<int> ones(1000, 1);
  papcoll::iallreduce(comm, ones).wait();
  expect(ones.back() == size, "a non-blocking result");
}

template <class Error, class Action>
void expect_throw(Action&& action, const char* what, const char* text = "") {
  try {
    action();
  } catch (const Error& e) {
    if (std::string_view{e.what()}.find(text) != std::string_view::npos) return;
    std::printf("said: %s\n", e.what());
  } catch (const std::exception& e) {
    std::printf("threw: %s\n", e.what());
  }
  expect(false, what);
}

void outlive() {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  papcoll::Communicator self{MPI_COMM_SELF};
  use(comm);
  MPI_Finalize();
  expect_throw<papcoll::broken_communicator>([&] { papcoll::barrier(comm); },
                                             "a call after MPI_Finalize");
  expect_throw<papcoll::broken_communicator>([&] { papcoll::barrier(self); },
                                             "a call on MPI_COMM_SELF after MPI_Finalize");
  papcoll::Communicator moved{std::move(comm)};
}

void bare() {
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  use(world);
  use(duplicate);  // never freed
  MPI_Finalize();
  expect_throw<papcoll::argument_error>([&] { papcoll::barrier(world); },
                                        "a bare call after MPI_Finalize",
                                        "a collective or a Communicator after MPI_Finalize");
}

void global() {
  global_comm.emplace(MPI_COMM_WORLD, global_options);
  use(*global_comm);
  global_request.emplace(papcoll::ibarrier(*global_comm));
  global_request->wait();
  MPI_Finalize();
}

void unwind() {
  try {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    use(comm);
    MPI_Finalize();
    throw std::runtime_error{"of the user's"};
  } catch (const std::runtime_error&) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "unused";
  MPI_Comm world = MPI_COMM_WORLD;
  expect_throw<papcoll::argument_error>([&] { papcoll::barrier(world); },
                                        "a bare call before MPI_Init", "call MPI_Init first");
  expect_throw<papcoll::argument_error>([] { papcoll::Communicator{MPI_COMM_WORLD}; },
                                        "a Communicator before MPI_Init", "call MPI_Init first");
  MPI_Init(&argc, &argv);
  if (what == "outlive") {
    outlive();
  } else if (what == "bare") {
    bare();
  } else if (what == "global") {
    global();
  } else if (what == "unwind") {
    unwind();
  } else {
    MPI_Finalize();
  }
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
