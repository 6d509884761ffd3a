// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace bench {

/// One line on stderr that rank 0 rewrites, if stderr is a terminal.
class Progress {
 public:
  explicit Progress(int rank) : shown_(rank == 0 && isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  template <class... Args> void show(fmt::format_string<Args...> text, Args&&... args) const {
    if (shown_) fmt::print(stderr, "\r\x1b[K{}", fmt::format(text, std::forward<Args>(args)...));
  }

  /// Makes room for other output.
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  bool shown_;
};

}  // namespace bench
