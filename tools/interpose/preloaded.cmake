# SPDX-License-Identifier: BSD-3-Clause
# Libraries that are preloaded under MPI programs: one for each ABI of MPI, which is Open MPI's (4 and
# 5), MPICH's (and that of what has its ABI, such as Intel MPI), and the standard's. Only headers of an
# MPI are needed, and the compiler wrappers say where those are; an ABI without a wrapper here gets no
# library.

set(PAPCOLL_OPENMPI_WRAPPER "" CACHE STRING "mpicxx of Open MPI, for what is preloaded under it")
set(PAPCOLL_MPICH_WRAPPER "" CACHE STRING "mpicxx of MPICH, for what is preloaded under it")
set(PAPCOLL_ABI_WRAPPER "" CACHE STRING "mpicxx of MPI's standard ABI, for what is preloaded under it")

set(PAPCOLL_PRELOADED_FLAGS "-O2" CACHE STRING "Flags of what is preloaded, after those of the build type")

# flags_of(wrapper result): a wrapper's -I and -D options; empty if it cannot be asked.
function(flags_of wrapper result)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE command ERROR_QUIET
                  RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(flags "")
  if(status EQUAL 0)
    separate_arguments(flags UNIX_COMMAND "${command}")
    list(FILTER flags INCLUDE REGEX "^-(I.*|DMPI_ABI)$")
  endif()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# kind_of(flags result): openmpi, mpich or abi, by the <mpi.h> that the flags find.
function(kind_of flags result)
  set(kind "")
  foreach(flag IN LISTS flags)
    string(REGEX REPLACE "^-I" "" directory "${flag}")
    if(NOT kind AND EXISTS ${directory}/mpi.h)
      file(STRINGS ${directory}/mpi.h lines REGEX "#define (OPEN_MPI|MPICH_VERSION)")
      if(lines MATCHES "OPEN_MPI")
        set(kind openmpi)
      elseif("-DMPI_ABI" IN_LIST flags)
        set(kind abi)
      elseif(lines MATCHES "MPICH_VERSION")
        set(kind mpich)
      endif()
    endif()
  endforeach()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

set(papcoll_interpose_dir ${CMAKE_CURRENT_LIST_DIR})
set(papcoll_wrappers ${PAPCOLL_OPENMPI_WRAPPER} ${PAPCOLL_MPICH_WRAPPER} ${PAPCOLL_ABI_WRAPPER}
                     ${MPI_CXX_COMPILER})
foreach(name IN ITEMS mpicxx.openmpi mpicxx.mpich mpicxx_abi mpicxx)
  find_program(papcoll_wrapper_${name} ${name})
  mark_as_advanced(papcoll_wrapper_${name})
  if(papcoll_wrapper_${name})
    list(APPEND papcoll_wrappers ${papcoll_wrapper_${name}})
  endif()
endforeach()

# papcoll_add_preloaded(name SOURCE...): a library papcoll_NAME_ABI for each ABI that is here, and a
# message that says for which.
function(papcoll_add_preloaded name)
  set(made "")
  foreach(wrapper IN LISTS papcoll_wrappers)
    flags_of(${wrapper} flags)
    kind_of("${flags}" kind)
    if(NOT kind OR TARGET papcoll_${name}_${kind})
      continue()
    endif()
    list(APPEND made ${kind})
    set(library papcoll_${name}_${kind})
    add_library(${library} MODULE ${ARGN})
    # Nothing of the MPI that papcoll::papcoll is for.
    target_link_libraries(${library} PRIVATE papcoll_analysis_headers papcoll_warnings
                                             ${CMAKE_DL_LIBS})
    list(TRANSFORM flags REPLACE "^-I" "-isystem")
    target_compile_options(${library} PRIVATE ${flags} -fvisibility=hidden -ftls-model=initial-exec)
    papcoll_optimise(${library} ${PAPCOLL_PRELOADED_FLAGS})
    # A second libstdc++ in the process, or a symbol of MPI, would break programs that are none of
    # this one's business. libgcc is shared: exceptions and cancelled threads must pass through. MPI has
    # callbacks of this library until it ends: where a program opens it, it stays loaded, too.
    target_link_options(${library} PRIVATE
      -static-libstdc++ -Wl,--no-undefined -Wl,--as-needed -Wl,-z,nodelete
      -Wl,--version-script=${papcoll_interpose_dir}/exports.map)
    set_target_properties(${library} PROPERTIES LINK_DEPENDS ${papcoll_interpose_dir}/exports.map)
    install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/papcoll)
  endforeach()
  set(papcoll_preloaded_${name} ${made} PARENT_SCOPE)
  list(JOIN made ", " made)
  message(STATUS "Preloaded libraries (${name}) are for ${made}")
endfunction()

# papcoll_add_launcher(name): configures the script NAME.in of the current directory, and installs it.
# It finds the libraries beside itself, or where they are installed.
function(papcoll_add_launcher name)
  set(papcoll_library_directory ${CMAKE_INSTALL_LIBDIR}/papcoll)
  file(READ ${papcoll_interpose_dir}/launcher.sh papcoll_launcher_functions)
  string(CONFIGURE "${papcoll_launcher_functions}" papcoll_launcher_functions @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${papcoll_interpose_dir}/launcher.sh)
  configure_file(${name}.in ${CMAKE_CURRENT_BINARY_DIR}/${name} @ONLY
                 FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                  WORLD_READ WORLD_EXECUTE)
  install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
