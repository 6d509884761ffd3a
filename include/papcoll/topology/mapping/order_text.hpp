#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/order.hpp>

#include <algorithm>
#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// "position 0, 1, … is rank 5, 4, …", of the first 16 positions, for people.
[[gnu::cold]] inline std::string order_text(const Order& order) {
  std::string text = "position 0, 1, … is rank";
  constexpr int most = 16;
  for (int p = 0; p < std::min(order.size(), most); ++p) {
    text += (p == 0 ? " " : ", ") + std::to_string(order.rank(p));
  }
  return text + (order.size() > most ? ", …" : "");
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
