#pragma once

#include <papcoll/config.hpp>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace profile {

/// The program's own path.
inline std::string program_path() {
  std::array<char, 4096> text;
  const ssize_t n = readlink("/proc/self/exe", text.data(), text.size());
  return n > 0 ? std::string(text.data(), static_cast<std::size_t>(n)) : std::string("?");
}

/// A program or shared library of this process.
struct LoadedObject {
  std::string path;
  std::uint64_t base = 0;
  std::array<unsigned char, 32> build_id{};
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
  wanted.found.path = name.empty() ? program_path() : std::string(name);
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
  return wanted.is_found ? wanted.found : LoadedObject{};
}

}  // namespace profile
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
