// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/read.hpp>

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/profile/trace_files.hpp>
#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/run.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// Times, offsets and bounds are below; what is not is damaged.
constexpr std::uint64_t most_time = std::uint64_t{1} << 60U;

/// A regular file that is read at any place.
class TraceFile : Pinned {
 public:
  /// `home`: where the file is if it was brought there meanwhile.
  TraceFile(std::string name, const std::string& home) : name_(std::move(name)) {
    // Opening a pipe would wait for who writes it.
    constexpr int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
    fd_ = ::open(name_.c_str(), flags);
    if (fd_ < 0) fd_ = ::open(home.c_str(), flags);
    if (fd_ < 0) why_ = std::strerror(errno);
    struct stat s {};
    if (fd_ >= 0 && (::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode))) {
      why_ = "it is no regular file";
      ::close(std::exchange(fd_, -1));
    }
  }
  ~TraceFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& why() const noexcept { return why_; }
  bool is_open() const noexcept { return fd_ >= 0; }

  std::uint64_t bytes() const {
    struct stat s {};
    return ::fstat(fd_, &s) == 0 && s.st_size > 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
  }

  /// Reads `bytes` from `at` on. Returns false if the file ends before.
  bool read(std::uint64_t at, void* to, std::size_t bytes) const {
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, out, bytes, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      out += n;
      at += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

  template <class T> bool read(std::uint64_t at, std::vector<T>& table) const {
    return table.empty() || read(at, table.data(), table.size() * sizeof(T));
  }

  /// Returns true if the process that writes the file lives: it holds a lock on the first byte.
  bool has_writer() const {
    struct flock lock {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    return ::fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  }

 private:
  std::string name_;
  std::string why_;
  int fd_ = -1;
};

bool is_sound(const profile::ClockPoint& p) {
  const auto fits = [](std::int64_t x) {
    return x < static_cast<std::int64_t>(most_time) && x > -static_cast<std::int64_t>(most_time);
  };
  return p.measured == 0 || (fits(p.at) && fits(p.offset) && fits(p.bound) && p.bound >= 0);
}

/// Returns what is wrong with a header; empty if nothing is. `bytes`: of the file.
std::string fault_of(const profile::FileHeader& h, std::uint64_t bytes) {
  if (h.magic != profile::trace_magic) return "it is no trace file of papcoll";
  if (h.byte_order != profile::trace_byte_order) {
    return "it was written by a machine of another byte order";
  }
  if (h.version != profile::trace_version) {
    return "it is of version " + std::to_string(h.version) +
           " of the format, and this papcoll reads " + std::to_string(profile::trace_version) +
           ": use the papcoll that recorded it";
  }
  if (h.header_bytes != sizeof(profile::FileHeader)) return "its header is damaged";
  if (h.file_bytes < sizeof(profile::FileHeader)) return "its header is damaged";
  if (bytes < h.file_bytes) {
    return "it has " + std::to_string(bytes) + " of " + std::to_string(h.file_bytes) +
           " bytes: it was cut off";
  }
  const auto is_within = [&h](std::uint64_t at, std::uint64_t entries, std::uint64_t entry_bytes) {
    return at % 8 == 0 && at >= sizeof(profile::FileHeader) && at <= h.file_bytes &&
           entries <= (h.file_bytes - at) / entry_bytes;
  };
  constexpr auto most_entries = std::numeric_limits<std::uint32_t>::max() - 1;
  const bool tables =
      is_within(h.modules_at, h.modules, sizeof(profile::Module)) &&
      is_within(h.sites_at, h.sites, sizeof(profile::Site)) &&
      is_within(h.communicators_at, h.communicators, sizeof(profile::CommunicatorEntry)) &&
      is_within(h.totals_at, h.totals, sizeof(profile::Total)) &&
      is_within(h.records_at, h.records, sizeof(profile::Record)) && h.records <= most_entries &&
      h.sites <= most_entries && h.communicators <= most_entries;
  constexpr std::int32_t most_ranks = 1 << 24;
  const auto is_rank = [&h](std::int32_t r) { return r >= 0 && r < h.world_size; };
  const bool numbers = h.world_size > 0 && h.world_size <= most_ranks && is_rank(h.world_rank) &&
                       is_rank(h.node) && is_rank(h.clock) &&
                       h.state <= static_cast<std::uint32_t>(profile::RunState::aborted) &&
                       h.began < most_time && h.ended < most_time;
  if (tables && h.world_size == 0 && h.began == 0) {
    return "its process is in MPI_Init, or has ended there";
  }
  if (!tables || !numbers || !is_sound(h.clock_begin) || !is_sound(h.clock_end)) {
    return "its header is damaged";
  }
  return {};
}

}  // namespace

namespace {

/// Makes what the ranks share, as places and communicators, and reads the rest of their files.
class RunReader {
 public:
  /// `wanted`: see read_run().
  explicit RunReader(std::string directory, std::string wanted = {}) : wanted_(std::move(wanted)) {
    run_.directory = std::move(directory);
  }

  Run read() {
    const std::vector<std::string> names = trace_files();
    std::vector<Candidate> candidates;
    for (const std::string& name : names) {
      if (std::optional<Candidate> c = candidate(name)) candidates.push_back(std::move(*c));
    }
    if (candidates.empty()) {
      throw argument_error("papcoll: none of the " + counted(names.size(), "trace file") + " in " +
                           run_.directory + " can be read: " + run_.notes.front());
    }
    choose(candidates);
    std::uint64_t calls = 0;
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.header.world_rank < b.header.world_rank;
    });
    for (const Candidate& c : candidates) {
      if (!run_.ranks.empty() && run_.ranks.back().rank() == c.header.world_rank) {
        note(c.file, "it is of rank " + std::to_string(c.header.world_rank) + ", of which " +
                         run_.ranks.back().file + " is, too");
        continue;
      }
      RankTrace rank;
      if (!read(c, rank)) continue;
      calls += rank.begun;
      run_.ranks.push_back(std::move(rank));
    }
    if (run_.ranks.empty()) {
      throw argument_error("papcoll: none of the trace files in " + run_.directory +
                           " can be read: " + run_.notes.back());
    }
    missing();
    name_communicators();
    if (calls == 0) {
      throw argument_error("papcoll: no rank in " + run_.directory + " has called a collective" +
                           (std::any_of(run_.ranks.begin(), run_.ranks.end(),
                                        [](const RankTrace& r) { return r.alive; })
                                ? " yet"
                                : ": there is nothing to report"));
    }
    return std::move(run_);
  }

 private:
  struct Candidate {
    std::string file;
    profile::FileHeader header;
  };

  void note(const std::string& file, const std::string& what) {
    run_.notes.push_back(file_name(file) + ": " + what);
  }

  /// The trace files in the directory, and those that its notes name and that are here.
  std::vector<std::string> trace_files() {
    namespace fs = std::filesystem;
    std::error_code failed;
    if (!fs::is_directory(run_.directory, failed)) {
      throw argument_error(
          "papcoll: " + run_.directory +
          (fs::exists(run_.directory, failed) ? " is no directory" : " does not exist") +
          ": name the directory with the files rank-….trace of a run");
    }
    std::vector<std::string> names;
    fs::directory_iterator entries{run_.directory, failed};
    if (failed) {
      throw argument_error("papcoll: cannot read the directory " + run_.directory + ": " +
                           failed.message());
    }
    for (; entries != fs::directory_iterator{}; entries.increment(failed)) {
      const std::string name = entries->path().filename().string();
      if (name.starts_with("rank-") && name.ends_with(".trace")) {
        names.push_back(entries->path().string());
      } else if (name.starts_with("rank-") && name.ends_with(".elsewhere")) {
        const std::optional<profile::TraceNote> note = profile::read_note(entries->path());
        const fs::path home = fs::path(entries->path()).replace_extension(".trace");
        if (!note || fs::exists(home, failed)) continue;
        if (fs::exists(note->path, failed)) {
          names.push_back(note->path);
        } else {
          elsewhere_.push_back(*note);
        }
      }
      if (failed) break;
    }
    std::sort(names.begin(), names.end());
    std::sort(elsewhere_.begin(), elsewhere_.end(),
              [](const auto& a, const auto& b) { return file_name(a.path) < file_name(b.path); });
    if (names.empty()) {
      throw argument_error("papcoll: there is no trace file rank-….trace in " + run_.directory +
                           (elsewhere_.empty() ? "" : ": " + elsewhere_text(0)));
    }
    return names;
  }

  std::string home_of(const std::string& trace) const {
    return run_.directory + "/" + file_name(trace);
  }

  /// Tells where traces of a run (0: of any run) are that are not here; empty if there are none.
  std::string elsewhere_text(std::uint64_t run) const {
    constexpr std::size_t most = 8;
    std::string text;
    std::size_t n = 0;
    bool is_any_there = false;
    for (const profile::TraceNote& note : elsewhere_) {
      const std::string name = file_name(note.path);
      if (run != 0 && name.find(run_text(run)) == std::string::npos) continue;
      if (++n > most) continue;
      const bool is_gone = note.host == profile::host_name();
      is_any_there = is_any_there || !is_gone;
      text += (n == 1 ? "" : ", ") +
              ("that of rank " +
               std::to_string(std::atoi(name.c_str() + std::string_view("rank-").size()))) +
              (is_gone ? " was at " : " is at ") + note.host + ":" + note.path +
              (is_gone ? " and was removed" : "");
    }
    if (n > most) text += " and those of " + counted(n - most, "more rank");
    if (is_any_there) text += ": copy what is on other hosts to " + run_.directory;
    return text;
  }

  std::optional<Candidate> candidate(const std::string& name) {
    const TraceFile file{name, home_of(name)};
    if (!file.is_open()) {
      note(name, "it cannot be read: " + file.why());
      return {};
    }
    Candidate c{name, {}};
    const std::uint64_t bytes = file.bytes();
    if (bytes < sizeof(profile::FileHeader)) {
      note(name, "it has " + counted(bytes, "byte") + ", fewer than a header: it was cut off");
      return {};
    }
    if (!file.read(0, &c.header, sizeof c.header)) {
      note(name, "it cannot be read");
      return {};
    }
    if (const std::string fault = fault_of(c.header, bytes); !fault.empty()) {
      note(name, fault);
      return {};
    }
    return c;
  }

  /// The ranks of one MPI_COMM_WORLD, as their files have them.
  struct World {
    std::uint64_t number = 0;
    std::int32_t size = 0;
    std::uint64_t job = 0;
    bool spawned = false;
    std::int64_t newest = std::numeric_limits<std::int64_t>::min();
    std::string program;
    std::vector<std::string> files;
  };

  static std::vector<World> worlds_of(const std::vector<Candidate>& candidates) {
    std::map<std::pair<std::uint64_t, std::int32_t>, World> worlds;
    for (const Candidate& c : candidates) {
      World& w = worlds[{c.header.run, c.header.world_size}];
      w.number = c.header.run;
      w.size = c.header.world_size;
      w.job = c.header.job;
      w.spawned = c.header.spawned != 0;
      w.newest = std::max(w.newest, c.header.began_unix);
      w.program = file_name(text_in(c.header.program));
      w.files.push_back(c.file);
    }
    std::vector<World> all;
    all.reserve(worlds.size());
    for (auto& [key, w] : worlds) all.push_back(std::move(w));
    return all;
  }

  bool is_wanted(const World& w) const {
    return run_text(w.number).starts_with(wanted_) || (w.job != 0 && run_text(w.job) == wanted_);
  }

  /// Keeps the files of one run: the one that is asked for, or one that was not spawned by another
  /// one; of several the one with the most files, or the newest.
  void choose(std::vector<Candidate>& candidates) {
    const std::vector<World> worlds = worlds_of(candidates);
    const auto rank = [this](const World& w) {
      return std::tuple{is_wanted(w), !w.spawned, w.files.size(), w.newest};
    };
    const World& best =
        *std::max_element(worlds.begin(), worlds.end(),
                          [&rank](const World& a, const World& b) { return rank(a) < rank(b); });
    if (!is_wanted(best)) {
      std::string text = "papcoll: there is no trace of run " + wanted_ + " in " + run_.directory;
      for (std::size_t i = 0; i < worlds.size(); ++i) {
        text += (i == 0 ? ": there is " : ", ") + described(worlds[i]);
      }
      if (!elsewhere_.empty()) text += "; of traces elsewhere, " + elsewhere_text(0);
      throw argument_error(text);
    }
    run_.number = best.number;
    run_.world_size = best.size;
    run_.spawned = best.spawned;
    alone(worlds, best);
    for (const World& w : worlds) {
      if (w.number == best.number && w.size != best.size) {
        for (const std::string& file : w.files) {
          note(file, "it says that there are " +
                         counted(static_cast<std::uint64_t>(w.size), "rank") +
                         ", and the others say " + std::to_string(best.size) + ": it is left out");
        }
      }
    }
    other_runs(worlds, best);
    std::erase_if(candidates, [&best](const Candidate& c) {
      return c.header.run != best.number || c.header.world_size != best.size;
    });
  }

  /// "00c5…, 2 ranks of solver that MPI_Comm_spawn started".
  static std::string described(const World& w) {
    return run_text(w.number) + ", " + counted(static_cast<std::uint64_t>(w.size), "rank") +
           " of " + (w.program.empty() ? "a program" : w.program) +
           (w.spawned ? ", which MPI_Comm_spawn started" : "");
  }

  /// Notes what other runs are in the directory, the newest first.
  void other_runs(std::vector<World> worlds, const World& best) {
    const std::uint64_t number = best.number;
    std::erase_if(worlds, [number](const World& w) { return w.number == number; });
    std::stable_sort(worlds.begin(), worlds.end(),
                     [](const World& a, const World& b) { return a.newest > b.newest; });
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < worlds.size() && i < most; ++i) {
      const World& w = worlds[i];
      note(w.files.front(),
           (w.files.size() == 1 ? std::string("it is")
                                : "it and " + counted(w.files.size() - 1, "other file") + " are") +
               " of another run than what is told here: " + described(w) + " (--run " +
               run_text(w.number) + " reports it)");
    }
    if (worlds.size() > most) {
      run_.notes.push_back("There are " + std::to_string(worlds.size() - most) +
                           " more runs in the directory.");
    }
  }

  /// Finds processes that were started together and are each a world of its own, as they are if the
  /// launcher is of another MPI library.
  void alone(const std::vector<World>& worlds, const World& best) {
    if (best.size != 1 || best.spawned) return;
    constexpr std::int64_t together = 10'000'000'000;  // nanoseconds
    const auto n = std::count_if(worlds.begin(), worlds.end(), [&best](const World& w) {
      return w.size == 1 && !w.spawned && w.job == best.job && w.program == best.program &&
             w.newest > best.newest - together && w.newest < best.newest + together;
    });
    if (n < 2) return;
    run_.hint = std::to_string(n) + " processes of " +
                (best.program.empty() ? "a program" : best.program) +
                " began together, and each of them is alone in its MPI_COMM_WORLD: if they were to "
                "be ranks of one job, the launcher is of another MPI library than the program. "
                "Start it with the launcher of the program's own library.";
  }

  void missing() {
    std::vector<RankRange> none;
    std::int32_t next = 0;
    const auto up_to = [&](std::int32_t rank) {
      if (next < rank) none.emplace_back(next, rank - 1);
      next = rank + 1;
    };
    for (const RankTrace& r : run_.ranks) up_to(r.rank());
    up_to(run_.world_size);
    if (none.empty()) return;
    const bool one = none.size() == 1 && none[0].first == none[0].second;
    run_.notes.push_back("There is no trace of " + ranks_text(none) + ": calls with " +
                         (one ? "it" : "them") + " are known in part only.");
    const std::string elsewhere = elsewhere_text(run_.number);
    if (!elsewhere.empty()) run_.notes.push_back("Of these traces, " + elsewhere + ".");
  }

  /// Sorts the members by rank, and calls communicators without a name by their members.
  void name_communicators() {
    for (Communicator& c : run_.communicators) {
      std::sort(c.members.begin(), c.members.end(),
                [](const auto& a, const auto& b) { return a.rank < b.rank; });
      if (!c.name.empty()) continue;
      std::vector<std::int32_t> ranks;
      for (const Communicator::Member& m : c.members) ranks.push_back(world_rank(run_, m));
      std::sort(ranks.begin(), ranks.end());
      constexpr std::size_t most_text = 60;
      c.name = "communicator of " + ranks_text(ranks);
      const auto size = static_cast<std::uint64_t>(c.size);
      if (c.name.size() > most_text || ranks.size() < size) {
        c.name = "communicator of " + counted(size, "rank");
      }
      if (c.ordinal > 0) c.name += ", number " + std::to_string(c.ordinal + 1);
    }
  }

  bool read(const Candidate& c, RankTrace& rank) {
    const TraceFile file{c.file, home_of(c.file)};
    rank.file = c.file;
    // First whether it lives: of one that ends meanwhile more is read than it is asked for.
    rank.alive = file.is_open() && file.has_writer();
    if (!file.is_open() || !file.read(0, &rank.header, sizeof rank.header) ||
        !fault_of(rank.header, file.bytes()).empty()) {
      note(c.file, "it changed while it was read");
      return false;
    }
    const profile::FileHeader& h = rank.header;
    rank.begun = h.records_begun;
    if (!records(file, rank)) {
      note(c.file, "its records cannot be read");
      return false;
    }
    // The tables after the records, so that what the records name is in them.
    profile::FileHeader later;
    if (!file.read(0, &later, sizeof later) || !fault_of(later, file.bytes()).empty() ||
        !tables(file, later, rank)) {
      note(c.file, "its tables cannot be read");
      return false;
    }
    rank.header.state = later.state;
    rank.header.ended = later.ended;
    rank.header.abort_code = later.abort_code;
    check(rank);
    if (h.totals_lost > 0) {
      note(c.file, counted(h.totals_lost, "call") + " are in no total: the table was full");
    }
    if (h.sites_lost > 0) {
      note(c.file, counted(h.sites_lost, "call") + " have no place: the table of sites was full");
    }
    if (h.communicators_lost > 0) {
      note(c.file, counted(h.communicators_lost, "communicator") +
                       " found no room in the table: their calls are in the totals only");
    }
    return true;
  }

  /// The ring. A record counts if its index is the expected one before and after it is copied.
  static bool records(const TraceFile& file, RankTrace& rank) {
    const std::uint64_t room = rank.header.records;
    const std::uint64_t begun = rank.begun;
    if (room == 0 || begun == 0) return true;
    const std::uint64_t first = begun > room ? begun - room + 1 : 1;
    rank.records.reserve(static_cast<std::size_t>(std::min(begun, room)));
    constexpr std::uint64_t at_once = std::uint64_t{1} << 15U;
    std::vector<profile::Record> before;
    std::vector<profile::Record> copy;
    std::vector<profile::Record> after;
    for (std::uint64_t index = first; index <= begun && index != 0;) {
      const std::uint64_t slot = (index - 1) % room;
      const std::uint64_t n = std::min({at_once, room - slot, begun - index + 1});
      const std::uint64_t at = rank.header.records_at + slot * sizeof(profile::Record);
      copy.resize(static_cast<std::size_t>(n));
      if (rank.alive) {
        before.resize(copy.size());
        after.resize(copy.size());
        if (!file.read(at, before) || !file.read(at, copy) || !file.read(at, after)) return false;
      } else if (!file.read(at, copy)) {
        return false;
      }
      for (std::size_t i = 0; i < copy.size(); ++i, ++index) {
        const bool is_whole =
            copy[i].index == index &&
            (!rank.alive || (before[i].index == index && after[i].index == index));
        if (is_whole) rank.records.push_back(copy[i]);
      }
    }
    return true;
  }

  bool tables(const TraceFile& file, const profile::FileHeader& h, RankTrace& rank) {
    std::vector<profile::Module> modules(
        static_cast<std::size_t>(std::min(h.modules_used, h.modules)));
    std::vector<profile::Site> sites(static_cast<std::size_t>(std::min(h.sites_used, h.sites)));
    rank.communicators.resize(
        static_cast<std::size_t>(std::min(h.communicators_used, h.communicators)));
    rank.totals.resize(static_cast<std::size_t>(h.totals));
    if (!file.read(h.modules_at, modules) || !file.read(h.sites_at, sites) ||
        !file.read(h.communicators_at, rank.communicators) ||
        !file.read(h.totals_at, rank.totals)) {
      return false;
    }
    std::erase_if(rank.totals, [](const profile::Total& t) {
      return t.key == 0 || static_cast<std::size_t>(profile::unpacked(t.key).collective) >=
                               profile::collective_names.size();
    });
    rank.totals.shrink_to_fit();
    for (const profile::Site& s : sites) rank.places.push_back(place(s, modules));
    const auto trace = static_cast<std::uint32_t>(run_.ranks.size());
    for (std::size_t i = 0; i < rank.communicators.size(); ++i) {
      rank.communicator_of.push_back(
          communicator(rank.communicators[i], trace, static_cast<std::uint32_t>(i)));
    }
    return true;
  }

  std::uint32_t place(const profile::Site& site, const std::vector<profile::Module>& modules) {
    Place p;
    p.offset = site.offset;
    p.address = site.address;
    if (site.module < modules.size()) {
      const profile::Module& m = modules[site.module];
      p.module = text_in(m.path, m.path_bytes);
      constexpr std::string_view digits = "0123456789abcdef";
      const std::size_t n = std::min<std::size_t>(m.build_id_bytes, m.build_id.size());
      for (std::size_t i = 0; i < n; ++i) {
        p.build_id += digits[m.build_id[i] / 16U];
        p.build_id += digits[m.build_id[i] % 16U];
      }
      if (n == 0) std::memcpy(&p.stamp, m.build_id.data(), sizeof p.stamp);
    } else {
      p.offset = site.address;
    }
    const auto [found, is_new] = places_.emplace(std::tuple{p.module, p.build_id, p.offset},
                                                 static_cast<std::uint32_t>(run_.places.size()));
    if (is_new) run_.places.push_back(std::move(p));
    return found->second;
  }

  std::uint32_t communicator(const profile::CommunicatorEntry& e, std::uint32_t trace,
                             std::uint32_t entry) {
    // Of members outside MPI_COMM_WORLD there is no trace: such calls are in the totals only.
    if ((e.flags & profile::communicator_foreign) != 0 || e.size <= 0 || e.size > run_.world_size ||
        e.rank < 0 || e.rank >= e.size) {
      return profile::no_entry;
    }
    const auto [found, is_new] =
        communicators_.emplace(std::tuple{e.members_hash, e.ordinal, e.size},
                               static_cast<std::uint32_t>(run_.communicators.size()));
    if (is_new) {
      run_.communicators.push_back({e.members_hash, e.ordinal, 0, e.size, text_in(e.name), {}});
    }
    Communicator& c = run_.communicators[found->second];
    c.flags |= e.flags;
    if (!members_.emplace(found->second, e.rank).second) return profile::no_entry;
    c.members.push_back({e.rank, trace, entry});
    return found->second;
  }

  /// Leaves out records that make no sense.
  void check(RankTrace& rank) {
    const std::size_t all = rank.records.size();
    std::erase_if(rank.records, [&rank](const profile::Record& r) {
      return r.arrival >= most_time || r.exit >= most_time || r.arrival == 0 ||
             (r.exit != 0 && r.exit < r.arrival) ||
             r.collective >= profile::collective_names.size() ||
             (r.communicator < rank.communicators.size() &&
              r.number >= rank.communicators[r.communicator].calls);
    });
    for (profile::Record& r : rank.records) {
      if (r.type >= profile::type_names.size()) r.type = 0;
      if (r.op >= profile::op_names.size()) r.op = 0;
    }
    rank.damaged = all - rank.records.size();
    if (rank.damaged > 0) {
      note(rank.file, counted(rank.damaged, "record") +
                          " make no sense and are left out: the file " + "is damaged");
    }
    for (auto* times : {&rank.header.one_way_on_node, &rank.header.one_way_between_nodes}) {
      constexpr double most_one_way = 1e12;
      for (double& t : *times)
        t = papcoll::detail::is_finite(t) && t > 0 && t < most_one_way ? t : 0;
    }
  }

  std::string wanted_;
  std::vector<profile::TraceNote> elsewhere_;  ///< of traces that are not here
  Run run_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> places_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::int32_t>, std::uint32_t> communicators_;
  std::set<std::pair<std::uint32_t, std::int32_t>> members_;  ///< communicators and ranks in them
};
}  // namespace
}  // namespace detail

Run read_run(const std::string& directory, const std::string& run) {
  return detail::RunReader{directory, run}.read();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
