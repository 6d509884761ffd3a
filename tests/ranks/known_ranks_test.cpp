// SPDX-License-Identifier: BSD-3-Clause
// Communicators of the same ranks: what they share, what each has for itself, and what is left when
// they are freed.

#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "catch.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;

namespace {

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                       std::filesystem::directory_iterator{});
}

/// Lines of /proc/self/maps that are papcoll's memory.
std::ptrdiff_t mappings() {
  std::ifstream maps{"/proc/self/maps"};
  std::ptrdiff_t n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find("papcoll-") != std::string::npos;
  return n;
}

/// Every way in which memory is used: words, chunk buffers, pools, channels. A sum that is wrong is
/// counted.
int errors_of_use(Communicator& comm, int seed) {
  const int size = comm.size();
  int wrong = papcoll::allreduce(comm, seed + comm.rank()) != seed * size + size * (size - 1) / 2;
  for (const std::size_t n : {std::size_t{300}, std::size_t{20'000}, std::size_t{100'000}}) {
    std::vector<int> data(n, seed + comm.rank());
    papcoll::scan(comm, data);
    const int to = comm.rank() + 1;
    wrong += data != std::vector<int>(n, seed * to + to * (to - 1) / 2);
  }
  std::vector<int> data(5000, 1);
  papcoll::allreduce<papcoll::Ring, papcoll::ShmTransport>(comm, data);
  wrong += data != std::vector<int>(5000, size);
  return wrong;
}

int sum_of(MPI_Comm comm, int mine) {
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
  return all;
}

bool shares_memory(const OwnComm& comm) {
  Communicator c{comm.get()};
  if (c.why_no_shared_memory().empty()) return true;
  WARN("SKIPPED: " << c.why_no_shared_memory());
  return false;
}

/// While it lives, this process may have little more address space than it has: less than an area
/// takes, and enough for MPI, which ends the job without.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(bool limits) {
    getrlimit(RLIMIT_AS, &before_);
    if (!limits) return;
    constexpr std::size_t more = std::size_t{16} << 20U;
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    rlimit limited = before_;
    limited.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limited);
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("further communicators of the same ranks take no descriptor", "[known]") {
  const OwnComm first;
  if (!shares_memory(first)) return;
  {
    Communicator comm{first.get()};
    CHECK(sum_of(first.get(), errors_of_use(comm, 1)) == 0);
  }
  const std::ptrdiff_t open_before = descriptors();
  const std::ptrdiff_t mapped_before = mappings();
  {
    std::vector<std::unique_ptr<OwnComm>> more;
    int wrong = 0;
    for (int i = 0; i < 30; ++i) {
      more.push_back(std::make_unique<OwnComm>());
      Communicator comm{more.back()->get()};
      wrong += errors_of_use(comm, i);
    }
    // All of them once more: what one wrote the others have not.
    for (int i = 0; i < 30; ++i) {
      Communicator comm{more[static_cast<std::size_t>(i)]->get()};
      wrong += errors_of_use(comm, 100 + i);
    }
    CHECK(sum_of(first.get(), wrong) == 0);
    CHECK(descriptors() == open_before);
    CHECK(mappings() == mapped_before + 30);
  }
  // However late the others free theirs.
  CHECK(mappings() == mapped_before);
  CHECK(descriptors() == open_before);
}

TEST_CASE("where one rank cannot have the memory of a further communicator, all go another way",
          "[known]") {
  const OwnComm first;
  if (!shares_memory(first)) return;
  Communicator comm{first.get()};
  const papcoll::Node* const before = comm.core().environment().node;
  for (const int victim : {comm.size() - 1, comm.size() / 2, 0}) {
    const OwnComm second;
    {
      const AddressSpaceLimit limit{comm.rank() == victim};
      Communicator without{second.get()};
      CHECK(sum_of(first.get(), papcoll::allreduce(without, 1) != comm.size()) == 0);
      if (victim != 0) CHECK_FALSE(without.why_no_shared_memory().empty());
    }
    // The next one has again all that the first has.
    const OwnComm third;
    Communicator again{third.get()};
    CHECK(again.why_no_shared_memory().empty());
    CHECK(again.why_no_cma() == comm.why_no_cma());
    const papcoll::Node* const node = again.core().environment().node;
    REQUIRE(node != nullptr);
    CHECK(node->arena == before->arena);
    CHECK(node->peers.pulls() == before->peers.pulls());
    CHECK(node->peers.maps() == before->peers.maps());
    CHECK(sum_of(first.get(), errors_of_use(again, 3)) == 0);
  }
}

TEST_CASE("where one rank cannot have the memory of a further communicator, none of MPI's is lost",
          "[known],[several]") {
  if (papcoll::detail::simulated) return;
  static int copies;
  static int deletes;
  copies = deletes = 0;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(
      [](MPI_Comm, int, void*, void*, void*, int* flag) {
        ++copies;
        *flag = 1;
        return static_cast<int>(MPI_SUCCESS);
      },
      [](MPI_Comm, int, void*, void*) {
        ++deletes;
        return static_cast<int>(MPI_SUCCESS);
      },
      &key, nullptr);
  const OwnComm first;
  Communicator comm{first.get()};
  constexpr int rounds = 3;
  for (int i = 0; i < rounds; ++i) {
    const OwnComm second;
    MPI_Comm_set_attr(second.get(), key, nullptr);
    const AddressSpaceLimit limit{comm.rank() == comm.size() - 1};
    Communicator without{second.get()};
    CHECK(sum_of(first.get(), papcoll::allreduce(without, 1) != comm.size()) == 0);
  }
  CHECK(copies >= rounds);
  CHECK(deletes == copies + rounds);
  MPI_Comm_free_keyval(&key);
}

TEST_CASE("that a program which computes had the processor is known to communicators for a second",
          "[known]") {
  const OwnComm mpi;
  if (!shares_memory(mpi)) return;
  const auto process = papcoll::detail::MpiProcess::get();
  process->record_preemption();
  {
    const OwnComm other;
    Communicator comm{other.get()};
    const papcoll::Waiter& waiter = comm.core().waiter();
    const bool is_known = process->was_preempted_lately();  // still
    if (is_known && !waiter.oversubscribed) CHECK(waiter.was_preempted());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{1100});
  const OwnComm other;
  Communicator comm{other.get()};
  const bool is_known = process->was_preempted_lately();  // by what has happened since
  if (!is_known) CHECK_FALSE(comm.core().waiter().was_preempted());
}

TEST_CASE("what is kept for communicators to come can be given back", "[known]") {
  std::ptrdiff_t open_before = 0;
  std::ptrdiff_t mapped_before = 0;
  const OwnComm team;
  if (!shares_memory(team)) return;
  for (int i = 0; i < 3; ++i) {
    papcoll::release_unused_memory();
    if (i == 1) {
      open_before = descriptors();
      mapped_before = mappings();
    }
    const OwnComm one;
    const OwnComm two;
    Communicator a{one.get()};
    Communicator b{two.get()};
    papcoll::release_unused_memory();  // nothing of these
    CHECK(sum_of(team.get(), errors_of_use(a, i) + errors_of_use(b, i)) == 0);
    // One rank may have given back what others still have.
    if (team.rank() != 0 || i == 2) papcoll::release_unused_memory();
  }
  papcoll::release_unused_memory();
  CHECK(descriptors() == open_before);
  CHECK(mappings() == mapped_before);
}

TEST_CASE("memory of freed communicators is zeros for the next ones", "[known]") {
  const OwnComm first;
  if (!shares_memory(first)) return;
  Communicator kept{first.get()};
  int wrong = errors_of_use(kept, 7);
  std::mt19937 draw{static_cast<unsigned>(kept.rank())};
  for (int i = 0; i < 60; ++i) {
    const OwnComm own;
    // Other first epochs: another kind of communicator now and then.
    const papcoll::Options options{.first_epoch = i % 3 == 0 ? 0xfffffff0U : 1U};
    Communicator comm{own.get(), options};
    wrong += errors_of_use(comm, i);
    wrong += errors_of_use(kept, i);
    std::this_thread::sleep_for(std::chrono::microseconds{draw() % 200});
  }
  CHECK(sum_of(first.get(), wrong) == 0);
}

TEST_CASE("what communicators of the same ranks lend does not meet", "[known]") {
  const OwnComm one;
  const OwnComm other;
  Communicator a{one.get()};
  Communicator b{other.get()};
  std::mt19937 draw{static_cast<unsigned>(a.rank()) + 5};
  const auto last = static_cast<std::size_t>(a.size() - 1);
  int wrong = 0;
  for (int i = 0; i < 200; ++i) {
    // The last rank reads late what the others have left in their pools for the first call.
    for (Communicator* comm : {&a, &b}) {
      const std::size_t n = 1000 + static_cast<std::size_t>(i) * 97;
      std::vector<std::int64_t> data(n, i + comm->rank());
      if (static_cast<std::size_t>(comm->rank()) == last && i % 4 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds{draw() % 300});
      }
      papcoll::scan(*comm, data);
      const std::int64_t to = comm->rank() + 1;
      wrong += data != std::vector<std::int64_t>(n, i * to + to * (to - 1) / 2);
    }
  }
  CHECK(sum_of(one.get(), wrong) == 0);
}

TEST_CASE("shared vectors outlive their communicator beside others", "[known]") {
  const OwnComm first;
  if (!shares_memory(first)) return;
  auto gone = std::make_unique<OwnComm>();
  Communicator comm{gone->get()};
  papcoll::shared_vector<int> kept(50'000, comm.rank(), papcoll::shared_allocator<int>{comm});
  gone.reset();
  int wrong = 0;
  for (int i = 0; i < 10; ++i) {
    const OwnComm own;
    Communicator next{own.get()};
    papcoll::shared_vector<int> mine(30'000, 1, papcoll::shared_allocator<int>{next});
    papcoll::allreduce(next, mine);
    wrong += !std::all_of(mine.begin(), mine.end(), [&](int v) { return v == next.size(); });
    // It lies where all ranks of this one see it, too.
    std::vector<int> sums(kept.size());
    papcoll::allreduce(next, kept, sums);
    wrong += sums.front() != next.size() * (next.size() - 1) / 2;
  }
  wrong += !std::all_of(kept.begin(), kept.end(), [&](int v) { return v == comm.rank(); });
  CHECK(sum_of(first.get(), wrong) == 0);
}

TEST_CASE("a persistent call knows that a shared_vector of another communicator was freed",
          "[known]") {
  const OwnComm first;
  const OwnComm second;
  if (!shares_memory(first)) return;
  Communicator owner{first.get()};
  Communicator comm{second.get()};
  const std::vector<int> in(10'000, 1);
  auto out = std::make_unique<papcoll::shared_vector<int>>(10'000, 0,
                                                           papcoll::shared_allocator<int>{owner});
  auto sum = papcoll::allreduce_init(comm, in, *out);
  sum();
  CHECK(out->front() == comm.size());
  out.reset();
  CHECK_THROWS_AS(sum(), papcoll::argument_error);
  MPI_Barrier(first.get());
}

TEST_CASE("what is freed beside a broken communicator is used again when all have left that",
          "[known]") {
  // A peer that was stopped in a call of the broken one may still write to its buffers, whichever
  // communicator's allocator they are from.
  const OwnComm first;
  if (!shares_memory(first)) return;
  constexpr std::size_t n = 1'000'000;
  papcoll::Options options;
  options.arena_bytes = std::size_t{8} << 20U;
  const OwnComm other_options;
  Communicator sound{other_options.get(), options};
  papcoll::shared_allocator<char> arena{sound};
  bool used_again = false;
  {
    const OwnComm second;
    Communicator broken{second.get(), options};
    char* const lent = arena.allocate(n);
    MPI_Barrier(first.get());
    broken.core().abort_node(papcoll::NodeControlBlock::Abort::deadline);
    arena.deallocate(lent, n);
    char* const next = arena.allocate(n);
    used_again = next == lent;
    arena.deallocate(next, n);
    MPI_Barrier(first.get());
  }
  CHECK_FALSE(used_again);
  MPI_Barrier(first.get());  // all have left it
  char* const one = arena.allocate(n);
  arena.deallocate(one, n);
  char* const other = arena.allocate(n);
  arena.deallocate(other, n);
  CHECK(one == other);
  MPI_Barrier(first.get());
}

TEST_CASE("other orders of ranks and parts of them have memory of their own", "[known]") {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = 0;
  for (int i = 0; i < 5; ++i) {
    for (const int colour : {0, rank % 2, rank / 2}) {
      for (const int key : {rank, size - rank}) {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, colour, key, &made);
        {
          Communicator comm{made};
          wrong += comm.why_no_shared_memory().empty() ? errors_of_use(comm, i) : 0;
        }
        MPI_Comm_free(&made);
      }
    }
  }
  CHECK(sum_of(MPI_COMM_WORLD, wrong) == 0);
}

TEST_CASE("threads make communicators of the same ranks at once", "[known]") {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    WARN("SKIPPED: this MPI library was not started for several threads");
    return;
  }
  constexpr std::size_t threads = 3;
  std::vector<std::vector<std::unique_ptr<OwnComm>>> comms(threads);
  for (auto& of_thread : comms) {
    for (int i = 0; i < 6; ++i) of_thread.push_back(std::make_unique<OwnComm>());
  }
  std::vector<int> wrong(threads);
  {
    std::vector<std::jthread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (const auto& own : comms[t]) {
          Communicator comm{own->get()};
          wrong[t] +=
              comm.why_no_shared_memory().empty() ? errors_of_use(comm, static_cast<int>(t)) : 0;
        }
      });
    }
  }
  CHECK(sum_of(MPI_COMM_WORLD, wrong[0] + wrong[1] + wrong[2]) == 0);
}
