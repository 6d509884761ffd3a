# SPDX-License-Identifier: BSD-3-Clause
# cmake -DOUTPUT=file.cpp -DSOURCES=a.cpp;b.cpp -P together.cmake: one file that includes them, each in a
# namespace of its own, so that their names cannot clash. What they include comes first, outside these
# namespaces: by the time that they include it, there is nothing left of it.

set(headers "")
set(files "")
foreach(source IN LISTS SOURCES)
  cmake_path(GET source PARENT_PATH directory)
  cmake_path(GET source STEM name)
  file(STRINGS ${source} lines REGEX "^#include [<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include .(.*).$" "\\1" header "${line}")
    if(line MATCHES "\"" AND EXISTS ${directory}/${header})
      set(line "#include \"${directory}/${header}\"")
    endif()
    list(APPEND headers ${line})
  endforeach()
  string(APPEND files "namespace in_${name} {\n#include \"${source}\"\n}\n")
endforeach()
list(REMOVE_DUPLICATES headers)
list(JOIN headers "\n" headers)
file(WRITE ${OUTPUT} "${headers}\n${files}")
