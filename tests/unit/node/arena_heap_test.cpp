// SPDX-License-Identifier: BSD-3-Clause
// What a rank allocates of its node's memory.

#include "catch.hpp"

#include <papcoll/error.hpp>
#include <papcoll/node/arena_heap.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using papcoll::detail::ArenaHeap;

namespace {

constexpr std::size_t heap_bytes = std::size_t{8} << 20U;

struct HeapMemory final : papcoll::NodePages {
  std::byte* begin = static_cast<std::byte*>(::operator new (heap_bytes, std::align_val_t{4096}));
  mutable std::size_t backed = 0;
  std::size_t most = heap_bytes;
  ArenaHeap heap{begin, heap_bytes, *this};

  ~HeapMemory() override { ::operator delete (begin, std::align_val_t{4096}); }

  void reserve(const std::byte* at, std::size_t bytes) const override {
    const auto end = static_cast<std::size_t>(at - begin) + bytes;
    if (end > most) throw papcoll::system_error("papcoll: no pages", ENOSPC);
    backed = end;
  }
  std::byte* take(std::size_t n) { return heap.take(n, 4096, "this heap", "take less"); }
};

}  // namespace

TEST_CASE("a heap takes pages as it fills up, and uses again what is freed", "[node]") {
  HeapMemory m;
  CHECK(m.backed == 0);
  std::byte* const first = m.take(100'000);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 4096 == 0);
  CHECK(m.backed < heap_bytes);
  const std::size_t backed = m.backed;
  for (int i = 0; i < 1000; ++i) m.heap.give_back(m.take(200'000));
  CHECK(m.backed == backed);
  CHECK(m.heap.memory() == m.begin);
  CHECK(m.heap.bytes() == heap_bytes);
}

TEST_CASE("a heap that is full, or finds no pages, says so and goes on", "[node]") {
  HeapMemory m;
  std::string text;
  try {
    m.take(2 * heap_bytes);
  } catch (const papcoll::system_error& e) {
    text = e.what();
    CHECK(e.number == ENOMEM);
  }
  CHECK(text.find("no room for 16777216 bytes in this heap: ") != std::string::npos);
  CHECK(text.find(": take less") != std::string::npos);
  m.most = heap_bytes / 4;
  CHECK_THROWS_AS(m.take(heap_bytes / 2), papcoll::system_error);
  m.most = heap_bytes;
  CHECK(m.take(heap_bytes / 2) != nullptr);
}

TEST_CASE("blocks of a heap are aligned, apart, and one again when all are free", "[node]") {
  HeapMemory m;
  std::mt19937 random{7};
  std::map<std::byte*, std::size_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() < 40 && random() % 2 == 0) {
      const std::size_t bytes = random() % (random() % 4 == 0 ? 200'000 : 2'000);
      const std::size_t alignment = std::size_t{64} << random() % 8U;
      std::byte* const at = m.heap.take(bytes, alignment, "this heap", "take less");
      if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0) FAIL(i);
      const auto next = taken.lower_bound(at);
      if (next != taken.end() && at + bytes > next->first) FAIL(i);
      if (next != taken.begin() && std::prev(next)->first + std::prev(next)->second > at) FAIL(i);
      if (!taken.emplace(at, bytes).second) FAIL(i);
    } else if (!taken.empty()) {
      const auto one = std::next(taken.begin(), static_cast<int>(random() % taken.size()));
      m.heap.give_back(one->first);
      taken.erase(one);
    }
  }
  for (const auto& [at, bytes] : taken) m.heap.give_back(at);
  CHECK(m.take(heap_bytes) == m.begin);
}

TEST_CASE("threads allocate from a heap at once", "[node]") {
  HeapMemory m;
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) {
          const std::size_t n = 1000 + 100 * t;
          std::byte* const at = m.take(n);
          const auto mark = static_cast<std::byte>(t + 1);
          for (std::size_t b = 0; b < n; ++b) at[b] = mark;
          for (std::size_t b = 0; b < n; ++b) wrong[t] += at[b] != mark ? 1 : 0;
          m.heap.give_back(at);
        }
      });
    }
  }
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("a child takes nothing from its parent's heap, and gives nothing back", "[node]") {
  // Shared memory, as an arena is: what a child did there its parent would see.
  void* const shared =
      mmap(nullptr, heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  struct Pages final : papcoll::NodePages {
    void reserve(const std::byte*, std::size_t) const override {}
  } pages;
  ArenaHeap heap{static_cast<std::byte*>(shared), heap_bytes, pages};
  std::byte* const mine = heap.take(100'000, 64, "this heap", "take less");
  const pid_t child = fork();
  if (child == 0) {
    bool took = true;
    try {
      heap.take(100'000, 64, "this heap", "take less");
    } catch (const papcoll::system_error&) {
      took = false;
    }
    heap.give_back(mine);
    _exit(took ? 1 : 0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(heap.take(100'000, 64, "this heap", "take less") != mine);
  munmap(shared, heap_bytes);
}
