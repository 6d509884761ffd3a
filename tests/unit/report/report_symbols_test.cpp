// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/elf.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/symbols.hpp>

#include <dlfcn.h>

#include <search.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"

namespace report_symbols {
// Not inlined, so that it has an address of its own.
constexpr unsigned line = __LINE__ + 1;
[[gnu::noinline]] int a_function_of_the_test(int x) { return x * 3 + 1; }
}  // namespace report_symbols

namespace {
using papcoll::report::ElfFile;
using papcoll::report::Place;
using papcoll::report::Run;

/// The place that a call with this return address has.
Place place_of(const void* address) {
  Dl_info info{};
  REQUIRE(dladdr(address, &info) != 0);
  Place p;
  p.module = std::filesystem::canonical(info.dli_fname).string();
  p.address = reinterpret_cast<std::uintptr_t>(address) + 1;
  p.offset = p.address - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  p.build_id = ElfFile{p.module}.build_id();
  p.stamp = ElfFile{p.module}.stamp();
  return p;
}

const void* address_of(int (*function)(int)) { return reinterpret_cast<const void*>(function); }

bool has_symbolizer() {
  return std::system("command -v llvm-symbolizer addr2line >/dev/null 2>&1") == 0;
}
}  // namespace

TEST_CASE("places are told as function, file and line", "[report]") {
  Run run;
  run.places.push_back(place_of(address_of(report_symbols::a_function_of_the_test)));
  run.places.push_back(run.places[0]);  // once more, by another rank
  run.ranks.resize(1);
  run.ranks[0].places = {0, 1};
  symbolise(run);
  CHECK(run.notes.empty());
  CHECK(run.places[0].function.find("a_function_of_the_test") != std::string::npos);
  if (!has_symbolizer() || run.places[0].line == 0) {
    WARN("no symbolizer, or no lines in this build");
    return;
  }
  CHECK(run.places[0].line == report_symbols::line);
  CHECK(short_text(run.places[0]) ==
        "report_symbols_test.cpp:" + std::to_string(report_symbols::line));
  CHECK(run.places.size() == 1);
  CHECK(run.ranks[0].places == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("places in a stripped library are told as function and offset", "[report]") {
  Run run;
  run.places.push_back(place_of(reinterpret_cast<const void*>(&::lfind)));
  symbolise(run);
  if (run.places[0].line > 0) return;  // this library has its lines
  CHECK(short_text(run.places[0]).find("lfind") == 0);
  CHECK(short_text(run.places[0]).find("+0x1 (libc") != std::string::npos);
}

TEST_CASE("a module that was changed, or is not here, is not asked", "[report]") {
  Run run;
  run.places.push_back(place_of(reinterpret_cast<const void*>(&::lfind)));
  run.places[0].build_id = "0011";
  Place elsewhere;
  elsewhere.module = "/no/such/$(touch module)";
  elsewhere.offset = 0x4711;
  run.places.push_back(elsewhere);
  symbolise(run);
  REQUIRE(run.notes.size() == 2);
  CHECK(run.notes[0].find("is not here") != std::string::npos);
  CHECK(run.notes[1].find("was changed since the run") != std::string::npos);
  CHECK(run.places[0].function.empty());
  CHECK(short_text(run.places[1]) == "$(touch module)+0x4711");
}

TEST_CASE("a module without a build id is known by its size and time", "[report]") {
  constexpr std::int64_t second = 1'000'000'000;
  Place place = place_of(address_of(report_symbols::a_function_of_the_test));
  place.build_id.clear();
  const auto found = [](const Place& p) {
    Run run;
    run.places.push_back(p);
    symbolise(run);
    const bool has_function = !run.places[0].function.empty();
    return (has_function ? "told; " : "") + (run.notes.empty() ? "" : run.notes.front());
  };
  CHECK(found(place) == "told; ");
  Place other = place;
  ++other.stamp.bytes;
  CHECK(found(other).find(" was changed since the run: its places are told as offsets in") !=
        std::string::npos);
  other = place;
  other.stamp.changed -= second;
  CHECK(found(other).find(" was changed since the run, or is a copy that only a build id") !=
        std::string::npos);
  // An archive keeps no part of a second.
  other = place;
  other.stamp.changed -= place.stamp.changed % second;
  CHECK(found(other) == "told; ");
  other.stamp = {};
  CHECK(found(other).find("told; " + place.module + " has no build id: its places are wrong if") ==
        0);
}

TEST_CASE("what is no ELF file is read as none", "[report]") {
  const TemporaryDirectory dir;
  CHECK_FALSE(ElfFile{dir.write("text", "nothing of the kind")}.is_elf());
  CHECK_FALSE(ElfFile{(dir.path() / "none").string()}.is_elf());
  CHECK_FALSE(ElfFile{dir.path().string()}.is_elf());
  const std::string pipe = (dir.path() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(ElfFile{pipe}.is_elf());
  std::string head(64, '\0');
  head.replace(0, 5, "\177ELF\002");
  head.replace(32, 8, "\377\377\377\377\377\377\377\177");  // tables far away
  head.replace(54, 4, std::string{"\070\000\377\377", 4});
  const ElfFile cut{dir.write("cut", head)};
  CHECK(cut.is_elf());
  CHECK(cut.build_id().empty());
  CHECK_FALSE(cut.function_at(0));
}

TEST_CASE("names of functions are told without what makes them long", "[report]") {
  using papcoll::report::short_function;
  CHECK(short_function("step") == "step");
  CHECK(short_function("(anonymous namespace)::allreduces(int)") ==
        "(anonymous namespace)::allreduces");
  CHECK(short_function("LAMMPS_NS::Modify::check(int, char**) const") ==
        "LAMMPS_NS::Modify::check");
  CHECK(short_function("std::unique_ptr<std::byte [], std::default_delete<std::byte []> > "
                       "a::Polled::wait<a::Polled::gather(void const*, int)::{lambda(int)#1}>(int, "
                       "char const*) const") == "a::Polled::wait");
  CHECK(short_function("void run<int>(std::vector<int> const&)") == "run");
  CHECK(short_function("f(int)::{lambda(double)#1}::operator()(double) const") ==
        "f(int)::{lambda(double)#1}::operator()");
  CHECK(short_function("bool operator< <int>(A<int> const&, A<int> const&)") == "operator<");
  CHECK(short_function("A::operator bool() const") == "A::operator bool");
  CHECK(short_function("<") == "<");
  CHECK(short_function("") == "");
}
