# What all files of a program share, compiled once for each build that uses papcoll::papcoll: by its
# compiler and for its MPI library, also where papcoll is installed, so that sources alone are.
if(NOT TARGET papcoll_shared_code)
  cmake_path(SET papcoll_source NORMALIZE "${papcoll_headers}/papcoll/impl/papcoll.cpp")
  add_library(papcoll_shared_code STATIC EXCLUDE_FROM_ALL ${papcoll_source})
  target_compile_definitions(papcoll_shared_code PRIVATE PAPCOLL_COMPILED)
  target_link_libraries(papcoll_shared_code PUBLIC papcoll::header_only)
  set_target_properties(papcoll_shared_code PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
