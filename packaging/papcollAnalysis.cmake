# SPDX-License-Identifier: BSD-3-Clause
# papcoll_analysis_code: the code of papcoll::analysis that is compiled once, in each build that links it.
# Reports of recorded runs need Boost's headers; without them the rest is compiled.
if(NOT TARGET papcoll_analysis_code)
  papcoll_find_sources(papcoll_sources)
  set(papcoll_report ${papcoll_sources}/analysis/src/report)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${papcoll_sources}/analysis/src/*.cpp)
  if(NOT Boost_FOUND)
    list(FILTER sources EXCLUDE REGEX "/analysis/src/report/")
  endif()
  add_library(papcoll_analysis_code STATIC EXCLUDE_FROM_ALL ${sources})
  set_target_properties(papcoll_analysis_code PROPERTIES OUTPUT_NAME papcoll_analysis
                        DEBUG_POSTFIX "" POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(papcoll_analysis_code PUBLIC papcoll::analysis_headers)
  papcoll_optimise(papcoll_analysis_code -O1)  # recorded runs are large
  # Copies and combinations are measured as papcoll makes them.
  set_source_files_properties(${papcoll_sources}/analysis/src/simulate/measure_call_costs.cpp
                              ${papcoll_sources}/analysis/src/simulate/measure_node_costs.cpp
                              PROPERTIES COMPILE_OPTIONS -O2)
  # The style sheet and the script of a report's page become strings of a header.
  set(papcoll_page ${CMAKE_CURRENT_BINARY_DIR}/papcoll_page)
  foreach(part IN ITEMS css js)
    file(READ ${papcoll_report}/page.${part} papcoll_page_${part})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${papcoll_report}/page.${part})
  endforeach()
  configure_file(${papcoll_report}/page.hpp.in ${papcoll_page}/page.hpp @ONLY)
  target_include_directories(papcoll_analysis_code PRIVATE ${papcoll_page})
endif()
