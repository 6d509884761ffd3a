// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>

#include <cstddef>

/// A member of each structure in an array, of somebody else.
template <class T, class Structure> struct FieldOf {
  T* first;
  std::size_t n;
};

namespace papcoll {
template <class T, class Structure> struct BufferTraits<FieldOf<T, Structure>> {
  static T* data(const FieldOf<T, Structure>& f) { return f.first; }
  static BufferLayout layout(const FieldOf<T, Structure>& f) {
    return {.dimensions = 1, .extents = {f.n}, .strides = {sizeof(Structure)}, .unit = 1};
  }
};
}  // namespace papcoll
