#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/transport/rma/remote_atomics.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

namespace papcoll::inline PAPCOLL_ABI {

/// Words in the memory that the ranks of a node share, which end with it. Opening them is local: it
/// waits for nobody, and MPI has no part in it.
class SharedWords final : public RemoteAtomics {
 public:
  /// Bytes of n words on each of so many ranks. Those of a rank begin with a cache line.
  static constexpr std::size_t bytes(int ranks, std::size_t n) noexcept {
    return static_cast<std::size_t>(ranks) * stride(n) * sizeof(Word);
  }

  /// `n` words on each of the node's ranks, in Node::ticket_words. Throws system_error where there
  /// are no pages for them.
  SharedWords(const Node& node, std::size_t n)
      : words_(std::launder(reinterpret_cast<Word*>(node.ticket_words))),
        stride_(stride(n)),
        mine_(static_cast<std::size_t>(node.rank) * stride_) {
    node.reserve(node.ticket_words, bytes(node.size, n));
  }

  void start(int rank, std::size_t word, Change change, std::int64_t operand) override {
    Word& at = words_[static_cast<std::size_t>(rank) * stride_ + word];
    before_ = change == Change::none  ? at.load(std::memory_order_acquire)
              : change == Change::add ? at.fetch_add(operand, std::memory_order_acq_rel)
                                      : at.exchange(operand, std::memory_order_acq_rel);
  }
  bool progress() override { return true; }
  std::int64_t before() const noexcept override { return before_; }
  /// Relaxed: what counts is found out by start().
  std::int64_t own(std::size_t word) const override {
    return words_[mine_ + word].load(std::memory_order_relaxed);
  }

  /// Nothing is left to free.
  bool part(std::chrono::nanoseconds) noexcept override { return false; }
  void free() noexcept override {}

 private:
  /// Released by whoever changes it and acquired by whoever reads or changes it: what a rank read
  /// or changed in other words before comes before all that the reader does to them afterwards,
  /// which is how RemoteTicketCounter uses frames again.
  using Word = std::atomic<std::int64_t>;
  static_assert(Word::is_always_lock_free);

  static constexpr std::size_t stride(std::size_t n) noexcept {
    constexpr std::size_t line = cache_line / sizeof(Word);
    return (n + line - 1) / line * line;
  }

  Word* words_;
  std::size_t stride_;
  std::size_t mine_;
  std::int64_t before_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
