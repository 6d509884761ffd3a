#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {

/// Processors, by Linux's numbers from 0 on. Unlike a cpu_set_t, which ends at 1024, it has room
/// for those of any machine.
class ProcessorSet {
 public:
  static constexpr int most = 1 << 16;  ///< numbers from here on are left out

  ProcessorSet() = default;

  /// Returns the processors that the calling thread may run on now; empty if the system does not
  /// tell.
  [[gnu::cold]] static ProcessorSet of_this_thread() {
    // The kernel refuses a mask that is shorter than its own, whose length nothing tells.
    for (std::size_t bits = CPU_SETSIZE; bits <= most; bits *= 2) {
      detail::Vector<Word> words(bits / word_bits);
      if (sched_getaffinity(0, bits / 8, reinterpret_cast<cpu_set_t*>(words.data())) == 0) {
        return ProcessorSet{std::move(words)};
      }
      if (errno != EINVAL) break;
    }
    return {};
  }

  /// Binds the calling thread to these processors. Returns false if the system refuses.
  bool bind_this_thread() const noexcept {
    return sched_setaffinity(0, words_.size() * sizeof(Word),
                             reinterpret_cast<const cpu_set_t*>(words_.data())) == 0;
  }

  void add(int processor) {
    if (processor < 0 || processor >= most) return;
    const auto p = static_cast<std::size_t>(processor);
    if (p / word_bits >= words_.size()) words_.resize(p / word_bits + 1);
    words_[p / word_bits] |= Word{1} << p % word_bits;
  }

  bool has(int processor) const noexcept {
    const auto p = static_cast<std::size_t>(processor);
    return processor >= 0 && p / word_bits < words_.size() &&
           (words_[p / word_bits] >> p % word_bits & 1U) != 0;
  }
  /// Returns true if all processors of `other` are in this set.
  bool has_all(const ProcessorSet& other) const noexcept {
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0)) != 0) return false;
    }
    return true;
  }

  bool empty() const noexcept { return words_.empty(); }
  int count() const noexcept {
    int n = 0;
    for (const Word w : words_) n += std::popcount(w);
    return n;
  }
  /// The lowest processor; −1 if there is none.
  int lowest() const noexcept {
    int p = 0;
    while (p < end() && !has(p)) ++p;
    return p < end() ? p : -1;
  }
  /// No processor of the set has this number or a higher one.
  int end() const noexcept { return static_cast<int>(words_.size() * word_bits); }

  friend bool operator==(const ProcessorSet&, const ProcessorSet&) = default;

 private:
  using Word = unsigned long;  // as the kernel's
  static constexpr std::size_t word_bits = 8 * sizeof(Word);

  explicit ProcessorSet(detail::Vector<Word> words) : words_(std::move(words)) {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }

  detail::Vector<Word> words_;  ///< the last one is not 0
};

}  // namespace papcoll::inline PAPCOLL_ABI
