#pragma once

// The one place the version is written; CMakeLists.txt reads it from here. Until 1.0 the minor
// version is the ABI: programs built against 0.1 and 0.2 may meet in one process without clashing.
// So may files with and without hwloc.
#define PAPCOLL_VERSION_MAJOR 0
#define PAPCOLL_VERSION_MINOR 1
#define PAPCOLL_VERSION_PATCH 0
#ifdef PAPCOLL_WITH_HWLOC
#define PAPCOLL_ABI v0_1_hwloc
#else
#define PAPCOLL_ABI v0_1
#endif
