// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a rank's trace file holds, from its first byte on:
//
//     FileHeader                     who, where, when; the clock; times of messages; counters
//     Module[modules]                the objects (program, shared libraries) that call MPI
//     Site[sites]                    the places in them that call MPI
//     CommunicatorEntry[...]         the communicators that this rank has
//     Total[totals]                  exact sums per site, collective and size
//     Record[records]                a ring: the latest calls
//
// Numbers are in the machine's byte order, times in nanoseconds of the rank's own CLOCK_MONOTONIC.
// The file is written through a shared mapping while the program runs, so that it is whole after
// any end of the process, and may be read at any time. Tables are filled from the front and their
// entries never change their meaning; `counters` says how many are there.
//
// Every field that changes after the file was made is written and read by std::atomic_ref; what
// orders them is said where they are written (recorder.hpp).

#include <papcoll/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// The first eight bytes of a trace file.
inline constexpr std::array<char, 8> trace_magic{'P', 'A', 'P', 'T', 'R', 'A', 'C', 'E'};
/// Changes with every change of this file's structures; a reader takes its own version only.
inline constexpr std::uint32_t trace_version = 3;
/// As the machine that wrote it has it, so that another byte order is noticed.
inline constexpr std::uint32_t trace_byte_order = 0x01020304;

/// The collectives of MPI. Non-blocking and persistent ones are marked by Record::flags.
enum class MpiCollective : std::uint16_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};

/// In the order of MpiCollective, as in MPI_NAME.
inline constexpr std::array<std::string_view, 22> collective_names{
    "Barrier",
    "Bcast",
    "Gather",
    "Gatherv",
    "Scatter",
    "Scatterv",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Reduce",
    "Allreduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scan",
    "Exscan",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
};

/// Names of datatypes, in the order of Record::type. The first stands for all others.
inline constexpr std::array<std::string_view, 31> type_names{
    "derived",
    "MPI_CHAR",
    "MPI_SIGNED_CHAR",
    "MPI_UNSIGNED_CHAR",
    "MPI_BYTE",
    "MPI_SHORT",
    "MPI_UNSIGNED_SHORT",
    "MPI_INT",
    "MPI_UNSIGNED",
    "MPI_LONG",
    "MPI_UNSIGNED_LONG",
    "MPI_LONG_LONG",
    "MPI_FLOAT",
    "MPI_DOUBLE",
    "MPI_LONG_DOUBLE",
    "MPI_INT8_T",
    "MPI_INT16_T",
    "MPI_INT32_T",
    "MPI_INT64_T",
    "MPI_UINT8_T",
    "MPI_UINT16_T",
    "MPI_UINT32_T",
    "MPI_UINT64_T",
    "MPI_INTEGER",
    "MPI_REAL",
    "MPI_DOUBLE_PRECISION",
    "MPI_COMPLEX",
    "MPI_DOUBLE_COMPLEX",
    "MPI_LOGICAL",
    "MPI_DOUBLE_INT",
    "MPI_2INT",
};

/// Names of operators, in the order of Record::op: none for collectives that combine nothing.
inline constexpr std::array<std::string_view, 14> op_names{
    "",        "user's",   "MPI_SUM",  "MPI_PROD", "MPI_MIN",  "MPI_MAX",    "MPI_BAND",
    "MPI_BOR", "MPI_BXOR", "MPI_LAND", "MPI_LOR",  "MPI_LXOR", "MPI_MINLOC", "MPI_MAXLOC",
};

/// Bits of Record::flags.
enum RecordFlag : std::uint32_t {
  record_nonblocking = 1,  ///< MPI_I…: the exit is that of the call which started it
  record_large_count = 2,  ///< MPI_…_c
  record_persistent = 4,   ///< MPI_Start of an MPI_…_init
  record_in_place = 8,     ///< this rank passed MPI_IN_PLACE
};

/// What Record::site and Record::communicator say where a table was full.
inline constexpr std::uint32_t no_entry = 0xffffffffU;

/// One collective call of one rank.
struct Record {
  std::uint64_t arrival;       ///< when the rank came to the call
  std::uint64_t exit;          ///< when it left; 0 while it is inside
  std::uint64_t bytes;         ///< size of the message, see message_bytes in calls.hpp
  std::uint64_t number;        ///< of this call among all on its communicator, from 0
  std::uint64_t index;         ///< of this record among all of the rank, from 1; 0: being written
  std::uint32_t site;          ///< entry of the table of sites
  std::uint32_t communicator;  ///< entry of the table of communicators
  std::int32_t root;           ///< in the communicator, or −1: the collective has none
  std::uint16_t collective;    ///< an MpiCollective
  std::uint16_t type;          ///< index into type_names
  std::uint16_t op;            ///< index into op_names
  std::uint16_t thread;        ///< threads count from 0, in the order of their first calls
  std::uint32_t flags;         ///< bits of RecordFlag
};

/// Sums over all calls of one site, collective and size, dropped records included.
struct Total {
  std::uint64_t key;      ///< total_key(), never 0 in an entry that is in use
  std::uint64_t calls;    ///< that have returned
  std::uint64_t time;     ///< in the calls
  std::uint64_t bytes;    ///< sum of Record::bytes
  std::uint64_t longest;  ///< time of one call
  std::uint64_t reserved[3];
};

/// Shows whether a file was changed; all 0 if that is not known.
struct FileStamp {
  std::uint64_t bytes = 0;   ///< size of the file
  std::int64_t changed = 0;  ///< when it was written last, in nanoseconds since 1970
};

/// An object that calls MPI.
struct Module {
  std::uint64_t base;            ///< address at which it was loaded in this process
  std::uint32_t path_bytes;      ///< of its path, without the end; the path may be cut off
  std::uint32_t build_id_bytes;  ///< 0: the linker left no build id, and build_id is a FileStamp
  std::array<unsigned char, 32> build_id;
  std::array<char, 464> path;
};

/// A place that calls MPI.
struct Site {
  std::uint64_t address;  ///< return address of the call, in this process
  std::uint64_t offset;   ///< the same less Module::base
  std::uint32_t module;   ///< entry of the table of modules, or no_entry
  std::uint32_t reserved;
};

/// Bits of CommunicatorEntry::flags.
enum CommunicatorFlag : std::uint32_t {
  communicator_inter = 1,    ///< an inter-communicator; `rank` counts the group with the lower
                             ///< lowest world rank first
  communicator_foreign = 2,  ///< has members outside MPI_COMM_WORLD
  communicator_freed = 4,
};

/// A communicator of this rank. Members' entries have the same hash and ordinal.
struct CommunicatorEntry {
  std::uint64_t members_hash;  ///< of its members' world ranks in order, and its origin
  std::uint64_t calls;         ///< collective calls begun by this rank
  std::uint32_t ordinal;       ///< how many with the same hash this rank had before
  std::int32_t rank;           ///< of this process in it
  std::int32_t size;
  std::uint32_t flags;        ///< bits of CommunicatorFlag
  std::array<char, 32> name;  ///< by MPI_Comm_set_name before its first collective call, may be cut
};

/// What a rank knew at one moment of the clock of rank 0: that its own clock showed `at` when that
/// of rank 0 showed at + offset, up to `bound`.
struct ClockPoint {
  std::int64_t at;
  std::int64_t offset;
  std::int64_t bound;     ///< ≥ 0; what is below it is not known
  std::int64_t measured;  ///< 0: the point is not there
};

/// FileHeader::state.
enum class RunState : std::uint32_t {
  running,     ///< or killed: the process holds a lock on its file as long as it lives
  finalizing,  ///< in MPI_Finalize
  finished,    ///< MPI_Finalize has come back
  exited,      ///< the process left without MPI_Finalize
  aborted,     ///< it called MPI_Abort
};

/// Sizes of messages whose time was measured: 1 byte, 2, 4 and so on.
inline constexpr std::size_t one_way_sizes = 32;

/// The beginning of a trace file.
struct FileHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t header_bytes;
  std::uint64_t file_bytes;

  // Where the tables are, from the beginning of the file, and for how many entries there is room.
  std::uint64_t modules_at, modules;
  std::uint64_t sites_at, sites;
  std::uint64_t communicators_at, communicators;
  std::uint64_t totals_at, totals;  ///< an open-addressing table: a power of two
  std::uint64_t records_at, records;

  std::uint64_t run;        ///< drawn by rank 0, the same on all ranks
  std::uint64_t job;        ///< what papcoll-profile called the job, or 0
  std::int32_t world_rank;  ///< rank in MPI_COMM_WORLD
  std::int32_t world_size;
  std::int32_t node;   ///< the lowest world rank on the same node
  std::int32_t clock;  ///< the lowest world rank that reads the same clock
  std::int64_t pid;
  std::int32_t thread_level;  ///< 0 single, 1 funneled, 2 serialized, 3 multiple
  std::uint32_t state;        ///< a RunState
  std::int32_t abort_code;    ///< of MPI_Abort
  std::uint32_t spawned;      ///< 1 if MPI_Comm_get_parent returns a parent, else 0
  std::int32_t processors;    ///< that the ranks of the node may run on at MPI_Init, or 0: unknown
  std::uint32_t reserved;
  std::uint64_t began;      ///< when recording began
  std::uint64_t ended;      ///< when MPI_Finalize was called, or 0
  std::int64_t began_unix;  ///< the same as `began` in nanoseconds since 1970
  ClockPoint clock_begin;   ///< at MPI_Init
  ClockPoint clock_end;     ///< at MPI_Finalize

  std::array<char, 64> host;
  std::array<char, 64> boot;        ///< boot id and time namespace
  std::array<char, 256> program;    ///< path of the program
  std::array<char, 256> arguments;  ///< its arguments with a blank between each, may be cut off
  std::array<char, 256> library;    ///< MPI_Get_library_version, its first line

  /// One-way times of messages of 2^i bytes in nanoseconds, 0 where not measured: between two ranks
  /// of one node and of two. Measured by some ranks of the run at MPI_Finalize.
  std::array<double, one_way_sizes> one_way_on_node;
  std::array<double, one_way_sizes> one_way_between_nodes;

  // Counters, each in a cache line of its own with those of the same writer.
  alignas(64) std::uint64_t records_begun;  ///< of all calls; what exceeds `records` was dropped
  std::uint64_t modules_used;
  std::uint64_t sites_used;
  std::uint64_t communicators_used;
  std::uint64_t sites_lost;          ///< calls whose site found no room
  std::uint64_t communicators_lost;  ///< communicators that found none
  std::uint64_t totals_lost;         ///< calls that are in no total, since the table was full
  std::uint64_t threads_used;
};

/// What the totals are kept by: a site, a collective with its flags, and a range of sizes.
struct TotalKey {
  std::uint32_t site;
  MpiCollective collective;
  std::uint32_t flags;  ///< of RecordFlag: nonblocking and persistent only
  unsigned size_class;  ///< 0 for no bytes, else the number of bits of the size
};

/// Number of bits of a size: 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7 and so on.
constexpr unsigned size_class_of(std::uint64_t bytes) noexcept {
  unsigned bits = 0;
  while (bytes != 0) {
    ++bits;
    bytes >>= 1U;
  }
  return bits;
}

/// The key as one number that is never 0.
constexpr std::uint64_t packed(const TotalKey& k) noexcept {
  return (std::uint64_t{1} << 63U) | (std::uint64_t{k.site} << 24U) |
         (std::uint64_t{static_cast<std::uint16_t>(k.collective)} << 16U) |
         (std::uint64_t{k.flags & 0xffU} << 8U) | k.size_class;
}

/// The key that packed() made a number of.
constexpr TotalKey unpacked(std::uint64_t key) noexcept {
  return {static_cast<std::uint32_t>((key >> 24U) & 0xffffffffU),
          static_cast<MpiCollective>((key >> 16U) & 0xffU),
          static_cast<std::uint32_t>((key >> 8U) & 0xffU), static_cast<unsigned>(key & 0xffU)};
}

static_assert(sizeof(Record) == 64 && sizeof(Total) == 64 && sizeof(Module) == 512);
static_assert(sizeof(Site) == 24 && sizeof(CommunicatorEntry) == 64);
static_assert(sizeof(FileHeader) <= 4096 && sizeof(FileHeader) % 64 == 0);
static_assert(std::is_trivially_copyable_v<FileHeader> && std::is_trivially_copyable_v<Module>);

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
