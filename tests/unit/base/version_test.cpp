// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/version.hpp>

#include <string>
#include <string_view>

static_assert(papcoll::version().assertions == PAPCOLL_ASSERTIONS);

TEST_CASE("papcoll says its version, and what this file was compiled as") {
  constexpr papcoll::Version version = papcoll::version();
  CHECK(version.papcoll == std::to_string(PAPCOLL_VERSION_MAJOR) + "." +
                               std::to_string(PAPCOLL_VERSION_MINOR) + "." +
                               std::to_string(PAPCOLL_VERSION_PATCH));
#if defined(__clang__)
  CHECK(version.compiler.find("lang " + std::to_string(__clang_major__) + ".") !=
        std::string_view::npos);
#else
  CHECK(version.compiler.starts_with("GCC " + std::to_string(__GNUC__) + "."));
#endif
#if defined(PAPCOLL_COMPILED)
  CHECK(version.compiled_once);
#else
  CHECK_FALSE(version.compiled_once);
#endif
  CHECK(version.text == "papcoll " + std::string(version.papcoll) + ", " +
                            std::string(version.compiler) + ", assertions " +
                            std::to_string(version.assertions) +
                            (version.compiled_once ? ", compiled once" : ", header-only") +
                            (version.hwloc ? ", with hwloc" : ", without hwloc") +
                            (version.cuda ? ", with CUDA" : ", without CUDA"));
}
