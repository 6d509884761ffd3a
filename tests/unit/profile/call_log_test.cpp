// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "sanitizer.hpp"
#include "temporary_directory.hpp"

#include <papcoll/profile/call_log.hpp>
#include <papcoll/profile/trace_files.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace papcoll::profile;

namespace {

constexpr TableSizes small_tables{
    .modules = 4, .sites = 8, .communicators = 4, .totals = 16, .records = 64};

// Some return addresses: each in this program.
std::uint64_t place(int n) {
  return reinterpret_cast<std::uint64_t>(&place) + static_cast<std::uint64_t>(n);
}

// Whatever a reader accepts hangs together: all fields follow from the number of the call.
Message message_of(std::uint64_t number) {
  return {.bytes = number * 3 + 1,
          .type = static_cast<std::uint16_t>(number % 7),
          .op = static_cast<std::uint16_t>(number % 5),
          .root = static_cast<std::int32_t>(number % 11),
          .flags = 0};
}

// As a reader of another process does it.
bool read_record(const RankFile& file, std::uint64_t index, Record& into) {
  Record& r = file.records()[(index - 1) & (file.header().records - 1)];
  const std::atomic_ref tag(r.index);
  if (tag.load(std::memory_order_acquire) != index) return false;
  const auto get = [](auto& word) { return std::atomic_ref(word).load(std::memory_order_acquire); };
  into.arrival = get(r.arrival);
  into.exit = get(r.exit);
  into.bytes = get(r.bytes);
  into.number = get(r.number);
  into.site = get(r.site);
  into.communicator = get(r.communicator);
  into.root = get(r.root);
  into.collective = get(r.collective);
  into.type = get(r.type);
  into.op = get(r.op);
  into.thread = get(r.thread);
  into.flags = get(r.flags);
  return tag.load(std::memory_order_relaxed) == index;
}

bool hangs_together(const Record& r) {
  const Message m = message_of(r.number);
  return r.bytes == m.bytes && r.type == m.type && r.op == m.op && r.root == m.root &&
         r.arrival == r.number * 10 + 5 && (r.exit == 0 || r.exit == r.arrival + 3);
}

struct Sums {
  std::uint64_t calls = 0;
  std::uint64_t time = 0;
  std::uint64_t bytes = 0;
  std::uint64_t longest = 0;
};

Sums sums_of(const RankFile& file) {
  Sums all;
  for (std::uint64_t i = 0; i < file.header().totals; ++i) {
    const Total& t = file.totals()[i];
    if (t.key == 0) continue;
    all.calls += t.calls;
    all.time += t.time;
    all.bytes += t.bytes;
    all.longest = std::max(all.longest, t.longest);
  }
  return all;
}

void call(CallLog& log, std::uint32_t communicator, std::uint64_t& calls, std::uint32_t site) {
  const Message m = message_of(calls);
  const std::uint64_t arrival = calls * 10 + 5;
  const auto begun = log.begin(arrival, site, communicator, calls, MpiCollective::allreduce, m);
  log.end(begun, arrival + 3);
}

// Each thread makes n calls on a communicator of its own, from six places.
void record_by_threads(CallLog& log, std::size_t threads, std::uint64_t n) {
  std::vector<std::uint64_t> calls(threads, 0);
  std::vector<std::thread> writers;
  for (std::size_t t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < n; ++i) {
        call(log, static_cast<std::uint32_t>(t), calls[t],
             log.sites().find(place(static_cast<int>((i + t) % 6))));
      }
    });
  }
  for (std::thread& w : writers) w.join();
}

}  // namespace

TEST_CASE("the ring holds the latest calls, and the sums hold all", "[profile]") {
  const TemporaryDirectory directory;
  CallLog log((directory.path() / "rank-00000.trace").string(), small_tables, "", false);
  const std::uint32_t site = log.sites().find(place(1));
  std::uint64_t calls = 0;
  constexpr std::uint64_t n = 1000;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    bytes += message_of(i).bytes;
    call(log, 2, calls, site);
  }
  const FileHeader& h = log.file().header();
  CHECK(h.records_begun == n);
  CHECK(h.threads_used == 1);
  Record r{};
  CHECK_FALSE(read_record(log.file(), n - 64, r));
  for (std::uint64_t i = n - 64; i < n; ++i) {
    REQUIRE(read_record(log.file(), i + 1, r));
    CHECK(r.number == i);
    CHECK(r.communicator == 2);
    CHECK(r.site == site);
    CHECK(hangs_together(r));
  }
  const Sums all = sums_of(log.file());
  CHECK(all.calls == n);
  CHECK(all.time == 3 * n);
  CHECK(all.bytes == bytes);
  CHECK(all.longest == 3);
  CHECK(log.largest_message() == 4096);  // above 2998
}

TEST_CASE("a call that has not come back is in the ring and in no sum", "[profile]") {
  const TemporaryDirectory directory;
  CallLog log((directory.path() / "rank-00000.trace").string(), small_tables, "", false);
  std::uint64_t calls = 0;
  const auto begun = log.begin(7, 0, 0, calls, MpiCollective::barrier, {});
  Record r{};
  REQUIRE(read_record(log.file(), 1, r));
  CHECK(r.arrival == 7);
  CHECK(r.exit == 0);
  CHECK(r.root == -1);
  CHECK(calls == 1);
  CHECK(sums_of(log.file()).calls == 0);
  // Its record has gone when it comes back: that of the later call stays as it is.
  for (int i = 0; i < 64; ++i) {
    const auto other = log.begin(9, 0, 0, calls, MpiCollective::barrier, {});
    log.end(other, 11);
  }
  log.end(begun, 100);
  REQUIRE(read_record(log.file(), 65, r));
  CHECK(r.exit == 11);
  CHECK(sums_of(log.file()).calls == 65);
  CHECK(sums_of(log.file()).longest == 93);
}

TEST_CASE("threads record at the same time while others read", "[profile][threads]") {
  const TemporaryDirectory directory;
  CallLog log((directory.path() / "rank-00000.trace").string(), small_tables, "", true);
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t n = under_tsan ? 3000 : 30000;
  std::atomic<bool> done{false};
  std::uint64_t accepted = 0;
  std::uint64_t torn = 0;
  std::thread reader([&] {
    while (!done.load(std::memory_order_acquire)) {
      const std::uint64_t begun =
          std::atomic_ref(log.file().header().records_begun).load(std::memory_order_relaxed);
      for (std::uint64_t i = begun < 64 ? 1 : begun - 63; i <= begun; ++i) {
        Record r{};
        if (!read_record(log.file(), i, r)) continue;
        ++accepted;
        if (!hangs_together(r)) ++torn;
      }
    }
  });
  record_by_threads(log, threads, n);
  done.store(true, std::memory_order_release);
  reader.join();
  CHECK(torn == 0);
  CHECK(accepted > 0);
  const FileHeader& h = log.file().header();
  CHECK(h.records_begun == threads * n);
  CHECK(h.threads_used == threads);
  CHECK(h.sites_used == 6);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < n; ++i) bytes += message_of(i).bytes;
  const Sums all = sums_of(log.file());
  // Sixteen sums are too few for 6 sites and sizes of 17 classes: what found no room is counted.
  CHECK(all.calls + h.totals_lost == threads * n);
  CHECK(h.totals_lost > 0);
  CHECK(all.bytes < threads * bytes);
}

TEST_CASE("threads' sums are exact", "[profile][threads]") {
  const TemporaryDirectory directory;
  TableSizes sizes = small_tables;
  sizes.totals = 1024;
  CallLog log((directory.path() / "rank-00000.trace").string(), sizes, "", true);
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t n = under_tsan ? 2000 : 20000;
  record_by_threads(log, threads, n);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < n; ++i) bytes += message_of(i).bytes;
  const Sums all = sums_of(log.file());
  CHECK(all.calls == threads * n);
  CHECK(all.bytes == threads * bytes);
  CHECK(all.time == 3 * threads * n);
  CHECK(log.file().header().totals_lost == 0);
}

TEST_CASE("sites are noted with the object that they are in", "[profile]") {
  const TemporaryDirectory directory;
  RankFile file((directory.path() / "rank-00000.trace").string(), small_tables);
  Sites sites(file, "/usr/lib/libmpi.so");
  const std::uint32_t own = sites.find(place(1));
  CHECK(sites.find(place(1)) == own);
  CHECK(sites.find(place(2)) != own);
  const std::uint32_t libc =
      sites.find(reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "getpid")));
  const std::uint32_t nowhere = sites.find(16);
  const FileHeader& h = file.header();
  CHECK(h.sites_used == 4);
  REQUIRE(h.modules_used == 2);
  const Site& site = file.sites()[own];
  CHECK(site.address == place(1));
  const Module& program = file.modules()[site.module];
  CHECK(std::string(program.path.data(), program.path_bytes) == program_path());
  if (program.build_id_bytes == 0) {  // what tells instead whether it was changed
    struct stat about {};
    REQUIRE(stat(program_path().c_str(), &about) == 0);
    const FileStamp stamp = stamp_of(about);
    CHECK(stamp.bytes > 0);
    CHECK(std::memcmp(program.build_id.data(), &stamp, sizeof stamp) == 0);
  }
  CHECK(site.offset == site.address - program.base);
  const Module& system = file.modules()[file.sites()[libc].module];
  CHECK(std::string(system.path.data(), system.path_bytes).find("/libc.so") != std::string::npos);
  CHECK(system.build_id_bytes > 0);
  CHECK(file.sites()[nowhere].module == no_entry);

  // The table is full: what is known is still found.
  for (int i = 3; i < 7; ++i) CHECK(sites.find(place(i)) != no_entry);
  for (int i = 7; i < 100; ++i) CHECK(sites.find(place(i)) == no_entry);
  CHECK(sites.find(place(1)) == own);
  CHECK(h.sites_used == 8);
}

TEST_CASE("calls that MPI makes itself are told apart", "[profile]") {
  const TemporaryDirectory directory;
  RankFile file((directory.path() / "rank-00000.trace").string(), small_tables);
  Sites sites(file, program_path());
  CHECK(sites.find(place(1)) == Sites::of_mpi);
  CHECK(sites.find(place(1)) == Sites::of_mpi);
  CHECK(file.header().sites_used == 0);
}

TEST_CASE("what stops a trace file from being made is said", "[profile]") {
  const TemporaryDirectory directory;
  const std::string text = directory.write("file", "text");
  CHECK_THROWS_WITH(make_directory(text + "/below"),
                    Catch::Matchers::Contains("cannot make the directory " + text + "/below") ||
                        Catch::Matchers::Contains("cannot make the directory " + text + ":"));
  CHECK_THROWS_WITH(RankFile(text + "/rank-00000.trace", small_tables),
                    Catch::Matchers::Contains("cannot make " + text + "/rank-00000.trace: "));
  TableSizes sizes = small_tables;
  sizes.records = std::uint64_t{1} << 50U;
  const std::string path = (directory.path() / "rank-00000.trace").string();
  CHECK_THROWS_WITH(RankFile(path, sizes), Catch::Matchers::Contains("MiB for " + path));
  CHECK(access(path.c_str(), F_OK) != 0);
  make_directory((directory.path() / "a/b/c").string());
  make_directory((directory.path() / "a/b/c").string());
  // One that is there is another run's.
  const RankFile made(path, small_tables);
  CHECK_THROWS_WITH(RankFile(path, small_tables), Catch::Matchers::Contains("File exists"));
}

TEST_CASE("a trace that cannot be copied leaves no piece of it", "[profile]") {
  const TemporaryDirectory directory;
  const RankFile file((directory.path() / "here").string(), small_tables);
  const std::filesystem::path copy = directory.path() / "there";
  file.copy_to(copy.string());
  CHECK(std::filesystem::file_size(copy) == file.header().file_bytes);
  std::filesystem::remove(copy);
  // A file system that becomes full looks like this limit.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit little = before;
  little.rlim_cur = 5000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
  CHECK_THROWS_WITH(file.copy_to(copy.string()), Catch::Matchers::Contains("cannot write"));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("what ended runs left is removed, and a run that goes on keeps all of it", "[profile]") {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const fs::path home = directory.path() / "home";
  const fs::path local = directory.path() / "papcoll-profile-1";
  make_directory(home.string());
  make_directory(local.string());
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // a rank whose trace is elsewhere; the other's is home already
    const std::string path = (local / file_name_of(0, 1, "trace")).string();
    const RankFile file(path, small_tables);
    write_note((home / file_name_of(0, 1, "elsewhere")).string(), path);
    { const RankFile other((home / file_name_of(1, 1, "trace")).string(), small_tables); }
    static_cast<void>(!write(ready[1], "!", 1));
    while (true) pause();
  }
  char go = 0;
  REQUIRE(read(ready[0], &go, 1) == 1);
  const auto ended = [&](const char* name) {
    return directory.write("home/" + std::string(name), "of a run that ended");
  };
  const std::string part = ended("rank-00002-0000000000000001.trace.part");
  ended("rank-00000.trace");
  ended("rank-00002-0000000000000002.trace.part");
  const std::string of_job = (home / file_name_of(0, 3, "trace")).string();
  { RankFile(of_job, small_tables).header().job = 77; }
  const std::string far = directory.write("home/" + file_name_of(0, 4, "elsewhere"),
                                          "farhost /tmp/" + file_name_of(0, 4, "trace") + "\n");
  const std::string beside = ended("rank-00001-0000000000000004.trace");
  const std::string others = ended("notes.trace");
  const std::string of_tools[] = {ended("rank-1.trace"), ended("rank-00001-new.trace")};
  const std::string pipe_name = (home / "rank-00009.trace").string();
  REQUIRE(mkfifo(pipe_name.c_str(), 0600) == 0);

  // What its rank never wrote into.
  const std::string never = directory.write("home/" + file_name_of(0, 5, "trace"), "");
  fs::last_write_time(never, fs::file_time_type::clock::now() - std::chrono::minutes(2));

  const auto left = [&] { return std::distance(fs::directory_iterator(home), {}); };
  CHECK(remove_ended_runs(home.string(), 77, true));
  CHECK(left() == 13);  // no note of this host is of a run that ended
  CHECK(remove_ended_runs(home.string(), 77, false));
  for (const std::string& kept :
       {part, of_job, far, beside, others, of_tools[0], of_tools[1], pipe_name}) {
    INFO(kept);
    CHECK(fs::exists(kept));
  }
  CHECK(left() == 10);  // with the child's
  CHECK(fs::exists(local / file_name_of(0, 1, "trace")));

  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  CHECK(remove_ended_runs(home.string(), 0, true));
  CHECK_FALSE(fs::exists(local));
  CHECK_FALSE(fs::exists(home / file_name_of(0, 1, "elsewhere")));
  CHECK(fs::exists(home / file_name_of(1, 1, "trace")));
  const auto month_ago = fs::file_time_type::clock::now() - std::chrono::hours(31 * 24);
  fs::last_write_time(far, month_ago);
  CHECK_FALSE(remove_ended_runs(home.string(), 0, false));
  CHECK(left() == 4);  // what is no trace, and the pipe
}

TEST_CASE("a trace that may not be read is kept, since its run may go on", "[profile]") {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms::all);
  const std::string trace = directory.write(file_name_of(0, 1, "trace"), "");
  fs::resize_file(trace, 100);
  fs::permissions(trace, fs::perms::none);
  // Root may read everything.
  const bool is_root = geteuid() == 0;
  if (is_root) REQUIRE(seteuid(65534) == 0);
  remove_ended_runs(directory.path().string(), 0, false);
  if (is_root) REQUIRE(seteuid(0) == 0);
  CHECK(fs::exists(trace));
  fs::permissions(trace, fs::perms::owner_all);
  remove_ended_runs(directory.path().string(), 0, false);
  CHECK_FALSE(fs::exists(trace));
}

TEST_CASE("a note that is being written, or names another trace, is none", "[profile]") {
  const TemporaryDirectory directory;
  const std::string note = (directory.path() / file_name_of(3, 1, "elsewhere")).string();
  const std::string trace = "/a place/" + file_name_of(3, 1, "trace");
  write_note(note, trace);
  const auto read = read_note(note);
  REQUIRE(read);
  CHECK(read->host == host_name());
  CHECK(read->path == trace);
  for (const std::string& text :
       {std::string(), "host " + trace, std::string("host /etc/passwd\n"), std::string("host\n")}) {
    std::filesystem::remove(note);
    CHECK_FALSE(read_note(directory.write(file_name_of(3, 1, "elsewhere"), text)));
  }
  CHECK_FALSE(read_note(directory.path() / "none"));
  write_note("/no/such/directory/note", trace);
}

TEST_CASE("a killed process leaves what it recorded, and its lock is gone", "[profile]") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "rank-00000.trace").string();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    CallLog log(path, small_tables, "", false);
    std::uint64_t calls = 0;
    for (int i = 0; i < 10; ++i) call(log, 0, calls, log.sites().find(place(1)));
    static_cast<void>(log.begin(1, 0, 0, calls, MpiCollective::allreduce, {}));
    const char go = 1;
    static_cast<void>(!write(ready[1], &go, 1));
    while (true) pause();
  }
  char go = 0;
  REQUIRE(read(ready[0], &go, 1) == 1);
  const auto is_locked = [&] {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    const int status = fcntl(descriptor, F_GETLK, &lock);
    close(descriptor);
    return status == 0 && lock.l_type != F_UNLCK;
  };
  CHECK(is_locked());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK_FALSE(is_locked());
  close(ready[0]);
  close(ready[1]);

  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  FileHeader h{};
  REQUIRE(pread(descriptor, &h, sizeof h, 0) == static_cast<ssize_t>(sizeof h));
  CHECK(h.magic == trace_magic);
  CHECK(h.version == trace_version);
  CHECK(h.records_begun == 11);
  CHECK(h.state == static_cast<std::uint32_t>(RunState::running));
  Record last{};
  REQUIRE(
      pread(descriptor, &last, sizeof last, static_cast<off_t>(h.records_at + 10 * sizeof last)) ==
      static_cast<ssize_t>(sizeof last));
  CHECK(last.index == 11);
  CHECK(last.exit == 0);
  close(descriptor);
}

TEST_CASE("keys of sums go there and back", "[profile]") {
  for (const std::uint32_t site : {0U, 77U, no_entry}) {
    for (const unsigned size : {0U, 1U, 64U}) {
      const TotalKey key{site, MpiCollective::neighbor_alltoallw,
                         record_nonblocking | record_persistent, size};
      const TotalKey back = unpacked(packed(key));
      CHECK(packed(key) != 0);
      CHECK(back.site == site);
      CHECK(back.collective == key.collective);
      CHECK(back.flags == key.flags);
      CHECK(back.size_class == size);
    }
  }
  CHECK(size_class_of(0) == 0);
  CHECK(size_class_of(1) == 1);
  CHECK(size_class_of(1023) == 10);
  CHECK(size_class_of(1024) == 11);
}
