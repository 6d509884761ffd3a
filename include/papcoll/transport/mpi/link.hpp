// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

/// A team's way into MPI: the user's communicator, and, once something needs it, the team's private
/// duplicate, the only one it ever makes.
class MpiLink : Pinned {
 public:
  [[gnu::cold]] explicit MpiLink(MPI_Comm user) : user_(user), all_ranks_(user) {}
  /// Leaks the private communicator of a team that was never made whole: peers may be dead.
  ~MpiLink() { close(true); }

  MPI_Comm user() const noexcept { return user_; }

  /// The private communicator. The first use is collective. Throws transport_unavailable, on all
  /// ranks, if MPI has run out of communicators.
  MPI_Comm comm() {
    if (private_.get() == MPI_COMM_NULL) [[unlikely]]
      connect(all_ranks_);
    return private_.get();
  }
  /// What a rank does while the first use, or another collective of MPI, waits for its peers.
  /// `all_ranks` is on the user's.
  [[gnu::cold]] void connect_by(const detail::PolledCollectives& all_ranks) {
    all_ranks_ = all_ranks;
  }
  bool connected() const noexcept { return static_cast<bool>(private_); }
  /// Collectives on the user's communicator, in which ranks wait as set by connect_by().
  const detail::PolledCollectives& users_ranks() const noexcept { return all_ranks_; }
  /// The collectives on the private communicator.
  [[gnu::cold]] detail::PolledCollectives all_ranks() { return all_ranks_.on(comm()); }

  /// Returns true if every rank has passed true. Collective, and waited for as the first use of the
  /// link.
  [[gnu::cold]] bool agree(bool mine) const {
    return all_ranks_.allreduce(mine ? 1 : 0, MPI_MIN, "papcoll::agree") != 0;
  }

  /// Makes the private communicator; `all_ranks` is on the user's. Collective.
  [[gnu::cold]] void connect(const detail::PolledCollectives& all_ranks) {
    constexpr const char* where = "papcoll's first use of MpiTransport on a communicator";
    const std::string problem = detail::first_problem(
        all_ranks, detail::caught<mpi_error>([&] { private_ = all_ranks.duplicate(where); }),
        where);
    if (!problem.empty()) {
      private_.reset();
      throw transport_unavailable(
          detail::joined({problem, "; free communicators that are no longer needed"}));
    }
    int* bound = nullptr;
    int found = 0;
    // Open MPI 4.1 keeps it at MPI_COMM_WORLD only.
    detail::check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found),
                  "MPI_Comm_get_attr", where);
    const int tags = found != 0 ? *bound : least_tag_bound;
    sequences_ = std::bit_floor((static_cast<std::uint32_t>(tags) - first_tag) / tags_per_call);
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    name_ = static_cast<std::uint64_t>(now) * 1000003U + static_cast<std::uint64_t>(getpid());
    all_ranks.bcast(&name_, sizeof name_, 0, where);
  }

  /// The tag of a message. Messages that share a tag are matched in the order in which they are
  /// posted; a plan keeps fewer than tags_per_block of a pair in flight in one block, and a PlanRun
  /// posts a block only after the one that used its slot, so that order is the same at both ends.
  int tag(std::uint32_t sequence, std::uint32_t block, std::uint32_t number) const noexcept {
    return static_cast<int>(first_tag + sequence % sequences_ * tags_per_call +
                            block % blocks_in_flight * tags_per_block + number % tags_per_block);
  }

  /// A call may not begin before the one of this many sequence numbers ago is over.
  std::uint32_t sequences_at_once() const noexcept { return sequences_; }

  static constexpr int refusal_tag = 0;  ///< a rank announces that its call was invalid
  static constexpr std::uint32_t blocks_in_flight = 16;

  // --- refusals, where no shared memory can carry them

  /// Notifies all other ranks that this rank's call number `number` was invalid, or why the team is
  /// lost: `reason` as in NodeControlBlock::Abort, 0 if it goes on. Sends nothing if there is no
  /// private communicator, or if this rank only passes on what it was notified of.
  [[gnu::cold]] void send_refusal(std::uint32_t number, std::uint32_t reason,
                                  const std::string& text) {
    if (!connected() || was_told_) return;
    int rank = 0;
    int size = 0;
    const char* const where = "papcoll's report of an invalid call";
    detail::check(MPI_Comm_rank(comm(), &rank), "MPI_Comm_rank", where);
    detail::check(MPI_Comm_size(comm(), &size), "MPI_Comm_size", where);
    auto* const r = new Refusal{name_, number, reason, {}};  // never freed: MPI may be sending it
    std::strncpy(r->text, text.c_str(), sizeof(r->text) - 1);
    sent_.push_back(r);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_Isend(r, sizeof(Refusal), MPI_BYTE, peer, refusal_tag, comm(), &request);
      if (detail::peer_failure_of(code) == detail::PeerFailure::died) continue;
      detail::check(code, "MPI_Isend", where);
      // No rank waits for its completion.
      detail::check(MPI_Request_free(&request), "MPI_Request_free", where);
    }
  }

  /// Looks for refusals, which moves MPI's own communication along too, and throws peer_error if
  /// one is for a call below number `next` that this rank did not refuse itself. The probe is for a
  /// tag that is used for nothing else: a probe that matches anything returns at once without
  /// progress when a message is queued.
  void poll(std::uint32_t next) {
    const char* const where = "papcoll's wait";
    int there = 0;
    MPI_Status status;
    detail::check(MPI_Iprobe(MPI_ANY_SOURCE, refusal_tag, comm(), &there, &status), "MPI_Iprobe",
                  where);
    if (there != 0 || !received_.empty()) heed_refusals(there != 0 ? &status : nullptr, next);
  }

  /// Frees the private communicator. Local in practice: MPI may only require that nothing is
  /// pending. It is leaked if messages may be left that no rank will receive, since MPI would
  /// deliver them on the next communicator that it makes in its place.
  [[gnu::cold]] void close(bool broken) noexcept {
    user_ = MPI_COMM_NULL;
    if (broken || !sent_.empty()) {
      static_cast<void>(private_.release());
    } else {
      private_.reset();
    }
  }

 private:
  struct Refusal {
    std::uint64_t link = 0;  ///< the link's name: a refusal may outlive its communicator
    std::uint32_t number = 0;
    std::uint32_t reason = 0;
    char text[496] = {};
  };

  /// Returns true if a rank that reads the refusal must throw at once, in whatever call.
  static bool at_once(const Refusal& r) noexcept { return r.reason != 0; }

  /// See poll(). `found`: the status of a refusal that was probed, or null.
  [[gnu::cold, gnu::noinline]] void heed_refusals(const MPI_Status* found, std::uint32_t next) {
    if (found != nullptr) {
      Refusal r;
      detail::check(MPI_Recv(&r, sizeof r, MPI_BYTE, found->MPI_SOURCE, refusal_tag, comm(),
                             MPI_STATUS_IGNORE),
                    "MPI_Recv", "papcoll's wait");
      if (r.link == name_) received_.push_back(r);
    }
    for (std::size_t i = 0; i < received_.size();) {
      const Refusal& r = received_[i];
      if (!at_once(r) && refused_here(r.number)) {
        received_.erase(received_.begin() + i);
      } else if (at_once(r) || static_cast<std::int32_t>(r.number - next) < 0) {
        was_told_ = at_once(r);  // who refused one call does not know yet that it broke the others
        if (at_once(r) && !detail::somebody_gave_up(r.reason)) {
          detail::throw_lost(r.reason, detail::joined({"papcoll: ", r.text}));
        }
        throw peer_error(detail::joined({"papcoll: another rank's call was invalid: ", r.text}));
      } else {
        ++i;
      }
    }
  }

  [[gnu::cold]] bool refused_here(std::uint32_t number) const noexcept {
    return std::any_of(sent_.begin(), sent_.end(),
                       [number](const Refusal* r) { return !at_once(*r) && r->number == number; });
  }

  static constexpr int least_tag_bound = 32767;  ///< that the standard grants
  static constexpr std::uint32_t first_tag = 16;
  static constexpr std::uint32_t tags_per_block = 256;
  static constexpr std::uint32_t tags_per_call = blocks_in_flight * tags_per_block;

  MPI_Comm user_;
  detail::PolledCollectives all_ranks_;
  OwnedComm private_;
  std::uint64_t name_ = 0;       ///< the same on all ranks, and no other link's
  std::uint32_t sequences_ = 2;  ///< a power of two, so that tags go round evenly past 2^32
  bool was_told_ = false;        ///< that a peer gave up, as all others were
  detail::Vector<const Refusal*> sent_;
  detail::Vector<Refusal> received_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
