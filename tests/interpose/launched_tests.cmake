# SPDX-License-Identifier: BSD-3-Clause
# Tests of what is preloaded, by programs that are compiled by the wrappers of each MPI that there
# is a library for. One build of the tools serves all of them.

# papcoll_launcher_of(mpi result): the launcher of an MPI, with its name or the one of the tests;
# empty if there is none.
function(papcoll_launcher_of mpi result)
  find_program(papcoll_launcher_of_${mpi} mpirun.${mpi})
  mark_as_advanced(papcoll_launcher_of_${mpi})
  set(launcher ${papcoll_launcher_of_${mpi}})
  if(NOT launcher)
    set(launcher "")
    if(papcoll_launcher STREQUAL mpi)
      set(launcher ${MPIEXEC_EXECUTABLE})
    endif()
  endif()
  set(${result} "${launcher}" PARENT_SCOPE)
endfunction()

# papcoll_launched_tests(NAME CASES case... ARGUMENTS word... TIMEOUT seconds [SERIAL case...]):
# tests NAME.MPI.case by NAME_test.py of the current directory. SERIAL: those that run alone.
function(papcoll_launched_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 tests "" TIMEOUT "CASES;ARGUMENTS;SERIAL")
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  foreach(mpi IN ITEMS openmpi mpich)
    papcoll_launcher_of(${mpi} launcher)
    if(NOT TARGET papcoll_${name}_${mpi} OR NOT launcher)
      continue()
    endif()
    foreach(case IN LISTS tests_CASES)
      set(test ${name}.${mpi}.${case})
      add_test(NAME ${test}
               COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py
                       --mpi ${mpi} --launcher ${launcher}
                       --library $<TARGET_FILE:papcoll_${name}_${mpi}> ${tests_ARGUMENTS} ${case})
      # They launch jobs in a row, and most of their time launchers wait.
      set_tests_properties(${test} PROPERTIES LABELS ranks TIMEOUT ${tests_TIMEOUT} PROCESSORS 1
                                              SKIP_RETURN_CODE 77)
      if(case IN_LIST tests_SERIAL)
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
      endif()
    endforeach()
  endforeach()
endfunction()
