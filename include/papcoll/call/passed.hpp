#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/call_arguments.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

// The buffers of a call as its caller passed them: ranges, pointers and counts, or elements that
// lie apart. What is said of the last is not templates, and is reached only where one of the
// buffers is of a type that may lie apart.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// How a buffer's elements lie, whatever their type. In elements.
struct BufferLayout {
  const char* name = "";       ///< for messages: "input"
  std::size_t dimensions = 0;  ///< of `extents` and `strides`; the last is the fastest
  std::array<std::size_t, BufferView::most_dimensions> extents{};
  std::array<std::ptrdiff_t, BufferView::most_dimensions> strides{};
  bool is_list = false;    ///< `lengths` and `places` say it
  bool is_regular = true;  ///< false: an mdspan that has no strides
  counts lengths;          ///< of a list
  counts places;           ///< of a list
};

/// LayoutArguments::count and ::lay of a PassedLayouts.
PAPCOLL_DECL void count_passed(const Caller& caller, LayoutArguments& layouts, CallArguments& a);
PAPCOLL_DECL void lay_passed(const Caller& caller, LayoutArguments& layouts, Call& call,
                             std::size_t in_count, std::size_t out_count, bool in_place);

/// How the elements of both buffers of a typed call lie.
struct PassedLayouts : LayoutArguments {
  PassedLayouts() noexcept {
    count = count_passed;
    lay = lay_passed;
  }
  /// There is one buffer, `in`.
  void set_in_place() noexcept {
    in_place = true;
    out = in;
  }

  BufferLayout in;
  BufferLayout out;
  bool in_place = false;

  // Found out by count_passed().
  const BufferView* in_view = nullptr;  ///< null: the elements are contiguous
  const BufferView* out_view = nullptr;
};

template <class T>
BufferLayout layout_of(const Strided<T>& s) noexcept {
  BufferLayout l;
  l.dimensions = 2;
  l.extents = {s.blocks, s.block};
  l.strides = {s.stride, 1};
  return l;
}

template <class T>
BufferLayout layout_of(const StridedArray<T>& a) noexcept {
  BufferLayout l;
  l.dimensions = a.dimensions;
  l.extents = a.extents;
  l.strides = a.strides;
  return l;
}

template <class T>
BufferLayout layout_of(const Indexed<T>& x) noexcept {
  BufferLayout l;
  l.is_list = true;
  l.lengths = x.lengths;
  l.places = x.places;
  return l;
}

template <MdspanLike M>
BufferLayout layout_of(const M& m) {
  static_assert(M::rank() <= BufferView::most_dimensions,
                "papcoll: a buffer has at most 8 dimensions");
  BufferLayout l;
  l.is_regular = m.is_strided();
  l.dimensions = M::rank();
  for (std::size_t d = 0; d < l.dimensions; ++d) {
    l.extents[d] = static_cast<std::size_t>(m.extent(d));
    if (l.is_regular) l.strides[d] = static_cast<std::ptrdiff_t>(m.stride(d));
  }
  return l;
}

template <ContiguousRange R>
BufferLayout layout_of(const R& range) noexcept {
  BufferLayout l;
  l.dimensions = 1;
  l.extents[0] = std::ranges::size(range);
  l.strides[0] = 1;
  return l;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/passed.ipp>
#endif
