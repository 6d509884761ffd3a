// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What a rank's call reads and writes, and how it is made contiguous: one piece of memory has the
/// input's elements and then the output's, or one of them both. Of calls whose blocks differ, those
/// of a reduce_scatter only.
class PackedLayout {
 public:
  [[gnu::cold]] PackedLayout(const Call& call, int rank, int size) noexcept : call_(call) {
    const auto [in, out] = buffers_of(call.collective, rank == call.root);
    const std::size_t in_elements = elements(in, rank, size);
    const std::size_t out_elements = elements(out, rank, size);
    read_ = in_elements;
    written_ = out_elements;
    const bool has_both = in != Holds::nothing && out != Holds::nothing;
    in_place_ = has_both && (call.in_place() || has_one_buffer(call.collective));
    if (in_place_) {
      if (in == Holds::own_block) first_ = elements_before(rank);
      if (out == Holds::own_block && !is_reduction(call.collective)) written_ = 0;
      if (has_one_buffer(call.collective)) written_ = 0;
    }
    const Contributors wanted = contributors(call.collective, rank, size);
    if (wanted.first == wanted.last) written_ = 0;
    // Combined in place, where both are copies.
    const bool one = in_place_ || (in == Holds::vector && out == Holds::vector &&
                                   call.in_view != nullptr && call.out_view != nullptr);
    if (one) {
      total_ = std::max(in_elements, out_elements);
    } else {
      if (call.in_view != nullptr) out_at_ = in_elements;
      total_ = out_at_ + (call.out_view != nullptr ? out_elements : 0);
    }
  }

  /// Bytes of the memory that is needed.
  std::size_t bytes() const noexcept { return total_ * call_.reducer.size; }

  /// The call with the elements in `memory`, where its input is now.
  Call pack(std::byte* memory) const {
    const std::size_t size = call_.reducer.size;
    Call packed = call_;
    packed.is_noncontiguous = false;
    packed.in_view = packed.out_view = nullptr;
    if (call_.in_view != nullptr) {
      std::byte* const to = memory + first_ * size;
      // A block of one's own that stands in the output is found as the output's.
      detail::pack(to, in_place_ ? call_.out : call_.in, in_place_ ? call_.out_view : call_.in_view,
                   first_, read_, size);
      packed.in = to;
    }
    if (call_.out_view != nullptr) packed.out = memory + out_at_ * size;
    return packed;
  }

  /// After that call: its output goes to where it belongs.
  void unpack(const std::byte* memory) const {
    if (call_.out_view == nullptr) return;
    const std::size_t size = call_.reducer.size;
    detail::unpack(call_.out, call_.out_view, memory + out_at_ * size, written_, size);
  }

 private:
  [[gnu::cold]] std::size_t elements_before(int rank) const noexcept {
    const auto r = static_cast<std::size_t>(rank);
    if (call_.counts == nullptr) return r * call_.count;
    std::size_t n = 0;
    for (std::size_t i = 0; i < r; ++i) n += call_.counts[i];
    return n;
  }

  [[gnu::cold]] std::size_t elements(Holds what, int rank, int size) const noexcept {
    switch (what) {
      case Holds::nothing: return 0;
      case Holds::vector:
        return traits_of(call_.collective).vector == VectorOf::one_block ? call_.count
                                                                         : elements_before(size);
      case Holds::own_block: return call_.counts != nullptr ? call_.counts[rank] : call_.count;
      case Holds::blocks_to_all:
      case Holds::blocks_from_all: return elements_before(size);
    }
    return 0;
  }

  const Call& call_;
  bool in_place_ = false;
  std::size_t first_ = 0;    ///< in place: the number of the first element that is read
  std::size_t read_ = 0;     ///< elements
  std::size_t written_ = 0;  ///< from the first on
  std::size_t out_at_ = 0;   ///< elements before those of the output
  std::size_t total_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
