// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Text in lines, further in below what they belong to.
class Indented {
 public:
  void line(int depth, const std::string& text) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ').append(text).append("\n");
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
