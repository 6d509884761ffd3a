#include "probes.hpp"
#include "quiet.hpp"

#include <papcoll/config.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace bench {
namespace {

/// A word in its own cache lines, so that the hardware's prefetching of pairs does no harm.
struct alignas(256) Word {
  std::atomic<std::uint32_t> value;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Until the word has reached `step`; its owner may be one step further already.
void await(const Word& word, std::uint32_t step) {
  for (int spins = 1; word.value.load(std::memory_order_acquire) < step; ++spins) {
    papcoll::detail::cpu_pause();
    if (spins % 100 == 0) sched_yield();
  }
}

/// How long a signal takes between two ranks, each of which has a word that it writes and the other
/// waits for. `mine` is this rank's. In turns, a signal is half a round trip; both at once, it is
/// what a step of mutual signals takes, which can be quicker. The least of both, in several
/// batches.
double exchange_signals(Word& mine, Word& theirs, bool first) {
  constexpr std::uint32_t batches = 100;
  constexpr std::uint32_t steps = 50;
  double best = std::numeric_limits<double>::max();
  std::uint32_t step = 0;
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    std::int64_t start = local_now();
    for (std::uint32_t i = 0; i < steps; ++i) {
      ++step;
      if (!first) await(theirs, step);
      mine.value.store(step, std::memory_order_release);
      if (first) await(theirs, step);
    }
    best = std::min(best, seconds_since(start) / (2 * steps));
    start = local_now();
    for (std::uint32_t i = 0; i < steps; ++i) {
      ++step;
      mine.value.store(step, std::memory_order_release);
      await(theirs, step);
    }
    best = std::min(best, seconds_since(start) / steps);
  }
  return best;
}

/// Binds the calling thread to one processor for a while, if it may run there.
class OnProcessor {
 public:
  explicit OnProcessor(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    bound_ = sched_getaffinity(0, sizeof before_, &before_) == 0 &&
             CPU_ISSET(processor, &before_) && sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OnProcessor() {
    if (bound_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  cpu_set_t before_{};
  bool bound_;
};

/// The first processor this thread may run on that is not `taken`, else `taken`.
int free_processor(int taken) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return taken;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (i != taken && CPU_ISSET(i, &allowed)) return i;
  }
  return taken;
}

/// The slowest signal between the first rank of a node and one of the others, each on a processor
/// of its own where there are two.
double signal_on_node(MPI_Comm node) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  if (ranks == 1) return 0;
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Aint size = rank == 0 ? static_cast<MPI_Aint>(3 * sizeof(Word)) : 0;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node, static_cast<void*>(&base), &window);
  int unit = 0;
  MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&base));
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  auto* words = reinterpret_cast<Word*>((address + sizeof(Word) - 1) / sizeof(Word) * sizeof(Word));

  constexpr int none = -1;
  int processor = free_processor(none);
  MPI_Bcast(&processor, 1, MPI_INT, 0, node);
  double slowest = 0;
  for (int partner = 1; partner < ranks; ++partner) {
    if (rank == 0) {
      words[0].value.store(0);
      words[1].value.store(0);
    }
    MPI_Barrier(node);
    if (rank == 0) {
      const OnProcessor bound(processor);
      slowest = std::max(slowest, exchange_signals(words[0], words[1], true));
    } else if (rank == partner) {
      const OnProcessor bound(free_processor(processor));
      exchange_signals(words[1], words[0], false);
    }
    quiet_barrier(node);
  }
  MPI_Win_free(&window);
  return slowest;
}

}  // namespace

double probe_signal(const Placement& placement) {
  return greatest(placement.comm(), signal_on_node(placement.node_comm()));
}

}  // namespace bench
