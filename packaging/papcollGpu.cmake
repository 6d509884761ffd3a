# SPDX-License-Identifier: BSD-3-Clause
# papcoll::gpu: kernels of the built-in operators, and CUDA's runtime. Compiled once for each build
# that uses it, by its nvcc, also where papcoll is installed, so that sources alone are.
if(NOT TARGET papcoll_gpu)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "papcoll: papcoll::gpu needs nvcc of CUDA 12 or newer, which knows C++20; "
                        "${CMAKE_CUDA_COMPILER} is of ${CMAKE_CUDA_COMPILER_VERSION}")
  endif()
  # Machine code for A100 and H100, and PTX, which drivers translate for what is newer.
  set(PAPCOLL_CUDA_ARCHITECTURES "80-real;90" CACHE STRING
      "GPUs that papcoll::gpu has kernels for, as CMAKE_CUDA_ARCHITECTURES")
  find_package(CUDAToolkit REQUIRED)

  cmake_path(SET papcoll_source NORMALIZE "${papcoll_headers}/papcoll/gpu/kernels.cu")
  add_library(papcoll_gpu STATIC EXCLUDE_FROM_ALL ${papcoll_source})
  add_library(papcoll::gpu ALIAS papcoll_gpu)
  target_compile_definitions(papcoll_gpu PUBLIC PAPCOLL_WITH_CUDA)
  target_link_libraries(papcoll_gpu PUBLIC papcoll::gpu_headers CUDA::cudart_static)
  # Not CUDA_STANDARD: before 3.26 CMake does not know CUDA's 20. Users' own .cu files need the same.
  target_compile_options(papcoll_gpu PUBLIC
                         $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>
                         $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  set_target_properties(papcoll_gpu PROPERTIES
                        CUDA_ARCHITECTURES "${PAPCOLL_CUDA_ARCHITECTURES}"
                        CUDA_RUNTIME_LIBRARY Static POSITION_INDEPENDENT_CODE ON)
endif()
