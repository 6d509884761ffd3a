#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/data_view.hpp>
#include <papcoll/buffers.hpp>
#include <papcoll/config.hpp>
#include <papcoll/entry/arguments.hpp>
#include <papcoll/indexed.hpp>
#include <papcoll/layouts.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

// The buffers of a call as its caller passed them: ranges, pointers and counts, or elements that
// lie apart. What is said of the last is not templates, and is reached only where one of the
// buffers is of a type that may lie apart.

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// How a buffer's elements lie, whatever their type. In elements.
struct BufferLayout {
  const char* name = "";       ///< for messages: "input"
  std::size_t dimensions = 0;  ///< of `extents` and `strides`; the last is the fastest
  std::array<std::size_t, DataView::most_dimensions> extents{};
  std::array<std::ptrdiff_t, DataView::most_dimensions> strides{};
  bool is_list = false;    ///< `lengths` and `places` say it
  bool is_regular = true;  ///< false: an mdspan that has no strides
  counts lengths;          ///< of a list
  counts places;           ///< of a list
};

struct BufferLayouts;

/// Refuses layouts that are no right ones, and counts their elements. `root`: of a rooted
/// collective. What this rank's call does not look at counts as empty.
PAPCOLL_DECL void check_layouts(const Caller& caller, BufferLayouts& both, std::size_t element_size,
                                int root);

/// Tells a call where its elements lie, after it was checked as one of ranges, and refuses null
/// pointers and buffers that overlap. Counts are in elements; 0: nobody looks at that buffer.
PAPCOLL_DECL void lay_apart(const Caller& caller, Call& call, const BufferLayouts& both,
                            std::size_t in_count, std::size_t out_count);

/// How the elements of both buffers of a call lie.
struct BufferLayouts {
  BufferLayout in;
  BufferLayout out;
  bool in_place = false;  ///< there is one buffer, `in`

  // Found out by check_layouts(), for both buffers.
  std::size_t in_count = 0;
  std::size_t out_count = 0;
  std::ptrdiff_t in_first = 0;  ///< elements from the address passed to the first element
  std::ptrdiff_t out_first = 0;
  const DataView* in_view = nullptr;  ///< null: the elements are neighbours
  const DataView* out_view = nullptr;

  // By pointers, so that a file that passes no such buffer does not compile what they call.
  decltype(&check_layouts) check = nullptr;
  decltype(&lay_apart) lay = nullptr;
};

/// The buffers of a call on elements of type T.
template <class T>
struct Passed {
  const T* in;
  T* out;
  std::size_t in_count;              ///< elements
  std::size_t out_count;             ///< elements
  BufferLayouts* layouts = nullptr;  ///< null: elements are neighbours; else it gives the counts
};

/// Buffers one of which is of a type that may lie apart.
template <class T>
struct PassedApart : Passed<T> {
  PassedApart(const T* from, T* to, const BufferLayout& how_in, const BufferLayout& how_out)
      : Passed<T>{from, to, 0, 0, &both}, both{how_in, how_out} {
    both.in.name = "input";
    both.out.name = "output";
    both.check = check_layouts;
    both.lay = lay_apart;
  }
  PassedApart(T* data, const BufferLayout& how) : PassedApart(data, data, how, how) {
    both.in.name = "buffer";
    both.in_place = true;
  }
  PassedApart(const PassedApart&) = delete;
  PassedApart& operator=(const PassedApart&) = delete;
  ~PassedApart() = default;

  BufferLayouts both;
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
  static_assert(M::rank() <= DataView::most_dimensions,
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

/// Says of one buffer that has a block of each rank: this rank's part stands at its place there.
struct InPlace {};

/// One buffer that is input and output. `R` is its type as the caller passed it.
template <class R>
auto passed(std::remove_reference_t<R>& data) {
  using T = element_of<R>;
  T* const p = data_in_place<R>(data);
  if constexpr (ContiguousRange<R>) {
    const std::size_t n = std::ranges::size(data);
    return Passed<T>{p, p, n, n};
  } else {
    return PassedApart<T>{p, layout_of(data)};
  }
}

/// An input and an output. `Out` is the type of this as the caller passed it.
template <class In, class Out>
auto passed(const In& in, std::remove_reference_t<Out>& out) {
  using T = element_of<const In>;
  const T* const from = address_of(in);
  T* const to = data_out<T, Out>(out);
  if constexpr (ContiguousRange<In> && ContiguousRange<Out>) {
    return Passed<T>{from, to, std::ranges::size(in), std::ranges::size(out)};
  } else {
    return PassedApart<T>{from, to, layout_of(in), layout_of(out)};
  }
}

/// The address of an input that is read after the call has returned. `In` is its type as the caller
/// passed it.
template <class In>
const element_of<In>* input_to_keep(const std::remove_reference_t<In>& in) {
  static_cast<void>(input_outlives_call<In>::ok);
  return address_of(in);
}

/// As passed(), for a call that reads its input after it has returned.
template <class In, class Out>
auto passed_to_keep(const std::remove_reference_t<In>& in, std::remove_reference_t<Out>& out) {
  static_cast<void>(input_outlives_call<In>::ok);
  return passed<std::remove_cvref_t<In>, Out>(in, out);
}

/// One buffer, of a pointer and a count.
template <class T>
Passed<T> passed(T* data, std::size_t n) noexcept {
  return {data, data, n, n};
}

/// Before anything is made of the counts: what of the buffers is known of ranges at once.
template <class T>
void count_elements(const Caller& caller, Passed<T>& b, int root = 0) {
  if (b.layouts == nullptr) return;
  b.layouts->check(caller, *b.layouts, sizeof(T), root);
  b.in_count = b.layouts->in_count;
  b.out_count = b.layouts->out_count;
  if (b.in != nullptr) b.in += b.layouts->in_first;
  if (b.out != nullptr) b.out += b.layouts->out_first;
}

/// The local checks of a call's buffers, of which it looks at so many elements.
template <class T>
void check_buffers(const Caller& caller, Call& call, const Passed<T>& b, std::size_t in_count,
                   std::size_t out_count) {
  if (b.layouts != nullptr) [[unlikely]]
    return b.layouts->lay(caller, call, *b.layouts, in_count, out_count);
  check_buffers(caller, call, in_count, out_count);
}

/// In place, the input of a collective that has a block of each rank is this rank's.
inline void begin_with_own_block(Call& call, int rank) noexcept {
  call.input_in_output = true;
  if (call.in_view == nullptr) call.in += static_cast<std::size_t>(rank) * call.bytes();
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/impl/passed.ipp>
#endif
