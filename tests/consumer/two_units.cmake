# SPDX-License-Identifier: BSD-3-Clause
# project() of examples/cmake includes this: at the end of that project there is a program of two units
# as well, of which one is in a library that is installed.
function(two_units)
  if(PAPCOLL_FROM STREQUAL "find_package")
    find_package(papcoll ${WANTED} REQUIRED)  # again, in the version that was installed
    add_library(second SHARED ${consumer}/second_unit.cpp)  # with the shared code in it
    target_link_libraries(second PUBLIC papcoll::papcoll)
  elseif(PAPCOLL_FROM STREQUAL "add_subdirectory")
    add_library(second INTERFACE)
    target_sources(second INTERFACE ${consumer}/second_unit.cpp)
    target_link_libraries(second INTERFACE papcoll::header_only)
  else()
    add_library(second STATIC ${consumer}/second_unit.cpp)
    target_link_libraries(second PUBLIC papcoll::papcoll)
  endif()
  add_executable(program ${consumer}/mpi_program.cpp)
  target_link_libraries(program PRIVATE second)
  if(NOT PAPCOLL_FROM STREQUAL "add_subdirectory")
    install(TARGETS second EXPORT second)
    install(EXPORT second DESTINATION cmake)
  endif()

  if(PAPCOLL_BUILD_TESTS OR PAPCOLL_BUILD_EXAMPLES OR PAPCOLL_BUILD_TOOLS OR PAPCOLL_BUILD_BENCHMARKS)
    message(FATAL_ERROR "a subdirectory builds papcoll's own programs")
  endif()
endfunction()
set(consumer ${CMAKE_CURRENT_LIST_DIR})
cmake_language(DEFER CALL two_units)
