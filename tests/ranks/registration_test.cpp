// SPDX-License-Identifier: BSD-3-Clause
// Registered buffers: right under every algorithm wherever they lie, and what cannot be registered.
// One file, since all cases share buffers at chosen places of a page.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "matrix.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;
using papcoll::Options;
using papcoll::Registration;

namespace {

constexpr std::size_t a_page = 4096;
constexpr std::chrono::seconds some_time{30};

/// Pages of this process alone.
class Pages {
 public:
  explicit Pages(std::size_t bytes, int kind = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1,
                 int may = PROT_READ | PROT_WRITE)
      : bytes_(bytes), p_(mmap(nullptr, bytes, may, kind, fd, 0)) {
    if (p_ == MAP_FAILED) throw std::bad_alloc();
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(p_, bytes_); }

  char* data() const noexcept { return static_cast<char*>(p_); }
  std::size_t size() const noexcept { return bytes_; }
  std::span<char> span() const noexcept { return {data(), bytes_}; }

 private:
  std::size_t bytes_;
  void* p_;
};

/// Why buffers of this communicator cannot be registered, whatever they are.
std::string why_none(Communicator& comm) {
  const Pages page{a_page};
  return Registration{comm, page.span()}.no_sharing();
}

#define NEEDS_REGISTRATION(comm)                                    \
  if (const std::string why = why_none(comm); !why.empty()) {       \
    WARN("SKIPPED: nothing can be registered here, since " << why); \
    return;                                                         \
  }

/// Where the registered elements of a buffer begin in a page, and on which ranks they are so.
struct Where {
  static inline Communicator* comm = nullptr;
  static inline std::size_t offset = 0;
  static inline bool by_turns = false;  ///< every other buffer only
  static inline std::size_t buffers = 0;
};

/// As a vector of pieces between guards, of which all but the guards are registered.
class RegisteredPieces {
 public:
  RegisteredPieces(std::size_t n, const matrix::Piece& fill)
      : pages_(n * sizeof fill + 3 * a_page), size_(n) {
    constexpr std::size_t guard = 3;
    char* const first = pages_.data() + a_page + Where::offset - guard * sizeof fill;
    data_ = reinterpret_cast<matrix::Piece*>(first);
    std::fill(begin(), end(), fill);
    if (Where::by_turns && ++Where::buffers % 2 == 0) return;
    registration_ = Registration{*Where::comm, data_ + guard, n - 2 * guard};
  }
  matrix::Piece* data() noexcept { return data_; }
  const matrix::Piece* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  matrix::Piece* begin() noexcept { return data_; }
  matrix::Piece* end() noexcept { return data_ + size_; }
  const matrix::Piece* begin() const noexcept { return data_; }
  const matrix::Piece* end() const noexcept { return data_ + size_; }

 private:
  Pages pages_;
  std::size_t size_;
  matrix::Piece* data_;
  Registration registration_;
};

using Runner = matrix::Runner<Communicator, matrix::GuardedIn<RegisteredPieces>>;

/// Of elements of 8 bytes: at the beginning of a page, one element after it, one before its end,
/// and askew.
constexpr std::array<std::size_t, 4> offsets{0, 8, a_page - 8, 4};

double element_of(int rank, std::size_t i) { return static_cast<double>(i % 1000) * (rank + 1); }

bool is_sum(std::span<const double> data, int ranks) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != static_cast<double>(i % 1000) * ranks * (ranks + 1) / 2) return false;
  }
  return true;
}

/// What reads and writes its peers' buffers; on several nodes what is chosen.
papcoll::Algorithm peer_slices_if_possible(const Communicator& comm) {
  papcoll::Algorithm named = papcoll::algorithm("PeerSlices");
  return runs_on(comm, named) ? named : papcoll::Algorithm{};
}

/// An allreduce whose result is known.
void check_allreduce(Communicator& comm, std::span<double> data) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = element_of(comm.rank(), i);
  papcoll::allreduce(comm, data);
  CHECK(is_sum(data, comm.size()));
}

/// Lines of /proc/self/maps.
std::size_t mappings() {
  std::ifstream file{"/proc/self/maps"};
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

std::string line_of(const void* address) {
  std::ifstream file{"/proc/self/maps"};
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream{line} >> std::hex >> begin >> dash >> end;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (begin <= at && at < end) return line;
  }
  return "nothing";
}

bool is_shared_mapping(const void* address) {
  return line_of(address).find("rw-s") != std::string::npos;
}

/// Kilobytes of a line of /proc/self/status.
std::size_t status_kb(const std::string& key) {
  std::ifstream file{"/proc/self/status"};
  std::size_t kb = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) kb = std::strtoull(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return kb;
}

/// What a child made by fork() ends with: its status, or a signal as a negative number.
template <class Body> int child_ends_with(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int s : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(s, SIG_DFL);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("registered buffers under all algorithms", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = some_time}};
  NEEDS_REGISTRATION(comm)
  Where::comm = &comm;
  const std::vector<std::size_t> counts{1, 511, 512, 513, 1500};
  std::size_t next = 0;
  for (const char* transport : {"ShmTransport", "MpiTransport"}) {
    Runner runner{comm};
    for (const matrix::Candidate& c : matrix::candidates(transport)) {
      Where::offset = offsets[next % offsets.size()];
      // On some ranks some buffers only, others on all.
      Where::by_turns = next / offsets.size() % 2 == 1 && comm.rank() % 2 == 0;
      const std::size_t k = next % 3;
      const std::vector<std::size_t> some{counts[k], counts[k + 2]};
      if (runs_on(comm, c.algorithm)) runner.run_all(c, some);
      ++next;
    }
    CHECK(runner.problems() == "");
  }
}

TEST_CASE("registered buffers of all sizes at all offsets", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = some_time, .chunk_bytes = 16384}};
  NEEDS_REGISTRATION(comm)
  if (comm.size() > 4) return;  // they would take long, and show the same
  Where::comm = &comm;
  const auto many_chunks = static_cast<std::size_t>((1 << 16) / comm.size());
  const std::vector<std::size_t> counts{1, 510, 512, 514, 3000, many_chunks};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    Where::offset = offsets[i];
    Where::by_turns = i % 2 == 1 && comm.rank() % 2 == 0;
    Runner runner{comm};
    for (const matrix::Candidate& c : matrix::candidates("ShmTransport")) {
      const bool plain = c.name().find(':') == std::string::npos;
      const bool reads_peers = c.algorithm.spec().arrival != nullptr;
      if (plain && (reads_peers || c.row == nullptr) && runs_on(comm, c.algorithm)) {
        runner.run_all(c, counts);
      }
    }
    CHECK(runner.problems() == "");
  }
}

TEST_CASE("registered buffers in a hierarchy", "[registration][hierarchical]") {
  const OwnComm other;
  const bool on_one_node = Communicator{other.get()}.nodes() == 1;
  const OwnComm own;
  Options options;
  options.deadline = some_time;
  for (int r = 0; on_one_node && r < own.size(); ++r) {  // else the nodes are the groups
    if (options.groups.empty()) options.groups.emplace_back();
    options.groups.front().push_back(r / 2);
  }
  Communicator comm{own.get(), options};
  NEEDS_REGISTRATION(comm)
  const Pages pages{20 * a_page};
  const std::span<double> data{reinterpret_cast<double*>(pages.data()) + 3, 9000};
  const Registration r{comm, data};
  std::vector<const char*> names{"Hierarchical:PeerSlices,Rabenseifner",
                                 "Hierarchical:SplitTail+ShmTransport,Binomial"};
  if (on_one_node) names.push_back("Hierarchical:DynamicLeader,Exchange+ShmTransport");
  for (const char* const name : names) {
    CAPTURE(name);
    const auto algorithm = papcoll::algorithm(name);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = element_of(comm.rank(), i);
    papcoll::allreduce(comm, data, papcoll::sum, algorithm);
    CHECK(is_sum(data, comm.size()));
    const papcoll::root last{comm.size() - 1};
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = element_of(comm.rank(), i);
    papcoll::bcast(comm, data, last, algorithm);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != element_of(last.rank, i);
    CHECK(wrong == 0);
  }
}

TEST_CASE("parts of registered buffers, and buffers that are registered in part",
          "[registration]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = some_time}};
  NEEDS_REGISTRATION(comm)
  const Pages pages{100 * a_page};
  auto* const all = reinterpret_cast<double*>(pages.data());
  const std::span<double> registered{all + 1000, 20'000};
  const Registration r{comm, registered};
  const papcoll::Algorithm algorithm = peer_slices_if_possible(comm);
  for (const auto& [from, n] : std::vector<std::pair<std::size_t, std::size_t>>{{1000, 20},
                                                                                {1000, 20'000},
                                                                                {1010, 5000},
                                                                                {20'900, 100},
                                                                                {1, 999},
                                                                                {500, 1000},
                                                                                {500, 30'000},
                                                                                {20'500, 1000},
                                                                                {21'000, 500},
                                                                                {20'990, 10}}) {
    CAPTURE(from, n);
    std::fill(all, all + 50'000, -1.0);
    const std::span<double> data{all + from, n};
    for (std::size_t i = 0; i < n; ++i) data[i] = element_of(comm.rank(), i);
    papcoll::allreduce(comm, data, papcoll::sum, algorithm);
    CHECK(is_sum(data, comm.size()));
    const auto others = static_cast<std::size_t>(std::count(all, all + 50'000, -1.0));
    CHECK(others == 50'000 - n);
  }
  // Its own block of an allgather in place is registered, and the rest is not.
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  constexpr std::size_t each = 5000;
  std::vector<double> gathered(each * ranks);
  const Registration block{comm, gathered.data() + each * me, each};
  for (std::size_t i = 0; i < each; ++i) gathered[each * me + i] = element_of(comm.rank(), i);
  papcoll::allgather(comm, gathered, algorithm);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    wrong += gathered[i] != element_of(static_cast<int>(i / each), i % each);
  }
  CHECK(wrong == 0);
}

TEST_CASE("non-blocking calls and strided buffers use registered memory as any other",
          "[registration]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = some_time}};
  NEEDS_REGISTRATION(comm)
  std::vector<double> data(10'000);
  const Registration r{comm, data};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = element_of(comm.rank(), i);
  papcoll::iallreduce(comm, data).wait();
  CHECK(is_sum(data, comm.size()));
  std::fill(data.begin(), data.end(), 1.0);
  papcoll::allreduce(comm, papcoll::strided(data.data(), 5000, 1, 2));
  for (std::size_t i = 0; i < 4; ++i) CHECK(data[i] == (i % 2 == 0 ? comm.size() : 1));
}

TEST_CASE("a registration begins and ends with the same contents", "[registration]") {
  const OwnComm own;
  std::optional<Communicator> comm{std::in_place, own.get()};
  NEEDS_REGISTRATION(*comm)
  std::vector<double> data(100'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = element_of(7, i);
  const std::vector<double> before = data;
  Registration r{*comm, data};
  CHECK(r.is_shared());
  CHECK(r.no_sharing().empty());
  CHECK(data == before);
  CHECK(is_shared_mapping(data.data() + 50'000));
  // Local: the other ranks need not do alike.
  if (comm->rank() == 0) r.end();
  check_allreduce(*comm, data);
  r.end();
  r.end();
  CHECK(!r.is_shared());
  CHECK(!is_shared_mapping(data.data() + 50'000));
  CHECK(is_sum(data, comm->size()));

  std::vector<double> other(100'000);
  Registration first{*comm, data.data(), data.size()};
  Registration second{std::move(first)};
  CHECK(!first.is_shared());  // NOLINT(bugprone-use-after-move)
  CHECK(second.is_shared());
  second = Registration{*comm, other};
  CHECK(!is_shared_mapping(data.data() + 50'000));
  CHECK(is_shared_mapping(other.data() + 50'000));
  check_allreduce(*comm, other);
  comm.reset();  // and the registration goes on
  CHECK(is_sum(other, own.size()));
}

TEST_CASE("a registration outlives its communicator", "[registration]") {
  std::optional<OwnComm> own{std::in_place};
  std::optional<Communicator> comm{std::in_place, own->get()};
  NEEDS_REGISTRATION(*comm)
  std::vector<double> data(100'000);
  Registration r{*comm, data};
  check_allreduce(*comm, data);
  const int ranks = comm->size();
  comm.reset();
  own.reset();
  CHECK(is_sum(data, ranks));
  r.end();
  CHECK(is_sum(data, ranks));
  CHECK(!is_shared_mapping(data.data() + 50'000));
}

TEST_CASE("what has no whole page, or no arena, is left where it is", "[registration]") {
  const OwnComm own;
  {
    Communicator comm{own.get()};
    NEEDS_REGISTRATION(comm)
    const Pages pages{2 * a_page};
    const Registration small{comm, pages.data() + 1, 2 * a_page - 2};
    CHECK(!small.is_shared());
    CHECK(small.no_sharing() == "the buffer has no whole page");
    const Registration none{comm, static_cast<int*>(nullptr), 0};
    CHECK(!none.is_shared());
  }
  for (const bool staged : {false, true}) {
    const OwnComm other;
    Options options;
    if (staged) {
      options.peer_access = papcoll::PeerAccess::staged;
    } else {
      options.arena_bytes = 0;
    }
    Communicator comm{other.get(), options};
    std::vector<double> data(10'000);
    const Registration r{comm, data};
    CHECK(!r.is_shared());
    CHECK(r.no_sharing().find(staged ? "staged" : "arena") != std::string::npos);
    check_allreduce(comm, data);
  }
}

TEST_CASE("memory that cannot be moved is refused, and nothing has changed", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  const std::size_t before = mappings();
  const auto refuses = [&](auto* data, std::size_t n, std::string_view why) {
    CAPTURE(why);
    const std::string line = line_of(data);
    const Outcome outcome = outcome_of([&] { const Registration r{comm, data, n}; });
    CAPTURE(outcome);
    CHECK(outcome.kind == "argument_error");
    CHECK(outcome.says(why));
    CHECK(outcome.says("rank " + std::to_string(comm.rank())));
    CHECK(line_of(data) == line);
  };
  const std::size_t n = 10 * a_page;
  refuses(static_cast<char*>(nullptr), n, "a null pointer");
  std::vector<double> data(10'000);
  refuses(data.data(), std::numeric_limits<std::size_t>::max() / 8, "smaller count");
  {
    const Outcome outcome = outcome_of([&] { const Registration r{comm, data.data(), -1}; });
    CHECK(outcome.kind == "argument_error");
  }
  std::array<char, 20 * a_page> on_stack{};
  refuses(on_stack.data(), on_stack.size(), "on a stack");
  std::thread{[&] {
    std::array<char, 20 * a_page> on_its_stack{};
    const Outcome outcome = outcome_of([&] { const Registration r{comm, on_its_stack}; });
    CHECK(outcome.kind == "argument_error");
    CHECK(outcome.says("on a stack"));
  }}.join();
  {
    const Pages shared{n, MAP_SHARED | MAP_ANONYMOUS};
    refuses(shared.data(), n, "a shared mapping");
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const Pages file{n, MAP_PRIVATE, fd};
    refuses(file.data(), n, "a mapping of /");
    close(fd);
    const Pages read_only{n, MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ};
    refuses(read_only.data(), n, "read and written");
    const Pages hole{n};
    munmap(hole.data() + 5 * a_page, a_page);
    refuses(hole.data(), n, "no memory at");
    constexpr long seal = 462;  // mseal, since Linux 6.10: nothing is ever unmapped there
    void* const sealed =
        mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (syscall(seal, sealed, n, 0) == 0) refuses(static_cast<char*>(sealed), n, "the kernel says");
    const Pages locked{n};
    if (syscall(SYS_mlock, locked.data() + a_page, a_page) == 0) refuses(locked.data(), n, "mlock");
  }
  {
    papcoll::shared_vector<double> ours(10'000, papcoll::shared_allocator<double>{comm});
    refuses(ours.data(), ours.size(), "in the arena of this communicator");
    const OwnComm other;
    Communicator another{other.get()};
    const Outcome outcome = outcome_of([&] { const Registration r{another, ours}; });
    CHECK(outcome.kind == "argument_error");
    CHECK(outcome.says("in the arena of this communicator"));  // of the same ranks, as `comm`
    const OwnComm reversed{MPI_COMM_WORLD, 0, -comm.rank()};
    if (comm.size() > 1) {
      Communicator elsewhere{reversed.get()};
      const Outcome foreign = outcome_of([&] { const Registration r{elsewhere, ours}; });
      CHECK(foreign.kind == "argument_error");
      CHECK(foreign.says("arena memory of a communicator"));
    }
    {
      const Registration r{comm, data};
      refuses(data.data(), data.size(), "registered on this communicator already");
      refuses(data.data() + 5000, 4000, "registered on this communicator already");
      const Outcome twice = outcome_of([&] { const Registration s{another, data}; });
      CHECK(twice.kind == "argument_error");
      CHECK(twice.says("registered already"));
      check_allreduce(comm, data);
      check_allreduce(another, data);  // to which it is memory like any other
    }
    Registration r{another, data};  // that has ended
    check_allreduce(another, data);
  }
  check_allreduce(comm, data);
  CHECK(mappings() <= before + 40);
}

TEST_CASE("an arena that is used up is an exception, and nothing has changed", "[registration]") {
  const OwnComm own;
  Options options;
  options.arena_bytes = std::size_t{8} << 20U;
  Communicator comm{own.get(), options};
  NEEDS_REGISTRATION(comm)
  std::vector<char> large(std::size_t{7} << 20U, 'l');
  try {
    const Registration r{comm, large};
    FAIL("no exception");
  } catch (const papcoll::system_error& e) {
    CHECK(e.number == ENOMEM);
    CHECK(std::string_view{e.what()}.find("Options::arena_bytes") != std::string_view::npos);
  }
  CHECK(static_cast<std::size_t>(std::count(large.begin(), large.end(), 'l')) == large.size());
  CHECK(!is_shared_mapping(large.data() + (1 << 20)));
  std::vector<char> some(std::size_t{4} << 20U, 's');
  {
    const Registration r{comm, some};
    std::vector<char> more(std::size_t{4} << 20U, 'm');
    CHECK_THROWS_AS((Registration{comm, more}), papcoll::system_error);
    papcoll::allreduce(comm, more, papcoll::max);
    papcoll::allreduce(comm, some, papcoll::max);
  }
  const Registration again{comm, some};
  CHECK(again.is_shared());
  CHECK(some.front() == 's');
}

TEST_CASE("a limit on the size of files is none for registrations", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  std::vector<double> data(500'000);
  Registration r{comm, data};
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(r.is_shared());
  check_allreduce(comm, data);
}

TEST_CASE("a child has nothing where registered pages were", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  const Pages pages{10 * a_page};
  auto* const data = reinterpret_cast<volatile double*>(pages.data());
  std::fill(data, data + 5000, 1.0);
  Registration r{comm, pages.span()};
  CHECK(child_ends_with([&] { return static_cast<int>(data[1000]); }) == -SIGSEGV);
  CHECK(child_ends_with([&] {
          data[1000] = 2;
          return 0;
        }) == -SIGSEGV);
  CHECK(child_ends_with([&] {
          r.end();  // zeros, which are the child's own
          const auto read = static_cast<int>(data[1000]);
          data[1000] = 3;
          return read == 0 && !is_shared_mapping(pages.data()) ? 17 : 1;
        }) == 17);
  CHECK(child_ends_with([&] {  // something else is there by then
          void* const mine = mmap(pages.data() + a_page, a_page, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
          std::memset(mine, 5, a_page);
          r.end();
          return static_cast<int>(pages.data()[a_page + 100]);
        }) == 5);
  CHECK(data[1000] == 1);
  for (int i = 0; i < 5000; ++i) data[i] = comm.rank() + 1;
  papcoll::allreduce(comm, reinterpret_cast<double*>(pages.data()), 5000);
  CHECK(data[1000] == comm.size() * (comm.size() + 1) / 2.0);
  r.end();
  CHECK(child_ends_with([&] { return data[1000] > 0 ? 18 : 1; }) == 18);
}

TEST_CASE("memory that was unmapped meanwhile is let alone", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  constexpr std::size_t n = 10 * a_page;
  char* const p = static_cast<char*>(
      mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(p, 'a', n);
  Registration r{comm, p, n};
  munmap(p + 2 * a_page, 2 * a_page);
  mmap(p + 6 * a_page, a_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
       0);
  p[6 * a_page] = 'b';
  r.end();
  CHECK(p[0] == 'a');
  CHECK(p[n - 1] == 'a');
  CHECK(p[6 * a_page] == 'b');
  CHECK(line_of(p + 2 * a_page) == "nothing");
  for (const std::size_t page : {0U, 1U, 4U, 5U, 7U, 9U}) {
    CAPTURE(page);
    CHECK(!is_shared_mapping(p + page * a_page));
  }
  munmap(p, n);
  // What was moved elsewhere is not used for other buffers.
  const Pages target{n};
  char* const q = static_cast<char*>(
      mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Registration s{comm, q, n};
  char* const elsewhere = target.data();
  // The kernel's own: a library may have replaced the C library's.
  REQUIRE(syscall(SYS_mremap, q, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) != -1);
  std::memset(elsewhere, 'c', n);
  s.end();
  {
    std::vector<char> other(n, 'd');
    const Registration t{comm, other};
    CHECK(static_cast<std::size_t>(std::count(elsewhere, elsewhere + n, 'c')) == n);
  }
}

TEST_CASE("contents that find no private memory stay in shared memory", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  const Pages pages{std::size_t{64} << 20U};
  Registration r{comm, pages.span()};
  std::fill(pages.span().begin(), pages.span().end(), 'k');
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit none = before;
  none.rlim_cur = (status_kb("VmSize") + 8192) * 1024;
  setrlimit(RLIMIT_AS, &none);
  r.end();
  setrlimit(RLIMIT_AS, &before);
  CHECK(is_shared_mapping(pages.data()));
  const auto kept = std::count(pages.span().begin(), pages.span().end(), 'k');
  CHECK(static_cast<std::size_t>(kept) == pages.size());
  papcoll::allreduce(comm, pages.data(), 100'000, papcoll::max);
  CHECK(pages.data()[0] == 'k');
}

TEST_CASE("ten thousand registrations, calls and ends leave nothing", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  std::vector<double> data(9000 + 100 * static_cast<std::size_t>(comm.rank()));
  const auto cycle = [&](int i) {
    const auto from = static_cast<std::size_t>(i % 700);
    const Registration r{comm, data.data() + from, 8000};
    data[from] = data[from + 7999] = comm.rank();
    papcoll::allreduce(comm, data.data() + from, 8000, papcoll::max);
    return data[from] == comm.size() - 1 && data[from + 7999] == comm.size() - 1;
  };
  const int cycles = comm.size() <= 2 ? 10'000 : 500;  // several ranks on a core take their time
  int wrong = 0;
  for (int i = 0; i < 300; ++i) wrong += cycle(i) ? 0 : 1;
  const auto place_in_arena = [&comm] {
    // Longer than the holes that small buffers leave.
    const papcoll::shared_vector<char> x(std::size_t{1} << 20U,
                                         papcoll::shared_allocator<char>{comm});
    const papcoll::Node* const node = comm.core().environment().node;
    const auto* const at = reinterpret_cast<const std::byte*>(x.data());
    return node == nullptr ? std::ptrdiff_t{0} : at - node->arena->memory();
  };
  const std::ptrdiff_t first_place = place_in_arena();
  const std::size_t mapped = mappings();
  const std::size_t resident = status_kb("VmRSS");
  const std::size_t address_space = status_kb("VmSize");
  for (int i = 0; i < cycles; ++i) wrong += cycle(i) ? 0 : 1;
  CHECK(wrong == 0);
  CHECK(mappings() <= mapped + 2);
  // With pages of the peers' arenas that this rank reads for the first time.
  CHECK(status_kb("VmRSS") <= resident + 1024 * static_cast<std::size_t>(comm.size()));
  CHECK(status_kb("VmSize") <= address_space + 1024);
  // The arena has not grown.
  CHECK(place_in_arena() - first_place < std::ptrdiff_t{4} << 20U);
}

TEST_CASE("many buffers are registered at once, and calls find theirs", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  std::vector<std::vector<double>> buffers(100);
  std::vector<Registration> all;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].resize(1200 + 10 * i);
    all.emplace_back(comm, buffers[i]);
  }
  for (std::size_t i = 0; i < 300; ++i) check_allreduce(comm, buffers[i * 37 % 100]);
  for (std::size_t i = 0; i < buffers.size(); i += 3) all[i].end();
  for (std::size_t i = 0; i < 300; ++i) check_allreduce(comm, buffers[i * 37 % 100]);
}

TEST_CASE("threads register on communicators of their own", "[registration]") {
  int provided = 0;
  MPI_Query_thread(&provided);
  const OwnComm one;
  const OwnComm two;
  Communicator first{one.get()};
  Communicator second{two.get()};
  NEEDS_REGISTRATION(first)
  const auto work = [](Communicator& comm, bool calls) {
    int wrong = 0;
    std::vector<double> data(20'000);
    for (int i = 0; i < 300; ++i) {
      const Registration r{comm, data};
      std::fill(data.begin(), data.end(), 1.0);
      if (calls) papcoll::allreduce(comm, data, papcoll::sum, peer_slices_if_possible(comm));
      wrong += data[15'000] == (calls ? comm.size() : 1) ? 0 : 1;
    }
    return wrong;
  };
  int wrong = 0;
  std::thread other{[&] { wrong = work(second, provided == MPI_THREAD_MULTIPLE); }};
  CHECK(work(first, true) == 0);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("calls that name nothing come to use registered memory", "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  if (comm.size() < 2 || comm.core().environment().node == nullptr) return;
  std::vector<double> data(100'000);
  const Registration r{comm, data};
  for (int i = 0; i < 40; ++i) check_allreduce(comm, data);
  papcoll::Call call;
  call.collective = papcoll::Collective::allreduce;
  call.count = data.size();
  call.reducer.size = sizeof(double);
  CHECK(comm.core().imbalance_of(call).in_arena);
}

TEST_CASE("MPI itself sends from and receives to a buffer before, while and after it is registered",
          "[registration]") {
  const OwnComm own;
  Communicator comm{own.get()};
  NEEDS_REGISTRATION(comm)
  std::vector<double> out(100'000);
  std::vector<double> in(out.size());
  const int to = (comm.rank() + 1) % comm.size();
  const int from = (comm.rank() + comm.size() - 1) % comm.size();
  int round = 0;
  const auto exchange = [&] {
    std::fill(out.begin(), out.end(), 100.0 * comm.rank() + ++round);
    const auto n = static_cast<int>(out.size());
    MPI_Sendrecv(out.data(), n, MPI_DOUBLE, to, 1, in.data(), n, MPI_DOUBLE, from, 1, own.get(),
                 MPI_STATUS_IGNORE);
    const auto right = std::count(in.begin(), in.end(), 100.0 * from + round);
    CHECK(static_cast<std::size_t>(right) == in.size());
  };
  for (int i = 0; i < 10; ++i) {
    exchange();
    Registration r{comm, out};
    Registration s{comm, in};
    exchange();
    exchange();
    check_allreduce(comm, out);
    r.end();
    exchange();
  }
}
