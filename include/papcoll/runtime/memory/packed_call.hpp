#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Memory for packed elements, which a rank uses again from call to call: of its arena, so that
/// peers read and write the packed elements where they are, or its own if there is no room.
class PackedMemory final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::packed_memory;

  explicit PackedMemory(detail::Shared<Arena> arena) noexcept : arena_(std::move(arena)) {}
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;
  ~PackedMemory() override { release(); }

  /// At least n bytes, whose contents do not matter. Throws std::bad_alloc.
  std::byte* get(std::size_t n) {
    if (n > bytes_) grow(n);
    return static_cast<std::byte*>(memory_);
  }

 private:
  static constexpr std::size_t least_bytes = 16384;

  [[gnu::noinline, gnu::cold]] void grow(std::size_t n) {
    const std::size_t wanted = std::max({n, least_bytes, bytes_ + bytes_ / 2});
    release();
    try {
      memory_ = arena_->allocate(wanted);
      in_arena_ = true;
    } catch (const std::bad_alloc&) {
      memory_ = ::operator new (wanted, std::align_val_t{cache_line});
      in_arena_ = false;
    }
    bytes_ = wanted;
  }

  void release() noexcept {
    void* const old = std::exchange(memory_, nullptr);
    bytes_ = 0;
    if (old == nullptr) return;
    in_arena_ ? arena_->deallocate(old) : ::operator delete (old, std::align_val_t{cache_line});
  }

  detail::Shared<Arena> arena_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  bool in_arena_ = false;
};

/// A blocking call whose elements lie apart, as one of neighbours: of copies of those buffers that
/// lie apart. A buffer whose elements are neighbours stays as it is. Where the call throws, an
/// output that lies apart is as it was.
class PackedCall : Pinned {
 public:
  PackedCall(TeamCore& core, const Call& given)
      : parts_(given, core.rank(), core.size()),
        memory_(memory_of(core, parts_.bytes())),
        packed_(parts_.pack(memory_)) {}

  const Call& call() const noexcept { return packed_; }

  /// The call has returned.
  void finish() const { parts_.unpack(memory_); }

 private:
  static std::byte* memory_of(TeamCore& core, std::size_t bytes) {
    core.require_no_call();
    try {
      PackedMemory* const kept = core.parts().find<PackedMemory>();
      return (kept != nullptr ? *kept : core.parts().get<PackedMemory>(arena_of(core))).get(bytes);
    } catch (const std::exception& problem) {  // the peers are in the call, or will be
      core.fail_everywhere(problem);
      throw;
    }
  }

  PackedLayout parts_;
  std::byte* memory_;
  Call packed_;
};

/// Calls f with a call that it equals, and whose elements are neighbours.
template <class F>
[[gnu::always_inline]] inline void with_neighbours(TeamCore& core, const Call& call, F&& f) {
  if (!call.apart) [[likely]]
    return f(call);
  PackedCall packed{core, call};
  f(packed.call());
  packed.finish();
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
