// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// How many of a rank's calls of a collective on a communicator ran by an algorithm.
struct AlgorithmCount {
  Collective collective{};
  std::string_view algorithm;  ///< without parameters; it stays for as long as the program
  std::uint64_t calls = 0;
};

namespace detail {

/// The counts of all algorithms.
class AlgorithmCounts {
 public:
  /// Counts one more call. Calls of a collective mostly run as the one before did.
  void add(Collective c, std::string_view algorithm) noexcept {
    AlgorithmCount*& last = last_[static_cast<std::size_t>(c)];
    if (last == nullptr || last->algorithm.data() != algorithm.data()) [[unlikely]] {
      last = find(c, algorithm);
      if (last == nullptr) return;
    }
    ++last->calls;
  }

  const Vector<AlgorithmCount>& all() const noexcept { return all_; }

 private:
  /// Null: there is no memory for another one.
  [[gnu::cold, gnu::noinline]] AlgorithmCount* find(Collective c,
                                                    std::string_view algorithm) noexcept {
    for (AlgorithmCount& a : all_) {
      if (a.collective == c && a.algorithm == algorithm) return &a;
    }
    last_ = {};
    try {
      all_.push_back({c, algorithm, 0});
    } catch (const std::exception&) {
      return nullptr;
    }
    return &all_.back();
  }

  Vector<AlgorithmCount> all_;
  std::array<AlgorithmCount*, collective_count> last_{};  ///< in all_
};

}  // namespace detail

/// The numbers of a call whose blocks differ, to which Call::counts, Call::displacements and its
/// views point. A rank has one that its blocking calls use again and again, so that they allocate
/// nothing.
struct CallBlocks {
  std::vector<std::size_t> numbers;
  BufferView in;   ///< where the blocks are not one after the other
  BufferView out;  ///< of the output
};

}  // namespace papcoll::inline PAPCOLL_ABI
