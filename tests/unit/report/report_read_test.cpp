// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/profile/trace_files.hpp>
#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/summary.hpp>
#include <papcoll/report/totals.hpp>
#include <papcoll/report/words.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {
using papcoll::report::read_run;
using papcoll::report::Run;

RunWriter three_ranks() {
  RunWriter run{3};
  for (std::uint64_t i = 0; i < 10; ++i) {
    run.call({}, 2'000'000'000 + i * 1'000'000, {0, 500, 200});
  }
  return run;
}

bool has_note(const Run& run, std::string_view text) {
  for (const std::string& note : run.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

std::string why_not(const std::string& directory, const std::string& wanted = {}) {
  try {
    read_run(directory, wanted);
  } catch (const papcoll::argument_error& e) {
    return e.what();
  }
  return "it was read";
}

void overwrite(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary} << bytes;
}
}  // namespace

TEST_CASE("traces are read to the records, places and communicators of a run", "[report]") {
  const TemporaryDirectory dir;
  three_ranks().write(dir.path());
  const Run run = read_run(dir.path().string());
  CHECK(run.notes.empty());
  CHECK(run.world_size == 3);
  REQUIRE(run.ranks.size() == 3);
  CHECK(run.places.size() == 3);  // shared, though the ranks have the program elsewhere
  REQUIRE(run.communicators.size() == 1);
  CHECK(run.communicators[0].name == "MPI_COMM_WORLD");
  CHECK(run.communicators[0].members[2].trace == 2);
  CHECK(run.ranks[1].records.size() == 10);
  CHECK_FALSE(run.ranks[1].alive);
}

TEST_CASE("a ring has the latest records, and totals have all", "[report]") {
  RunWriter writer{2, 1, 16};
  for (std::uint64_t i = 0; i < 100; ++i) writer.call({}, 2'000'000'000 + i * 1000, {0, 100}, 50);
  const TemporaryDirectory dir;
  writer.write(dir.path());
  const Run run = read_run(dir.path().string());
  REQUIRE(run.ranks[0].records.size() == 16);
  CHECK(run.ranks[0].records.front().index == 85);
  CHECK(run.ranks[0].records.back().index == 100);
  const auto totals =
      totals_by_size(run, papcoll::report::Clocks{run}, papcoll::report::usual_ranges());
  REQUIRE(totals.size() == 1);
  CHECK(totals[0].calls == 200);
  CHECK(totals[0].time == Catch::Detail::Approx(100 * (150 + 50) * 1e-9));
  const papcoll::report::Clocks clocks{run};
  const auto calls = join_calls(run, clocks);
  const auto coverage = coverage_of(run, calls);
  CHECK(coverage.begun == 200);
  CHECK(coverage.kept == 32);
  CHECK(coverage.complete == 16);
}

TEST_CASE("a record that is being written does not count", "[report]") {
  RunWriter writer{2, 1, 16};
  for (std::uint64_t i = 0; i < 20; ++i) writer.call({}, 2'000'000'000 + i * 1000, {0, 100}, 50);
  writer.traces[0].ring[3].index = 0;
  writer.traces[0].ring[2].index = 3;  // of the round before
  const TemporaryDirectory dir;
  writer.write(dir.path());
  const Run run = read_run(dir.path().string());
  CHECK(run.ranks[0].records.size() == 14);
  CHECK(run.notes.empty());
}

TEST_CASE("what is wrong with a trace file is said in a sentence", "[report]") {
  const TemporaryDirectory dir;
  RunWriter writer = three_ranks();
  const std::filesystem::path last = dir.path() / TraceWriter::name(2);
  const auto check = [&](const std::string& bytes, std::string_view note) {
    writer.write(dir.path());
    overwrite(last, bytes);
    const Run run = read_run(dir.path().string());
    INFO(note);
    for (const std::string& n : run.notes) INFO(n);
    CHECK(has_note(run, note));
    CHECK(has_note(run, "There is no trace of rank 2"));
    CHECK(run.ranks.size() == 2);
  };
  const std::string good = writer.traces[2].bytes();
  check("", "rank-00002.trace: it has 0 bytes, fewer than a header: it was cut off");
  check(good.substr(0, 5000), "bytes: it was cut off");
  std::string text = good;
  text[0] = 'X';
  check(text, "it is no trace file of papcoll");
  const auto changed = [&](auto change) {
    TraceWriter other = writer.traces[2];
    std::string bytes = other.bytes();
    papcoll::profile::FileHeader h = other.header;
    change(h);
    std::memcpy(bytes.data(), &h, sizeof h);
    return bytes;
  };
  using Header = papcoll::profile::FileHeader;
  check(changed([](Header& h) { h.version = 99; }), "it is of version 99 of the format");
  check(changed([](Header& h) { h.byte_order = 0x04030201; }), "another byte order");
  check(changed([](Header& h) { h.records = ~std::uint64_t{0}; }), "its header is damaged");
  check(changed([](Header& h) { h.world_rank = 3; }), "its header is damaged");
  check(changed([](Header& h) { h.run = 1; }), "it is of another run");
  check(changed([](Header& h) { h.world_size = 4; }), "it says that there are 4 ranks");
  check(changed([](Header& h) { h.world_rank = 1; }), "it is of rank 1, of which");
  std::filesystem::remove(last);
  CHECK(has_note(read_run(dir.path().string()), "There is no trace of rank 2"));
}

TEST_CASE("traces are read where notes say that they are, or that is told", "[report]") {
  using papcoll::profile::file_name_of;
  using papcoll::profile::write_note;
  const TemporaryDirectory home;
  const TemporaryDirectory local;
  RunWriter writer = three_ranks();
  const std::uint64_t run = writer.traces[0].header.run;
  const auto note = [&](int rank) {
    return (home.path() / file_name_of(rank, run, "elsewhere")).string();
  };
  const auto trace = [&](const TemporaryDirectory& dir, int rank) {
    return dir.path() / file_name_of(rank, run, "trace");
  };
  const std::string directory = home.path().string();
  write_note(note(1), trace(local, 1).string());
  const std::string gone = "that of rank 1 was at " + papcoll::profile::host_name() + ":" +
                           trace(local, 1).string() + " and was removed";
  CHECK(why_not(directory).ends_with(directory + ": " + gone));

  overwrite(trace(home, 0), writer.traces[0].bytes());
  overwrite(trace(local, 1), writer.traces[1].bytes());
  overwrite(note(2), "farhost " + trace(local, 2).string() + "\n");
  CHECK(read_run(directory).ranks.size() == 2);
  const std::string far = "that of rank 2 is at farhost:" + trace(local, 2).string();
  CHECK(has_note(read_run(directory), "Of these traces, " + far +
                                          ": copy what is on other hosts to " + directory + "."));
  CHECK(why_not(directory, "78").find("; of traces elsewhere, " + far) != std::string::npos);

  // A trace that is brought home meanwhile is not read twice; one that is here is read, whatever
  // the host was called.
  overwrite(trace(home, 1), writer.traces[1].bytes());
  overwrite(trace(local, 2), writer.traces[2].bytes());
  const Run all = read_run(directory);
  CHECK(all.ranks.size() == 3);
  CHECK(all.notes.empty());

  for (int rank = 0; rank < 3; ++rank) std::filesystem::remove(trace(home, rank));
  for (int rank = 0; rank < 12; ++rank) {
    overwrite(note(rank), "farhost /tmp/" + file_name_of(rank, run, "trace") + "\n");
  }
  CHECK(why_not(directory).find("trace and those of 4 more ranks: copy") != std::string::npos);
}

TEST_CASE("what is no regular file is not read as a trace", "[report]") {
  const TemporaryDirectory dir;
  three_ranks().write(dir.path());
  // Who opens a pipe waits until someone writes to it.
  REQUIRE(mkfifo((dir.path() / TraceWriter::name(3)).c_str(), 0600) == 0);
  std::filesystem::create_directory(dir.path() / TraceWriter::name(4));
  const Run run = read_run(dir.path().string());
  CHECK(run.ranks.size() == 3);
  CHECK(has_note(run, "rank-00003.trace: it cannot be read: it is no regular file"));
  CHECK(has_note(run, "rank-00004.trace: it cannot be read: it is no regular file"));
}

TEST_CASE("of several runs in a directory one is told, and the others are named", "[report]") {
  const TemporaryDirectory dir;
  // A run, a newer one of as many ranks beside it, and one of more ranks that it has spawned.
  constexpr std::uint64_t job = 0xabcdef;
  const auto write = [&](std::uint64_t number, int ranks, int newer, bool spawned) {
    RunWriter run{ranks};
    run.call({}, 2'000'000'000, std::vector<double>(static_cast<std::size_t>(ranks), 0));
    for (TraceWriter& t : run.traces) {
      t.header.run = number;
      t.header.job = number == 0x12 ? job : 0;
      t.header.spawned = spawned ? 1 : 0;
      t.header.began_unix += newer;
      const auto rank = static_cast<std::size_t>(t.header.world_rank);
      overwrite(
          dir.path() / ("rank-" + std::to_string(rank) + "-" + std::to_string(number) + ".trace"),
          t.bytes());
    }
  };
  write(0x12, 2, 0, false);
  write(0x34, 2, 1, false);
  write(0x56, 3, 2, true);
  const std::string directory = dir.path().string();
  const Run newest = read_run(directory);
  CHECK(newest.number == 0x34);
  CHECK(has_note(newest,
                 "1 other file are of another run than what is told here: "
                 "0000000000000012, 2 ranks of solver (--run 0000000000000012 reports"));
  CHECK(has_note(newest, "0000000000000056, 3 ranks of solver, which MPI_Comm_spawn started"));
  CHECK(read_run(directory, "0000000000000012").number == 0x12);
  CHECK(read_run(directory, papcoll::report::run_text(job)).number == 0x12);
  const Run spawned = read_run(directory, "0000000000000056");
  CHECK(spawned.spawned);
  CHECK(spawned.ranks.size() == 3);
  CHECK(why_not(directory, "78").find("no trace of run 78 in ") != std::string::npos);
  CHECK(why_not(directory, "78").find("0000000000000034, 2 ranks of solver") != std::string::npos);
}

TEST_CASE("ranks that are each alone are told to be of another MPI's launcher", "[report]") {
  const TemporaryDirectory dir;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    RunWriter run{1};
    run.call({}, 2'000'000'000, {0});
    run.traces[0].header.run = i;
    overwrite(dir.path() / ("rank-00000-" + std::to_string(i) + ".trace"), run.traces[0].bytes());
  }
  const Run run = read_run(dir.path().string());
  CHECK(run.hint.find("3 processes of solver began together, and each of them is alone") == 0);
}

TEST_CASE("a report costs what its traces are, not what they say of other ranks", "[report]") {
  // One trace of a run of 16 million ranks, inside a call: the others are counted, not listed.
  constexpr int ranks = 1 << 24;
  const TemporaryDirectory dir;
  TraceWriter trace{7, ranks, 4096};
  trace.site(trace.module("/opt/solver", 0x10000), 0x100);
  trace.communicator("", 5, ranks, 77);
  constexpr std::uint64_t calls = 2000;
  for (std::uint64_t i = 0; i < calls; ++i) {
    trace.call({}, 2'000'000'000 + i * 1000, i + 1 < calls ? 2'000'000'500 + i * 1000 : 0);
  }
  trace.header.state = 0;
  trace.write(dir.path());
  const papcoll::report::Report r = papcoll::report::report_of(read_run(dir.path().string()));
  CHECK(has_note(r.run, "There is no trace of ranks 0–6 and 8–16777215: calls with them are"));
  REQUIRE(r.run.communicators.size() == 1);
  CHECK(r.run.communicators[0].size == ranks);
  CHECK(r.run.communicators[0].name == "communicator of 16777216 ranks");
  REQUIRE(r.run.communicators[0].members.size() == 1);
  CHECK(r.run.communicators[0].members[0].rank == 5);
  REQUIRE(r.calls.calls.size() == calls);
  CHECK(r.calls.records.size() == calls);
  CHECK(r.calls.calls[9].present == 1);
  CHECK_FALSE(r.calls.calls[9].complete);
  REQUIRE(r.ending.unfinished.size() == 1);
  CHECK(r.ending.unfinished[0].missing.empty());
  CHECK(r.ending.unfinished[0].untraced == ranks - 1);
}

TEST_CASE("of a rank inside thousands of calls a hundred are told", "[report]") {
  constexpr std::uint64_t calls = 5000;
  constexpr std::uint64_t most = 100;
  RunWriter writer{2, 1, 1 << 14};
  for (std::uint64_t i = 0; i < calls; ++i) {
    const std::uint64_t at = 2'000'000'000 + i * 1000;
    for (TraceWriter& t : writer.traces) t.call({}, at, at + 50);
    writer.traces[0].call({}, at + 100, 0);
    writer.traces[0].ring.back().thread = static_cast<std::uint16_t>(i);
    writer.traces[0].ring.back().number = calls + i;
  }
  writer.traces[0].communicators[0].calls = 2 * calls;
  for (TraceWriter& t : writer.traces) t.header.state = 0;
  const TemporaryDirectory dir;
  writer.write(dir.path());
  const papcoll::report::Report r = papcoll::report::report_of(read_run(dir.path().string()));
  CHECK(r.ending.unfinished.size() == most);
  CHECK(r.ending.more_unfinished == calls - most - 1);
  const std::vector<std::string> remarks = papcoll::report::remarks(r);
  CHECK(std::find(remarks.begin(), remarks.end(),
                  "Of 4899 more calls that ranks are inside nothing is told.") != remarks.end());
}

TEST_CASE("where nothing can be reported, an exception says why", "[report]") {
  const TemporaryDirectory dir;
  CHECK(why_not((dir.path() / "none").string()).find("does not exist") != std::string::npos);
  CHECK(why_not(dir.write("file", "")).find("is no directory") != std::string::npos);
  CHECK(why_not(dir.path().string()).find("no trace file rank-") != std::string::npos);
  dir.write(TraceWriter::name(0), "nothing");
  CHECK(why_not(dir.path().string()).find("it was cut off") != std::string::npos);
  RunWriter{2}.write(dir.path());
  CHECK(why_not(dir.path().string()).find("has called a collective") != std::string::npos);
}

TEST_CASE("a process lives that holds a lock on its trace", "[report]") {
  const TemporaryDirectory dir;
  three_ranks().write(dir.path());
  std::array<int, 2> ready{};
  REQUIRE(pipe(ready.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open((dir.path() / TraceWriter::name(1)).c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    fcntl(fd, F_SETLK, &lock);
    static_cast<void>(write(ready[1], "x", 1));
    for (;;) pause();
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const Run run = read_run(dir.path().string());
  CHECK_FALSE(run.ranks[0].alive);
  CHECK(run.ranks[1].alive);
  CHECK(run.ranks[1].records.size() == 10);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  CHECK_FALSE(read_run(dir.path().string()).ranks[1].alive);
}

TEST_CASE("records that are read while they are written are whole", "[report]") {
  const TemporaryDirectory dir;
  RunWriter writer{1, 1, 64};
  writer.call({}, 2'000'000'000, {0});
  writer.write(dir.path());
  const std::string file = (dir.path() / TraceWriter::name(0)).string();
  std::array<int, 2> ready{};
  REQUIRE(pipe(ready.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(file.c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    fcntl(fd, F_SETLK, &lock);
    auto* const all = static_cast<char*>(mmap(nullptr, writer.traces[0].header.file_bytes,
                                              PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    auto& header = *reinterpret_cast<papcoll::profile::FileHeader*>(all);
    auto* const ring = reinterpret_cast<papcoll::profile::Record*>(all + header.records_at);
    auto* const entry =
        reinterpret_cast<papcoll::profile::CommunicatorEntry*>(all + header.communicators_at);
    static_cast<void>(write(ready[1], "x", 1));
    for (std::uint64_t i = 2;; ++i) {
      entry->calls = i;
      std::atomic_ref{header.records_begun}.store(i, std::memory_order_release);
      papcoll::profile::Record& r = ring[(i - 1) % header.records];
      std::atomic_ref{r.index}.store(0, std::memory_order_release);
      std::atomic_thread_fence(std::memory_order_release);
      std::atomic_ref{r.arrival}.store(i * 3, std::memory_order_relaxed);
      std::atomic_ref{r.bytes}.store(i * 5, std::memory_order_relaxed);
      std::atomic_ref{r.number}.store(i - 1, std::memory_order_relaxed);
      std::atomic_ref{r.exit}.store(i * 3 + 1, std::memory_order_relaxed);
      std::atomic_ref{r.index}.store(i, std::memory_order_release);
    }
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  std::size_t records = 0;
  std::size_t broken = 0;
  for (int i = 0; i < 2000; ++i) {
    const Run run = read_run(dir.path().string());
    REQUIRE(run.ranks[0].alive);
    for (const auto& r : run.ranks[0].records) {
      if (r.index == 1) continue;
      ++records;
      if (r.arrival != r.index * 3 || r.bytes != r.index * 5 || r.number != r.index - 1) ++broken;
    }
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  INFO(records << " records");
  CHECK(broken == 0);
}
