# SPDX-License-Identifier: BSD-3-Clause
# papcoll_shared_code, what all files of a program share: the library that was installed, where it fits
# this compiler and this MPI library, and otherwise papcoll.cpp, compiled once for each build.
set(PAPCOLL_CORE_FLAGS "-O2" CACHE STRING
    "Flags of the code that is compiled once, and of tools, unless a release has some of its own")
option(PAPCOLL_INSTALLED_LIBRARY "Take the library of an installed papcoll, where it fits" ON)

# papcoll_optimise(target [flags]): whatever the project around papcoll says. Without flags, a release
# has its own.
function(papcoll_optimise target)
  separate_arguments(flags UNIX_COMMAND "${PAPCOLL_CORE_FLAGS}")
  string(REGEX MATCH "-O([1-9sgz]|fast)" in_release "${CMAKE_CXX_FLAGS_RELEASE}")
  if(ARGN)
    separate_arguments(flags UNIX_COMMAND "${ARGN}")
  endif()
  if(ARGN OR NOT in_release)
    set(in_release ${flags})
  endif()
  target_compile_options(${target} PRIVATE "$<IF:$<CONFIG:Release>,${in_release},${flags}>")
endfunction()

# papcoll_library_fits(file result needs): files refer to a function of which the library has the one that
# it was compiled for. So a program of this directory is linked with it, compiled as others here are.
# `needs`: what this build needs and the library is not for, as the linker names it.
function(papcoll_library_fits file result needs)
  # By a target, since expressions such as $<CONFIG:Debug> are evaluated there only.
  add_library(papcoll_options_of_directory INTERFACE IMPORTED)
  foreach(kind IN ITEMS COMPILE_DEFINITIONS COMPILE_OPTIONS LINK_OPTIONS)
    get_directory_property(options ${kind})
    set_property(TARGET papcoll_options_of_directory PROPERTY INTERFACE_${kind} "${options}")
  endforeach()
  set(CMAKE_TRY_COMPILE_TARGET_TYPE EXECUTABLE)
  if(CMAKE_BUILD_TYPE)
    set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
  endif()
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/papcoll_probe)
  file(WRITE ${probe}.cpp "#include <papcoll/transport/mpi/mpi.hpp>\nint main() { return 0; }\n")
  try_compile(PAPCOLL_LIBRARY_FITS ${probe} SOURCES ${probe}.cpp
              COMPILE_DEFINITIONS -DPAPCOLL_COMPILED
              LINK_LIBRARIES "${file}" papcoll::header_only papcoll_options_of_directory
              OUTPUT_VARIABLE said)
  set(${result} ${PAPCOLL_LIBRARY_FITS} PARENT_SCOPE)
  string(REGEX MATCH "compiled_for<([^()]*)>\\(" function "${said}")
  string(REGEX REPLACE "papcoll::v[0-9a-z_]*::detail::" "" missing "${CMAKE_MATCH_1}")
  if(missing STREQUAL "")
    set(missing "a program does not link with it")
  endif()
  set(${needs} "${missing}" PARENT_SCOPE)
endfunction()

if(TARGET papcoll::header_only AND NOT TARGET papcoll_shared_code)
  set(papcoll_fits FALSE)
  if(papcoll_library AND PAPCOLL_INSTALLED_LIBRARY)
    if(EXISTS "${papcoll_library}")
      papcoll_library_fits("${papcoll_library}" papcoll_fits papcoll_needs)
      if(NOT papcoll_fits)
        message(STATUS "papcoll: ${papcoll_library} is not for what this build has (${papcoll_needs}); "
                       "what the library has is compiled in this build")
      endif()
    else()
      message(STATUS "papcoll: there is no ${papcoll_library}; what it has is compiled in this build")
    endif()
  endif()
  if(papcoll_fits)
    add_library(papcoll_shared_code STATIC IMPORTED)
    set_target_properties(papcoll_shared_code PROPERTIES
                          IMPORTED_LOCATION "${papcoll_library}"
                          INTERFACE_LINK_LIBRARIES papcoll::header_only)
  else()
    cmake_path(SET papcoll_source NORMALIZE "${papcoll_headers}/papcoll/call/papcoll.cpp")
    add_library(papcoll_shared_code STATIC EXCLUDE_FROM_ALL ${papcoll_source})
    target_compile_definitions(papcoll_shared_code PRIVATE PAPCOLL_COMPILED)
    target_link_libraries(papcoll_shared_code PUBLIC papcoll::header_only)
    set_target_properties(papcoll_shared_code PROPERTIES OUTPUT_NAME papcoll DEBUG_POSTFIX ""
                                                         POSITION_INDEPENDENT_CODE ON)
    papcoll_optimise(papcoll_shared_code)
  endif()
endif()
