// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/runtime/memory/registrations.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A line of /proc/self/maps.
struct Mapping {
  AddressRange range;
  std::array<char, 4> may{};  ///< such as "rw-p": private
  std::uint64_t offset = 0;   ///< of range.begin in the file
  std::string_view device;    ///< of the file, such as "00:01"
  std::uint64_t inode = 0;    ///< 0: it is no file
  std::string_view name;      ///< a path, or such as "[heap]"

  /// Returns where an address within it lies in its file.
  std::uint64_t place_of(std::uintptr_t address) const noexcept {
    return offset + (address - range.begin);
  }
  bool is_same_file(const Mapping& other) const noexcept {
    return inode != 0 && inode == other.inode && device == other.device;
  }
};

/// Cuts the text up to a separator off the front of `rest`.
inline std::string_view cut(std::string_view& rest, char separator) noexcept {
  const std::size_t at = rest.find(separator);
  const std::string_view front = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return front;
}

template <class Number>
bool parse_number(std::string_view text, Number& number, int base) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, number, base);
  return problem == std::errc{} && stopped == end && !text.empty();
}

/// Reads "begin-end perms offset device inode   name". False for any other text.
[[gnu::cold]] inline bool parse_mapping(std::string_view line, Mapping& m) noexcept {
  std::string_view rest = line;
  const bool begins = parse_number(cut(rest, '-'), m.range.begin, 16);
  const bool ends = parse_number(cut(rest, ' '), m.range.end, 16);
  const std::string_view may = cut(rest, ' ');
  const bool has_offset = parse_number(cut(rest, ' '), m.offset, 16);
  m.device = cut(rest, ' ');
  const bool has_inode = parse_number(cut(rest, ' '), m.inode, 10);
  if (!begins || !ends || may.size() != m.may.size() || !has_offset || !has_inode) return false;
  may.copy(m.may.data(), m.may.size());
  m.name = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  return true;
}

/// The mappings of a text as /proc/self/maps has it, which must live as long.
[[gnu::cold]] inline Vector<Mapping> parse_mappings(std::string_view text) {
  Vector<Mapping> all;
  while (!text.empty()) {
    Mapping m;
    if (parse_mapping(cut(text, '\n'), m)) all.push_back(m);
  }
  return all;
}

/// A file of /proc, or what it begins with until `is_enough(text so far)`. Throws system_error.
template <class IsEnough>
[[gnu::cold]] std::string read_proc(const char* path, const IsEnough& is_enough) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw system_error(joined({"papcoll: cannot open ", path}), errno);
  std::string text;
  std::array<char, 4096> some;  // the kernel gives no more at once
  ssize_t n = 0;
  int problem = 0;
  do {
    n = read(fd, some.data(), some.size());
    problem = errno;
    if (n > 0) text.append(some.data(), static_cast<std::size_t>(n));
  } while ((n > 0 && !is_enough(text)) || (n < 0 && problem == EINTR));
  close(fd);
  if (n < 0) throw system_error(joined({"papcoll: cannot read ", path}), problem);
  return text;
}
[[gnu::cold]] inline std::string read_proc(const char* path) {
  return read_proc(path, [](const std::string&) { return false; });
}

/// Returns true if `maps`, the beginning of a text like that of /proc/self/maps, contains all
/// mappings below an address. They are in ascending order.
inline bool has_all_below(std::uintptr_t address, std::string_view maps) noexcept {
  const std::size_t end = maps.rfind('\n');
  if (end == maps.npos) return false;
  const std::size_t before = maps.rfind('\n', end - 1);
  Mapping last;
  return parse_mapping(maps.substr(before + 1, end - before - 1), last) &&
         last.range.end >= address;
}

/// Returns /proc/self/maps up to an address: an MPI process has hundreds of libraries mapped, most
/// of them above its memory, and each mapping costs the kernel time.
[[gnu::cold]] inline std::string maps_below(std::uintptr_t address) {
  return read_proc("/proc/self/maps",
                   [address](std::string_view text) { return has_all_below(address, text); });
}

[[gnu::cold]] inline std::string hexadecimal(std::uintptr_t address) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

/// Why the memory of a mapping cannot be moved, and what to do, as the end of a sentence that
/// begins "it"; empty if it can.
[[gnu::cold]] inline std::string why_not_moved(const Mapping& m) {
  if (m.name.starts_with("[stack")) {
    return "is on a stack, which is in use: allocate it, as a std::vector does";
  }
  if (m.name.find("papcoll-") != std::string_view::npos) {
    return "is registered already, or is arena memory of a communicator: end that registration "
           "first, or call with it as it is";
  }
  const bool is_private = m.may[3] == 'p';
  const bool is_named = !m.name.empty() && m.name != "[heap]" && !m.name.starts_with("[anon:");
  if (m.inode != 0 || !is_private || is_named) {
    return joined({is_private ? "is a mapping of " : "is a shared mapping of ",
                   m.name.empty() ? std::string_view{"memory"} : m.name,
                   ": register memory that malloc or new gives"});
  }
  if (m.may[0] != 'r' || m.may[1] != 'w' || m.may[2] != '-') {
    return joined({"may not be read and written, or may be executed (",
                   std::string_view{m.may.data(), m.may.size()},
                   "): register memory that malloc or new gives"});
  }
  return {};
}

/// Returns why the pages of a range cannot be moved to the arena; empty if they can.
[[gnu::cold]] inline std::string why_not_moved(const Vector<Mapping>& mappings,
                                               const AddressRange& pages) {
  std::uintptr_t next = pages.begin;
  for (const Mapping& m : mappings) {
    if (m.range.end <= next) continue;
    if (m.range.begin > next || next >= pages.end) break;
    if (std::string why = why_not_moved(m); !why.empty()) {
      if (m.range.begin <= pages.begin) return why;
      return joined({why, " (from ", hexadecimal(m.range.begin),
                     " on, while what is before can be moved: is the buffer as long as that?)"});
    }
    next = m.range.end;
  }
  if (next >= pages.end) return {};
  return joined({"has no memory at ", hexadecimal(next), ": allocate it first"});
}

/// Returns true if a part of the range is kept in memory by mlock(). `smaps` is a text like
/// /proc/self/smaps.
[[gnu::cold]] inline bool is_locked(std::string_view smaps, const AddressRange& pages) noexcept {
  bool inside = false;
  while (!smaps.empty()) {
    const std::string_view line = cut(smaps, '\n');
    Mapping m;
    if (parse_mapping(line, m)) {
      inside = m.range.meets(pages);
    } else if (inside && line.starts_with("VmFlags:") && line.find(" lo") != line.npos) {
      return true;
    }
  }
  return false;
}

/// Returns true if the process keeps any memory from being paged out. `status` is a text like
/// /proc/self/status.
[[gnu::cold]] inline bool any_locked(std::string_view status) noexcept {
  constexpr std::string_view key = "\nVmLck:";
  const std::size_t at = status.find(key);
  if (at == std::string_view::npos) return false;
  status.remove_prefix(at + key.size());
  const std::string_view line = cut(status, '\n');
  return line.find_first_of("123456789") != std::string_view::npos;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
