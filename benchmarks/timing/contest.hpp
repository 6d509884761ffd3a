// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/clock.hpp"
#include "timing/meeting.hpp"
#include "timing/placement.hpp"
#include "timing/progress.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// What one algorithm took, in seconds.
struct Times {
  double in_call = 0;  ///< the mean over ranks and iterations
  double tail = 0;     ///< last arrival to last exit, the median over the iterations
};

/// Times algorithms that the program chooses, rather than the command line. Collective.
class Contest {
 public:
  Contest(const Options& options, const Placement& placement)
      : options_(options),
        placement_(placement),
        clock_(placement),
        meeting_(placement),
        progress_(placement.rank()) {}

  struct Problem {
    Collective collective = Collective::allreduce;
    std::vector<std::string> algorithms;
    std::size_t bytes = 0;
    double spread = 0;  ///< if not 0, one rank is late by so many seconds
    BufferKind buffers = BufferKind::ordinary;
  };

  /// The algorithms' times, measured by turns; the same on all ranks. Throws usage_error.
  std::vector<Times> run(const Problem& problem);

 private:
  const Options& options_;
  const Placement& placement_;
  SharedClock clock_;
  Meeting meeting_;
  Progress progress_;
  std::size_t runs_ = 0;
};

/// How long what an option asks for takes, in a sentence. `limits`: how many algorithms are timed,
/// each at one size, and each for the time limit at most.
std::string announced(std::string_view option, double limits, const Options& options);

/// "4 ranks on 2 processors, pinned, 2 nodes".
std::string described(const Placement& placement);

/// Can write_file() write it? Asked before what takes minutes; leaves a file as it is, and none
/// where there was none. Throws std::system_error.
void require_writable(const std::string& name);

/// Writes a file; one that is there is replaced once the new one is whole. Throws
/// std::system_error.
void write_file(const std::string& name, const std::string& text);

}  // namespace bench
