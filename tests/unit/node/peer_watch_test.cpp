// SPDX-License-Identifier: BSD-3-Clause
// Ranks are forked processes, the test itself is rank 0.

#include <papcoll/node/waiting/liveness.hpp>
#include <papcoll/transport/shm/shm_file.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <new>
#include <optional>

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

using papcoll::PeerLiveness;
using papcoll::ShmFile;
using papcoll::ShmMethod;
using papcoll::ShmTicket;

namespace {

constexpr int ranks = 4;

/// What the ranks share.
struct Shared {
  std::array<PeerLiveness::Departed, ranks> departed{};
  std::atomic<int> ready{0};  ///< how often a rank said so
  std::atomic<bool> no_namespaces{false};
  std::atomic<bool> may_end{false};
};

class Team {
 public:
  Team() {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    shared_ = new (memory) Shared;
    ShmTicket ticket = ShmTicket::draw();
    file_ = ShmFile::make(ticket, ShmMethod::by_descriptor, 4096);
    watch_.emplace(file_.fd(), 0, ranks);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    for (const pid_t p : processes_) {
      if (p <= 0) continue;
      kill(p, SIGKILL);
      waitpid(p, nullptr, 0);
    }
    watch_.reset();
    munmap(shared_, sizeof(Shared));
  }

  /// Starts all other ranks; `then` is what each does once it holds its lock.
  template <class Then> void start(Then&& then) {
    for (int r = 1; r < ranks; ++r) start_one(r, then);
    await_ready(ranks - 1);
  }
  void await_ready(int times) const {
    while (shared_->ready < times) sched_yield();
  }

  /// Waits until rank r has ended, or was stopped, and leaves it unreaped.
  void await(int r, int what) {
    siginfo_t info{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(process(r)), &info, what | WNOWAIT) == 0);
  }

  void send(int r, int signal) { REQUIRE(kill(process(r), signal) == 0); }
  void reap(int r) {
    REQUIRE(waitpid(process(r), nullptr, 0) == process(r));
    process(r) = 0;
  }
  int find_dead() const { return watch_->find_dead(shared_->departed.data()); }
  bool is_gone(int r) const { return watch_->is_gone(r); }
  Shared& shared() const { return *shared_; }
  int fd() const { return file_.fd(); }

 private:
  template <class Then> void start_one(int r, Then& then) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child != 0) {
      process(r) = child;
      return;
    }
    {
      std::optional<PeerLiveness> mine{std::in_place, file_.fd(), r, ranks};
      ++shared_->ready;
      then(r, mine);
    }
    _exit(0);
  }

  pid_t& process(int r) { return processes_[static_cast<std::size_t>(r)]; }

  Shared* shared_ = nullptr;
  ShmFile file_;
  std::optional<PeerLiveness> watch_;
  std::array<pid_t, ranks> processes_{};
};

void sleep_on(int, std::optional<PeerLiveness>&) {
  for (;;) pause();
}

}  // namespace

TEST_CASE("nobody is dead while all live") {
  Team team;
  team.start(sleep_on);
  CHECK(team.find_dead() == -1);
}

TEST_CASE("a killed rank is dead before its parent has asked for it, and afterwards") {
  Team team;
  team.start(sleep_on);
  team.send(2, SIGKILL);
  team.await(2, WEXITED);  // a zombie
  CHECK(team.find_dead() == 2);
  CHECK(team.is_gone(2));
  CHECK_FALSE(team.is_gone(1));
  team.reap(2);
  CHECK(team.find_dead() == 2);
}

TEST_CASE("a rank that ends without leaving is dead") {
  Team team;
  team.start([](int r, auto& mine) {
    if (r == 3) _exit(0);
    sleep_on(r, mine);
  });
  team.await(3, WEXITED);
  CHECK(team.find_dead() == 3);
}

TEST_CASE("a stopped rank is alive") {
  Team team;
  team.start(sleep_on);
  team.send(1, SIGSTOP);
  team.await(1, WSTOPPED);
  CHECK(team.find_dead() == -1);
  CHECK_FALSE(team.is_gone(1));
  team.send(1, SIGKILL);  // which works on stopped processes, too
  team.await(1, WEXITED);
  CHECK(team.find_dead() == 1);
}

TEST_CASE("a rank that has left in good order is not dead, whatever it does then") {
  Team team;
  team.start([&](int r, auto& mine) {
    if (r != 1) sleep_on(r, mine);
    team.shared().departed[1] = 1;
    mine.reset();
    _exit(0);
  });
  team.await(1, WEXITED);
  CHECK(team.find_dead() == -1);
  CHECK(team.is_gone(1));
  team.send(3, SIGKILL);
  team.await(3, WEXITED);
  CHECK(team.find_dead() == 3);
}

TEST_CASE("a child of a rank neither ends nor replaces it") {
  Team team;
  team.start([&](int r, auto& mine) {
    const pid_t rank = getpid();
    if (r == 2 && fork() == 0) {
      mine.reset();  // as a copy of the rank's Communicator that is destroyed
      ++team.shared().ready;
      // Outlives the rank and has the file open meanwhile.
      while (getppid() == rank) usleep(1000);
      usleep(200'000);
      _exit(0);
    }
    sleep_on(r, mine);
  });
  team.await_ready(ranks);
  CHECK(team.find_dead() == -1);
  CHECK(team.shared().departed[2] == 0);
  team.send(2, SIGKILL);
  team.await(2, WEXITED);
  CHECK(team.find_dead() == 2);
}

TEST_CASE("locks are seen across PID namespaces") {
  Team team;
  team.start([&](int r, auto& mine) {
    if (r != 1) sleep_on(r, mine);
    // Rank 1 leaves its place to a process that has number 1 in a namespace of its own.
    const bool possible = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
    if (!possible) {
      team.shared().no_namespaces = true;
      ++team.shared().ready;
      sleep_on(r, mine);
    }
    mine.reset();
    if (const pid_t child = fork(); child != 0) {
      waitpid(child, nullptr, 0);
      _exit(0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    mine.emplace(team.fd(), 1, ranks);
    ++team.shared().ready;
    while (!team.shared().may_end) usleep(1000);
    _exit(0);
  });
  team.await_ready(ranks);
  if (team.shared().no_namespaces) {
    WARN("SKIPPED: no PID namespaces here");
    return;
  }
  CHECK(team.find_dead() == -1);
  team.shared().may_end = true;
  team.await(1, WEXITED);
  CHECK(team.find_dead() == 1);
}

TEST_CASE("a file that cannot be locked is an error and not a dead peer") {
  Team team;
  CHECK_THROWS_AS((PeerLiveness{-1, 0, ranks}), papcoll::system_error);
}
