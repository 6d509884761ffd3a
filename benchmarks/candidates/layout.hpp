// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// Where the elements of a buffer lie: in blocks whose first elements are `stride` apart, or, as
/// long as that is 0, in one piece.
struct Layout {
  std::size_t block = 0;   ///< elements
  std::size_t stride = 0;  ///< elements

  bool is_noncontiguous() const { return stride != 0; }

  /// The place of element i.
  std::size_t place(std::size_t i) const {
    return is_noncontiguous() ? i / block * stride + i % block : i;
  }

  /// Elements that a buffer of so many has room for, the gap behind the last block among them.
  std::size_t extent(std::size_t count) const {
    return is_noncontiguous() ? count / block * stride : count;
  }

  /// For papcoll.
  template <class T> papcoll::Strided<T> of(T* data, std::size_t count) const {
    return papcoll::strided(data, count / block, block, static_cast<std::ptrdiff_t>(stride));
  }
};

/// Columns of the matrix of which `column` is one.
inline constexpr std::size_t usual_columns = 64;

/// "strided:BLOCK:STRIDE", or "column:COLUMNS" and "column", one column of a row-major matrix.
/// Throws std::invalid_argument with a sentence that quotes what was wrong.
inline Layout parse_layout(std::string_view text) {
  const auto fail = [text](const char* why) {
    throw std::invalid_argument("'" + std::string(text) + "' " + why);
  };
  constexpr auto no_layout =
      "is no layout (write strided:BLOCK:STRIDE, column or column:COLUMNS, in elements)";
  const auto number = [&](std::string_view digits) {
    int n = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (code == std::errc::result_out_of_range) fail("has a number that is no int");
    if (code != std::errc{} || end != digits.data() + digits.size()) fail(no_layout);
    if (n < 1) fail("has a length below 1");
    return static_cast<std::size_t>(n);
  };
  constexpr std::string_view strided = "strided:";
  constexpr std::string_view column = "column:";
  if (text == "column") return {1, usual_columns};
  if (text.starts_with(column)) return {1, number(text.substr(column.size()))};
  const std::size_t colon = text.find(':', strided.size());
  if (!text.starts_with(strided) || colon == std::string_view::npos) fail(no_layout);
  const Layout layout{number(text.substr(strided.size(), colon - strided.size())),
                      number(text.substr(colon + 1))};
  if (layout.stride < layout.block) fail("has blocks that overlap: the stride is at least a block");
  return layout;
}

}  // namespace bench
