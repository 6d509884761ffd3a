# MPI::MPI_CXX is SMPI. Programs are shared objects that smpirun loads once for each rank, so that
# every rank has its global variables. Its compiler wrapper is only asked for its flags: the header
# that it includes everywhere makes malloc, free, sleep and others macros.
#
# Without smpicxx there is no MPI in this build, and the tests say so.

find_program(PAPCOLL_SMPICXX smpicxx)
find_program(PAPCOLL_SMPIRUN smpirun)
if(NOT PAPCOLL_SMPICXX OR NOT PAPCOLL_SMPIRUN)
  message(STATUS "PAPCOLL_SMPI: there is no smpicxx (Debian's package libsimgrid-dev)")
  set(PAPCOLL_WITH_MPI OFF)
  return()
endif()

execute_process(COMMAND ${PAPCOLL_SMPICXX} -show program.cpp OUTPUT_VARIABLE flags
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
set(libraries ${flags})
list(FILTER flags INCLUDE REGEX "^-I.*/smpi$")
list(TRANSFORM flags REPLACE "^-I" "")
list(FILTER libraries INCLUDE REGEX "^-[lL]")

add_library(MPI::MPI_CXX INTERFACE IMPORTED GLOBAL)
target_include_directories(MPI::MPI_CXX INTERFACE ${flags})
target_link_libraries(MPI::MPI_CXX INTERFACE ${libraries})
target_link_options(MPI::MPI_CXX INTERFACE -shared -Wl,-z,defs)
target_compile_options(MPI::MPI_CXX INTERFACE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
