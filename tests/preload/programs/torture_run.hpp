// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What torture counts, and its random numbers.

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace torture {

inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mixed(mixed(a) ^ (b + 1)); }

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed} {}
  std::uint64_t next() { return state_ = mixed(state_); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }
  /// One of the elements.
  template <class List> auto& of(List& list) { return list[next() % list.size()]; }

 private:
  std::uint64_t state_;
};

struct Run {
  std::uint64_t seed = 1;
  long calls = 2000;
  bool trace = false;
  bool harsh = false;
  int rank = 0;
  long call = 0;
  long wrong = 0;
  long types_refused = 0;  ///< that MPI_Pack reads otherwise than the standard says
  long gaps_of_pairs = 0;  ///< calls that wrote into the gap of a predefined pair type
  std::array<std::uint64_t, 4> hashes{};
};

enum Class : unsigned { moved, integers, exact, rounded };
constexpr std::array<const char*, 4> class_names{"moved", "integers", "exact", "rounded"};

inline Run the_run;

inline void complain(const std::string& what) {
  if (++the_run.wrong <= 10) {
    std::fprintf(stderr, "torture: rank %d, call %ld: %s\n", the_run.rank, the_run.call,
                 what.c_str());
  }
}

/// MPI accepted what it had to accept.
inline bool accepted(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return true;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  complain(what + ": " + text.data());
  return false;
}

}  // namespace torture
