#include "catch.hpp"

#include <papcoll/base/streaming.hpp>

#include <cstddef>
#include <vector>

using papcoll::detail::copy_for_others;
using papcoll::detail::streamed_from;

TEST_CASE("a copy for others is a copy, wherever it begins and ends") {
  const std::size_t sizes[] = {0,
                               1,
                               63,
                               streamed_from - 1,
                               streamed_from,
                               streamed_from + 1,
                               streamed_from + 63,
                               streamed_from + 64,
                               3 * streamed_from + 17};
  std::vector<std::byte> from(4 * streamed_from);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251 + 1);
  for (const std::size_t n : sizes) {
    for (const std::size_t at : {0U, 1U, 8U, 40U, 63U}) {
      CAPTURE(n, at);
      const std::size_t source = 64 - at;
      std::vector<std::byte> to(5 * streamed_from, std::byte{0});
      copy_for_others(to.data() + at, from.data() + source, n);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= at && i - at < n;
        wrong += to[i] != (inside ? from[source + i - at] : std::byte{0});
      }
      CHECK(wrong == 0);
    }
  }
}
