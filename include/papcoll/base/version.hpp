// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Every header of papcoll includes this one first. A compiler that continues after the first error
// would print thousands; a header that does not exist stops it.
#if !defined(__cplusplus) || __cplusplus < 202002L
#error "papcoll is written in C++20: compile with -std=c++20 (by CMake: link papcoll::papcoll)"
#include <papcoll/see_the_error_above>
#elif !defined(__cpp_exceptions)
#error "papcoll reports errors by exceptions: compile without -fno-exceptions"
#include <papcoll/see_the_error_above>
#endif

// The one place the version is written; CMakeLists.txt reads it from here. Until 1.0 the minor
// version is the ABI: code built against 0.1 and 0.2 may be in one process without clashing, and so
// may files that differ in what config.hpp adds to it.
#define PAPCOLL_VERSION_MAJOR 0
#define PAPCOLL_VERSION_MINOR 1
#define PAPCOLL_VERSION_PATCH 0
#define PAPCOLL_ABI_OF_VERSION v0_1
