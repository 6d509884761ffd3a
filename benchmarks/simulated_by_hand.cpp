// SPDX-License-Identifier: BSD-3-Clause
// Programs for SMPI are shared objects that smpirun loads. A kernel that is asked to run one jumps
// to its entry point, which shared objects do not have: a segmentation fault. This one has an entry
// point, papcoll_bench_by_hand(), which CMakeLists.txt names to the linker, and a dynamic linker.

#include <unistd.h>

#include <string_view>

#if defined(__x86_64__)
#define PAPCOLL_DYNAMIC_LINKER "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define PAPCOLL_DYNAMIC_LINKER "/lib/ld-linux-aarch64.so.1"
#endif

#ifdef PAPCOLL_DYNAMIC_LINKER
[[gnu::section(".interp"), gnu::used]] extern constexpr char papcoll_bench_dynamic_linker[] =
    PAPCOLL_DYNAMIC_LINKER;
#endif

/// Nothing has been set up for it but the libraries.
extern "C" [[noreturn]] void papcoll_bench_by_hand() {
  constexpr std::string_view text =
      "papcoll-bench: this one is built for simulated ranks: start it by "
      "benchmarks/reproduce/simulate.py --ranks 8 papcoll-bench, followed by its arguments\n";
#ifdef PAPCOLL_DYNAMIC_LINKER
  // A linker that drops what nobody refers to (--gc-sections) keeps what the entry point does.
  asm volatile("" : : "r"(papcoll_bench_dynamic_linker));
#endif
  static_cast<void>(write(STDERR_FILENO, text.data(), text.size()) == 0);
  _exit(2);
}
