// SPDX-License-Identifier: BSD-3-Clause
#include "timing/signal_words.hpp"

#include <cstddef>
#include <exception>
#include <memory>

namespace bench {

SharedWords::SharedWords(MPI_Comm node) {
  constexpr int count = 2;
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  void* base = nullptr;
  MPI_Aint size = rank == 0 ? static_cast<MPI_Aint>((count + 1) * sizeof(Word)) : 0;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node, static_cast<void*>(&base), &window_);
  int unit = 0;
  MPI_Win_shared_query(window_, 0, &size, &unit, static_cast<void*>(&base));
  std::size_t space = (count + 1) * sizeof(Word);
  words_ = static_cast<Word*>(std::align(alignof(Word), count * sizeof(Word), base, space));
  if (rank == 0) {
    for (int i = 0; i < count; ++i) words_[i].value.store(0);
  }
  MPI_Barrier(node);
}

SharedWords::~SharedWords() {
  // An exception may be of this rank alone, and freeing waits for all.
  if (std::uncaught_exceptions() == 0) MPI_Win_free(&window_);
}

OnProcessor::OnProcessor(int processor) {
  papcoll::ProcessorSet one;
  one.add(processor);
  bound_ = before_.has(processor) && one.bind_this_thread();
}

OnProcessor::~OnProcessor() {
  if (bound_) static_cast<void>(before_.bind_this_thread());
}

int free_processor(int taken) {
  const auto allowed = papcoll::ProcessorSet::of_this_thread();
  for (int i = 0; i < allowed.end(); ++i) {
    if (i != taken && allowed.has(i)) return i;
  }
  return taken;
}

}  // namespace bench
