// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/version.hpp>

#include <cstddef>

// What depends on compiler, sanitizer or machine has its name here. The few other headers with #if
// are listed in tests/checks/direction.py, each with its reason.

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "papcoll needs Linux on x86-64 or AArch64 (futex, memfd, process-shared atomics)"
#endif

// How much papcoll checks, each level includes those below it:
//   0 nothing beyond what is free     1 local checks of every argument (the default)
//   2 communication checks: ranks compare the arguments of a call on every transport
#ifndef PAPCOLL_ASSERTIONS
#define PAPCOLL_ASSERTIONS 1
#endif

// The inline namespace of everything. Files that check more or less, or whose standard library is
// another or in debug mode, have other layouts and other inline functions: their names differ, too.
#define PAPCOLL_ABI_PASTED(version, checks, library) version##checks##library
#define PAPCOLL_ABI_OF(version, checks, library) PAPCOLL_ABI_PASTED(version, checks, library)
#if PAPCOLL_ASSERTIONS == 1
#define PAPCOLL_ABI_CHECKS
#elif PAPCOLL_ASSERTIONS == 0
#define PAPCOLL_ABI_CHECKS _unchecked
#elif PAPCOLL_ASSERTIONS == 2
#define PAPCOLL_ABI_CHECKS _compared
#else
#error "PAPCOLL_ASSERTIONS is 0, 1 or 2"
#endif
#if defined(_GLIBCXX_DEBUG)
#define PAPCOLL_ABI_LIBRARY _glibcxx_debug
#elif defined(_LIBCPP_VERSION)
#define PAPCOLL_ABI_LIBRARY _libcxx
#else
#define PAPCOLL_ABI_LIBRARY
#endif
#define PAPCOLL_ABI PAPCOLL_ABI_OF(PAPCOLL_ABI_OF_VERSION, PAPCOLL_ABI_CHECKS, PAPCOLL_ABI_LIBRARY)

// Code that is the same in every program is declared by PAPCOLL_DECL in a header and defined at its
// end, or in an .ipp beside it that it includes, if PAPCOLL_HAS_SHARED_CODE; templates whose
// arguments are known are named by PAPCOLL_COMPILE_ONCE, and by PAPCOLL_COMPILED_ONCE in a header
// that cannot compile them. By default every file compiles what it uses; where all files define
// PAPCOLL_COMPILED, call/papcoll.cpp alone does.
#if !defined(PAPCOLL_COMPILED)
#define PAPCOLL_DECL inline
#define PAPCOLL_COMPILE_ONCE(...)
#define PAPCOLL_COMPILED_ONCE(...)
#define PAPCOLL_HAS_SHARED_CODE 1
#elif defined(PAPCOLL_COMPILES_IT)
#define PAPCOLL_DECL
#define PAPCOLL_COMPILE_ONCE(...) template __VA_ARGS__;
#define PAPCOLL_COMPILED_ONCE(...) extern template __VA_ARGS__;
#define PAPCOLL_HAS_SHARED_CODE 1
#else
#define PAPCOLL_DECL
#define PAPCOLL_COMPILE_ONCE(...) extern template __VA_ARGS__;
#define PAPCOLL_COMPILED_ONCE(...) extern template __VA_ARGS__;
#define PAPCOLL_HAS_SHARED_CODE 0
#endif

#if defined(__x86_64__)
#define PAPCOLL_X86 1
#else
#define PAPCOLL_X86 0
#endif

#if defined(__SANITIZE_THREAD__)
#define PAPCOLL_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define PAPCOLL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAPCOLL_TSAN 1
#elif __has_feature(address_sanitizer)
#define PAPCOLL_ASAN 1
#endif
#endif
#ifndef PAPCOLL_TSAN
#define PAPCOLL_TSAN 0
#endif
#ifndef PAPCOLL_ASAN
#define PAPCOLL_ASAN 0
#endif

// 1 if copies may use instructions that sanitizers do not see.
#define PAPCOLL_COPIES_BY_INSTRUCTION (PAPCOLL_X86 && !PAPCOLL_TSAN && !PAPCOLL_ASAN)

// Functions that nvcc compiles for host and device; for other compilers nothing.
#if defined(__CUDACC__)
#define PAPCOLL_ON_DEVICE __host__ __device__
#else
#define PAPCOLL_ON_DEVICE
#endif
#if defined(__CUDA_ARCH__)
#define PAPCOLL_UNROLL _Pragma("unroll")
#else
#define PAPCOLL_UNROLL
#endif

namespace papcoll::inline PAPCOLL_ABI {

/// Bytes that two cores should not share when both write (x86-64 and AArch64 servers: one line;
/// the adjacent-line prefetcher is harmless for the flags papcoll keeps).
inline constexpr std::size_t cache_line = 64;

/// The level of checks this translation unit was built with, see PAPCOLL_ASSERTIONS.
inline constexpr int assertion_level = PAPCOLL_ASSERTIONS;

/// Base of what is neither copied nor moved.
struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

namespace detail {
// Files that define PAPCOLL_COMPILED need the code of papcoll.cpp (libpapcoll.a), compiled from the
// same version, with the same PAPCOLL_ASSERTIONS and sanitizer, by a compiler that gives functions
// the same names, and for the same MPI (transport/mpi/mpi.hpp). They refer to a function that it
// alone has, and whose name says all this where the linker misses it: even one that leaves out what
// nobody refers to, hence `retain`. Files that do not define it may be in the same program.
template <int major, int minor, int patch> struct version;
template <int level> struct assertions;
struct gcc_11_to_13_or_clang_14_to_16;
struct gcc_14_or_clang_17_and_newer;
struct libstdcxx;
struct libstdcxx_in_debug_mode;
struct libstdcxx_without_cxx11_abi;
struct libcxx;
struct thread_sanitizer;
struct address_sanitizer;
struct no_sanitizer;

// The newer ones name templates with what they require.
#if defined(__clang__) ? __clang_major__ < 17 : __GXX_ABI_VERSION < 1019
using this_compiler = gcc_11_to_13_or_clang_14_to_16;
#else
using this_compiler = gcc_14_or_clang_17_and_newer;
#endif
#if defined(_LIBCPP_VERSION)
using this_library = libcxx;
#elif defined(_GLIBCXX_DEBUG)
using this_library = libstdcxx_in_debug_mode;
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
using this_library = libstdcxx_without_cxx11_abi;
#else
using this_library = libstdcxx;
#endif
#if PAPCOLL_TSAN
using this_sanitizer = thread_sanitizer;
#elif PAPCOLL_ASAN
using this_sanitizer = address_sanitizer;
#else
using this_sanitizer = no_sanitizer;
#endif

template <class... What> void link_libpapcoll_or_papcoll_cpp_compiled_for() noexcept;
#if defined(PAPCOLL_COMPILES_IT)
template <class... What> void link_libpapcoll_or_papcoll_cpp_compiled_for() noexcept {}
#endif
#if defined(PAPCOLL_COMPILED)
[[gnu::used, gnu::retain]] static void (*const shared_code)() noexcept =
    &link_libpapcoll_or_papcoll_cpp_compiled_for<
        version<PAPCOLL_VERSION_MAJOR, PAPCOLL_VERSION_MINOR, PAPCOLL_VERSION_PATCH>,
        assertions<PAPCOLL_ASSERTIONS>, this_compiler, this_library, this_sanitizer>;
#endif

/// A hint to the core that this is a spin loop; no system call.
inline void cpu_pause() noexcept {
#if PAPCOLL_X86
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

/// Prefetches a cache line that will soon be written; a hint only.
inline void prefetch_to_write(const void* p) noexcept {
#if PAPCOLL_X86
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}
}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::math {

// As in <cmath>, which brings the special functions of mathematics into every file that includes
// papcoll.

inline double ceil(double x) noexcept { return __builtin_ceil(x); }
inline double sqrt(double x) noexcept { return __builtin_sqrt(x); }
inline double log2(double x) noexcept { return __builtin_log2(x); }
inline double pow(double x, double y) noexcept { return __builtin_pow(x, y); }
inline double ldexp(double x, int exponent) noexcept { return __builtin_ldexp(x, exponent); }
inline long lround(double x) noexcept { return __builtin_lround(x); }

}  // namespace papcoll::inline PAPCOLL_ABI::math
