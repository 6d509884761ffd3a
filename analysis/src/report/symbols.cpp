// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/symbols.hpp>

#include <papcoll/report/elf.hpp>
#include <papcoll/report/run.hpp>

#include <cxxabi.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// Returns what a program prints that reads `input`; empty if it cannot be run or fails. No shell
/// sees the arguments.
std::optional<std::string> output_of(const std::vector<std::string>& arguments,
                                     const std::string& input) {
  struct Close {
    void operator()(FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<FILE, Close> in{std::tmpfile()};
  const std::unique_ptr<FILE, Close> out{std::tmpfile()};
  if (!in || !out || std::fputs(input.c_str(), in.get()) < 0 || std::fflush(in.get()) != 0) {
    return {};
  }
  std::rewind(in.get());
  posix_spawn_file_actions_t files;
  if (posix_spawn_file_actions_init(&files) != 0) return {};
  posix_spawn_file_actions_adddup2(&files, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return {};
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return {};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  std::rewind(out.get());
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), out.get())) > 0;) {
    text.append(part.data(), n);
  }
  return text;
}

/// "0x401136".
std::string address_text(std::uint64_t address) {
  std::array<char, 32> text{};
  static_cast<void>(
      std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address)));
  return text.data();
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text{
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free};
  return status == 0 && text ? std::string(text.get()) : name;
}

/// Two lines for each address, the function and file:line, as both programs print them; nothing if
/// there is neither program.
std::vector<std::string> lines_of(const std::string& module,
                                  const std::vector<std::uint64_t>& addresses) {
  std::string input;
  for (const std::uint64_t a : addresses) input += address_text(a) + "\n";
  const std::vector<std::vector<std::string>> programs{
      {"llvm-symbolizer", "--output-style=GNU", "--no-inlines", "-f", "-C", "-e", module},
      {"addr2line", "-f", "-C", "-e", module}};
  for (const std::vector<std::string>& program : programs) {
    const std::optional<std::string> text = output_of(program, input);
    if (!text) continue;
    std::vector<std::string> lines;
    std::string_view rest = *text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      lines.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (lines.size() == 2 * addresses.size()) return lines;
  }
  return {};
}

/// Sets file and line of a place, as in "/src/solver.c:88 (discriminator 3)".
void set_line(Place& place, const std::string& line) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string::npos || line.starts_with("??")) return;
  const unsigned long number = std::strtoul(line.c_str() + colon + 1, nullptr, 10);
  if (number == 0) return;
  place.file = line.substr(0, colon);
  place.line = static_cast<unsigned>(number);
}

/// Tells that a module is not what was recorded; empty if it is, or if that is not known.
std::string change_of(const ElfFile& now, const Place& then) {
  if (!then.build_id.empty()) {
    return now.build_id() == then.build_id ? "" : " was changed since the run";
  }
  if (then.stamp.bytes == 0) return "";
  if (now.stamp().bytes != then.stamp.bytes) return " was changed since the run";
  // Archives and some file systems keep whole seconds only.
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t apart = now.stamp().changed - then.stamp.changed;
  const bool is_cut = now.stamp().changed % second == 0 || then.stamp.changed % second == 0;
  if (apart == 0 || (is_cut && now.stamp().changed / second == then.stamp.changed / second)) {
    return "";
  }
  return " was changed since the run, or is a copy that only a build id (-Wl,--build-id) tells";
}

/// Places of one module.
void symbolise(const std::vector<Place*>& places, std::vector<std::string>& notes) {
  const std::string& module = places.front()->module;
  const ElfFile elf{module};
  if (!elf.is_elf()) {
    notes.push_back(module + " is not here, or no program: its places are told as offsets in it.");
    return;
  }
  if (const std::string change = change_of(elf, *places.front()); !change.empty()) {
    notes.push_back(module + change + ": its places are told as offsets in what it was.");
    return;
  }
  if (places.front()->build_id.empty() && places.front()->stamp.bytes == 0) {
    notes.push_back(module +
                    " has no build id: its places are wrong if it was changed since the "
                    "run, which is not known.");
  }
  // The return address may be of the next line, or function: that of the call is before it.
  std::vector<std::uint64_t> addresses;
  for (const Place* p : places) {
    const std::uint64_t back = elf.is_fixed() ? p->address : p->offset;
    addresses.push_back(back == 0 ? 0 : back - 1);
  }
  const std::vector<std::string> lines = lines_of(module, addresses);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Place& p = *places[i];
    if (!lines.empty()) set_line(p, lines[2 * i + 1]);
    if (p.line > 0 && !lines[2 * i].starts_with("??")) {
      p.function = lines[2 * i];
      continue;
    }
    if (const auto function = elf.function_at(addresses[i])) {
      p.function = demangled(function->name);
      p.into_function = addresses[i] + 1 - function->begin;
    }
  }
}
}  // namespace
}  // namespace detail

namespace {

/// Makes one place of those that have the same function, file and line in the same module.
void merge_places(Run& run) {
  std::map<std::tuple<std::string, std::string, std::string, unsigned>, std::uint32_t> known;
  std::vector<std::uint32_t> place_of;
  std::vector<Place> places;
  for (Place& p : run.places) {
    const auto next = static_cast<std::uint32_t>(places.size());
    if (p.line > 0) {
      const auto [found, is_new] =
          known.emplace(std::tuple{p.module, p.function, p.file, p.line}, next);
      if (!is_new) {
        place_of.push_back(found->second);
        continue;
      }
    }
    place_of.push_back(next);
    places.push_back(std::move(p));
  }
  run.places = std::move(places);
  for (RankTrace& r : run.ranks) {
    for (std::uint32_t& p : r.places) p = place_of[p];
  }
}
}  // namespace

void symbolise(Run& run) {
  std::map<std::pair<std::string, std::string>, std::vector<Place*>> modules;
  for (Place& p : run.places) {
    if (!p.module.empty()) modules[{p.module, p.build_id}].push_back(&p);
  }
  for (const auto& [module, places] : modules) detail::symbolise(places, run.notes);
  merge_places(run);
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
