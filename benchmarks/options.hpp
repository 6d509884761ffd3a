// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <papcoll/tools/options/placements.hpp>
#include <papcoll/topology/options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bench {

enum class Delay : unsigned char { busy, sleep };
enum class Start : unsigned char { barrier, clock };
enum class Format : unsigned char { table, json, csv };
/// Memory in which the buffers of a call lie.
enum class BufferKind : unsigned char { ordinary, arena, registered };

inline constexpr std::array<std::string_view, 3> buffer_kind_names{"private", "arena",
                                                                   "registered"};
inline constexpr std::array<std::string_view, 3> selection_names{"learned", "by-arrivals",
                                                                 "repeatable"};
inline constexpr std::array<std::string_view, 4> peer_access_names{"best", "copied", "without-cma",
                                                                   "staged"};

/// Before the name of a candidate that is made persistent.
inline constexpr std::string_view persistent_prefix = "persistent ";

/// The candidate that packs what is not contiguous for the native collective.
inline constexpr std::string_view packed_native = "mpi:packed";

/// Is a candidate of this name MPI's own?
constexpr bool is_native(std::string_view name) { return name == "mpi" || name == packed_native; }

/// The command line, checked as far as it can be without knowing the ranks.
struct Options {
  Collective collective = Collective::allreduce;
  bool irregular = false;             ///< its form whose blocks differ in length
  Counts counts = Counts::power_law;  ///< how they differ
  std::size_t gap = 0;                ///< elements between blocks that differ
  std::string layout_text;            ///< as it was given; empty: elements in one piece
  Layout layout;                      ///< of the buffers of all candidates
  std::vector<std::string> algorithms{"mpi", "auto"};
  std::vector<std::size_t> sizes;    ///< bytes, multiples of the type's size
  std::string arrival = "balanced";  ///< a shape's name or trace:FILE
  std::optional<double> mif;         ///< the spread in units of α
  std::optional<double> spread;      ///< or in seconds
  Delay delay = Delay::busy;
  Start start = Start::barrier;
  Type type = Type::float64;
  Op op = Op::sum;
  int root = 0;
  bool in_place = false;
  bool persistent = false;                    ///< papcoll's candidates are made persistent, too
  BufferKind buffers = BufferKind::ordinary;  ///< of all candidates
  int group_size = 0;   ///< ranks that Hierarchical takes for a node; 0: those that share memory
  std::string machine;  ///< that papcoll is told of, as `papcoll topology` takes it; or empty
  papcoll::tool::Placement placement = papcoll::tool::Placement::by_core;  ///< on that machine
  bool routes = false;  ///< its hops are the links between the hosts of simulated ranks
  std::size_t chunk_bytes = papcoll::Options{}.chunk_bytes;  ///< of papcoll's chunk buffers
  std::uint32_t agreement_period = papcoll::Options{}.agreement_period;
  papcoll::Selection selection = papcoll::Selection::learned;
  papcoll::PeerAccess peer_access = papcoll::PeerAccess::best;
  papcoll::CopyMethod copy_method = papcoll::CopyMethod::best;
  std::uint64_t seed = 1;
  std::optional<std::size_t> iterations;  ///< at most; by default chosen by size
  std::optional<std::size_t> warmup;
  double precision = 0.025;  ///< relative half width of the mean's confidence interval
  double time_limit = 60;    ///< seconds a size and candidate
  bool check = false;
  Format format = Format::table;
  std::string output;  ///< empty: standard output
  std::string fit;     ///< a model file to write; then the collectives are chosen by what it needs
  bool measures_links = false;  ///< and nothing else
  std::string links;            ///< a network file to write; empty: none
  std::string node_costs;       ///< a file to write of what a node's ranks cost; and nothing else
  std::string tune;    ///< a selection file to write; then the collectives are chosen by its needs
  bool quick = false;  ///< it is to have what calls have taught, and no thresholds
  double learn_limit = 50;  ///< seconds that this may take

  bool is_trace() const { return arrival.starts_with("trace:"); }
  std::string trace_file() const { return arrival.substr(6); }
  bool is_balanced() const { return arrival == "balanced"; }
};

/// The program is to end before it has begun.
struct EarlyExit {
  int status = 0;    ///< 0: help was asked for; 2: the command line is wrong
  std::string text;  ///< what to print, on stdout or stderr accordingly
};

constexpr std::string_view name_of(BufferKind kind) {
  return buffer_kind_names[static_cast<std::size_t>(kind)];
}

std::variant<Options, EarlyExit> parse_options(int argc, char** argv);

/// The call of so many bytes. Throws what irregular_blocks() throws.
Problem problem_of(const Options& options, std::size_t bytes, int rank, int ranks);

}  // namespace bench
