// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <cstddef>

inline papcoll::Shape shape_of(papcoll::Collective c, int size, std::size_t count) {
  papcoll::Shape s;
  s.collective = c;
  s.size = size;
  s.count = count;
  return s;
}
