# SPDX-License-Identifier: BSD-3-Clause
# A toolchain file: programs for AArch64 by Debian's cross compiler, run by QEMU in user mode.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)

# Headers that are the same on all machines. /usr/include itself has those of this machine's C library.
set(papcoll_headers_of_all ${CMAKE_BINARY_DIR}/headers_of_all)
file(MAKE_DIRECTORY ${papcoll_headers_of_all})
foreach(library IN ITEMS boost catch2)
  if(EXISTS /usr/include/${library})
    file(CREATE_LINK /usr/include/${library} ${papcoll_headers_of_all}/${library} SYMBOLIC)
  endif()
endforeach()
set(Boost_INCLUDE_DIR ${papcoll_headers_of_all})
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${papcoll_headers_of_all})
