// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/transport/rma/remote_atomics.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"

using papcoll::Node;
using papcoll::SharedWords;
using Change = papcoll::RemoteAtomics::Change;

namespace {

constexpr int ranks = 3;
constexpr std::size_t n = 11;  // more than a cache line

struct Memory final : papcoll::NodePages {
  alignas(papcoll::cache_line) std::array<std::byte, SharedWords::bytes(ranks, n)> bytes{};
  mutable std::vector<std::pair<const std::byte*, std::size_t>> reserved;
  bool refuses = false;

  void reserve(const std::byte* at, std::size_t size) const override {
    if (refuses) throw papcoll::system_error("no room", ENOSPC);
    reserved.emplace_back(at, size);
  }

  Node node_of(int rank) {
    Node node{rank, ranks};
    node.ticket_words = bytes.data();
    node.pages = {nullptr, this};
    return node;
  }
};

}  // namespace

TEST_CASE("the words of all ranks have pages before any is used, and are apart") {
  Memory memory;
  std::array<SharedWords, ranks> all{SharedWords{memory.node_of(0), n},
                                     SharedWords{memory.node_of(1), n},
                                     SharedWords{memory.node_of(2), n}};
  CHECK(memory.reserved.size() == ranks);
  for (const auto& [at, size] : memory.reserved) {
    CHECK(at == memory.bytes.data());
    CHECK(size == memory.bytes.size());
  }
  SharedWords& first = all.front();
  for (int r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      first.start(r, i, Change::replace, 100 * r + static_cast<int>(i));
      CHECK(first.progress());
      CHECK(first.before() == 0);
    }
  }
  for (int r = 0; r < ranks; ++r) {
    SharedWords& mine = all[static_cast<std::size_t>(r)];
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(mine.own(i) == 100 * r + static_cast<int>(i));
      mine.start(r, i, Change::none, 7);
      CHECK(mine.before() == mine.own(i));
    }
  }
}

TEST_CASE("words without pages are an exception") {
  Memory memory;
  memory.refuses = true;
  CHECK_THROWS_AS(SharedWords(memory.node_of(0), n), papcoll::system_error);
}

TEST_CASE("additions to a shared word give each value once") {
  constexpr int each = 2000;
  Memory memory;
  std::array<std::vector<std::int64_t>, ranks> seen;
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r) {
      Node node = memory.node_of(r);
      node.pages = nullptr;
      threads.emplace_back([node, &mine = seen[static_cast<std::size_t>(r)]] {
        SharedWords words{node, n};
        for (int i = 0; i < each; ++i) {
          words.start(1, 4, Change::add, 1);
          mine.push_back(words.before());
        }
      });
    }
  }
  std::vector<std::int64_t> all;
  for (const auto& mine : seen) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  for (int i = 0; i < ranks * each; ++i) REQUIRE(all[static_cast<std::size_t>(i)] == i);
}
