#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/config.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// Elements in blocks that lie apart, such as a column of a matrix or a part of an array of
/// structures: `blocks` times `block` neighbours, the first ones of two blocks `stride` elements
/// apart. What lies between is neither read nor written. Made by strided().
template <class T>
struct Strided {
  T* data;             ///< the first element of the first block
  std::size_t blocks;  ///< how many there are
  std::size_t block;   ///< elements of one
  /// Elements from the start of one block to that of the next; may be negative.
  std::ptrdiff_t stride;

  /// Elements of all blocks.
  std::size_t size() const noexcept { return blocks * block; }
};

/// `blocks` times `block` elements from `data` on, `stride` elements from block to block. Column c
/// of a row-major matrix is strided(&matrix[0][c], rows, 1, columns).
template <class T>
Strided<T> strided(T* data, std::size_t blocks, std::size_t block, std::ptrdiff_t stride) noexcept {
  return {data, blocks, block, stride};
}

/// Elements in one or more dimensions, counted with the last index fastest. Made by strided().
template <class T>
struct StridedArray {
  T* data;                 ///< the element whose indices are all 0
  std::size_t dimensions;  ///< at most BufferView::most_dimensions
  std::array<std::size_t, BufferView::most_dimensions> extents;  ///< elements of each dimension
  std::array<std::ptrdiff_t, BufferView::most_dimensions>
      strides;  ///< elements from index to index
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

template <class T>
struct Indexed;

namespace detail {
template <class X>
inline constexpr bool is_made_to_lie_apart = false;
template <class T>
inline constexpr bool is_made_to_lie_apart<Strided<T>> = true;
template <class T>
inline constexpr bool is_made_to_lie_apart<StridedArray<T>> = true;
template <class T>
inline constexpr bool is_made_to_lie_apart<Indexed<T>> = true;
}  // namespace detail

/// What has elements at regular places as std::mdspan has: std::mdspan itself, Kokkos::mdspan. Its
/// accessor gives elements as they are in memory.
template <class M>
concept MdspanLike = requires(const M& m) {
  typename M::element_type;
  typename M::reference;
  requires std::same_as<typename M::reference, typename M::element_type&>;
  { m.data_handle() } -> std::same_as<typename M::element_type*>;
  requires(M::rank() > 0);
  { m.extent(0U) } -> std::convertible_to<std::size_t>;
  { m.stride(0U) } -> std::convertible_to<std::ptrdiff_t>;
  { m.is_strided() } -> std::convertible_to<bool>;
};

/// A buffer whose elements need not lie one beside the other: what strided() or indexed() makes, or
/// an mdspan. A call counts its elements in their order.
template <class R>
concept Noncontiguous =
    detail::is_made_to_lie_apart<std::remove_cvref_t<R>> || MdspanLike<std::remove_cvref_t<R>>;

}  // namespace papcoll::inline PAPCOLL_ABI
