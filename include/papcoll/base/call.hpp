// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Returns a hash of a name, equal on all ranks.
constexpr std::uint32_t hash_of_name(std::string_view name) noexcept {
  std::uint32_t hash = 0;
  for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash;
}

/// A small number that tells algorithms apart when ranks compare their calls. The numbers of the
/// library's arrival-driven algorithms differ. An algorithm of a program's own runs even if it has
/// the number of another. Ranks that call the one and the other at once, an error of the program,
/// may then get wrong results instead of an exception.
constexpr std::uint8_t algorithm_id(std::string_view name) noexcept {
  return static_cast<std::uint8_t>(hash_of_name(name) % 251);
}

/// What memory a call's buffers are in.
enum class MemoryKind : unsigned char {
  host,
  device,   ///< only a device reads and writes it; steps that touch it are the transport's
  managed,  ///< either may
};

/// How ranks of a node reach buffers that they do not map.
enum class PeerReach : unsigned char {
  by_option,  ///< as Options::peer_access says
  staged,     ///< through memory that all map
  chunked,    ///< as staged, long ones in pieces through few places, which stay in caches
  pulled,     ///< by the kernel's copies
};

/// What was chosen for a call, for those that count its cost: see CallLearner.
struct CallTrial {
  std::uint16_t kind = 0;       ///< of calls among which one choice stands; 0: nothing was chosen
  std::uint8_t candidate = 0;   ///< the number of what runs, below most_candidates
  std::uint8_t candidates = 0;  ///< how many are tried, up to most_tried; 0: the choice is made

  // As many as fit in the 4 and the 3 bits that ranks tell each other (ArrivalMonitor::CostWord).
  static constexpr std::size_t most_candidates = 16;  ///< of a collective
  static constexpr int most_tried = 7;                ///< of these, for one kind of calls

  /// Returns true if every rank records the cost of its call with this number: always for long
  /// calls, for others in one of `one_in` calls, a power of two.
  constexpr bool is_timed(std::uint32_t epoch, bool is_long,
                          std::uint32_t one_in = 256) const noexcept {
    if (kind == 0) return false;
    const std::uint32_t drawn = (epoch / one_in * 0x9e3779b9U >> 16U) % one_in;
    return candidates != 0 || is_long || epoch % one_in == drawn;
  }
  friend bool operator==(const CallTrial&, const CallTrial&) = default;
};

/// In Call::types: the buffers are in memory of a device.
inline constexpr std::uint64_t types_on_device = std::uint64_t{1} << 39;

struct PlanOf;

/// One rank's call of a collective, type-erased: no element type, no operator type.
///
/// The *vector* of a call is what the collective is about: `count` elements for allreduce, reduce,
/// bcast, scan and exscan; a block of `count` for each rank, in rank order, for allgather, gather,
/// scatter and reduce_scatter; one for each pair of ranks, by sender and then by receiver, for
/// alltoall.
/// `in` and `out` hold the parts of it that MPI's collective of the same name puts there. In place
/// means in == out.
struct Call {
  /// Not constexpr, as GCC would then clear all of it by a string instruction, which takes as long
  /// as much of a small call.
  Call() noexcept {}  // NOLINT(modernize-use-equals-default)

  Collective collective = Collective::barrier;  ///< which it is
  const std::byte* in = nullptr;                ///< the input, if this rank has one
  std::byte* out = nullptr;                     ///< the output, if this rank has one
  std::size_t count = 0;  ///< elements of the vector, or of each of its blocks
  /// Blocks that differ in size: elements of each rank's; of alltoall, what this rank sends to each
  /// and then what it receives from each. Else null.
  const std::size_t* counts = nullptr;
  /// Where the blocks begin in the buffer that has them, in elements, in the order of `counts`.
  /// Null: one after the other; always there where arrival-driven algorithms run blocks that
  /// differ.
  const std::size_t* displacements = nullptr;
  Reducer reducer{};             ///< bytes of an element, and the operator if there is one
  int root = 0;                  ///< a rank; 0 where there is no root
  bool input_in_output = false;  ///< in place, although `in` does not begin where `out` does
  bool rank_order = false;  ///< combine in rank order: the operator or the contract asks for it
  /// What is promised of the bits of the result.
  NumericalContract contract = default_contract;
  bool local_counts = false;  ///< each rank knows the counts of its own blocks only; `count` is 1
  bool knows_all_counts = false;  ///< of local_counts: this rank knows those of the others as well
  /// The elements are not contiguous: static schedules read them by the views, all else runs a
  /// packed copy.
  bool is_noncontiguous = false;
  /// Identifies operator and element type, so that mismatched calls are found. Bit 0: the operator
  /// commutes. Bits 1–17: the operator. Bits 18–38: the element type. Bit 39: the buffers are in
  /// device memory.
  std::uint64_t types = 0;
  std::uint32_t split = 0;  ///< a hash of `counts`, where all ranks have the same

  CallTrial trial{};                       ///< what was chosen for it, if its cost counts
  PeerReach reach = PeerReach::by_option;  ///< how ranks reach buffers that they do not map
  MemoryKind memory = MemoryKind::host;    ///< of in and out
  /// Where the elements are if they are not contiguous, else null; in place both are the same.
  const BufferView* in_view = nullptr;
  const BufferView* out_view = nullptr;  ///< those of the output
  /// A plan that it may run by; of a prepared call, which keeps it. Or null.
  const PlanOf* plan = nullptr;
  void* stream = nullptr;  ///< of a device, in whose order the call's own work is done; else null

  /// Returns true if the input is in the output.
  bool in_place() const noexcept { return input_in_output || in == out; }
  /// Returns true if the lengths of blocks may differ between ranks. In a reduce_scatter every rank
  /// knows all of them.
  bool is_irregular() const noexcept {
    return counts != nullptr && collective != Collective::reduce_scatter;
  }
  /// Returns true if the bits, and the algorithm, may depend on who arrives when.
  bool by_arrivals() const noexcept { return traits_of(contract).by_arrivals; }
  /// Returns true if they may depend on anything else that differs from run to run.
  bool by_conditions() const noexcept { return traits_of(contract).by_conditions; }
  /// Bytes of `count` elements.
  std::size_t bytes() const noexcept { return count * reducer.size; }
};

namespace detail {

/// Returns the number of numbers that Call::counts points to, among so many ranks.
inline std::size_t counts_of(const Call& call, int size) noexcept {
  const auto ranks = static_cast<std::size_t>(size);
  return traits_of(call.collective).vector == VectorOf::block_per_pair ? 2 * ranks : ranks;
}

/// Bytes of a block in the mean, of a call whose blocks differ: as far as this rank knows them.
inline std::size_t mean_block(const Call& call, int size) noexcept {
  const std::size_t n = counts_of(call, size);
  std::size_t elements = 0;
  for (std::size_t i = 0; i < n; ++i) elements += call.counts[i];
  return elements * call.reducer.size / n;
}

/// Call::split of counts: 20 bits, for CallFingerprint.
constexpr std::uint32_t hash_of_counts(std::span<const std::size_t> each) noexcept {
  std::uint64_t h = 0;
  for (const std::size_t n : each) h = (h ^ (h >> 29U) ^ n) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint32_t>(h >> 44U);
}

/// The call of a barrier; to schedules it is an allreduce of `token` with an idempotent operator.
inline Call barrier_call(std::byte* token) noexcept {
  Call call;
  call.collective = Collective::barrier;
  call.in = call.out = token;
  call.reducer.apply = [](std::byte* out, const std::byte* low, const std::byte* high,
                          std::size_t n, const void*) noexcept {
    for (std::size_t i = 0; i < n; ++i) out[i] = low[i] | high[i];
  };
  return call;
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
