// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/waiting/liveness.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/shm/shm_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>

namespace papcoll::inline PAPCOLL_ABI {

/// The memory that the ranks of one node share, and the watch that they keep over each other.
///
/// Layout: a page with the ticket, then the memory that data() names. Its first rank's create()
/// returns when nothing of it has a name any more, so nothing can be left behind.
class ShmSegment final : public NodePages {
 public:
  /// What create() is to make. Equal on all ranks of a node; `ways` is equal on all ranks.
  struct Request {
    std::vector<int> ranks;  ///< of the node, ascending, this one included
    std::size_t bytes = 0;   ///< of data()
    detail::Vector<ShmMethod> ways{ShmMethod::by_descriptor,
                                   ShmMethod::by_name};  ///< tried in this order
  };

  /// Makes one segment for each node. Collective, by a few small polled collectives; all ranks take
  /// the same way. Setting PAPCOLL_SHM=named for any rank forbids by_descriptor.
  /// Throws transport_unavailable, on all ranks, if a rank could not be served in any way.
  [[gnu::cold]] static detail::Owned<ShmSegment> create(const detail::PolledCollectives& all_ranks,
                                                        const Request& request) {
    std::string reasons;
    for (const ShmMethod way : request.ways) {
      detail::Owned<ShmSegment> segment{new ShmSegment};
      const std::string problem = segment->attempt(all_ranks, request, way);
      if (problem.empty()) return segment;
      reasons += (reasons.empty() ? "" : "; ") + problem;
    }
    detail::throw_error<transport_unavailable>(
        {"papcoll: the ranks of a node cannot share memory: ", reasons});
  }

  /// Memory that begins as zeros, aligned to a page; shared by the ranks of the node.
  std::byte* data() const noexcept { return region_.data() + detail::page_bytes(); }
  std::size_t bytes() const noexcept { return region_.bytes() - detail::page_bytes(); }

  /// The file that it is in, which has more behind it if it was extended.
  const ShmFile& file() const noexcept { return file_; }
  std::size_t file_bytes() const noexcept { return region_.bytes(); }
  /// A number drawn by rank 0: equal on all ranks, also those of other nodes, and different for
  /// every segment.
  std::uint64_t id() const noexcept { return id_; }

  /// The other ranks of the node, numbered as in Request::ranks.
  const PeerLiveness& liveness() const noexcept { return *watch_; }

  [[gnu::cold]] void reserve(const std::byte* at, std::size_t bytes) const override {
    file_.reserve(static_cast<std::size_t>(at - region_.data()), bytes);
  }

  [[gnu::cold]] std::byte* map_again(const std::byte* at, std::size_t bytes) const override {
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                         file_.fd(), static_cast<off_t>(at - region_.data()));
    if (p == MAP_FAILED) {
      detail::throw_system_error(
          detail::joined({"cannot map ", bytes, " bytes of shared memory once more"}), errno);
    }
    return static_cast<std::byte*>(p);
  }

 private:
  ShmSegment() = default;

  /// Tries one way and lets all ranks vote. Returns why it did not work on some rank; empty if it
  /// did.
  [[gnu::cold]] std::string attempt(const detail::PolledCollectives& all_ranks,
                                    const Request& request, ShmMethod way) {
    constexpr const char* where = "making shared memory";
    const int rank = all_ranks.rank(where);
    const bool maker = request.ranks.front() == rank;

    ShmTicket ticket;
    struct RemoveName {
      void operator()(const ShmTicket* t) const noexcept { ShmFile::remove_name(*t); }
    };
    detail::Owned<const ShmTicket, RemoveName> named;
    std::string problem;
    if (maker) {
      problem = detail::caught([&] {  // every failure must reach the vote
        ticket = ShmTicket::draw();
        file_ = ShmFile::make(ticket, way, detail::page_bytes() + request.bytes);
        if (way == ShmMethod::by_name) named.reset(&ticket);
        file_.reserve(0, detail::page_bytes());
        map();
        new (region_.data()) Head{ticket.nonce};
        begin_watch(rank, request);  // before others come, however late: a locked file is not swept
      });
      if (!problem.empty()) ticket.fd = -1;
    }

    detail::Vector<ShmTicket> tickets(static_cast<std::size_t>(all_ranks.size(where)));
    all_ranks.allgather(&ticket, sizeof ticket, tickets.data(), where);
    id_ = tickets.front().nonce.front();
    ticket = tickets[static_cast<std::size_t>(request.ranks.front())];
    if (problem.empty()) {
      problem = detail::caught([&] {
        if (way == ShmMethod::by_descriptor) refuse_if_forbidden();
        if (maker) return;
        join(ticket, way, request);
        begin_watch(rank, request);
      });
    }
    return detail::first_problem(all_ranks, problem, where);
  }

  [[gnu::cold]] void join(const ShmTicket& ticket, ShmMethod way, const Request& request) {
    if (ticket.fd < 0) {
      detail::throw_error<transport_unavailable>({"the first rank of its node made no memory"});
    }
    file_ = ShmFile::open(ticket, way);
    map();
    if (bytes() != request.bytes || head()->nonce != ticket.nonce) {
      detail::throw_error<transport_unavailable>({"found other memory than was meant"});
    }
  }

  [[gnu::cold]] void map() {
    region_ = detail::LazyMapping::of_file(file_.fd(), 0, file_.bytes());
    if (region_.data() == nullptr) detail::throw_system_error("cannot map shared memory", errno);
  }

  [[gnu::cold]] void begin_watch(int rank, const Request& request) {
    const auto place = std::find(request.ranks.begin(), request.ranks.end(), rank);
    watch_ = detail::make_owned<PeerLiveness>(file_.fd(),
                                              static_cast<int>(place - request.ranks.begin()),
                                              static_cast<int>(request.ranks.size()));
  }

  [[gnu::cold]] static void refuse_if_forbidden() {
    const char* wish = std::getenv("PAPCOLL_SHM");
    if (wish != nullptr && std::string_view{wish} == "named") {
      detail::throw_error<transport_unavailable>({"PAPCOLL_SHM=named was set"});
    }
  }

  struct Head {
    std::array<std::uint64_t, 2> nonce;
  };
  const Head* head() const noexcept {
    return std::launder(reinterpret_cast<const Head*>(region_.data()));
  }

  // Destroyed from the last to the first: the watch unlocks the file.
  ShmFile file_;
  detail::LazyMapping region_;
  detail::Owned<PeerLiveness> watch_;
  std::uint64_t id_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
