#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/node/call_words.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What ranks that share no memory find out when they compare their calls: the element of an
/// allreduce. Each begins with its own call; afterwards all have the same, which tells of the first
/// two neighbours whose calls differ, if any do.
struct ComparedCalls {
  ComparedCalls(const CallWords& words, int rank, std::string_view refusal) noexcept
      : first{words, rank}, last{first}, differ(words.what == CallWords::invalid) {
    const std::size_t n = std::min(refusal.size(), sizeof text - 1);
    std::copy_n(refusal.data(), n, text);
  }

  /// The allreduce that compares; `*this` is its buffer and must outlive it.
  Call call() noexcept {
    Call c;
    c.collective = Collective::allreduce;
    c.out = reinterpret_cast<std::byte*>(this);
    c.in = c.out;
    c.count = 1;
    c.reducer = {&combine, nullptr, sizeof *this, false};
    return c;
  }

  /// What is wrong; asked only if `differ`.
  std::string describe() const {
    if (text[0] != '\0') return text;
    return CallWords::difference(first.words, first.rank, last.words, last.rank);
  }

  struct Caller {
    CallWords words;
    int rank;
  };
  Caller first;  ///< of the ranks compared; if they differ, of the two
  Caller last;
  bool differ;
  char text[240] = {};  ///< what a rank whose call was invalid says of it

 private:
  static void combine(std::byte* out, const std::byte* low, const std::byte* high, std::size_t,
                      const void*) noexcept {
    const auto& a = *reinterpret_cast<const ComparedCalls*>(low);
    const auto& b = *reinterpret_cast<const ComparedCalls*>(high);
    ComparedCalls both = b.differ && !a.differ ? b : a;
    if (!both.differ && a.last.words == b.first.words) {
      both.last = b.last;
    } else if (!both.differ) {
      both.first = a.last;
      both.last = b.first;
      both.differ = true;
    }
    *reinterpret_cast<ComparedCalls*>(out) = both;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
