// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The files of runs in a directory. RUN is the run's number, so that no run has another's names:
//
//     rank-RANK-RUN.trace        a trace
//     rank-RANK-RUN.trace.part   a piece of it, while it is copied from where it was written
//     rank-RANK-RUN.elsewhere    until then: "HOST PATH", where it is

#include <papcoll/base/config.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// Returns the name of a file of `rank` in the run with this number; `ending` is "trace" or
/// "elsewhere".
inline std::string file_name_of(int rank, std::uint64_t run, const char* ending) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "rank-%05d-%016llx.%s", rank,
                static_cast<unsigned long long>(run), ending);
  return name.data();
}

/// Returns the name of this host, as traces and notes have it.
inline std::string host_name() {
  std::array<char, 65> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Where a trace is that is not in the directory of its run.
struct TraceNote {
  std::string host;
  std::string path;
};

/// Reads a note; empty if it is none, or names a file that is not of the note's rank and run.
inline std::optional<TraceNote> read_note(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return {};
  std::array<char, 4352> bytes{};
  const ssize_t n = read(descriptor, bytes.data(), bytes.size());
  close(descriptor);
  const std::string_view text(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t blank = text.find(' ');
  // Without its last character it is being written.
  if (blank == text.npos || !text.ends_with('\n')) return {};
  TraceNote note{std::string(text.substr(0, blank)), std::string(text.substr(blank + 1))};
  note.path.pop_back();
  const std::filesystem::path trace(note.path);
  if (trace.stem() != file.stem() || trace.extension() != ".trace") return {};
  return note;
}

/// Writes a note that a trace of this host is at `trace`. Has no effect if that fails.
inline void write_note(const std::string& file, const std::string& trace) {
  std::FILE* const out = std::fopen(file.c_str(), "we");
  if (out == nullptr) return;
  std::fprintf(out, "%s %s\n", host_name().c_str(), trace.c_str());
  if (std::fclose(out) != 0) unlink(file.c_str());
}

namespace detail {

/// A file that is opened to ask for its lock and header. Never waits for the writer of a pipe.
class TraceProbe : Pinned {
 public:
  explicit TraceProbe(const std::string& path) noexcept
      : descriptor_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)),
        is_refused_(descriptor_ < 0 && errno == EACCES) {}
  ~TraceProbe() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  /// Returns true if another, living process writes the file, or may do so, since the file may not
  /// be read. An empty one of the last minute is just being made: its lock comes next, see
  /// RankFile.
  bool is_being_written() const noexcept {
    struct flock lock {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    struct stat about {};
    if (is_refused_) return true;
    if (descriptor_ < 0 || fstat(descriptor_, &about) != 0) return false;
    return (about.st_size == 0 && about.st_mtime > time(nullptr) - 60) ||
           (fcntl(descriptor_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
  }

  /// Returns the job that the trace is of, or 0.
  std::uint64_t job() const noexcept {
    FileHeader h{};
    const bool is_whole =
        descriptor_ >= 0 && read(descriptor_, &h, sizeof h) == static_cast<ssize_t>(sizeof h);
    return is_whole && h.magic == trace_magic && h.version == trace_version ? h.job : 0;
  }

 private:
  int descriptor_;
  bool is_refused_;
};

/// A file of a run.
struct FileOfRun {
  std::filesystem::path path;
  std::string run;  ///< the run's number, or empty
  bool is_note = false;
  std::string trace;  ///< where its trace is; empty if that is on another host
};

/// Returns the run's number in rank-RANK-RUN, with its dash; empty if there is none, as in names of
/// former versions, and nullopt of other names, which are no files of runs.
inline std::optional<std::string> run_in(std::string_view name) {
  if (!name.starts_with("rank-")) return {};
  const std::size_t end = std::min(name.find_first_not_of("0123456789", 5), name.size());
  const std::string_view run = name.substr(end);
  const bool is_run =
      run.size() == 17 && run[0] == '-' && run.find_first_not_of("0123456789abcdef", 1) == run.npos;
  if (end < 10 || (!run.empty() && !is_run)) return {};
  return std::string(run);
}

/// Returns the files of runs in a directory.
inline std::vector<FileOfRun> files_in(const std::string& directory) {
  std::vector<FileOfRun> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    FileOfRun file{entry.path(), {}, name.ends_with(".elsewhere"), entry.path().string()};
    if (!(file.is_note || name.ends_with(".trace") || name.ends_with(".trace.part")) ||
        !entry.is_regular_file(ignored)) {
      continue;
    }
    const std::optional<std::string> run = run_in(name.substr(0, name.find('.')));
    if (!run) continue;
    file.run = *run;
    if (file.is_note) {
      const std::optional<TraceNote> note = read_note(file.path);
      file.trace = note && note->host == host_name() ? note->path : std::string();
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace detail

/// Removes from a directory what runs have left there that ended, and the traces on this host that
/// their notes name. A run goes on as long as a process of this host writes a trace of it. Kept are
/// also runs of this job (0: no job), those of which a trace may not be read and, for 30 days, runs
/// with notes of another host, of which nothing is known here. Returns true if there are any of
/// these last. `only_notes`: removes only notes of this host, with their traces.
inline bool remove_ended_runs(const std::string& directory, std::uint64_t job, bool only_notes) {
  namespace fs = std::filesystem;
  constexpr std::chrono::hours kept_for{30 * 24};
  std::error_code failed;
  const std::vector<detail::FileOfRun> files = detail::files_in(directory);
  std::set<std::string> going_on;
  std::set<std::string> unknown;
  for (const detail::FileOfRun& f : files) {
    if (f.trace.empty()) {
      const fs::file_time_type written = fs::last_write_time(f.path, failed);
      const bool is_recent = !failed && fs::file_time_type::clock::now() - written < kept_for;
      if (is_recent) unknown.insert(f.run);
    } else if (f.is_note || !only_notes) {
      const detail::TraceProbe trace(f.trace);
      if (trace.is_being_written() || (job != 0 && trace.job() == job)) going_on.insert(f.run);
    }
  }
  for (const detail::FileOfRun& f : files) {
    if (going_on.contains(f.run)) continue;
    const bool is_noted_here = f.is_note && !f.trace.empty();
    if (is_noted_here) {
      const fs::path trace(f.trace);
      fs::remove(trace, failed);
      // The directory, if it was made for the run.
      const std::string made = trace.parent_path().filename().string();
      if (made.starts_with("papcoll-profile-")) rmdir(trace.parent_path().c_str());
    }
    if (is_noted_here || (!only_notes && !unknown.contains(f.run))) fs::remove(f.path, failed);
  }
  return !unknown.empty();
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
