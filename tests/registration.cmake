# SPDX-License-Identifier: BSD-3-Clause
# How tests are registered, for tests/ and examples/. A test that cannot run on this machine prints
# "SKIPPED: reason" and exits 77.
#
#   papcoll_unit_test(NAME SOURCES file… [LONERS name…] [LIBRARIES target…] [LABELS l…]
#                     [TIMEOUT s])
#   papcoll_rank_test(NAME RANKS n… SOURCES file… [LIBRARIES target…] [LABELS l…] [TIMEOUT s])
#   papcoll_run_on_ranks(TEST RANKS n TARGET t [SHORT] [ARGS …] [LAUNCH flag…] [LABELS l…] [TIMEOUT s])
#   papcoll_compile_fail_test(NAME SOURCE file)     see checks/compile_fail.sh
#   papcoll_check(NAME COMMAND program … [LABELS l…] [TIMEOUT s])
#
# PROCESSORS of tests are counted in halves, since scripts/test.sh runs twice as many tests at a time as
# there are processors, and one more: two for a program, all for ranks, since waiting ranks want theirs,
# two for the ranks of a job that is over at once, and one for jobs that mostly wait, of which one runs
# beside any other.
#
# Labels: unit explore ranks faults cluster simulated gpu compile_fail consumer examples checks.

include_guard(GLOBAL)

set(PAPCOLL_TEST_SANITIZERS "" CACHE STRING "Sanitizers of the tests, as for -fsanitize")
set(PAPCOLL_TEST_ROOMS "" CACHE STRING "Directories of tests/ that are wanted; empty for all")
set(PAPCOLL_UNIT_TESTS "" CACHE STRING
    "Unit tests that are wanted: regular expressions, each for the beginning of some ROOM/FILE of tests/unit; \
empty for all")
option(PAPCOLL_FULL_SIZES "What is rare, too, see tests/README.md: an hour more" OFF)
set(PAPCOLL_MPIEXEC_FLAGS "" CACHE STRING "More flags for the MPI launcher of the tests")
set(papcoll_checks ${CMAKE_CURRENT_LIST_DIR}/checks)
cmake_host_system_information(RESULT papcoll_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR papcoll_all_processors "2 * ${papcoll_cores}")

add_library(papcoll_test_options INTERFACE)
target_include_directories(papcoll_test_options INTERFACE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(papcoll_test_options INTERFACE papcoll_analysis papcoll_warnings)
if(PAPCOLL_TEST_SANITIZERS)
  set(sanitize -fsanitize=${PAPCOLL_TEST_SANITIZERS} -fno-sanitize-recover=all)
  if(PAPCOLL_TEST_SANITIZERS MATCHES "address" AND NOT PAPCOLL_FULL_SIZES)
    list(APPEND sanitize -fno-sanitize=object-size)
  endif()
  target_compile_options(papcoll_test_options INTERFACE ${sanitize})
  target_link_options(papcoll_test_options INTERFACE ${sanitize})
  target_compile_options(papcoll_analysis_code PRIVATE ${sanitize})
endif()

# What ranks need where there are more of them than cores: leave to run as root, no binding, and a
# yield in the library's own spin loops (a scheduler slice is milliseconds). papcoll_launcher tells
# apart those whose flags we know.
if(PAPCOLL_SMPI)
  set(papcoll_launcher smpi)
  set(papcoll_launch ${PROJECT_SOURCE_DIR}/benchmarks/reproduce/simulate.py)
  set(MPIEXEC_NUMPROC_FLAG --ranks)
elseif(PAPCOLL_WITH_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE launcher_version
                  ERROR_VARIABLE launcher_version)
  set(papcoll_launch ${MPIEXEC_EXECUTABLE})
  set(papcoll_launcher other)
  if(launcher_version MATCHES "Open MPI|OpenRTE|PRRTE")
    set(papcoll_launcher openmpi)
    list(APPEND papcoll_launch --allow-run-as-root --oversubscribe --bind-to none
                               --mca mpi_yield_when_idle 1)
  elseif(launcher_version MATCHES "HYDRA|MPICH")
    set(papcoll_launcher mpich)
    add_library(papcoll_mpich_yield MODULE tests/mpich_yield.cpp)
    target_link_libraries(papcoll_mpich_yield PRIVATE papcoll_warnings ${CMAKE_DL_LIBS})
    set(papcoll_launch env LD_PRELOAD=$<TARGET_FILE:papcoll_mpich_yield> ${MPIEXEC_EXECUTABLE})
  endif()
  separate_arguments(more_flags UNIX_COMMAND "${PAPCOLL_MPIEXEC_FLAGS}")
  list(APPEND papcoll_launch ${more_flags})
endif()

# Whatever can links the code that is compiled once: only a few tests compile the headers as they are.
if(PAPCOLL_WITH_MPI)
  target_link_libraries(papcoll_shared_code PRIVATE papcoll_test_options)
  set_target_properties(papcoll_shared_code PROPERTIES CXX_EXTENSIONS OFF)
endif()
if(NOT PAPCOLL_WITH_MPI OR PAPCOLL_SMPI)
  target_link_libraries(papcoll_once PRIVATE papcoll_test_options)
endif()

# Files are compiled together, many at a time: what they include is read, and what they instantiate is
# compiled, once for all of them; those in LONERS by themselves. Sets `result` to the sources of `target`.
# Files that PAPCOLL_TESTS_OPTIMISED leaves out come last: the linker takes the first of several copies
# of an inline function, and those of -O0 are slow.
#   papcoll_compile_together(result target SOURCES file… [LONERS name…])
set(PAPCOLL_TESTS_TOGETHER 40 CACHE STRING "How many files of tests are compiled together at most")
set(PAPCOLL_TESTS_OPTIMISED "" CACHE STRING
    "Unit tests that are not compiled with -O0: as PAPCOLL_UNIT_TESTS; empty for all")
set(papcoll_together ${CMAKE_CURRENT_LIST_DIR}/together.cmake)
function(papcoll_compile_together result target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LONERS")
  set(alone ${arg_SOURCES})
  set(tests ${arg_SOURCES})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  foreach(loner IN LISTS arg_LONERS)
    list(FILTER tests EXCLUDE REGEX "/${loner}\\.cpp$")
  endforeach()
  list(LENGTH tests number)
  if(number LESS_EQUAL 1 OR PAPCOLL_TESTS_TOGETHER LESS_EQUAL 1)
    set(${result} ${arg_SOURCES} PARENT_SCOPE)
    return()
  endif()
  list(REMOVE_ITEM alone ${tests})
  set(unoptimised "")
  if(PAPCOLL_TESTS_OPTIMISED)
    list(JOIN PAPCOLL_TESTS_OPTIMISED "|" pattern)
    set(pattern "/unit/(${pattern})")
    set(unoptimised ${tests})
    list(FILTER unoptimised EXCLUDE REGEX "${pattern}")
    list(FILTER tests INCLUDE REGEX "${pattern}")
    list(LENGTH tests number)
  endif()
  # At least two, for two processors; none where all are unoptimised.
  math(EXPR parts "(${number} + ${PAPCOLL_TESTS_TOGETHER} - 1) / ${PAPCOLL_TESTS_TOGETHER}")
  if(parts EQUAL 1 AND number GREATER 1)
    set(parts 2)
  endif()
  set(sources "")
  set(part 0)
  while(part LESS parts)
    math(EXPR begin "${part} * ${number} / ${parts}")
    math(EXPR part "${part} + 1")
    math(EXPR length "${part} * ${number} / ${parts} - ${begin}")
    list(SUBLIST tests ${begin} ${length} group_${part})
    list(APPEND sources ${part})
  endwhile()
  if(unoptimised)
    set(group_unoptimised ${unoptimised})
    list(APPEND sources unoptimised)
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${target}_unoptimised.cpp
                                PROPERTIES COMPILE_OPTIONS -O0)
  endif()
  set(groups ${sources})
  list(TRANSFORM sources REPLACE ".+" "${CMAKE_CURRENT_BINARY_DIR}/${target}_\\0.cpp")
  foreach(group file IN ZIP_LISTS groups sources)
    add_custom_command(OUTPUT ${file} DEPENDS ${group_${group}} ${papcoll_together} VERBATIM
      COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${file}" "-DSOURCES=${group_${group}}" -P ${papcoll_together})
  endforeach()
  # A target that links nothing: files of one that does would be written after what it links is built.
  add_custom_target(${target}_together DEPENDS ${sources})
  set(${result} ${sources} ${alone} PARENT_SCOPE)
endfunction()

# One entry a file, so that ctest names what failed; Catch2 can tag each test with its file's name.
function(papcoll_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LONERS;LIBRARIES;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set(no_tests_fails "")
  if(Catch2_VERSION VERSION_LESS 3)
    set(no_tests_fails --warn NoTests)
  endif()
  papcoll_compile_together(sources ${name} SOURCES ${arg_SOURCES} LONERS ${arg_LONERS})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE papcoll_once papcoll_test_options
                                        ${arg_LIBRARIES})
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM stem)
    add_test(NAME ${name}.${stem} COMMAND ${name} --filenames-as-tags "[#${stem}]" ${no_tests_fails})
    set_tests_properties(${name}.${stem} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                                                    PROCESSORS 2 SKIP_RETURN_CODE 77)
    # Threads that wait for each other go first, side by side: beside one that only computes they would
    # wait for the end of its time slice, each time.
    file(STRINGS ${source} waiting REGEX "ThreadTeam|std::j?thread" LIMIT_COUNT 1)
    if(waiting)
      set_tests_properties(${name}.${stem} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()

function(papcoll_run_on_ranks test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHORT" "RANKS;TARGET;TIMEOUT" "ARGS;LAUNCH;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR ctest_timeout "${arg_TIMEOUT} + 20")
  set(processors ${arg_RANKS})
  if(processors GREATER papcoll_cores)
    set(processors ${papcoll_cores})
  endif()
  math(EXPR processors "2 * ${processors}")
  if(arg_SHORT)
    set(processors 2)
  endif()
  # timeout, not ctest, ends a hanging job: the launcher then takes its ranks with it.
  add_test(NAME ${test} COMMAND timeout --kill-after=10 ${arg_TIMEOUT} ${papcoll_launch}
                                ${arg_LAUNCH} ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS}
                                $<TARGET_FILE:${arg_TARGET}> ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${ctest_timeout} PROCESSORS ${processors} SKIP_RETURN_CODE 77
    ENVIRONMENT PAPCOLL_TEST_RANKS=${arg_RANKS})
endfunction()

function(papcoll_rank_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "RANKS;SOURCES;LIBRARIES;LABELS")
  if(NOT PAPCOLL_WITH_MPI)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS ranks)
  endif()
  papcoll_compile_together(sources ${name} SOURCES ${arg_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE papcoll papcoll_test_options ${arg_LIBRARIES})
  foreach(ranks IN LISTS arg_RANKS)
    papcoll_run_on_ranks(${name}.${ranks} RANKS ${ranks} TARGET ${name} TIMEOUT ${arg_TIMEOUT}
                         LABELS ${arg_LABELS})
  endforeach()
endfunction()

# A script or program run in the root of the sources.
function(papcoll_check name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS checks)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                                          PROCESSORS 2 SKIP_RETURN_CODE 77)
endfunction()

# The flags of our own translation units, for scripts that compile by themselves, and a warning that users
# have. An object library is asked because only a compiled target has its dependencies' flags collected.
function(papcoll_write_flags file)
  file(CONFIGURE OUTPUT flags_probe.cpp CONTENT "")
  add_library(papcoll_flags_probe OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/flags_probe.cpp)
  target_link_libraries(papcoll_flags_probe PRIVATE papcoll_analysis papcoll_warnings
    $<IF:$<TARGET_EXISTS:papcoll_header_only>,papcoll_header_only,papcoll_core>)
  set(includes $<TARGET_PROPERTY:papcoll_flags_probe,INCLUDE_DIRECTORIES>)
  set(includes $<FILTER:${includes},EXCLUDE,^/usr/include$>)
  set(defines $<TARGET_PROPERTY:papcoll_flags_probe,COMPILE_DEFINITIONS>)
  file(GENERATE OUTPUT ${file} CONTENT
"-std=c++20
-I$<JOIN:${includes},
-I>
$<$<TARGET_EXISTS:papcoll_gpu>:-isystem
$<JOIN:$<TARGET_PROPERTY:CUDA::toolkit,INTERFACE_INCLUDE_DIRECTORIES>,
-isystem
>>
$<$<BOOL:${defines}>:-D>$<JOIN:${defines},
-D>
$<JOIN:$<TARGET_PROPERTY:papcoll_flags_probe,COMPILE_OPTIONS>,
>
-Wsign-conversion
")
endfunction()

# Tests that read many small files: checks/precompiled.sh comes before them.
set(papcoll_precompiled ${CMAKE_CURRENT_BINARY_DIR}/tests/precompiled)
function(papcoll_needs_precompiled test compiler)
  if(NOT TEST precompiled.${compiler})
    papcoll_check(precompiled.${compiler} COMMAND
      ${papcoll_checks}/precompiled.sh ${compiler} ${papcoll_flags} ${papcoll_precompiled})
    set_tests_properties(precompiled.${compiler} PROPERTIES
                         FIXTURES_SETUP papcoll_precompiled.${compiler})
  endif()
  set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED papcoll_precompiled.${compiler})
endfunction()

function(papcoll_compile_fail_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "")
  cmake_path(ABSOLUTE_PATH arg_SOURCE)
  foreach(compiler IN ITEMS g++ clang++)
    papcoll_check(compile_fail.${name}.${compiler} LABELS compile_fail
      COMMAND ${papcoll_checks}/compile_fail.sh ${compiler} ${papcoll_flags} ${arg_SOURCE}
              ${papcoll_precompiled})
    papcoll_needs_precompiled(compile_fail.${name}.${compiler} ${compiler})
  endforeach()
endfunction()
