// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Catch2 v3 where it is installed, else v2, whose single header has the same macros.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
