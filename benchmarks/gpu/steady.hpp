// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace bench {

/// Of a clock that all processes of a node share.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace bench
