// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a program or library says of itself: its build id, and the functions in its tables.

#include <papcoll/base/config.hpp>
#include <papcoll/profile/loaded_objects.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// An ELF file of this machine's kind. What cannot be read of it is not there.
class ElfFile : Pinned {
 public:
  explicit ElfFile(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe would wait
    struct stat s {};
    if (fd_ < 0 || ::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode)) return;
    stamp_ = profile::stamp_of(s);
    Elf64_Ehdr h{};
    if (!read(0, &h, sizeof h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64) {
      return;
    }
    is_elf_ = true;
    is_fixed_ = h.e_type == ET_EXEC;
    if (h.e_phentsize == sizeof(Elf64_Phdr)) notes(table<Elf64_Phdr>(h.e_phoff, h.e_phnum));
    if (h.e_shentsize == sizeof(Elf64_Shdr)) symbols(table<Elf64_Shdr>(h.e_shoff, h.e_shnum));
  }
  ~ElfFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool is_elf() const noexcept { return is_elf_; }

  /// Returns true if the file is mapped at the addresses that its tables name; false if at any.
  bool is_fixed() const noexcept { return is_fixed_; }

  /// Returns its size, and when it was written last.
  const profile::FileStamp& stamp() const noexcept { return stamp_; }

  /// In hexadecimal digits, or empty.
  const std::string& build_id() const noexcept { return build_id_; }

  /// A function's name, as the linker knows it, and where it begins.
  struct Function {
    std::string name;
    std::uint64_t begin;
  };

  /// The function that has an address.
  std::optional<Function> function_at(std::uint64_t address) const {
    auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                  [](std::uint64_t a, const Symbol& s) { return a < s.begin; });
    if (after == functions_.begin()) return {};
    const Symbol& s = *--after;
    if (address >= s.begin + std::max<std::uint64_t>(s.bytes, 1)) return {};
    const std::string_view name{names_.data() + s.name};  // names_ ends with a zero
    if (name.empty()) return {};
    return Function{std::string(name), s.begin};
  }

 private:
  /// Tables of one kind that are read: each may be as large as the file.
  static constexpr std::size_t most_tables = 16;

  struct Symbol {
    std::uint64_t begin, bytes;
    std::size_t name;
  };

  bool read(std::uint64_t at, void* to, std::size_t bytes) const {
    if (at > stamp_.bytes || bytes > stamp_.bytes - at) return false;
    return ::pread(fd_, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }

  template <class T> std::vector<T> table(std::uint64_t at, std::uint64_t entries) const {
    if (at > stamp_.bytes || entries > (stamp_.bytes - at) / sizeof(T)) return {};
    std::vector<T> all(static_cast<std::size_t>(entries));
    if (all.empty() || !read(at, all.data(), all.size() * sizeof(T))) return {};
    return all;
  }

  void notes(const std::vector<Elf64_Phdr>& segments) {
    std::size_t left = most_tables;
    for (const Elf64_Phdr& s : segments) {
      if (s.p_type != PT_NOTE) continue;
      if (left-- == 0) return;
      const std::vector<unsigned char> notes = table<unsigned char>(s.p_offset, s.p_filesz);
      const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
      for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr n{};
        std::memcpy(&n, notes.data() + at, sizeof n);
        const std::size_t name = at + sizeof n;
        const std::size_t id = name + padded(n.n_namesz);
        const std::size_t end = id + padded(n.n_descsz);
        if (end > notes.size()) break;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
            std::memcmp(notes.data() + name, "GNU", 4) == 0) {
          constexpr std::string_view digits = "0123456789abcdef";
          build_id_.clear();
          for (std::size_t i = 0; i < n.n_descsz; ++i) {
            build_id_ += digits[notes[id + i] / 16U];
            build_id_ += digits[notes[id + i] % 16U];
          }
          return;
        }
        at = end;
      }
    }
  }

  void symbols(const std::vector<Elf64_Shdr>& sections) {
    std::size_t left = most_tables;
    for (const Elf64_Word kind : {Elf64_Word{SHT_SYMTAB}, Elf64_Word{SHT_DYNSYM}}) {
      for (const Elf64_Shdr& s : sections) {
        if (s.sh_type != kind || s.sh_link >= sections.size()) continue;
        if (left-- == 0) return;
        const Elf64_Shdr& text = sections[s.sh_link];
        names_ = table<char>(text.sh_offset, text.sh_size);
        names_.push_back('\0');
        for (const Elf64_Sym& y : table<Elf64_Sym>(s.sh_offset, s.sh_size / sizeof(Elf64_Sym))) {
          if ((y.st_info & 0xfU) != STT_FUNC || y.st_shndx == SHN_UNDEF ||
              y.st_name >= names_.size()) {
            continue;
          }
          functions_.push_back({y.st_value, y.st_size, y.st_name});
        }
        std::stable_sort(functions_.begin(), functions_.end(),
                         [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
        if (!functions_.empty()) return;
      }
    }
  }

  int fd_ = -1;
  profile::FileStamp stamp_;
  bool is_elf_ = false;
  bool is_fixed_ = false;
  std::string build_id_;
  std::vector<char> names_;
  std::vector<Symbol> functions_;
};

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
