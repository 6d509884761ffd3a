// SPDX-License-Identifier: BSD-3-Clause
// The files behind shared memory. One file, since all cases share a directory of their own.

#include <papcoll/transport/shm/shm_file.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

using papcoll::ShmFile;
using papcoll::ShmMethod;
using papcoll::ShmTicket;

namespace {

constexpr std::size_t bytes = 64 * 1024;

/// Bytes that a call of fallocate() gets pages for before a signal comes; 0: none comes.
std::size_t between_signals = 0;

}  // namespace

/// In the place of the C library's. As Linux before 2024: a signal undoes what a call has done.
extern "C" int fallocate(int fd, int mode, off_t at, off_t n) {
  if (mode == 0 && between_signals != 0 && static_cast<std::size_t>(n) > between_signals) {
    errno = EINTR;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fallocate, fd, mode, at, n));
}

namespace {

/// Runs `body` in another process and returns its answer, a number from 0 to 255.
template <class Body> int in_another_process(Body&& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int answer = 255;
    try {
      answer = body();
    } catch (...) {
      answer = 254;
    }
    _exit(answer);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

struct stat status_of(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) s.st_size = -1;
  return s;
}
bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }
std::string path_of(const ShmTicket& t) { return "/dev/shm/" + t.name(); }

/// errno of the system_error that `action` throws; 0: none.
template <class Action> int error_of(Action&& action) {
  try {
    action();
    return 0;
  } catch (const papcoll::system_error& e) {
    return e.number;
  }
}

/// A file as a process leaves it that is killed: with the pid of a process that is not this one.
ShmTicket left_over() {
  ShmTicket t = ShmTicket::draw();
  t.pid = 1;
  static_cast<void>(ShmFile::make(t, ShmMethod::by_name, bytes));
  return t;
}

void make_old(const std::string& path, std::time_t seconds) {
  timespec times[2] = {};
  times[0].tv_sec = times[1].tv_sec = std::time(nullptr) - seconds;
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

bool write_to(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

/// Gives this process a /dev/shm of its own with room for one megabyte; false where that is
/// forbidden.
bool take_small_shm() {
  const std::string user = "0 " + std::to_string(getuid()) + " 1";
  const std::string group = "0 " + std::to_string(getgid()) + " 1";
  if (unshare(CLONE_NEWNS) != 0 &&
      !(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_to("/proc/self/setgroups", "deny") &&
        write_to("/proc/self/uid_map", user) && write_to("/proc/self/gid_map", group))) {
    return false;
  }
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") == 0;
}

/// Sweeping happens on making a named file.
void sweep() {
  ShmTicket t = ShmTicket::draw();
  const ShmFile f = ShmFile::make(t, ShmMethod::by_name, bytes);
  ShmFile::remove_name(t);
}

}  // namespace

TEST_CASE("another process finds the file by its ticket, and what is in it") {
  const ShmMethod way = GENERATE(ShmMethod::by_descriptor, ShmMethod::by_name);
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, way, bytes);
  REQUIRE(pwrite(file.fd(), "x", 1, 4711) == 1);
  const int answer = in_another_process([&] {
    const ShmFile other = ShmFile::open(ticket, way);
    char c = 0;
    if (pread(other.fd(), &c, 1, 4711) != 1) return 1;
    return static_cast<int>(c);
  });
  if (way == ShmMethod::by_name) ShmFile::remove_name(ticket);
  CHECK(answer == 'x');
}

TEST_CASE("a named file is its owner's alone, has the right size, and goes when it is removed") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_name, bytes);
  const struct stat s = status_of(path_of(ticket));
  ShmFile::remove_name(ticket);
  CHECK((s.st_mode & 0777) == 0600);
  CHECK(s.st_size == static_cast<off_t>(bytes));
  CHECK_FALSE(exists(path_of(ticket)));
  CHECK(fcntl(file.fd(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("a file without a name is nowhere") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_descriptor, bytes);
  CHECK_FALSE(exists(path_of(ticket)));
  CHECK(fcntl(file.fd(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("no two tickets are the same") {
  CHECK(ShmTicket::draw().nonce != ShmTicket::draw().nonce);
}

TEST_CASE("a descriptor that is another file is not opened") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_descriptor, bytes);
  ShmTicket wrong = ticket;
  wrong.nonce[0] ^= 1;
  CHECK(error_of([&] { ShmFile::open(wrong, ShmMethod::by_descriptor); }) == ENOENT);
  wrong = ticket;
  wrong.fd = 0;
  CHECK(error_of([&] { ShmFile::open(wrong, ShmMethod::by_descriptor); }) == ENOENT);
  wrong.fd = 1'000'000;
  CHECK(error_of([&] { ShmFile::open(wrong, ShmMethod::by_descriptor); }) == ENOENT);
}

TEST_CASE("a name is never taken over, and a missing one is an error") {
  ShmTicket ticket = ShmTicket::draw();
  {
    const ShmFile file = ShmFile::make(ticket, ShmMethod::by_name, bytes);
    ShmTicket again = ticket;
    CHECK(error_of([&] { ShmFile::make(again, ShmMethod::by_name, bytes); }) == EEXIST);
  }
  ShmFile::remove_name(ticket);
  CHECK(error_of([&] { ShmFile::open(ticket, ShmMethod::by_name); }) == ENOENT);
}

TEST_CASE("too large a file is an error and leaves nothing") {
  const ShmMethod way = GENERATE(ShmMethod::by_descriptor, ShmMethod::by_name);
  ShmTicket ticket = ShmTicket::draw();
  CHECK(error_of([&] { ShmFile::make(ticket, way, ~std::size_t{0} / 2 + 1); }) == EINVAL);
  CHECK_FALSE(exists(path_of(ticket)));
}

TEST_CASE("a limit on the size of files is an error and not a signal, and leaves nothing") {
  const ShmMethod way = GENERATE(ShmMethod::by_descriptor, ShmMethod::by_name);
  const int answer = in_another_process([&] {
    const rlimit limit{bytes, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    ShmTicket ticket = ShmTicket::draw();
    if (error_of([&] { ShmFile::make(ticket, way, bytes + 1); }) != EFBIG) return 2;
    if (exists(path_of(ticket))) return 3;
    ticket = ShmTicket::draw();
    const int of_smaller = error_of([&] { ShmFile::make(ticket, way, bytes).reserve(0, bytes); });
    ShmFile::remove_name(ticket);
    return of_smaller;
  });
  CHECK(answer == 0);
}

TEST_CASE("pages of a file larger than this process may make are no problem") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_descriptor, 2 * bytes);
  const int answer = in_another_process([&] {
    const rlimit limit{bytes, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    return error_of([&] { file.reserve(0, 2 * bytes); });
  });
  CHECK(answer == 0);
}

TEST_CASE("reserving gives pages, and only those asked for") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_descriptor, 64u << 20);
  struct stat s {};
  REQUIRE(fstat(file.fd(), &s) == 0);
  CHECK(s.st_blocks == 0);
  file.reserve(8192, 5u << 20);  // more than one piece
  REQUIRE(fstat(file.fd(), &s) == 0);
  CHECK(s.st_blocks * 512 >= 5 << 20);
  CHECK(s.st_blocks * 512 < 32 << 20);
  CHECK(s.st_size == 64 << 20);
}

TEST_CASE("reserving leaves what is there") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_descriptor, bytes);
  REQUIRE(pwrite(file.fd(), "x", 1, 100) == 1);
  file.reserve(0, bytes);
  char c = 0;
  REQUIRE(pread(file.fd(), &c, 1, 100) == 1);
  CHECK(c == 'x');
}

TEST_CASE("a full /dev/shm is an exception, and what was reserved before can be used") {
  constexpr int forbidden = 77;
  const int answer = in_another_process([] {
    if (!take_small_shm()) return forbidden;
    ShmTicket ticket = ShmTicket::draw();
    const ShmFile file = ShmFile::make(ticket, ShmMethod::by_name, 8u << 20);
    file.reserve(0, 512u << 10);
    if (error_of([&] { file.reserve(1u << 20, 4u << 20); }) != ENOSPC) return 1;
    auto* const memory = static_cast<char*>(
        mmap(nullptr, 512u << 10, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0));
    if (memory == MAP_FAILED) return 2;
    for (std::size_t i = 0; i < 512u << 10; i += 4096) memory[i] = 1;
    return 0;
  });
  if (answer == forbidden) {
    WARN("SKIPPED: a file system cannot be mounted here");
    return;
  }
  CHECK(answer == 0);
}

TEST_CASE("left-overs are swept once they are old") {
  const ShmTicket young = left_over();
  const ShmTicket old = left_over();
  make_old(path_of(young), 30);
  make_old(path_of(old), 90);
  sweep();
  const bool young_there = exists(path_of(young));
  ShmFile::remove_name(young);
  CHECK(young_there);
  CHECK_FALSE(exists(path_of(old)));
}

TEST_CASE("a file is not swept while a rank holds its lock") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_name, bytes);
  make_old(path_of(ticket), 90);
  const auto answer_of_sweeper = [&](bool locked) {
    struct flock lock {};
    lock.l_type = locked ? F_WRLCK : F_UNLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 3;
    lock.l_len = 1;
    REQUIRE(fcntl(file.fd(), F_SETLK, &lock) == 0);
    return in_another_process([&] {
      close(file.fd());  // what is open is left alone
      sweep();
      return exists(path_of(ticket)) ? 1 : 0;
    });
  };
  const int locked = answer_of_sweeper(true);
  const int unlocked = answer_of_sweeper(false);
  ShmFile::remove_name(ticket);
  CHECK(locked == 1);
  CHECK(unlocked == 0);
}

TEST_CASE("this process's own files are not swept") {
  ShmTicket ticket = ShmTicket::draw();
  const ShmFile file = ShmFile::make(ticket, ShmMethod::by_name, bytes);
  make_old(path_of(ticket), 90);
  sweep();
  const bool there = exists(path_of(ticket));
  ShmFile::remove_name(ticket);
  CHECK(there);
}

TEST_CASE("a file that this process joined keeps its lock when another is made") {
  // As another process makes it that takes long to be joined by all.
  const ShmTicket theirs = left_over();
  const ShmFile joined = ShmFile::open(theirs, ShmMethod::by_name);
  make_old(path_of(theirs), 90);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 3;
  lock.l_len = 1;
  REQUIRE(fcntl(joined.fd(), F_SETLK, &lock) == 0);
  sweep();
  const int held = in_another_process([&] {
    struct flock seen = lock;
    return fcntl(joined.fd(), F_GETLK, &seen) == 0 && seen.l_type == F_WRLCK ? 1 : 0;
  });
  const bool there = exists(path_of(theirs));
  ShmFile::remove_name(theirs);
  CHECK(held == 1);
  CHECK(there);
}

TEST_CASE("from another PID namespace a file is found by name only") {
  int pipe_ends[2] = {};
  REQUIRE(pipe(pipe_ends) == 0);
  struct Made {
    bool possible = false;
    ShmTicket unnamed;
    ShmTicket named;
  };
  const pid_t outer = fork();
  REQUIRE(outer >= 0);
  if (outer == 0) {
    Made made;
    made.possible = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
    if (!made.possible) _exit(write(pipe_ends[1], &made, sizeof made) > 0 ? 0 : 1);
    if (const pid_t inner = fork(); inner != 0) {
      waitpid(inner, nullptr, 0);
      _exit(0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    made.unnamed = ShmTicket::draw();
    made.named = ShmTicket::draw();
    const ShmFile a = ShmFile::make(made.unnamed, ShmMethod::by_descriptor, bytes);
    const ShmFile b = ShmFile::make(made.named, ShmMethod::by_name, bytes);
    if (write(pipe_ends[1], &made, sizeof made) < 0) _exit(1);
    close(pipe_ends[0]);
    pause();
    _exit(0);
  }
  Made made;
  REQUIRE(read(pipe_ends[0], &made, sizeof made) == static_cast<ssize_t>(sizeof made));
  if (made.possible) {
    CHECK(made.unnamed.pid == 1);
    CHECK(error_of([&] { ShmFile::open(made.unnamed, ShmMethod::by_descriptor); }) != 0);
    CHECK(error_of([&] { ShmFile::open(made.named, ShmMethod::by_name); }) == 0);
    ShmFile::remove_name(made.named);
  } else {
    WARN("SKIPPED: no PID namespaces here");
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  kill(outer, SIGKILL);
  waitpid(outer, nullptr, 0);
}

TEST_CASE("pages are had however often signals come") {
  constexpr std::size_t much = std::size_t{5} << 20U;
  for (const std::size_t n : {std::size_t{1} << 20U, std::size_t{100'000}, std::size_t{4096}}) {
    ShmTicket ticket = ShmTicket::draw();
    const ShmFile file = ShmFile::make(ticket, ShmMethod::by_descriptor, much);
    between_signals = n;
    file.reserve(4096, much - 4096);
    between_signals = 0;
    struct stat status {};
    REQUIRE(fstat(file.fd(), &status) == 0);
    CHECK(static_cast<std::size_t>(status.st_blocks) * 512 >= much - 4096);
  }
}
