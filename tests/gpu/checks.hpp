// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

// For programs that exit 77 where there is no GPU, which a framework's main would not.

inline int failures = 0;

inline bool require(bool holds, const char* what, const char* file, int line) {
  if (!holds) {
    std::printf("%s:%d: FAILED: %s\n", file, line, what);
    ++failures;
  }
  return holds;
}

#define EXPECT(...) require(bool(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
