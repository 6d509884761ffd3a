#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/arena_heap.hpp>
#include <papcoll/node/node.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What one communicator has of a rank's heap of pools.
class TakenPools {
 public:
  explicit TakenPools(ArenaHeap* heap) noexcept : heap_(heap) {}

  /// With pages behind it. Throws system_error.
  std::byte* take(std::size_t bytes) {
    places_.reserve(places_.size() + 1);
    give_back_ = &TakenPools::give_back_to;
    places_.push_back(heap_->take(bytes, page_bytes(), "the library's part of the arena",
                                  "make the communicator with a larger Options::arena_bytes"));
    return places_.back();
  }

  void give_back(std::byte* at) noexcept {
    *std::find(places_.begin(), places_.end(), at) = places_.back();
    places_.pop_back();
    heap_->give_back(at);
  }

  void give_all_back() noexcept {
    for (std::byte* const p : places_) give_back_(*heap_, p);
    places_.clear();
  }

  std::span<std::byte* const> places() const noexcept { return places_; }

 private:
  static void give_back_to(ArenaHeap& heap, std::byte* at) noexcept { heap.give_back(at); }

  ArenaHeap* heap_;  ///< null: there are no arenas
  detail::Vector<std::byte*> places_;
  /// Known once something was taken, so that a program that takes nothing does not compile it.
  void (*give_back_)(ArenaHeap&, std::byte*) noexcept = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
