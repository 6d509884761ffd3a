# SPDX-License-Identifier: BSD-3-Clause
# find_package(Scotch): SCOTCH 7 without MPI, as the target Scotch::Scotch.
find_path(Scotch_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch)
find_library(Scotch_LIBRARY scotch)
find_library(Scotch_ERR_LIBRARY scotcherr)  # scotcherrexit would end the program
mark_as_advanced(Scotch_INCLUDE_DIR Scotch_LIBRARY Scotch_ERR_LIBRARY)

if(Scotch_INCLUDE_DIR)
  file(STRINGS ${Scotch_INCLUDE_DIR}/scotch.h lines REGEX "define SCOTCH_(VERSION|RELEASE) ")
  string(REGEX REPLACE ".*SCOTCH_VERSION +([0-9]+).*SCOTCH_RELEASE +([0-9]+).*" "\\1.\\2"
         Scotch_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Scotch VERSION_VAR Scotch_VERSION
  REQUIRED_VARS Scotch_LIBRARY Scotch_ERR_LIBRARY Scotch_INCLUDE_DIR)
if(Scotch_FOUND AND NOT TARGET Scotch::Scotch)
  add_library(Scotch::Scotch UNKNOWN IMPORTED GLOBAL)
  set_target_properties(Scotch::Scotch PROPERTIES IMPORTED_LOCATION ${Scotch_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Scotch_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${Scotch_ERR_LIBRARY})
endif()
