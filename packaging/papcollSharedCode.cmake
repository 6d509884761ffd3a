# papcoll_shared_code, what all files of a program share: the library that was installed, where it fits
# this compiler and this MPI library, and otherwise papcoll.cpp, compiled once for each build.
set(PAPCOLL_CORE_FLAGS "-O2" CACHE STRING
    "Flags of the code that is compiled once, after those of the build type if that is not Release")

if(NOT TARGET papcoll_shared_code)
  set(papcoll_fits FALSE)
  if(EXISTS "${papcoll_library}")
    # Files refer to a function of which the library has the one that it was compiled for.
    get_directory_property(papcoll_definitions COMPILE_DEFINITIONS)
    list(TRANSFORM papcoll_definitions PREPEND -D)
    set(papcoll_probe ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/papcoll_probe)
    file(WRITE ${papcoll_probe}.cpp
         "#include <papcoll/transport/mpi/mpi.hpp>\nint main() { return 0; }\n")
    try_compile(PAPCOLL_LIBRARY_FITS ${papcoll_probe} SOURCES ${papcoll_probe}.cpp
                COMPILE_DEFINITIONS -DPAPCOLL_COMPILED ${papcoll_definitions}
                LINK_LIBRARIES "${papcoll_library}" papcoll::header_only)
    set(papcoll_fits ${PAPCOLL_LIBRARY_FITS})
    if(NOT papcoll_fits)
      message(STATUS "papcoll: ${papcoll_library} is for another compiler, MPI library or level of "
                     "assertions; what it has is compiled in this build")
    endif()
  endif()
  if(papcoll_fits)
    add_library(papcoll_shared_code STATIC IMPORTED)
    set_target_properties(papcoll_shared_code PROPERTIES
                          IMPORTED_LOCATION "${papcoll_library}"
                          INTERFACE_LINK_LIBRARIES papcoll::header_only)
  else()
    cmake_path(SET papcoll_source NORMALIZE "${papcoll_headers}/papcoll/impl/papcoll.cpp")
    add_library(papcoll_shared_code STATIC EXCLUDE_FROM_ALL ${papcoll_source})
    target_compile_definitions(papcoll_shared_code PRIVATE PAPCOLL_COMPILED)
    target_link_libraries(papcoll_shared_code PUBLIC papcoll::header_only)
    set_target_properties(papcoll_shared_code PROPERTIES OUTPUT_NAME papcoll
                                                         POSITION_INDEPENDENT_CODE ON)
    separate_arguments(papcoll_flags UNIX_COMMAND "${PAPCOLL_CORE_FLAGS}")
    target_compile_options(papcoll_shared_code PRIVATE
                           "$<$<NOT:$<CONFIG:Release>>:${papcoll_flags}>")
  endif()
endif()
