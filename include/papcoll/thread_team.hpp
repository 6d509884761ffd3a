#pragma once

#include <papcoll/arrival/board.hpp>
#include <papcoll/division.hpp>
#include <papcoll/error.hpp>
#include <papcoll/team.hpp>
#include <papcoll/transport/channels.hpp>
#include <papcoll/transport/node.hpp>
#include <papcoll/transport/thread_transport.hpp>
#include <papcoll/waiting/doorbells.hpp>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Private pages, zero until touched.
class AnonymousMemory {
 public:
  explicit AnonymousMemory(std::size_t bytes) : bytes_(bytes) {
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
      throw system_error(
          "papcoll: no memory for a thread team of " + std::to_string(bytes) +
              " bytes: fewer threads, or smaller Options::chunk_bytes or arena_bytes",
          errno);
    }
    data_ = static_cast<std::byte*>(p);
  }
  AnonymousMemory(const AnonymousMemory&) = delete;
  AnonymousMemory& operator=(const AnonymousMemory&) = delete;
  ~AnonymousMemory() { munmap(data_, bytes_); }

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

/// Processors this process may run on.
inline int usable_processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

template <class = void>
std::shared_ptr<TeamCore> thread_core(const Node& node, const Options& options) {
  Surroundings s;
  s.rank = node.rank;
  s.size = node.size;
  s.node = &node;
  s.processes = false;
  return std::make_shared<TeamCore>(std::move(s), std::vector{&transport_table<ThreadTransport>},
                                    options);
}
PAPCOLL_COMPILE_ONCE(std::shared_ptr<TeamCore> thread_core<>(const Node&, const Options&))

/// Makes the teams within a team of threads, as Options::groups says, and gives their memory.
template <class = void>
std::unique_ptr<AnonymousMemory> divide_threads(const std::vector<TeamCore*>& ranks,
                                                const Options& options) {
  const DivisionPlans plans{options.groups, std::vector<int>(ranks.size(), 0), 0,
                            options.chunk_bytes};
  auto pages = std::make_unique<AnonymousMemory>(plans.heads_bytes() + plans.channels_bytes() + 1);
  const DivisionMemory memory{pages->data(), pages->data() + plans.heads_bytes()};
  for (TeamCore* core : ranks) divide(*core, plans, memory);
  return pages;
}
PAPCOLL_COMPILE_ONCE(std::unique_ptr<AnonymousMemory> divide_threads<>(
    const std::vector<TeamCore*>&, const Options&))

}  // namespace detail

/// Threads of one process as ranks: the same collectives without MPI. Made once, run as often as
/// wanted; each run() starts one thread a rank.
class ThreadTeam {
 public:
  /// One rank of the team, to be used by its own thread only.
  class Rank {
   public:
    int rank() const noexcept { return core_->rank(); }
    int size() const noexcept { return core_->size(); }
    TeamCore& core() noexcept { return *core_; }

   private:
    friend class ThreadTeam;
    std::shared_ptr<const Node> node_;
    std::shared_ptr<TeamCore> core_;
  };

  explicit ThreadTeam(int ranks, const Options& options = {})
      : memory_(checked(ranks, options), options), ranks_(static_cast<std::size_t>(ranks)) {
    Doorbells::initialise(memory_.bells, ranks);
    Board{memory_.board, ranks, options.chunk_bytes}.initialise(options.first_epoch);
    const bool oversubscribed = ranks > detail::usable_processors();
    for (int r = 0; r < ranks; ++r) {
      Rank& rank = ranks_[static_cast<std::size_t>(r)];
      rank.node_ = std::make_shared<const Node>(memory_.node_of(r, ranks, options));
      rank.core_ = detail::thread_core<>(*rank.node_, options);
      rank.core_->set_oversubscribed(oversubscribed);
    }
    if (options.groups.empty()) return;
    std::vector<TeamCore*> cores;
    for (const Rank& rank : ranks_) cores.push_back(rank.core_.get());
    division_memory_ = detail::divide_threads<>(cores, options);
  }

  int size() const noexcept { return static_cast<int>(ranks_.size()); }

  /// Runs body(rank) on a thread for each rank, and returns when all have. If a body throws, ranks
  /// that wait for it throw peer_lost, the team is broken, and the first exception is thrown here.
  template <class Body>
  void run(Body&& body) {
    std::vector<std::exception_ptr> problems(ranks_.size());
    std::atomic<int> first{-1};
    {
      std::vector<std::jthread> threads;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        threads.emplace_back([&, r] {
          try {
            body(ranks_[r]);
          } catch (...) {
            problems[r] = std::current_exception();
            int none = -1;
            first.compare_exchange_strong(none, static_cast<int>(r));
            ranks_[r].core_->abort_node(static_cast<std::uint32_t>(r) + 1);
          }
        });
      }
    }
    if (first >= 0) std::rethrow_exception(problems[static_cast<std::size_t>(first.load())]);
  }

 private:
  static int checked(int ranks, const Options& options) {
    if (ranks < 1) {
      throw argument_error("papcoll: a thread team of " + std::to_string(ranks) +
                           " ranks: it needs at least one");
    }
    std::string problem = options.problem();
    if (problem.empty()) problem = problem_of(options.groups, ranks);
    if (!problem.empty()) throw argument_error("papcoll: Options of a thread team: " + problem);
    return ranks;
  }

  struct Memory {
    Memory(int ranks, const Options& options)
        : bells_bytes(detail::page_aligned(Doorbells::bytes(ranks))),
          board_bytes(detail::page_aligned(Board::bytes(ranks, options.chunk_bytes))),
          channels_bytes(detail::page_aligned(Channels::bytes(ranks))),
          pages(bells_bytes + board_bytes + channels_bytes +
                static_cast<std::size_t>(ranks) * options.arena_bytes),
          bells(pages.data()),
          board(bells + bells_bytes),
          channels(board + board_bytes) {}

    Node node_of(int rank, int ranks, const Options& options) const {
      Node n{rank, ranks, bells, board, channels};
      if (options.peer_access == PeerAccess::staged) n.peers = PeerMemory{pages.data(), 0, {}};
      n.set_arena(channels + channels_bytes, options.arena_bytes);
      return n;
    }

    std::size_t bells_bytes;
    std::size_t board_bytes;
    std::size_t channels_bytes;
    detail::AnonymousMemory pages;
    std::byte* bells;
    std::byte* board;
    std::byte* channels;
  };

  Memory memory_;
  std::unique_ptr<detail::AnonymousMemory> division_memory_;
  std::vector<Rank> ranks_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
