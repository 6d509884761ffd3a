// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/placement.hpp"

#include <papcoll/base/config.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <sched.h>

#include <atomic>
#include <cstdint>

// How two ranks of a node send each other signals through shared memory.
namespace bench {

/// A word in its own cache lines, so that the hardware's prefetching of pairs does no harm.
struct alignas(256) Word {
  std::atomic<std::uint32_t> value;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Until the word has reached `step`; its owner may be one step further already.
inline void await(const Word& word, std::uint32_t step) {
  for (int spins = 1; word.value.load(std::memory_order_acquire) < step; ++spins) {
    papcoll::detail::cpu_pause();
    if (spins % 100 == 0) sched_yield();
  }
}

/// Two words that the ranks of a node share, all 0 at first. Collective over the node.
class SharedWords {
 public:
  explicit SharedWords(MPI_Comm node);
  ~SharedWords();
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;

  Word& operator[](int i) const { return words_[i]; }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  Word* words_ = nullptr;
};

/// Binds the calling thread to one processor for a while, if it may run there.
class OnProcessor {
 public:
  explicit OnProcessor(int processor);
  ~OnProcessor();
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  papcoll::ProcessorSet before_ = papcoll::ProcessorSet::of_this_thread();
  bool bound_;
};

/// The first processor this thread may run on that is not `taken`, else `taken`.
int free_processor(int taken);

}  // namespace bench
