#pragma once

#include <papcoll/config.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The root of a rooted collective, 0 ≤ rank < size. A type of its own, since an MPI_Op is an int
/// in some MPI libraries and would pass for a rank.
struct root {
  /// The root is rank r of the team.
  explicit constexpr root(int r) noexcept : rank(r) {}
  int rank;  ///< of the team
};

/// How many elements each rank gets of a reduce_scatter or gives to an allgatherv: one number for
/// each rank, the same on all.
struct counts {
  /// Borrows the numbers, which must live as long as the call, or as its request.
  explicit counts(std::span<const std::size_t> each) noexcept : of_rank(each) {}
  /// Refuses, with a sentence, whatever is no range of std::size_t.
  template <class Other>
  requires(!std::is_convertible_v<const Other&, std::span<const std::size_t>>) explicit counts(
      const Other&) {
    static_assert(sizeof(Other) == 0,
                  "papcoll: counts are a contiguous range of std::size_t, one for each rank, such "
                  "as a std::vector<std::size_t>; it is not copied, so other integers do not do");
  }
  std::span<const std::size_t> of_rank;  ///< elements, by rank
};

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

template <class X>
inline constexpr bool is_strided = false;  ///< is it made by strided()?
template <class T>
inline constexpr bool is_strided<Strided<T>> = true;  ///< it is

/// Anything with contiguous elements of one trivially copyable type: std::vector, std::array,
/// std::span, a built-in array.
template <class R>
concept ContiguousRange = requires(R& r) {
  std::ranges::data(r);
  std::ranges::size(r);
};

/// What a collective takes by value: one element of a trivially copyable type, and no buffer.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !is_strided<T> &&
                  !std::is_null_pointer_v<T> && !requires(T & x) {
  std::ranges::begin(x);
};

/// A range that a collective may write to: an lvalue, or a view such as std::span.
template <class R>
concept OutputRange = ContiguousRange<R> &&
    (std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>);

/// The type of a range's elements, without const.
template <ContiguousRange R>
using element_of =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::ranges::data(std::declval<R&>()))>>;

/// Can the elements of a range be written to?
template <ContiguousRange R>
inline constexpr bool is_writable =
    !std::is_const_v<std::remove_pointer_t<decltype(std::ranges::data(std::declval<R&>()))>>;

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
