// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/topology/options.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/utsname.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

// The selection files of a team, as one text: what rank 0 read when the team was made, and sent to
// the others. The first call that names no algorithm takes it apart and parses it
// (selection/selection_file.hpp has the format), so that programs without such calls need not.

/// Adds a text to others, so that it can be taken apart.
[[gnu::cold, gnu::noinline]] inline void add_text(std::string& all, std::string_view text) {
  all += joined({text.size(), ":", text});
}

/// The first of the texts, which it takes away.
[[gnu::cold, gnu::noinline]] inline std::string_view next_text(std::string_view& all) {
  const std::size_t length = std::strtoull(all.data(), nullptr, 10);
  all.remove_prefix(all.find(':') + 1);
  const std::string_view text = all.substr(0, length);
  all.remove_prefix(length);
  return text;
}

/// Adds what this machine is: the first line of /proc/cpuinfo that names a model, the number of its
/// processors, and the kernel's release.
[[gnu::cold, gnu::noinline]] inline void add_machine(std::string& all) {
  const OpenFile in{std::fopen("/proc/cpuinfo", "re")};
  char line[256] = {};
  while (in && std::strncmp(line, "model name", 10) != 0 &&
         std::strncmp(line, "CPU part", 8) != 0 &&
         std::fgets(line, sizeof line, in.get()) != nullptr) {
  }
  add_text(all, line);
  add_text(all, std::to_string(sysconf(_SC_NPROCESSORS_CONF)));
  utsname system{};
  static_cast<void>(uname(&system));
  add_text(all, system.release);
}

/// Adds the contents of a file. An errno if it cannot be read, or is longer than any selection
/// file.
[[gnu::cold, gnu::noinline]] inline int read_selection_file(const char* file,
                                                            std::string& contents) {
  constexpr std::size_t longest = std::size_t{4} << 20U;
  const OpenFile in{std::fopen(file, "re")};
  if (!in) return errno;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, in.get())) != 0;) {
    contents.append(part, n);
    if (contents.size() > longest) return EFBIG;
  }
  if (std::ferror(in.get()) != 0) return EIO;
  if (contents.empty()) contents = " ";  // an empty file is none: its reader says so
  return 0;
}

/// The texts: of the tuning file its contents and "tuning file F", with the variable if that names
/// it, and, unless `only_tuning`, of the file of Options::learn its contents, its name, and why it
/// has none; and of this machine.
/// Nothing: no file is named. Throws system_error where the tuning file cannot be read.
[[gnu::cold, gnu::noinline]] inline std::string read_selection_files(const Options& options,
                                                                     bool only_tuning = false) {
  const auto named = [](const std::string& option, const char* variable) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return !option.empty() ? option.c_str() : value != nullptr ? value : "";
  };
  const char* const tuning = named(options.tuning_file, "PAPCOLL_TUNING");
  const char* const by_variable = options.tuning_file.empty() ? " (PAPCOLL_TUNING)" : "";
  const char* const learn = named(options.learn, "PAPCOLL_LEARN");
  std::string all;
  if (*tuning == '\0' && *learn == '\0') return all;
  std::string text;
  if (*tuning != '\0') {
    if (const int why = read_selection_file(tuning, text); why != 0) {
      throw system_error(joined({"papcoll: cannot read the tuning file ", tuning, by_variable, ": ",
                                 std::strerror(why), ": name one that can be read, or none"}),
                         why);
    }
  }
  add_text(all, text);
  if (only_tuning) return all;
  add_text(all, joined({"tuning file ", tuning, by_variable}));
  text.clear();
  const int why = *learn != '\0' ? read_selection_file(learn, text) : 0;
  if (why != 0) text.clear();
  const std::string_view name{learn};
  const std::string directory{name.substr(0, name.rfind('/') + 1)};  // npos + 1 is 0
  const int closed = access((directory + ".").c_str(), W_OK) != 0 ? errno : 0;
  add_text(all, text);
  add_text(all, learn);
  add_text(all, why == 0        ? ""
                : why != ENOENT ? joined({"cannot be read: ", std::strerror(why)})
                : closed != 0   ? joined({"cannot be written: ", std::strerror(closed)})
                                : "is not there yet");
  add_machine(all);
  return all;
}

/// Returns a hash of the user's tuning file; 0 if there is none.
[[gnu::cold]] inline std::uint64_t hash_of_tuning(std::string_view all) noexcept {
  return all.empty() ? 0 : hash_of_text(next_text(all));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
