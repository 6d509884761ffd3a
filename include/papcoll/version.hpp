#pragma once

// The one place the version is written; CMakeLists.txt reads it from here. Until 1.0 the minor
// version is the ABI: programs built against 0.1 and 0.2 may meet in one process without clashing.
#define PAPCOLL_VERSION_MAJOR 0
#define PAPCOLL_VERSION_MINOR 1
#define PAPCOLL_VERSION_PATCH 0
#define PAPCOLL_ABI v0_1
