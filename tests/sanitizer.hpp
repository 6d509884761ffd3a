// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What sanitizers make too slow is tested with fewer ranks, elements or calls under them, and in
// full without.

#if defined(__SANITIZE_THREAD__)
#define PAPCOLL_TEST_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAPCOLL_TEST_UNDER_TSAN 1
#endif
#endif

/// ThreadSanitizer takes ten times as long, and finds nothing where one thread does all.
#ifdef PAPCOLL_TEST_UNDER_TSAN
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif
