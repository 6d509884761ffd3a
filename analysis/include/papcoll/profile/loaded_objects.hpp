// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/trace_format.hpp>

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// The program's own path.
inline std::string program_path() {
  std::array<char, 4096> text;
  const ssize_t n = readlink("/proc/self/exe", text.data(), text.size());
  return n > 0 ? std::string(text.data(), static_cast<std::size_t>(n)) : std::string("?");
}

/// The arguments of the program with a blank between each.
inline std::string program_arguments() {
  std::FILE* const file = std::fopen("/proc/self/cmdline", "re");
  if (file == nullptr) return {};
  std::array<char, 4096> text;
  std::string all(text.data(), std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  all.erase(0, std::min(all.find('\0'), all.size() - 1) + 1);
  std::replace(all.begin(), all.end(), '\0', ' ');
  while (all.ends_with(' ')) all.pop_back();
  return all;
}

/// The path of the file that is mapped at an address, from the root; empty if there is none.
inline std::string path_mapped_at(std::uint64_t address) {
  std::FILE* const file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return {};
  std::string path;
  std::array<char, 8192> line{};
  while (path.empty() && std::fgets(line.data(), line.size(), file) != nullptr) {
    // "BEGIN-END rights offset device inode    /the/path"
    const std::string_view text(line.data());
    constexpr int hexadecimal = 16;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const char* const last = text.data() + text.size();
    const auto [dash, no_begin] = std::from_chars(text.data(), last, begin, hexadecimal);
    if (no_begin != std::errc{} || dash == last) continue;
    const auto [after, no_end] = std::from_chars(dash + 1, last, end, hexadecimal);
    const std::size_t slash = text.find('/');
    if (no_end != std::errc{} || address < begin || address >= end || slash == text.npos) continue;
    path = text.substr(slash);
    if (path.ends_with('\n')) path.pop_back();
  }
  std::fclose(file);
  return path;
}

/// Returns the stamp of a file as stat(2) describes it.
inline FileStamp stamp_of(const struct stat& about) noexcept {
  return {static_cast<std::uint64_t>(about.st_size),
          static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec};
}

/// A program or shared library of this process.
struct LoadedObject {
  std::string name;  ///< as the loader has it: it may be relative to where the process was once
  std::string path;  ///< from the root
  std::uint64_t base = 0;
  std::array<unsigned char, 32> build_id{};  ///< as Module::build_id
  std::uint32_t build_id_bytes = 0;
};

namespace detail {

/// Reads the linker's build id from a segment of notes.
inline void read_build_id(const char* notes, std::size_t bytes, LoadedObject& into) noexcept {
  const auto padded = [](std::size_t n) { return (n + 3U) & ~std::size_t{3}; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = padded(note.n_namesz);
    const std::size_t all = sizeof note + name + padded(note.n_descsz);
    if (all > bytes) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + sizeof note, "GNU", 4) == 0) {
      into.build_id_bytes = note.n_descsz < into.build_id.size()
                                ? note.n_descsz
                                : static_cast<std::uint32_t>(into.build_id.size());
      std::memcpy(into.build_id.data(), notes + sizeof note + name, into.build_id_bytes);
      return;
    }
    notes += all;
    bytes -= all;
  }
}

struct Wanted {
  std::uint64_t address;
  LoadedObject found;
  bool is_found;
};

inline int look(dl_phdr_info* object, std::size_t, void* data) {
  auto& wanted = *static_cast<Wanted*>(data);
  const std::uint64_t base = object->dlpi_addr;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = base + segment.p_vaddr;
    if (wanted.address >= begin && wanted.address < begin + segment.p_memsz) inside = true;
  }
  if (!inside) return 0;
  wanted.is_found = true;
  wanted.found.base = base;
  // The program itself comes without a name.
  const std::string_view name = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  wanted.found.name = name;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE && wanted.found.build_id_bytes == 0) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): ELF counts in integers
      read_build_id(reinterpret_cast<const char*>(base + segment.p_vaddr), segment.p_memsz,
                    wanted.found);
    }
  }
  return 1;
}

}  // namespace detail

/// The object of this process that an address lies in; one without a path if it lies in none.
inline LoadedObject object_of(std::uint64_t address) {
  detail::Wanted wanted{address, {}, false};
  dl_iterate_phdr(&detail::look, &wanted);
  if (!wanted.is_found) return {};
  LoadedObject& found = wanted.found;
  found.path = found.name.empty() ? program_path() : found.name;
  // One that was opened by a relative path is where the system mapped it from.
  if (!found.path.starts_with('/')) {
    const std::string mapped = path_mapped_at(address);
    if (!mapped.empty()) found.path = mapped;
  }
  struct stat about {};
  if (found.build_id_bytes == 0 && stat(found.path.c_str(), &about) == 0) {
    const FileStamp stamp = stamp_of(about);
    std::memcpy(found.build_id.data(), &stamp, sizeof stamp);
  }
  return std::move(found);
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
