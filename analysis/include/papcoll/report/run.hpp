#pragma once

// What was recorded of a run, as plain structs: made by read_run(), see read.hpp.

#include <papcoll/profile/trace_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// A place in the program that calls MPI. Ranks that load a module at other addresses share it.
struct Place {
  std::string module;         ///< path of the program or library; empty: unknown
  std::string build_id;       ///< of the module, in hexadecimal digits; may be empty
  profile::FileStamp stamp;   ///< of a module without a build id
  std::uint64_t offset = 0;   ///< of the return address in the module
  std::uint64_t address = 0;  ///< the same in the process of one rank

  // What symbolise() finds out; empty and 0 before.
  std::string function;
  std::string file;
  unsigned line = 0;
  std::uint64_t into_function = 0;  ///< bytes from the function's begin, where there is no line
};

/// A communicator of the run.
struct Communicator {
  /// A member whose trace file was read.
  struct Member {
    std::int32_t rank = 0;    ///< in the communicator
    std::uint32_t trace = 0;  ///< position in Run::ranks
    std::uint32_t entry = 0;  ///< of RankTrace::communicators
  };
  std::uint64_t members_hash = 0;
  std::uint32_t ordinal = 0;
  std::uint32_t flags = 0;      ///< bits of profile::CommunicatorFlag
  std::int32_t size = 0;        ///< ranks, also those without a trace file
  std::string name;             ///< as text shows it
  std::vector<Member> members;  ///< by rank
};

/// What one rank recorded.
struct RankTrace {
  std::string file;
  profile::FileHeader header;
  bool alive = false;                          ///< its process runs
  std::vector<std::uint32_t> places;           ///< in Run::places, of each of its sites
  std::vector<std::uint32_t> communicator_of;  ///< in Run::communicators, of each entry
  std::vector<profile::CommunicatorEntry> communicators;
  std::vector<profile::Total> totals;
  std::vector<profile::Record> records;  ///< in the order of their claims; entries are valid
  std::uint64_t begun = 0;               ///< calls of which there ever was a record
  std::uint64_t damaged = 0;             ///< records that make no sense

  std::int32_t rank() const noexcept { return header.world_rank; }
  profile::RunState state() const noexcept { return static_cast<profile::RunState>(header.state); }

  /// The place of a record, or profile::no_entry.
  std::uint32_t place(const profile::Record& r) const noexcept {
    return r.site < places.size() ? places[r.site] : profile::no_entry;
  }
  /// The communicator of a record, or profile::no_entry.
  std::uint32_t communicator(const profile::Record& r) const noexcept {
    return r.communicator < communicator_of.size() ? communicator_of[r.communicator]
                                                   : profile::no_entry;
  }
};

/// A run, as far as its trace files could be read.
struct Run {
  std::string directory;
  std::uint64_t number = 0;  ///< drawn by the recorder, see run_text()
  bool spawned = false;      ///< by MPI_Comm_spawn of another run
  std::int32_t world_size = 0;
  std::vector<RankTrace> ranks;  ///< by their rank; ranks without a file are not there
  std::vector<Place> places;
  std::vector<Communicator> communicators;
  std::vector<std::string> notes;  ///< what was wrong, a sentence each
  std::string hint;                ///< what is probably wrong with how the job was started
};

/// The number of a run in 16 hexadecimal digits, as users name it.
inline std::string run_text(std::uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto c = text.rbegin(); c != text.rend(); ++c, number /= 16) *c = digits[number % 16];
  return text;
}

/// World rank of a member.
inline std::int32_t world_rank(const Run& run, const Communicator::Member& member) {
  return run.ranks[member.trace].rank();
}

/// "MPI_Allreduce", "MPI_Iallreduce", "MPI_Start of MPI_Allreduce_init".
inline std::string name_of(profile::MpiCollective collective, std::uint32_t flags) {
  const auto index = static_cast<std::size_t>(collective);
  std::string name{index < profile::collective_names.size() ? profile::collective_names[index]
                                                            : std::string_view{"?"}};
  if ((flags & profile::record_persistent) != 0) return "MPI_Start of MPI_" + name + "_init";
  if ((flags & profile::record_nonblocking) != 0) {
    name[0] = static_cast<char>(name[0] - 'A' + 'a');
    return "MPI_I" + name;
  }
  return "MPI_" + name;
}

/// What follows the last slash.
inline std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// A function's name without what makes C++'s names long: template arguments, parameters, and the
/// type of the result.
inline std::string short_function(const std::string& name) {
  const auto is_operator = [&](std::size_t at) {  // the < or > of operator<, operator->> and so on
    constexpr std::string_view word = "operator";
    while (at > 0 && (name[at - 1] == '<' || name[at - 1] == '>' || name[at - 1] == '-')) --at;
    return at >= word.size() && name.compare(at - word.size(), word.size(), word) == 0;
  };
  const auto names_operator = [](const std::string& t) {
    constexpr std::string_view word = "operator";
    const std::size_t at = t.rfind(word);
    return at != std::string::npos && t.find_first_not_of("<>-", at + word.size()) == t.npos;
  };
  std::string text;
  std::size_t depth = 0;
  std::size_t begin = 0;  // of the name, in text: after the result's type
  std::size_t round = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool angle = (c == '<' || c == '>') && !is_operator(i);
    if (angle && c == '<') ++depth;
    if (depth == 0) {
      if (c == '(' || c == '{') ++round;
      if ((c == ')' || c == '}') && round > 0) --round;
      const bool qualifies = name.compare(i + 1, std::string::npos, "const") == 0;
      if (c == ' ' && round == 0 && !qualifies && !names_operator(text)) begin = text.size() + 1;
      text += c;
    }
    if (angle && c == '>' && depth > 0) --depth;
  }
  text.erase(0, begin);
  if (text.ends_with(" const")) text.resize(text.size() - 6);
  if (!text.ends_with(')')) return text.empty() ? name : text;
  std::size_t open = text.size();
  for (round = 0; open > 0; --open) {
    const char c = text[open - 1];
    if (c == ')') ++round;
    if (c == '(' && --round == 0) break;
  }
  // "(anonymous namespace)" is part of the name.
  if (open > 1 && text[open - 2] != ':') text.resize(open - 1);
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? name : text;
}

/// "solver.c:88", or what is known instead: "step+0x1c (libsolver.so)", "libsolver.so+0x4711".
inline std::string short_text(const Place& place) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto hexadecimal = [&](std::uint64_t x) {
    std::string text;
    do {
      text.insert(text.begin(), digits[x % 16]);
      x /= 16;
    } while (x != 0);
    return "0x" + text;
  };
  if (!place.file.empty() && place.line > 0) {
    return file_name(place.file) + ":" + std::to_string(place.line);
  }
  const std::string module = place.module.empty() ? "?" : file_name(place.module);
  if (!place.function.empty()) {
    return short_function(place.function) + "+" + hexadecimal(place.into_function) + " (" + module +
           ")";
  }
  return module + "+" + hexadecimal(place.offset);
}

/// "solver.c:88 (step)": with the function, if that is known.
inline std::string text_of(const Place& place) {
  const std::string text = short_text(place);
  const bool has_line = !place.file.empty() && place.line > 0;
  return has_line && !place.function.empty() ? text + " (" + short_function(place.function) + ")"
                                             : text;
}

/// The place with this number, or words for none.
inline std::string place_text(const Run& run, std::uint32_t place) {
  return place < run.places.size() ? text_of(run.places[place]) : "a place that is not known";
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
