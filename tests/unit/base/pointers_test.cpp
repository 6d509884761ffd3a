// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/pointers.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using papcoll::detail::Owned;
using papcoll::detail::Shared;
using papcoll::detail::Weak;

namespace pointing {

std::atomic<int> alive{0};

struct Base {
  Base() { ++alive; }
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;
  virtual ~Base() { --alive; }
  int value = 1;
};
struct Derived : Base {
  explicit Derived(int v) { value = v; }
};
struct Refusing : Base {
  Refusing() { throw std::runtime_error("no"); }
};
struct alignas(256) Wide {
  std::byte bytes[256];
};

}  // namespace pointing

using namespace pointing;

TEST_CASE("an owned object ends with its owner, once", "[base]") {
  {
    Owned<Base> a = papcoll::detail::make_owned<Derived>(7);
    CHECK(a->value == 7);
    Owned<Base> b = std::move(a);
    CHECK(a == nullptr);  // NOLINT(bugprone-use-after-move)
    CHECK(alive == 1);
    b = papcoll::detail::make_owned<Base>();
    CHECK(alive == 1);
    Base* const kept = b.release();
    CHECK(!b);
    a.reset(kept);
    const auto array = papcoll::detail::make_owned<Base[]>(3);
    CHECK(array[2].value == 1);
    CHECK(alive == 4);
  }
  CHECK(alive == 0);
  CHECK_THROWS_AS(papcoll::detail::make_owned<Refusing>(), std::runtime_error);
  CHECK(alive == 0);
}

TEST_CASE("a shared object ends with the last who shares it, its memory with the last who watches",
          "[base]") {
  Weak<Base> watched;
  CHECK(watched.expired());
  CHECK(watched.lock() == nullptr);
  {
    Shared<const Base> a = papcoll::detail::make_shared<Derived>(7);
    const Shared<void> nothing;
    CHECK(nothing == nullptr);
    {
      const Shared<Derived> d = papcoll::detail::make_shared<Derived>(3);
      watched = d;
      const Shared<int> part{d, &d->value};
      const Shared<Base> b = d;
      CHECK(papcoll::detail::static_shared_cast<Derived>(b) == d);
      CHECK(watched.lock()->value == 3);
      CHECK(alive == 2);
      a = b;
      CHECK(alive == 1);
      CHECK(*part == 3);
    }
    CHECK(!watched.expired());
    const Shared<const Base> moved = std::move(a);
    CHECK(a == nullptr);  // NOLINT(bugprone-use-after-move)
    CHECK(moved->value == 3);
  }
  CHECK(alive == 0);
  CHECK(watched.expired());
  CHECK(watched.lock() == nullptr);
  const Weak<Base> copy = watched;
  CHECK(copy.expired());
  CHECK_THROWS_AS(papcoll::detail::make_shared<Refusing>(), std::runtime_error);
  CHECK(alive == 0);
  const auto wide = papcoll::detail::make_shared<Wide>();
  CHECK(reinterpret_cast<std::uintptr_t>(wide.get()) % alignof(Wide) == 0);
}

TEST_CASE("a shared object that refers to no count is not kept", "[base]") {
  int here = 5;
  Shared<int> a{Shared<void>{}, &here};
  const Shared<int> b = a;
  a.reset();
  CHECK(a == nullptr);
  CHECK(*b == 5);
}

TEST_CASE("threads share, watch and leave an object at once", "[base]") {
  for (int round = 0; round < 200; ++round) {
    auto object = papcoll::detail::make_shared<std::vector<int>>(std::size_t{4}, round);
    const Weak<std::vector<int>> watched = object;
    std::atomic<int> seen{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([own = object, watched, &seen, t]() mutable {
        ++(*own)[static_cast<std::size_t>(t)];
        own.reset();
        for (int i = 0; i < 20; ++i) {
          if (const auto found = watched.lock()) seen += static_cast<int>(found->size());
        }
      });
    }
    object.reset();
    threads.clear();
    CHECK(watched.expired());
    CHECK(seen % 4 == 0);
  }
}
