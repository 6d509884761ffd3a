// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>

#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Throws argument_error where the contents of a file are compressed or no text in UTF-8; `file` is
/// for messages, as "the model file x.json".
inline void require_plain_text(std::string_view text, const std::string& file) {
  if (text.starts_with("\x1f\x8b")) {
    throw argument_error("papcoll: " + file +
                         " is compressed by gzip: unpack it by gunzip, and name what is in it");
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    throw argument_error("papcoll: " + file +
                         " is in UTF-16: convert it by iconv -f UTF-16 -t UTF-8");
  }
  if (text.find('\0') != text.npos) {
    throw argument_error("papcoll: " + file + " has a zero byte: it is no text");
  }
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
