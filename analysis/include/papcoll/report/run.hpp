// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What was recorded of a run, as plain structs: made by read_run(), see read.hpp.

#include <papcoll/base/text.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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
std::string run_text(std::uint64_t number);

/// World rank of a member.
inline std::int32_t world_rank(const Run& run, const Communicator::Member& member) {
  return run.ranks[member.trace].rank();
}

/// "MPI_Allreduce", "MPI_Iallreduce", "MPI_Start of MPI_Allreduce_init".
std::string name_of(profile::MpiCollective collective, std::uint32_t flags);

/// Returns the part of a path that follows its last slash.
std::string file_name(const std::string& path);

/// A function's name without what makes C++'s names long: template arguments, parameters, and the
/// type of the result.
std::string short_function(const std::string& name);

/// "solver.c:88", or what is known instead: "step+0x1c (libsolver.so)", "libsolver.so+0x4711".
std::string short_text(const Place& place);

/// "solver.c:88 (step)": with the function, if that is known.
std::string text_of(const Place& place);

/// The place with this number, or words for none.
std::string place_text(const Run& run, std::uint32_t place);

namespace detail {

/// The first and the last one of ranks without a gap.
using RankRange = std::pair<std::int32_t, std::int32_t>;

/// "rank 3", "ranks 2, 5–7 and 9".
std::string ranks_text(const std::vector<RankRange>& ranges);

/// As above, of single ranks in rising order.
std::string ranks_text(const std::vector<std::int32_t>& ranks);

using papcoll::detail::counted;

/// A text of a fixed field, up to its end.
template <std::size_t n>
std::string text_in(const std::array<char, n>& field, std::size_t most = n) {
  std::string text{field.data(), std::min(most, n)};
  text.erase(std::min(text.find('\0'), text.size()));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20U) c = '?';
  }
  return text;
}

}  // namespace detail

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
