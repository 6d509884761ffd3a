// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/trace_finder.hpp>

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/profile/trace_files.hpp>
#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/trace_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

std::vector<FoundTrace> TraceFinder::find() {
  const std::vector<std::string> names = trace_files();
  std::vector<FoundTrace> traces;
  for (const std::string& name : names) {
    if (std::optional<FoundTrace> trace = found(name)) traces.push_back(std::move(*trace));
  }
  if (traces.empty()) {
    throw argument_error("papcoll: none of the " + counted(names.size(), "trace file") + " in " +
                         run_.directory + " can be read: " + run_.notes.front());
  }
  choose(traces);
  return traces;
}

/// The trace files in the directory, and those that its notes name and that are here.
std::vector<std::string> TraceFinder::trace_files() {
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

std::string TraceFinder::elsewhere_text(std::uint64_t run) const {
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

std::optional<FoundTrace> TraceFinder::found(const std::string& name) {
  const TraceFile file{name, home_of(name)};
  if (!file.is_open()) {
    note(name, "it cannot be read: " + file.why());
    return {};
  }
  FoundTrace c{name, {}};
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

std::vector<TraceFinder::World> TraceFinder::worlds_of(const std::vector<FoundTrace>& traces) {
  std::map<std::pair<std::uint64_t, std::int32_t>, World> worlds;
  for (const FoundTrace& c : traces) {
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

bool TraceFinder::is_wanted(const World& w) const {
  return run_text(w.number).starts_with(wanted_) || (w.job != 0 && run_text(w.job) == wanted_);
}

/// Keeps the files of one run: the one that is asked for, or one that was not spawned by another
/// one; of several the one with the most files, or the newest.
void TraceFinder::choose(std::vector<FoundTrace>& traces) {
  const std::vector<World> worlds = worlds_of(traces);
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
        note(file, "it says that there are " + counted(static_cast<std::uint64_t>(w.size), "rank") +
                       ", and the others say " + std::to_string(best.size) + ": it is left out");
      }
    }
  }
  other_runs(worlds, best);
  std::erase_if(traces, [&best](const FoundTrace& c) {
    return c.header.run != best.number || c.header.world_size != best.size;
  });
}

/// "00c5…, 2 ranks of solver that MPI_Comm_spawn started".
std::string TraceFinder::described(const World& w) {
  return run_text(w.number) + ", " + counted(static_cast<std::uint64_t>(w.size), "rank") + " of " +
         (w.program.empty() ? "a program" : w.program) +
         (w.spawned ? ", which MPI_Comm_spawn started" : "");
}

/// Notes what other runs are in the directory, the newest first.
void TraceFinder::other_runs(std::vector<World> worlds, const World& best) {
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

/// Sets the hint if processes that were started together are each a world of its own, as they are
/// if the launcher is of another MPI library.
void TraceFinder::alone(const std::vector<World>& worlds, const World& best) {
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

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
