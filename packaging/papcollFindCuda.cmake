# SPDX-License-Identifier: BSD-3-Clause
# Enables the language CUDA as PAPCOLL_WITH_CUDA says, sets papcoll_cuda, and says what was found.
set(papcoll_cuda FALSE)
set(problem "there is no CUDA compiler (nvcc) that works with ${CMAKE_CXX_COMPILER}")
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(PAPCOLL_WITH_CUDA AND NOT PROJECT_IS_TOP_LEVEL AND NOT "CUDA" IN_LIST languages)
  # Enabled here, a language would not serve the directories above, where programs are linked.
  set(problem "the project around papcoll does not name CUDA among the languages of project()")
elseif(PAPCOLL_WITH_CUDA)
  # Where toolkits are, though no PATH may say so.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(PAPCOLL_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
                 PATH_SUFFIXES bin)
    mark_as_advanced(PAPCOLL_NVCC)
    if(PAPCOLL_NVCC)
      set(ENV{CUDACXX} ${PAPCOLL_NVCC})
    endif()
  endif()
  # Otherwise nvcc takes the first g++ of the PATH.
  if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(ENV{CUDAHOSTCXX} ${CMAKE_CXX_COMPILER})
  endif()
  # A toolkit that does not work is no reason to stop where nobody asked for it. One that came since
  # the last time is found.
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
      string(CONCAT problem "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}, and "
                            "only that of 12 or newer knows C++20")
    else()
      set(papcoll_cuda TRUE)
    endif()
  endif()
endif()
if(papcoll_cuda)
  message(STATUS "papcoll::gpu: CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
elseif(PAPCOLL_WITH_CUDA STREQUAL "AUTO")
  message(STATUS "No papcoll::gpu: ${problem} (see docs/gpu.md)")
elseif(PAPCOLL_WITH_CUDA)
  message(FATAL_ERROR "papcoll: PAPCOLL_WITH_CUDA is ${PAPCOLL_WITH_CUDA}, and ${problem}. It "
          "needs the CUDA Toolkit, 12 or newer: from NVIDIA, your system's packages, or "
          "scripts/install_dependencies.sh --cuda. Where it is in no usual place, pass "
          "-DCMAKE_CUDA_COMPILER=/where/it/is/bin/nvcc. Or pass -DPAPCOLL_WITH_CUDA=OFF.")
endif()
