// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says of memory, and pages that move to shared memory and back, in one process.

#include <papcoll/runtime/memory/mapped_memory.hpp>
#include <papcoll/runtime/memory/registered_buffer.hpp>
#include <papcoll/runtime/memory/registrations.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "catch.hpp"

using papcoll::AddressRange;
using papcoll::detail::Mapping;
using papcoll::detail::RestoreResult;

namespace {

AddressRange range_of(const void* p, std::size_t n) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  return {begin, begin + n};
}

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Memory that is mapped as an arena is, and may be so once more.
class SharedPages {
 public:
  explicit SharedPages(std::size_t bytes) : bytes_(bytes), fd_(memfd_create("test", MFD_CLOEXEC)) {
    if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) std::abort();
    view_ = map(0, bytes);
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  ~SharedPages() {
    munmap(view_, bytes_);
    close(fd_);
  }
  std::byte* view() const { return view_; }
  std::byte* map(std::size_t offset, std::size_t n) const {
    return static_cast<std::byte*>(
        mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(offset)));
  }

 private:
  std::size_t bytes_;
  int fd_;
  std::byte* view_ = nullptr;
};

constexpr const char* some_maps =
    "00400000-00500000 rw-p 00001000 08:01 77                      /usr/bin/a b\n"
    "00500000-00600000 rw-p 00000000 00:00 0 \n"
    "00600000-00700000 rw-p 00000000 00:00 0                       [heap]\n"
    "00700000-00800000 r--p 00000000 00:00 0 \n"
    "00900000-00a00000 rw-s 00000000 00:01 1024                    /memfd:papcoll-0-1-a (deleted)\n"
    "00a00000-00b00000 rw-s 00000000 00:01 9                       /dev/zero (deleted)\n"
    "00b00000-00c00000 rw-p 00000000 00:00 0                       [anon:mine]\n"
    "7ffc00000000-7ffc00100000 rw-p 00000000 00:00 0               [stack]\n";

}  // namespace

TEST_CASE("lines of a process's mappings", "[registration]") {
  const auto all = papcoll::detail::parse_mappings(some_maps);
  REQUIRE(all.size() == 8);
  CHECK(all[0].range == AddressRange{0x400000, 0x500000});
  CHECK(std::string_view{all[0].may.data(), 4} == "rw-p");
  CHECK(all[0].offset == 0x1000);
  CHECK(all[0].device == "08:01");
  CHECK(all[0].inode == 77);
  CHECK(all[0].name == "/usr/bin/a b");
  CHECK(all[0].place_of(0x400010) == 0x1010);
  CHECK(all[1].name.empty());
  CHECK(!all[1].is_same_file(all[2]));
  CHECK(!all[4].is_same_file(all[5]));
  CHECK(all[4].is_same_file(all[4]));
  for (const char* text : {"", "x", "00-10", "00-10 rw-p", "zz-10 rw-p 0 00:00 0",
                           "00-10 rw-p 0 00:00", "Rss:   12 kB", "VmFlags: rd wr"}) {
    CAPTURE(text);
    papcoll::detail::Mapping m;
    CHECK(!papcoll::detail::parse_mapping(text, m));
  }
}

TEST_CASE("a process's mappings are read as far as they are asked for", "[registration]") {
  using papcoll::detail::has_all_below;
  const std::string_view two = std::string_view{some_maps}.substr(0, 116);
  REQUIRE(two.ends_with("00500000-00600000 rw-p 00000000 00:00 0 \n"));
  CHECK(has_all_below(0x500000, two));
  CHECK(has_all_below(0x600000, two));
  CHECK(!has_all_below(0x600001, two));
  CHECK(has_all_below(0x500000, two.substr(0, two.size() - 1)));
  CHECK(!has_all_below(0x500001, two.substr(0, two.size() - 1)));
  CHECK(!has_all_below(1, two.substr(0, 30)));
  CHECK(!has_all_below(1, ""));
  CHECK(!has_all_below(1, "\n"));
  CHECK(!has_all_below(1, "x\n"));

  // Two hundred mappings, which are more than the kernel tells at once.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const p = static_cast<std::byte*>(
      mmap(nullptr, 200 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (std::size_t i = 0; i < 200; i += 2) mprotect(p + i * page, page, PROT_READ);
  for (const std::size_t i : {0UL, 100UL, 199UL}) {
    CAPTURE(i);
    const AddressRange here = range_of(p + i * page, page);
    const std::string some = papcoll::detail::maps_below(here.end);
    const auto all = papcoll::detail::parse_mappings(some);
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const Mapping& m) { return m.range.contains(here); }));
  }
  CHECK(papcoll::detail::maps_below(range_of(p, 1).end).size() + 4096 <
        papcoll::detail::read_proc("/proc/self/maps").size());
  munmap(p, 200 * page);
}

TEST_CASE("what may be moved of a process's mappings", "[registration]") {
  const auto all = papcoll::detail::parse_mappings(some_maps);
  const auto why = [&](std::uintptr_t begin, std::uintptr_t end) {
    return papcoll::detail::why_not_moved(all, {begin, end});
  };
  CHECK(why(0x500000, 0x700000).empty());
  CHECK(why(0x501000, 0x502000).empty());
  CHECK(why(0xb00000, 0xc00000).empty());
  CHECK(says(why(0x4ff000, 0x501000), "a mapping of /usr/bin/a b"));
  CHECK(says(why(0x6ff000, 0x701000), "r--p"));
  CHECK(says(why(0x900000, 0x901000), "is registered already"));
  CHECK(says(why(0xa00000, 0xa01000), "a shared mapping of /dev/zero"));
  CHECK(says(why(0xaff000, 0xb01000), "a shared mapping of /dev/zero"));
  CHECK(says(why(0xbff000, 0xc01000), "no memory at 0xc00000"));
  CHECK(says(why(0x100000, 0x101000), "no memory at 0x100000"));
  CHECK(says(why(0x7ffc00000000, 0x7ffc00001000), "on a stack"));
}

TEST_CASE("locked memory is told by its flags", "[registration]") {
  using papcoll::detail::any_locked;
  using papcoll::detail::is_locked;
  CHECK(!any_locked("Name:\ta\nVmLck:\t       0 kB\nVmPin:\t  12 kB\n"));
  CHECK(any_locked("Name:\ta\nVmLck:\t      40 kB\nVmPin:\t  0 kB\n"));
  CHECK(!any_locked(""));
  constexpr const char* smaps =
      "00500000-00600000 rw-p 00000000 00:00 0 \nSize:  1024 kB\nVmFlags: rd wr mr mw me ac \n"
      "00600000-00700000 rw-p 00000000 00:00 0 \nSize:  1024 kB\nVmFlags: rd wr mr mw me lo ac \n";
  CHECK(!is_locked(smaps, {0x500000, 0x600000}));
  CHECK(is_locked(smaps, {0x600000, 0x601000}));
  CHECK(is_locked(smaps, {0x5ff000, 0x601000}));
}

TEST_CASE("stacks are told, and the heap is movable", "[registration]") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto why = [&](const void* p, std::size_t n) {
    return papcoll::detail::why_pages_stay(range_of(p, n).whole_pages(page));
  };
  const std::vector<char> heap(100'000);
  CHECK(why(heap.data(), heap.size()).empty());
  std::string of_thread;
  std::thread{[&] {
    std::array<char, 40'000> here{};
    of_thread = why(here.data(), here.size());
  }}.join();
  CHECK(says(of_thread, "on a stack"));
}

TEST_CASE("pages move to shared memory and back, and keep their contents", "[registration]") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const SharedPages shared{64 * page};
  auto data = std::make_unique<std::vector<char>>(20 * page + 17, 'a');
  const AddressRange pages = range_of(data->data(), data->size()).whole_pages(page);
  std::vector<char> wanted = *data;
  for (int i = 0; i < 100; ++i) {
    const std::size_t offset = static_cast<std::size_t>(i % 30) * page;
    std::byte* const seen = shared.view() + offset;
    REQUIRE(papcoll::detail::exchange_for(shared.map(offset, pages.bytes()), pages) == 0);
    CHECK(*data == wanted);
    std::memset(seen, 'b' + i % 20, pages.bytes());  // as a peer would
    const std::size_t before = pages.begin - range_of(data->data(), 1).begin;
    std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(before), pages.bytes(),
                static_cast<char>('b' + i % 20));
    CHECK(*data == wanted);
    CHECK(papcoll::detail::move_back(pages, seen) == RestoreResult::all);
    std::memset(seen, 'x', pages.bytes());
    CHECK(*data == wanted);
  }
  data.reset();
}

TEST_CASE("a page that was moved beyond the others is found", "[registration]") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // From below: the view, the pages, two hundred mappings, in place of the last one of the pages.
  auto* const all = static_cast<std::byte*>(
      mmap(nullptr, 216 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::byte* const view = all;
  std::byte* const p = all + 8 * page;
  std::byte* const there = all + 215 * page;
  for (std::size_t i = 16; i < 216; i += 2) mprotect(all + i * page, page, PROT_READ);
  const int fd = memfd_create("test", MFD_CLOEXEC);
  REQUIRE(ftruncate(fd, static_cast<off_t>(8 * page)) == 0);
  const auto mapped = [&](std::byte* where, int fixed) {
    return static_cast<std::byte*>(
        mmap(where, 8 * page, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, 0));
  };
  REQUIRE(mapped(view, MAP_FIXED) == view);
  const AddressRange pages = range_of(p, 8 * page);
  REQUIRE(papcoll::detail::exchange_for(mapped(nullptr, 0), pages) == 0);
  REQUIRE(mremap(p + 3 * page, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, there) == there);
  CHECK(papcoll::detail::move_back(pages, view) == RestoreResult::some);
  there[5] = std::byte{8};
  CHECK(view[3 * page + 5] == std::byte{8});
  munmap(all, 216 * page);
  close(fd);
}

TEST_CASE("memory that is used in the meantime for something else is let alone", "[registration]") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const SharedPages shared{64 * page};
  // 24 pages, of which 8 are used.
  auto* const p = static_cast<std::byte*>(
      mmap(nullptr, 24 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const AddressRange pages = range_of(p, 8 * page);
  REQUIRE(papcoll::detail::exchange_for(shared.map(0, pages.bytes()), pages) == 0);
  mmap(p + page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  p[page] = std::byte{7};
  std::byte* const moved = static_cast<std::byte*>(
      mremap(p + 3 * page, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, p + 20 * page));
  REQUIRE(moved == p + 20 * page);
  CHECK(papcoll::detail::move_back(pages, shared.view()) == RestoreResult::some);
  CHECK(p[page] == std::byte{7});
  moved[5] = std::byte{8};
  CHECK(shared.view()[3 * page + 5] == std::byte{8});
  p[5] = std::byte{9};
  CHECK(shared.view()[5] == std::byte{0});
  munmap(p, 24 * page);
  CHECK(papcoll::detail::move_back(pages, shared.view()) == RestoreResult::all);
}
