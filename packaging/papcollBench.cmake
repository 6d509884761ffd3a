# SPDX-License-Identifier: BSD-3-Clause
# papcoll_add_bench(NAME source…): the programs NAME-bench, which is papcoll-bench, and NAME-papcoll,
# which is the command papcoll, with the algorithms that the sources register (papcoll::Registered)
# beside papcoll's own. The sources have no main().

# papcoll_find_sources(result): where tools/ and benchmarks/ are, here or as installed.
function(papcoll_find_sources result)
  set(found ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sources)
  if(NOT EXISTS ${found})
    cmake_path(SET found NORMALIZE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# papcoll_tool_main, the command's code.
set(PAPCOLL_TOOL_FLAGS "-O1" CACHE STRING "Flags of the command papcoll, but for its proofs: they have -O1")
function(papcoll_make_tool_main)
  if(TARGET papcoll_tool_main)
    return()
  endif()
  papcoll_find_sources(papcoll_sources)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS ${papcoll_sources}/tools/commands/*.cpp)
  add_library(papcoll_tool_main STATIC EXCLUDE_FROM_ALL ${sources})
  add_library(papcoll::tool_main ALIAS papcoll_tool_main)
  set_target_properties(papcoll_tool_main PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  target_include_directories(papcoll_tool_main PUBLIC ${papcoll_sources}/tools)
  target_link_libraries(papcoll_tool_main
                        PUBLIC papcoll::analysis CLI11::CLI11 nlohmann_json::nlohmann_json)
  papcoll_optimise(papcoll_tool_main ${PAPCOLL_TOOL_FLAGS})
  # A proof takes minutes without. The linker takes the first of several copies of an inline function: a
  # program needs main.cpp first, and then what comes behind it in the library.
  set(papcoll_proofs main verify)
  list(TRANSFORM papcoll_proofs REPLACE "(.+)" "${papcoll_sources}/tools/commands/\\1.cpp")
  set_source_files_properties(${papcoll_proofs}
                              PROPERTIES COMPILE_OPTIONS -O1 SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# papcoll_optimise_untyped(target): what is measured is optimised in a build without a type, too.
function(papcoll_optimise_untyped target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:>:-O2>)
endfunction()

# papcoll_bench_code, papcoll-bench's.
function(papcoll_make_bench_code)
  if(TARGET papcoll_bench_code)
    return()
  endif()
  papcoll_find_sources(papcoll_sources)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(fmt REQUIRED)
  set(rooms . candidates timing fit machine)
  list(TRANSFORM rooms PREPEND ${papcoll_sources}/benchmarks/)
  list(TRANSFORM rooms APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${rooms})
  if(NOT PAPCOLL_SMPI)
    list(FILTER sources EXCLUDE REGEX "/simulated.*\\.cpp$")
  endif()
  add_library(papcoll_bench_code OBJECT EXCLUDE_FROM_ALL ${sources})
  # What they include is read, and what they instantiate is compiled, once for some of them.
  set_target_properties(papcoll_bench_code PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_include_directories(papcoll_bench_code PUBLIC ${papcoll_sources}/benchmarks
                                                       ${papcoll_sources}/tools)
  target_link_libraries(papcoll_bench_code PUBLIC papcoll::papcoll papcoll::analysis CLI11::CLI11
                                                  nlohmann_json::nlohmann_json fmt::fmt)
  papcoll_optimise_untyped(papcoll_bench_code)
endfunction()

function(papcoll_add_bench name)
  papcoll_find_sources(papcoll_sources)
  papcoll_make_tool_main()
  papcoll_make_bench_code()
  add_executable(${name}-bench ${ARGN})
  target_link_libraries(${name}-bench PRIVATE papcoll_bench_code)
  papcoll_optimise_untyped(${name}-bench)
  add_executable(${name}-papcoll ${ARGN} ${papcoll_sources}/tools/papcoll.cpp)
  target_link_libraries(${name}-papcoll PRIVATE papcoll_tool_main papcoll::papcoll)
endfunction()
