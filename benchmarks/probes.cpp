#include "probes.hpp"

#include "clock.hpp"
#include "statistics.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace bench {
namespace {

constexpr int tag = 18;

double seconds_since(std::int64_t start) { return static_cast<double>(local_now() - start) * 1e-9; }

/// A barrier whose waiters sleep.
void quiet_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  int done = 0;
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); done == 0;
       MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
    usleep(200);
  }
}

double least(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, comm);
  return value;
}

double greatest(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

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

/// Half a round trip of an MPI message with a partner, the quickest or the median.
template <class Choose>
double message_one_way(MPI_Comm comm, int partner, bool leads, std::vector<std::byte>& buffer,
                       int trips, Choose choose) {
  std::vector<double> times;
  const auto n = static_cast<int>(buffer.size());
  for (int i = 0; i < trips; ++i) {
    const std::int64_t start = local_now();
    if (leads) MPI_Send(buffer.data(), n, MPI_BYTE, partner, tag, comm);
    MPI_Recv(buffer.data(), n, MPI_BYTE, partner, tag, comm, MPI_STATUS_IGNORE);
    if (!leads) MPI_Send(buffer.data(), n, MPI_BYTE, partner, tag, comm);
    if (i > trips / 10) times.push_back(seconds_since(start) / 2);
  }
  return choose(times);
}

/// Makes the compiler believe that the memory behind p is read and written here.
void touch(void* p) { asm volatile("" : : "r"(p) : "memory"); }

/// Seconds a run of `work` takes at best, while all ranks do the same.
template <class Work>
double least_time(MPI_Comm comm, Work work) {
  constexpr double window = 50e-6;  // long against the clock and the skew of the barrier
  constexpr int windows = 8;
  work();
  std::int64_t start = local_now();
  work();
  const int repeats = 1 + static_cast<int>(window / std::max(seconds_since(start), 1e-8));
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < windows; ++i) {
    MPI_Barrier(comm);
    start = local_now();
    for (int k = 0; k < repeats; ++k) work();
    best = std::min(best, seconds_since(start) / repeats);
  }
  return best;
}

}  // namespace

double probe_signal(const Placement& placement) {
  return greatest(placement.comm(), signal_on_node(placement.node_comm()));
}

Network probe_network(const Placement& placement) {
  if (placement.nodes() == 1) return {};
  MPI_Comm comm = placement.comm();
  std::vector<int> nodes(static_cast<std::size_t>(placement.ranks()));
  const int own = placement.node();
  MPI_Allgather(&own, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm);
  std::vector<int> first;
  std::vector<int> second;
  for (int rank = 0; rank < placement.ranks(); ++rank) {
    const int node = nodes[static_cast<std::size_t>(rank)];
    if (node < 2) (node == 0 ? first : second).push_back(rank);
  }
  const std::size_t pairs = std::min(first.size(), second.size());
  const auto mine = static_cast<std::size_t>(placement.node_rank());
  const bool takes_part = own < 2 && mine < pairs;
  const int partner = !takes_part ? MPI_PROC_NULL : own == 0 ? second[mine] : first[mine];

  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  double exchange = std::numeric_limits<double>::max();
  double latency = std::numeric_limits<double>::max();
  if (takes_part) {
    for (int i = 0; i < 10; ++i) {
      const std::int64_t start = local_now();
      MPI_Sendrecv(out.data(), bytes, MPI_BYTE, partner, tag, in.data(), bytes, MPI_BYTE, partner,
                   tag, comm, MPI_STATUS_IGNORE);
      exchange = std::min(exchange, seconds_since(start));
    }
    std::vector<std::byte> byte(1);
    latency = message_one_way(comm, partner, own == 0, byte, 100, [](const auto& times) {
      return *std::min_element(times.begin(), times.end());
    });
  }
  quiet_barrier(comm);
  return {
      .latency = least(comm, latency),
      .bandwidth = static_cast<double>(bytes) * static_cast<double>(pairs) / least(comm, exchange)};
}

MemoryCosts probe_memory(const Placement& placement, std::size_t bytes, bool in_place) {
  constexpr std::size_t smallest = 4096;  // below, a signal takes longer than any copy
  constexpr std::size_t largest = std::size_t{64} << 20;  // above, all is main memory
  const std::size_t n = std::clamp(bytes, smallest, largest);
  MPI_Comm comm = placement.comm();
  std::vector<char> from(n, 'a');
  std::vector<char> to(n, 'b');

  // In place, a call works on half the memory of a copy: copy one half of the buffer to the other.
  char* const target = in_place ? from.data() + n / 2 : to.data();
  const std::size_t length = in_place ? n / 2 : n;
  const double copy = least_time(comm, [&] {
    std::memcpy(target, from.data(), length);
    touch(target);
  });
  const double write = least_time(comm, [&] {
    std::memset(to.data(), 0, n);
    touch(to.data());
  });
  // The C library's search is the quickest plain reading at hand: it uses the widest vectors.
  const double read = least_time(comm, [&] {
    touch(from.data());
    touch(std::memchr(from.data(), 'z', n));
  });

  // The mean over the ranks, because a slow processor's share could be given to the others.
  double costs[3] = {copy / static_cast<double>(length), write / static_cast<double>(n),
                     read / static_cast<double>(n)};
  MPI_Allreduce(MPI_IN_PLACE, costs, 3, MPI_DOUBLE, MPI_SUM, comm);
  const auto ranks = static_cast<double>(placement.ranks());
  return {costs[0] / ranks, costs[1] / ranks, costs[2] / ranks};
}

double probe_one_way(const Placement& placement, std::size_t bytes) {
  const int last = placement.ranks() - 1;
  if (last == 0) return 0;
  // A message beyond 1 GiB is taken as one of 1 GiB, and so much longer.
  constexpr std::size_t most = std::size_t{1} << 30;
  std::vector<std::byte> buffer(std::min(bytes, most));
  const int trips = bytes <= 65536 ? 200 : bytes <= 4194304 ? 30 : 5;
  double time = 0;
  if (placement.rank() == 0 || placement.rank() == last) {
    time = message_one_way(placement.comm(), last - placement.rank(), placement.rank() == 0, buffer,
                           trips, [](const auto& times) { return median(times); });
  }
  quiet_barrier(placement.comm());
  MPI_Bcast(&time, 1, MPI_DOUBLE, 0, placement.comm());
  return bytes > most ? time * static_cast<double>(bytes) / static_cast<double>(most) : time;
}

}  // namespace bench
