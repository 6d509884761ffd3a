// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <string_view>

// The version of papcoll: for the preprocessor (PAPCOLL_VERSION_MAJOR, …), and what a program may
// say of itself, in a report of an error for example. Which MPI it has: mpi_version.hpp.

#define PAPCOLL_QUOTED_AS_IT_IS(text) #text
#define PAPCOLL_QUOTED(text) PAPCOLL_QUOTED_AS_IT_IS(text)
#define PAPCOLL_VERSION_TEXT            \
  PAPCOLL_QUOTED(PAPCOLL_VERSION_MAJOR) \
  "." PAPCOLL_QUOTED(PAPCOLL_VERSION_MINOR) "." PAPCOLL_QUOTED(PAPCOLL_VERSION_PATCH)

#if defined(__clang__)  // whose __VERSION__ begins with its name
#define PAPCOLL_COMPILER __VERSION__
#else
#define PAPCOLL_COMPILER "GCC " __VERSION__
#endif
#if defined(PAPCOLL_COMPILED)
#define PAPCOLL_COMPILED_TEXT "compiled once"
#else
#define PAPCOLL_COMPILED_TEXT "header-only"
#endif
#if defined(PAPCOLL_WITH_HWLOC)
#define PAPCOLL_HWLOC_TEXT "with hwloc"
#else
#define PAPCOLL_HWLOC_TEXT "without hwloc"
#endif
#if defined(PAPCOLL_WITH_CUDA)
#define PAPCOLL_CUDA_TEXT "with CUDA"
#else
#define PAPCOLL_CUDA_TEXT "without CUDA"
#endif

namespace papcoll::inline PAPCOLL_ABI {

/// What version() returns. All texts last as long as the program.
struct Version {
  std::string_view papcoll;   ///< "0.1.0"
  std::string_view compiler;  ///< "GCC 12.2.0", "Clang 19.1.4", as the compiler says it
  int assertions;             ///< PAPCOLL_ASSERTIONS: 0, 1 or 2
  bool compiled_once;         ///< PAPCOLL_COMPILED: papcoll::papcoll, not papcoll::header_only
  bool hwloc;                 ///< PAPCOLL_WITH_HWLOC, which the target papcoll::core may define
  bool cuda;                  ///< PAPCOLL_WITH_CUDA: the target papcoll::gpu is linked
  /// All of it in one line: "papcoll 0.1.0, GCC 12.2.0, assertions 1, compiled once, without hwloc,
  /// without CUDA".
  std::string_view text;
};

/// Returns which papcoll the calling file was compiled with, how, and by which compiler.
///
/// Parameters: none. Return value: a Version, a constant expression. Exceptions: none. Complexity:
/// constant; neither MPI nor a communicator is needed, and any thread may call it at any time.
///
/// Notes: each file has a function of its own, so that the answer is right where the files of a
/// program were compiled otherwise than each other. The code that is compiled once
/// (`compiled_once`) is of the same version and assertions, else it would not be linked, but maybe
/// of another compiler. For the preprocessor there are PAPCOLL_VERSION_MAJOR, PAPCOLL_VERSION_MINOR
/// and PAPCOLL_VERSION_PATCH.
///
/// Example:
///
///     static_assert(papcoll::version().assertions > 0);
///     std::cerr << papcoll::version().text << '\n';
///
/// See also: mpi_version().
[[nodiscard]] static constexpr Version version() noexcept {
  return {.papcoll = PAPCOLL_VERSION_TEXT,
          .compiler = PAPCOLL_COMPILER,
          .assertions = assertion_level,
          .compiled_once = PAPCOLL_COMPILED_TEXT == std::string_view{"compiled once"},
          .hwloc = PAPCOLL_HWLOC_TEXT == std::string_view{"with hwloc"},
          .cuda = PAPCOLL_CUDA_TEXT == std::string_view{"with CUDA"},
          .text = "papcoll " PAPCOLL_VERSION_TEXT ", " PAPCOLL_COMPILER
                  ", assertions " PAPCOLL_QUOTED(PAPCOLL_ASSERTIONS) ", " PAPCOLL_COMPILED_TEXT
                                                                     ", " PAPCOLL_HWLOC_TEXT
                                                                     ", " PAPCOLL_CUDA_TEXT};
}

}  // namespace papcoll::inline PAPCOLL_ABI
