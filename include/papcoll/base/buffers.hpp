// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/config.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// Anything with contiguous elements of one trivially copyable type: std::vector, std::array,
/// std::span, a built-in array.
template <class R> concept ContiguousRange = requires(R& r) {
  std::ranges::data(r);
  std::ranges::size(r);
};

namespace detail {
/// The type of a range's elements, without const.
template <ContiguousRange R>
using element_in =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::ranges::data(std::declval<R&>()))>>;

template <class R> inline constexpr bool is_integer_range = false;
template <ContiguousRange R>
inline constexpr bool is_integer_range<R> =
    std::integral<element_in<R>> && !std::same_as<element_in<R>, bool>;
}  // namespace detail

/// The number of elements of each rank in a buffer, or the place of its block: a contiguous range
/// of integers of any type, one for each rank. Borrowed: the range must outlive the call; a request
/// copies it.
///
/// Example:
///
///     const std::vector<int> lengths(static_cast<std::size_t>(comm.size()), 3);
///     const std::vector<double> mine(3);
///     std::vector<double> all(3 * lengths.size());
///     papcoll::allgatherv(comm, mine, all, papcoll::counts{lengths});
struct counts {
  /// Constructs empty counts, for ranks that need not know them.
  counts() = default;
  /// Refers to a contiguous range of integers, such as a std::vector<int>.
  template <ContiguousRange R>
  requires(detail::is_integer_range<R>) explicit counts(const R& each) noexcept
      : data_(std::ranges::data(each)),
        size_(std::ranges::size(each)),
        width_(sizeof(detail::element_in<R>)),
        is_signed_(std::is_signed_v<detail::element_in<R>>) {}
  /// Refuses, with a sentence, whatever is no such range.
  template <class Other>
  requires(!detail::is_integer_range<Other>) explicit counts(const Other&) {
    static_assert(sizeof(Other) == 0,
                  "papcoll: counts are a contiguous range of integers, one for each rank, such as "
                  "a std::vector<int>");
  }

  /// Returns the number of counts.
  std::size_t size() const noexcept { return size_; }
  /// Returns true if number i is negative.
  bool is_negative(std::size_t i) const noexcept { return is_signed_ && bits(i) >> 63U != 0; }
  /// Number i, which is not negative.
  std::size_t operator[](std::size_t i) const noexcept { return bits(i); }
  /// Copies them to size() numbers. False: one is negative.
  bool copy_to(std::size_t* to) const noexcept {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < size_; ++i) all |= to[i] = bits(i);
    return !is_signed_ || all >> 63U == 0;
  }

 private:
  /// Sign-extended.
  std::uint64_t bits(std::size_t i) const noexcept {
    switch (width_) {
      case 1: return is_signed_ ? as<std::int8_t>(i) : as<std::uint8_t>(i);
      case 2: return is_signed_ ? as<std::int16_t>(i) : as<std::uint16_t>(i);
      case 4: return is_signed_ ? as<std::int32_t>(i) : as<std::uint32_t>(i);
      default: return as<std::uint64_t>(i);
    }
  }
  template <class N> std::uint64_t as(std::size_t i) const noexcept {
    N n;
    std::memcpy(&n, static_cast<const std::byte*>(data_) + i * sizeof n, sizeof n);
    return static_cast<std::uint64_t>(n);
  }

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint8_t width_ = 1;
  bool is_signed_ = false;
};

/// The type of unknown_counts, passed instead of counts that a rank does not know: the ranks
/// exchange them, and the call returns what was received.
struct UnknownCounts {};
inline constexpr UnknownCounts unknown_counts{};  ///< as an argument

/// The blocks of a buffer, one for each rank: their lengths, and where they begin. Borrowed, as
/// counts.
struct blocks {
  /// Blocks one after the other, in rank order.
  blocks(counts lengths) noexcept  // NOLINT(google-explicit-constructor): lengths alone will do
      : sizes(lengths) {}
  /// Block r begins `starts[r]` elements after the buffer's address.
  template <class Sizes, class Displacements>
  blocks(const Sizes& lengths, const Displacements& starts) noexcept
      : sizes(counts(lengths)), displacements(counts(starts)), has_displacements(true) {}

  counts sizes;                    ///< elements, by rank
  counts displacements;            ///< first elements, by rank
  bool has_displacements = false;  ///< `displacements` says where they are
};

/// Where the elements of a buffer are: at strides in dimensions, or in a list of blocks. All that
/// calls check of a buffer that is not contiguous, and do with it, depends on this alone.
struct BufferLayout {
  const char* name = "";       ///< for messages, set by the call: "input"
  std::size_t dimensions = 0;  ///< of `extents` and `strides`; the last is the fastest
  std::array<std::size_t, BufferView::most_dimensions> extents{};     ///< elements
  std::array<std::ptrdiff_t, BufferView::most_dimensions> strides{};  ///< units
  bool is_list = false;    ///< `lengths` and `displacements` say it
  bool is_regular = true;  ///< false: an mdspan that has no strides
  counts lengths{};        ///< of a list: elements of each block
  counts displacements{};  ///< of a list: signed units from the address to each block
  std::size_t unit = 0;    ///< bytes that strides and displacements count; 0: an element's
  const BufferView* cached_view = nullptr;  ///< of a list that has its view, from the address on
};

/// How calls read a buffer that is not contiguous. A type is one if it has a member `data`, from
/// which strides and displacements are counted, and a function layout() as below; otherwise
/// specialise this template.
template <class B> struct BufferTraits {
  /// The address.
  static auto* data(const B& buffer) noexcept { return buffer.data; }
  /// Returns the layout of the elements.
  static BufferLayout layout(const B& buffer) requires requires {
    { buffer.layout() } -> std::same_as<BufferLayout>;
  }
  { return buffer.layout(); }
};

/// A strided buffer: `blocks` blocks of `block` contiguous elements; consecutive blocks begin
/// `stride` elements apart. What lies between is neither read nor written. Made by strided().
template <class T> struct Strided {
  T* data;             ///< the first element of the first block
  std::size_t blocks;  ///< how many there are
  std::size_t block;   ///< elements of one
  /// Elements from the start of one block to that of the next; may be negative.
  std::ptrdiff_t stride;

  /// Elements of all blocks.
  std::size_t size() const noexcept { return blocks * block; }
  /// For the library.
  BufferLayout layout() const noexcept {
    return {.dimensions = 2, .extents = {blocks, block}, .strides = {stride, 1}};
  }
};

/// Returns a buffer of `blocks` blocks of `block` elements from `data` on, which begin `stride`
/// elements apart; `stride` may be negative. Column c of a row-major matrix is
/// strided(&matrix[0][c], rows, 1, columns).
template <class T>
Strided<T> strided(T* data, std::size_t blocks, std::size_t block, std::ptrdiff_t stride) noexcept {
  return {data, blocks, block, stride};
}

/// A strided buffer of one or more dimensions, the last index fastest. Made by strided().
template <class T> struct StridedArray {
  T* data;                 ///< the element whose indices are all 0
  std::size_t dimensions;  ///< at most BufferView::most_dimensions
  std::array<std::size_t, BufferView::most_dimensions> extents;  ///< elements of each dimension
  std::array<std::ptrdiff_t, BufferView::most_dimensions>
      strides;  ///< elements from index to index

  /// For the library.
  BufferLayout layout() const noexcept {
    return {.dimensions = dimensions, .extents = extents, .strides = strides};
  }
};

/// Element (i, j, …) is data[i · strides[0] + j · strides[1] + …], and the last index is the
/// fastest. The elements of a row-major matrix of `rows` by `columns` in the order of its columns
/// are strided(&matrix[0][0], {columns, rows}, {1, columns}). Strides may be negative; a call
/// refuses extents that are, and elements that overlap or interleave: each stride, from the
/// smallest to the largest, must step over all that the dimensions with smaller ones span.
template <class T, std::integral N, std::integral S, std::size_t D>
StridedArray<T> strided(T* data, const N (&extents)[D], const S (&strides)[D]) noexcept {
  static_assert(D <= BufferView::most_dimensions, "papcoll: a buffer has at most 8 dimensions");
  StridedArray<T> a{data, D, {}, {}};
  for (std::size_t d = 0; d < D; ++d) {
    a.extents[d] = static_cast<std::size_t>(extents[d]);
    a.strides[d] = static_cast<std::ptrdiff_t>(strides[d]);
  }
  return a;
}

/// A buffer given by a list of blocks, each with a length and a place. Made by indexed().
template <class T> struct Indexed {
  T* data;               ///< what displacements are counted from
  counts lengths;        ///< elements of each block
  counts displacements;  ///< elements from `data` to the first of each block

  /// For the library.
  BufferLayout layout() const noexcept {
    return {.is_list = true, .lengths = lengths, .displacements = displacements};
  }
};

/// Returns a buffer whose block i has lengths[i] elements from data[displacements[i]] on, as
/// MPI_Type_indexed; its elements are in the order of the list. Lengths may be 0, displacements
/// negative; blocks may touch, and overlap if they are input only. Both are contiguous ranges of
/// integers of any type, of equal size. Borrowed: they must outlive the call; a request copies
/// them.
template <class T, class Lengths, class Displacements>
Indexed<T> indexed(T* data, const Lengths& lengths, const Displacements& displacements) noexcept {
  return {data, counts(lengths), counts(displacements)};
}

/// What has elements at regular places as std::mdspan has: std::mdspan itself, Kokkos::mdspan. Its
/// accessor gives elements as they are in memory.
template <class M> concept MdspanLike = requires(const M& m) {
  typename M::element_type;
  typename M::reference;
  requires std::same_as<typename M::reference, typename M::element_type&>;
  { m.data_handle() } -> std::same_as<typename M::element_type*>;
  requires(M::rank() > 0);
  { m.extent(0U) } -> std::convertible_to<std::size_t>;
  { m.stride(0U) } -> std::convertible_to<std::ptrdiff_t>;
  { m.is_strided() } -> std::convertible_to<bool>;
};

/// Mdspans are buffers.
template <MdspanLike M> struct BufferTraits<M> {
  /// Returns the address of the first element.
  static auto* data(const M& m) { return m.data_handle(); }
  /// Its dimensions, with a stride for each.
  static BufferLayout layout(const M& m) {
    static_assert(M::rank() <= BufferView::most_dimensions,
                  "papcoll: a buffer has at most 8 dimensions");
    BufferLayout l{.dimensions = M::rank(), .is_regular = m.is_strided()};
    for (std::size_t d = 0; d < l.dimensions; ++d) {
      l.extents[d] = static_cast<std::size_t>(m.extent(d));
      if (l.is_regular) l.strides[d] = static_cast<std::ptrdiff_t>(m.stride(d));
    }
    return l;
  }
};

/// A buffer whose elements need not be contiguous: what strided() or indexed() returns, an mdspan,
/// or a type with BufferTraits. A call counts its elements in their order.
template <class R> concept Noncontiguous = requires(const std::remove_cvref_t<R>& buffer) {
  { BufferTraits<std::remove_cvref_t<R>>::layout(buffer) } -> std::same_as<BufferLayout>;
  BufferTraits<std::remove_cvref_t<R>>::data(buffer);
};

/// The root of a rooted collective, 0 ≤ rank < size. A type of its own, since MPI_Op is an int in
/// some MPI libraries and would be taken for a rank.
struct root {
  /// The root is rank r of the team.
  explicit constexpr root(int r) noexcept : rank(r) {}
  int rank;  ///< of the team
};

/// What a collective takes as a buffer: a contiguous range, or a Noncontiguous buffer.
template <class R> concept Buffer = ContiguousRange<R> || Noncontiguous<R>;

/// What a collective takes by value: one element of a trivially copyable type that is no buffer.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !Noncontiguous<T> &&
                  !std::is_null_pointer_v<T> && !requires(T & x) {
  std::ranges::begin(x);
};

namespace detail {
/// The address of a buffer.
template <Buffer R> constexpr auto* address_of(R& buffer) noexcept {
  if constexpr (ContiguousRange<R>) {
    return std::ranges::data(buffer);
  } else {
    return BufferTraits<std::remove_cvref_t<R>>::data(buffer);
  }
}

/// Returns the layout of its elements.
template <Buffer R> BufferLayout layout_of(const R& buffer) {
  if constexpr (ContiguousRange<const R>) {
    return {.dimensions = 1, .extents = {std::ranges::size(buffer)}, .strides = {1}};
  } else {
    return BufferTraits<R>::layout(buffer);
  }
}
}  // namespace detail

/// A buffer that a collective may write to: an lvalue, or a view such as std::span.
template <class R>
concept OutputRange = Noncontiguous<R> ||
    (ContiguousRange<R> &&
     (std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>));

/// The type of a buffer's elements, without const.
template <Buffer R>
using element_of =
    std::remove_cv_t<std::remove_pointer_t<decltype(detail::address_of(std::declval<R&>()))>>;

/// True if the elements of the buffer can be written to.
template <Buffer R>
inline constexpr bool is_writable =
    !std::is_const_v<std::remove_pointer_t<decltype(detail::address_of(std::declval<R&>()))>>;

}  // namespace papcoll::inline PAPCOLL_ABI
