// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/bound.hpp"
#include "timing/neighbourhood.hpp"
#include "timing/placement.hpp"
#include "timing/statistics.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// One line of output: one candidate at one size. Times in microseconds.
struct Result {
  std::string algorithm;  ///< as asked for
  std::string resolved;   ///< as it was carried out
  std::size_t bytes = 0;
  double mif = 0;
  double spread = 0;
  double alpha = 0;  ///< 0 where it was not needed
  std::size_t iterations = 0;
  std::string stopped_by;
  Summary in_call;  ///< of the mean over the ranks, over the iterations
  Summary tail;
  Summary skew;
  Bound bound;
  Signal signal{};
  double clock_uncertainty = 0;
  double late_starts = 0;
  bool checked = false;
};

/// Writes results on rank 0 as they come.
class Report {
 public:
  /// Opens the output, on rank 0; throws std::system_error.
  Report(const Options& options, const Placement& placement, std::string mpi_library);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// All candidates at one size. Throws std::system_error if the output cannot be written.
  void add(const std::vector<Result>& results);

 private:
  class Writer;
  class Table;
  class JsonLines;
  class Csv;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;  // null: standard output
  std::unique_ptr<Writer> writer_;          // null on ranks other than 0
};

}  // namespace bench
