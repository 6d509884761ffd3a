// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// MPI as a preloaded library reaches it, which names no symbol of MPI and needs no MPI library: it
// is loaded into every process of a job, shells included, and Python opens its MPI privately,
// where no symbol of a preloaded library would find it. So every function is looked up, when the
// first call comes in, in the object of this process that defines PMPI_Comm_dup.
//
// Include this file first: it stands before <mpi.h>.

#include <papcoll/transport/mpi/mpi.hpp>

#include <dlfcn.h>
#include <link.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace interpose {

/// The MPI library of this process.
struct MpiLibrary {
  void* handle = nullptr;
  std::string path;
  bool is_of_this_kind = false;  ///< of that which this library was compiled for
};

/// What to do where it is of another kind: each library defines it. The sentence says what is
/// wrong.
void found_another_kind(const std::string& sentence);

namespace detail {

inline bool defines(void* handle, const char* name, const char* path) {
  void* const at = dlsym(handle, name);
  Dl_info where{};
  // dlsym() looks into what the object needs, too.
  return at != nullptr && dladdr(at, &where) != 0 && std::strcmp(where.dli_fname, path) == 0;
}

inline const char* own_path() {
  Dl_info where{};
  return dladdr(reinterpret_cast<void*>(&own_path), &where) != 0 ? where.dli_fname : "";
}

// Only notes names: to open objects here, under the lock of the list, may wait for a thread that
// opens one and wants that lock.
inline int note_name(dl_phdr_info* object, std::size_t, void* names) {
  const char* const path = object->dlpi_name;
  if (path != nullptr && path[0] != '\0' && std::strcmp(path, own_path()) != 0) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(path);
  }
  return 0;
}

}  // namespace detail

/// The object of this process, other than this library, that defines a function.
inline MpiLibrary object_with(const char* name) {
  std::vector<std::string> names;
  dl_iterate_phdr(&detail::note_name, &names);
  for (const std::string& path : names) {
    void* const handle = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    // Libraries that were preloaded, too, may stand before PMPI_ functions as this one does.
    if (detail::defines(handle, name, path.c_str()) &&
        dlsym(handle, "papcoll_is_interposed") == nullptr) {
      return {handle, path, false};
    }
    dlclose(handle);
  }
  return {};
}

/// The kind of MPI that this library is for, by the handles and constants that were compiled in:
/// what a process of that kind is called, a function that it has, and one that it lacks (or "").
struct Kind {
  const char* name;
  const char* has;
  const char* lacks;
};
#if defined(MPI_ABI_VERSION)
inline constexpr Kind kind{"of MPI's standard ABI", "PMPI_Abi_get_version", "MPIR_Dup_fn"};
#elif defined(OPEN_MPI)
inline constexpr Kind kind{"Open MPI", "ompi_mpi_init", ""};
#else
inline constexpr Kind kind{"MPICH or of its ABI", "MPIR_Dup_fn", ""};
#endif

/// Returns true if this process reports what holds on all ranks: rank 0, by the launcher's
/// variables, since ranks are needed before MPI knows them.
inline bool speaks_for_all() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* const rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

/// The MPI library. A process that calls MPI has one: without it, what was called cannot be done.
inline const MpiLibrary& mpi_library() {
  static const MpiLibrary& library = *new MpiLibrary([] {
    MpiLibrary found = object_with("PMPI_Comm_dup");
    if (found.handle == nullptr) {
      std::fputs("papcoll: a function of MPI was called, and this process has no MPI library\n",
                 stderr);
      std::abort();
    }
    found.is_of_this_kind = dlsym(found.handle, kind.has) != nullptr &&
                            (kind.lacks[0] == '\0' || dlsym(found.handle, kind.lacks) == nullptr);
    if (!found.is_of_this_kind) {
      found_another_kind(std::string("papcoll: the preloaded library is for an MPI that is ") +
                         kind.name + ", and the program's is " + found.path);
    }
    return found;
  }());
  return library;
}

/// A function of the MPI library, or null.
template <class Function> Function function_of_mpi(const char* name) {
  return reinterpret_cast<Function>(dlsym(mpi_library().handle, name));
}

/// The function that would have been called without this library: that of a tool which was loaded
/// after it, or MPI's own. So is a PMPI_ function: other libraries of papcoll's stand before those,
/// too, since Fortran's functions call them.
template <class Function> Function next_function(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  return next != nullptr ? reinterpret_cast<Function>(next) : function_of_mpi<Function>(name);
}

/// An object that a handle of Open MPI points to. The program may hold the library's own object in
/// its place (a copy relocation), and then that one counts: the global scope is asked first.
template <class Handle> Handle handle_of_mpi(const char* name) {
  void* const global = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Handle>(global != nullptr ? global : dlsym(mpi_library().handle, name));
}

}  // namespace interpose

#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                  \
  ([]() noexcept -> type {                                                    \
    static const type found_handle = interpose::handle_of_mpi<type>(#global); \
    return found_handle;                                                      \
  }())
#endif
