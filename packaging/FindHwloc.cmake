# SPDX-License-Identifier: BSD-3-Clause
# find_package(Hwloc): hwloc 2, as the target Hwloc::Hwloc.
find_path(Hwloc_INCLUDE_DIR hwloc.h)
find_library(Hwloc_LIBRARY hwloc)
mark_as_advanced(Hwloc_INCLUDE_DIR Hwloc_LIBRARY)

if(Hwloc_INCLUDE_DIR)
  # 0x00020800 is 2.8.
  file(STRINGS ${Hwloc_INCLUDE_DIR}/hwloc.h line REGEX "define HWLOC_API_VERSION 0x")
  if(line MATCHES "0x(....)(..)")
    math(EXPR Hwloc_VERSION "0x${CMAKE_MATCH_1}")
    math(EXPR minor "0x${CMAKE_MATCH_2}")
    string(APPEND Hwloc_VERSION ".${minor}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwloc REQUIRED_VARS Hwloc_LIBRARY Hwloc_INCLUDE_DIR
                                  VERSION_VAR Hwloc_VERSION)
if(Hwloc_FOUND AND NOT TARGET Hwloc::Hwloc)
  add_library(Hwloc::Hwloc UNKNOWN IMPORTED GLOBAL)
  set_target_properties(Hwloc::Hwloc PROPERTIES IMPORTED_LOCATION ${Hwloc_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${Hwloc_INCLUDE_DIR})
endif()
